"""Gradients of and by sparse tensors."""

import copy

import numpy as np
import pytest

import ember
from ember.sparse import SparseTensor

from .helpers import (
    LAYOUTS,
    embedded,
    in_layout,
    matrix,
    same,
    uncoalesced,
)

# --- gradients ------------------------------------------------------------------------

check = ember.sparse.as_sparse_gradcheck(ember.autograd.gradcheck)
check2 = ember.sparse.as_sparse_gradcheck(ember.autograd.gradgradcheck)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients(layout):
    s = in_layout(matrix(), layout).requires_grad_()
    d = ember.randn(6, 3, dtype=ember.float64, requires_grad=True)
    assert check(lambda s, d: s @ d, (s, d)) and check2(lambda s, d: s @ d, (s, d))
    assert check(lambda s, d: d.t() @ s.t(), (s, d))
    assert check(lambda s: s.to_dense() ** 2, (s,))
    assert check(lambda s: (s * s + s).sum(), (s,))
    assert check(lambda s: s @ s.t(), (s,))


def test_gradients_of_coo():
    s = uncoalesced().requires_grad_()
    for f in (
        lambda s: ember.sparse.sum(s, 0),
        lambda s: ember.sparse.softmax(s, 1),
        lambda s: ember.sparse.log_softmax(s, 0),
        lambda s: s.coalesce().values().sin(),
        lambda s: ember.cat([s, 2 * s], 1)[1],
        lambda s: s.index_select(1, ember.tensor([2, 2, 0])).to_dense(),
        lambda s: s * ember.ones(3, 4).double(),
    ):
        assert check(f, (s,))


def test_gradients_of_dense_tensors():
    x = matrix().requires_grad_()
    (x.to_sparse() * 3).sum().backward()
    same(x.grad, (x != 0).double() * 3)
    v = ember.ones(2, requires_grad=True)
    s = ember.sparse_coo_tensor([[0, 2]], v, (3,))
    assert s.requires_grad and not s.is_leaf
    (s.to_dense() * ember.arange(3.0)).sum().backward()
    assert v.grad.tolist() == [0, 2]
    y = ember.randn(4, 6, dtype=ember.float64, requires_grad=True)
    (y + matrix().to_sparse()).sum().backward()
    same(y.grad, ember.ones(4, 6).double())


def test_gradient_of_a_sparse_leaf():
    s = uncoalesced().requires_grad_()
    assert s.is_leaf and s.grad is None and s.t().grad_fn is not None
    (s.to_dense() * 2).sum().backward()
    (s.to_dense() * 3).sum().backward()
    assert isinstance(s.grad, SparseTensor) and s.grad is s.grad
    assert s.grad._values().tolist() == [5, 5, 5, 5]
    s.grad = None
    (g,) = ember.autograd.grad((s * s).sum(), s)
    assert g.layout is ember.sparse_coo
    kept = s.detach()
    assert not kept.requires_grad and s.requires_grad
    with ember.no_grad():
        assert not (s * 2).requires_grad


def test_backward_from_a_sparse_tensor():
    v = ember.tensor([1.0, 2.0], requires_grad=True)
    s = ember.sparse_coo_tensor([[0, 2]], v, (3,))
    (s * s).backward(ember.tensor([1.0, 5.0, 10.0]))
    assert v.grad.tolist() == [2, 40]
    hooked = []
    t = (s * 2).coalesce()
    t.register_hook(hooked.append)
    t.sum().backward()
    assert hooked[0].layout is ember.sparse_coo


# --- sparse gradients of dense tensors ------------------------------------------------


def test_embedding_has_a_sparse_gradient():
    w = ember.randn(5, 2, requires_grad=True)
    ids = ember.tensor([[0, 3], [3, 3]])
    out = embedded(w, ids)
    (out * ember.arange(8.0).view(2, 2, 2)).sum().backward()
    assert w.grad.layout is ember.sparse_coo and w.grad.shape == w.shape
    assert w.grad._indices().tolist() == [[0, 3, 3, 3]]
    dense = w.detach().clone().requires_grad_()
    out = ember.nn.functional.embedding(ids, dense)
    (out * ember.arange(8.0).view(2, 2, 2)).sum().backward()
    same(w.grad, dense.grad)


def test_padding_has_no_gradient():
    w = ember.ones(4, 1, requires_grad=True)
    embedded(w, ember.tensor([1, 2, 1]), padding_idx=1).sum().backward()
    assert w.grad.coalesce().indices().tolist() == [[2]]
    with pytest.raises(RuntimeError, match="scale_grad_by_freq"):
        embedded(w, ember.tensor([1]), scale_grad_by_freq=True).sum().backward()


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_embedding_bag_has_a_sparse_gradient(mode):
    weight = ember.randn(6, 3)
    ids, offsets = ember.tensor([1, 2, 4, 5, 4]), ember.tensor([0, 3])
    grads = []
    for sparse in (True, False):
        w = weight.clone().requires_grad_()
        bag = ember.nn.functional.embedding_bag(
            ids, w, offsets, mode=mode, sparse=sparse
        )
        (bag * bag).sum().backward()
        grads.append(w.grad)
    assert grads[0].is_sparse
    np.testing.assert_allclose(grads[0].to_dense(), grads[1], rtol=1e-6)


def test_sparse_gradients_add_up():
    w = ember.zeros(4, 2, requires_grad=True)
    ids = ember.tensor([1, 3])
    (embedded(w, ids).sum() + 2 * embedded(w, ids).sum()).backward()
    assert w.grad.is_sparse and w.grad.to_dense()[:, 0].tolist() == [0, 3, 0, 3]
    kept = w.grad
    embedded(w, ids).sum().backward()
    assert w.grad is kept and kept.to_dense()[:, 0].tolist() == [0, 4, 0, 4]
    w.sum().backward()
    assert w.grad.layout is ember.strided and w.grad[:, 0].tolist() == [1, 5, 1, 5]
    kept = w.grad
    embedded(w, ids).sum().backward()
    assert w.grad is kept and w.grad[:, 0].tolist() == [1, 6, 1, 6]
    w.grad = None
    (w.sum() + embedded(w, ids).sum()).backward()
    assert w.grad[:, 0].tolist() == [1, 2, 1, 2]


def test_sparse_gradients_through_other_ops_become_dense():
    w = ember.ones(3, 2, requires_grad=True)
    embedded((w * 2).t().t(), ember.tensor([2])).sum().backward()
    assert w.grad.tolist() == [[0, 0], [0, 0], [2, 2]]


def test_sparse_gradients_in_hooks_and_grad():
    w, seen = ember.ones(3, 1, requires_grad=True), []
    w.register_hook(lambda g: seen.append(g.layout))
    (g,) = ember.autograd.grad(embedded(w, ember.tensor([1])).sum(), w)
    assert g.is_sparse and g.to_dense().flatten().tolist() == [0, 1, 0]
    embedded(w, ember.tensor([1])).sum().backward()
    assert seen == [ember.sparse_coo] * 2
    w.grad.zero_()
    assert w.grad._nnz() == 0 and w.grad.shape == w.shape
    with pytest.warns(UserWarning, match="Anomaly"), ember.autograd.detect_anomaly():
        embedded(w, ember.tensor([1])).sum().backward()


def test_second_gradient_through_an_embedding():
    w = ember.ones(3, 1, requires_grad=True)
    y = embedded(w, ember.tensor([1, 1])) ** 3
    (g,) = ember.autograd.grad(y.sum(), w, create_graph=True)
    g.to_dense().sum().backward()
    assert w.grad.to_dense().flatten().tolist() == [0, 12, 0]


@pytest.mark.parametrize(
    "make",
    [
        lambda p: ember.optim.SGD(p, lr=0.1),
        lambda p: ember.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: ember.optim.SGD(p, lr=0.1, maximize=True),
        lambda p: ember.optim.Adagrad(p, lr=0.1, lr_decay=0.1),
    ],
)
def test_optimizers_with_sparse_gradients(make):
    ids, weights = ember.tensor([[0, 2], [2, 4]]), []
    for sparse in (True, False):
        w = ember.arange(10.0).view(5, 2).requires_grad_()
        other = ember.ones(2, requires_grad=True)
        optimizer = make([w, other])
        for _ in range(3):
            optimizer.zero_grad()
            rows = ember.nn.functional.embedding(ids, w, sparse=sparse)
            (rows * rows * other).sum().backward()
            optimizer.step()
        weights.append(w)
    np.testing.assert_allclose(weights[0].detach(), weights[1].detach(), rtol=1e-5)


def test_optimizers_for_one_kind_of_gradient():
    w = ember.ones(3, 2, requires_grad=True)
    embedded(w, ember.tensor([1])).sum().backward()
    before = w.detach().clone()
    ember.optim.SparseAdam([w], lr=0.1).step()
    assert (w != before).any(1).tolist() == [False, True, False]
    with pytest.raises(RuntimeError, match="consider SparseAdam"):
        ember.optim.Adam([w]).step()
    with pytest.raises(RuntimeError, match="RMSprop does not support sparse"):
        ember.optim.RMSprop([w]).step()
    norm = ember.nn.utils.clip_grad_norm_([w], 0.5)
    assert norm.item() == pytest.approx(2**0.5)
    assert w.grad.norm().item() == pytest.approx(0.5, rel=1e-4)


def test_training_with_sparse_embeddings():
    ember.manual_seed(0)
    table = ember.nn.Embedding(20, 4, sparse=True)
    head = ember.nn.Linear(4, 2)
    ids = ember.randint(0, 20, (64,))
    target = ids % 2
    optimizers = [
        ember.optim.SparseAdam(table.parameters(), lr=0.05),
        ember.optim.Adam(head.parameters(), lr=0.05),
    ]
    for _ in range(60):
        loss = ember.nn.functional.cross_entropy(head(table(ids)), target)
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
    assert loss.item() < 0.1


# --- changes in place -----------------------------------------------------------------


def three():
    places = ember.tensor([[0, 1, 1], [2, 0, 2]])
    return ember.sparse_coo_tensor(places, ember.tensor([16.0, 32.0, 64.0]), (2, 3))


CHANGES = {
    "mul_": lambda t: t.mul_(0.5),
    "div_": lambda t: t.div_(2),
    "neg_": lambda t: t.neg_().mul_(-0.5),
    "add_": lambda t: t.add_(t, alpha=-0.5),
    "copy_": lambda t: t.copy_(three().mul(0.5)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_in_place_shows_where_the_values_are_shared(change):
    """As in PyTorch: what shares the values sees the change, a leaf stays one."""
    want = three().to_dense() / 2
    t = three()
    shared = t.detach()
    change(t)
    assert ember.equal(t.to_dense(), want)
    assert ember.equal(shared.to_dense(), want)
    leaf = three().requires_grad_()
    leaf.grad = three()
    change(leaf.grad)
    assert ember.equal(leaf.grad.to_dense(), want)
    with ember.no_grad():
        change(leaf)
    assert leaf.requires_grad and leaf.is_leaf
    assert ember.equal(leaf.to_dense(), want)


def test_a_change_to_other_places_keeps_the_leaf():
    leaf = three().requires_grad_()
    with ember.no_grad():
        leaf.add_(ember.eye(2, 3).to_sparse())
    assert leaf.requires_grad and leaf.is_leaf
    leaf.to_dense().sum().backward()
    assert ember.equal(leaf.grad.to_dense(), (leaf.detach().to_dense() != 0).float())


def test_a_gradient_changed_elsewhere_is_that_at_the_places_of_its_leaf():
    leaf = three().requires_grad_()
    leaf.grad = three()
    leaf.grad.add_(ember.ones(2, 3).to_sparse())
    assert ember.equal(leaf.grad.to_dense(), three().to_dense() + (leaf.to_dense() > 0))


def test_a_copy_has_the_gradient():
    leaf = three().requires_grad_()
    (leaf.to_dense() * 2).sum().backward()
    copied = copy.deepcopy(leaf)
    assert ember.equal(copied.grad.to_dense(), leaf.grad.to_dense())
    copied.grad.mul_(0)
    assert leaf.grad.to_dense().sum() == 6


@pytest.mark.parametrize("dtype", [ember.float32, ember.float16])
def test_a_scaled_gradient_is_unscaled(dtype):
    leaf = three().to(dtype).requires_grad_()
    leaf.grad = three().to(dtype)
    scaler = ember.amp.GradScaler("cpu")
    optimizer = ember.optim.SGD([leaf], lr=1.0)
    quarter, found = ember.full((1,), 0.25), ember.zeros(1)
    found = scaler._unscale_grads_(optimizer, quarter, found, True)
    assert all(f == 0 for f in found.values())
    assert ember.equal(leaf.grad.to_dense(), three().to(dtype).to_dense() / 4)
