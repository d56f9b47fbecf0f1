"""Sparse tensors: layouts, ops against dense ones, gradients, errors."""

import copy
import gc
import io
import pickle

import numpy as np
import pytest

import ember
from ember.sparse import SparseTensor

from .helpers import (
    COMPRESSED,
    LAYOUTS,
    embedded,
    in_layout,
    matrix,
    same,
    uncoalesced,
)

# --- layouts --------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_to_sparse_and_back(layout):
    x = matrix()
    s = in_layout(x, layout)
    assert s.layout is layout and isinstance(s, ember.Tensor) and s.shape == x.shape
    assert s.is_sparse == (layout is ember.sparse_coo)
    assert (s.dim(), s.numel(), len(s), s.device.type) == (2, 24, 4, "cpu")
    same(s, x)


@pytest.mark.parametrize("first", LAYOUTS)
@pytest.mark.parametrize("second", LAYOUTS)
def test_between_layouts(first, second):
    x = matrix(seed=3)
    same(in_layout(in_layout(x, first), second), x)


@pytest.mark.parametrize("layout", COMPRESSED)
def test_batches_of_compressed_matrices(layout):
    x = ember.stack([ember.eye(4), ember.eye(4).flip(0), 2 * ember.eye(4)])
    s = in_layout(x, layout)
    assert s.layout is layout and s.shape == x.shape
    same(s, x)
    same(s.transpose(1, 2), x.transpose(1, 2))


def test_batches_need_one_number_of_elements():
    with pytest.raises(RuntimeError, match="same number of specified elements"):
        ember.stack([ember.eye(2), ember.ones(2, 2)]).to_sparse_csr()


def test_parts_of_coo():
    s = uncoalesced()
    assert not s.is_coalesced() and s._nnz() == 4
    with pytest.raises(RuntimeError, match="uncoalesced"):
        s.indices()
    c = s.coalesce()
    assert c.is_coalesced() and c.indices().tolist() == [[0, 1, 1], [0, 1, 2]]
    assert c.values().tolist() == [2, 4, 4] and c._nnz() == 3
    assert c.coalesce() is c
    same(c, s.to_dense())


def test_parts_of_csr():
    s = ember.tensor([[0, 1.0], [0, 0], [2, 3]]).to_sparse_csr()
    assert s.crow_indices().tolist() == [0, 1, 1, 3]
    assert s.col_indices().tolist() == [1, 0, 1] and s.values().tolist() == [1, 2, 3]
    with pytest.raises(RuntimeError, match="expected sparse column compressed"):
        s.ccol_indices()
    with pytest.raises(RuntimeError, match="expected sparse coordinate"):
        s.is_coalesced()


def test_dense_dimensions():
    x = ember.zeros(3, 2, 2)
    x[1] = 1
    s = x.to_sparse(1)
    assert (s.sparse_dim(), s.dense_dim(), s._nnz()) == (1, 2, 1)
    assert s._values().shape == (1, 2, 2)
    same(s, x)
    same(s.transpose(1, 2), x.transpose(1, 2))
    same(s.sum(0).to_sparse(), x.sum(0))
    same(ember.sparse.sum(s, 2), x.sum(2))
    assert (x.sparse_dim(), x.dense_dim()) == (0, 3)


def test_size_from_indices_and_without_elements():
    assert ember.sparse_coo_tensor([[1, 3]], [1.0, 2.0]).shape == (4,)
    for s in (ember.sparse_coo_tensor((2, 3)), ember.sparse_coo_tensor(size=(2, 3))):
        assert s._nnz() == 0 and s.to_dense().tolist() == [[0, 0, 0], [0, 0, 0]]
    for layout in COMPRESSED:
        same(in_layout(ember.zeros(2, 4), layout), ember.zeros(2, 4))
    same(ember.zeros(0, 3).to_sparse(), ember.zeros(0, 3))
    same(ember.tensor(5.0).to_sparse(), ember.tensor(5.0))


def test_large_sizes_cost_nothing():
    n = 2**31
    s = ember.sparse_coo_tensor([[n - 1, 0], [0, n - 1]], [1.0, 2.0], (n, n - 1 + 1))
    assert s.coalesce().indices().tolist() == [[0, n - 1], [n - 1, 0]]
    assert (s + s).sum().item() == 6
    with pytest.raises(RuntimeError, match="does not fit an int64"):
        ember.sparse_coo_tensor(size=(n, n, n))


@pytest.mark.parametrize("dtype", ["bool", "int64", "float16", "complex64"])
def test_dtypes(dtype):
    dtype = getattr(ember, dtype)
    s = ember.sparse_coo_tensor([[0, 0, 2]], ember.ones(3).to(dtype), (3,))
    dense = s.to_dense()
    assert s.dtype == dense.dtype == dtype
    expected = [1, 0, 1] if dtype is ember.bool else [2, 0, 1]
    assert dense.to(ember.complex64).real.tolist() == expected
    assert s.coalesce()._nnz() == 2


# --- errors ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: ember.sparse_coo_tensor([[0, 1]], [1.0]), "same nnz"),
        (lambda: ember.sparse_coo_tensor([0, 1], [1.0, 2.0]), "sparse_dim x nnz"),
        (lambda: ember.sparse_coo_tensor([[0]], [1.0], (1, 1)), "is not satisfied"),
        (lambda: ember.sparse_coo_tensor([[-1]], [1.0]), "negative index -1"),
        (lambda: ember.sparse_coo_tensor([[3]], [1.0], (2,)).to_dense(), "index 3"),
        (
            lambda: ember.sparse_coo_tensor([[-3, 0]], [1.0, 2], (2,)).coalesce(),
            "negative",
        ),
        (
            lambda: (
                ember.sparse_coo_tensor([[0, 5]] * 2, [1.0, 2], (2, 2))
                @ ember.ones(2, 1)
            ),
            "size is 2 but found index 5",
        ),
        (
            lambda: ember.ones(2) + ember.sparse_coo_tensor([[3]], [1.0], (2,)),
            "index 3",
        ),
        (
            lambda: ember.sparse_coo_tensor([[3]], [1.0], (2,), check_invariants=True),
            "index 3",
        ),
        (
            lambda: ember.sparse_coo_tensor(
                [[1, 0]], [1.0, 2.0], (2,), is_coalesced=True
            ),
            "uncoalesced",
        ),
        (
            lambda: ember.sparse_csr_tensor([0, 1], [2], [1.0], (1, 2)).to_dense(),
            "col_indices",
        ),
        (
            lambda: ember.sparse_csr_tensor([0, 2], [0], [1.0], (1, 2)).to_dense(),
            "== nnz",
        ),
        (
            lambda: ember.sparse_csr_tensor([1, 1], [0], [1.0], (1, 2)).to_dense(),
            "== 0",
        ),
        (
            lambda: ember.sparse_csr_tensor(
                [0, 2, 1, 2], [0, 1], [1.0, 2], (3, 2)
            ).to_dense(),
            "<= ncols",
        ),
        (
            lambda: ember.sparse_csr_tensor(
                [0, 2], [1, 0], [1.0, 2], (1, 2)
            ).to_dense(),
            "sorted and distinct",
        ),
        (lambda: ember.eye(3).to_sparse_bsr((2, 2)), "divisible"),
        (lambda: ember.eye(2).to_sparse(3), "sparse_dim"),
        (lambda: ember.eye(2).values(), "expected sparse"),
        (lambda: ember.eye(2).to_sparse() @ ember.ones(3, 1), "2x2 and 3x1"),
        (lambda: ember.eye(2).to_sparse() + 1, "add\\(sparse, dense\\)"),
        (lambda: ember.eye(2).to_sparse() / ember.ones(2, 2), "zero-dim dense"),
        (lambda: ember.eye(2).to_sparse() + ember.eye(3).to_sparse(), "same sizes"),
    ],
)
def test_bad_arguments(make, text):
    with pytest.raises(RuntimeError, match=text):
        make()


def test_compressed_tensors_are_checked_where_they_are_used():
    """Unless the invariants are asked for, as in PyTorch; never unchecked."""
    parts = [0, 0, 1], [3], [1.0], (2, 2)
    for layout in (ember.sparse_csr, ember.sparse_csc):
        s = ember.sparse_compressed_tensor(*parts, layout=layout)
        for use in (
            s.to_dense,
            s.to_sparse_coo,
            lambda s=s: s @ ember.ones(2, 1),
            lambda s=s: s.mT.to_dense(),
            lambda s=s: s * ember.ones(2, 2),
        ):
            with pytest.raises(RuntimeError, match="is not satisfied"):
                use()
        with pytest.raises(RuntimeError, match="is not satisfied"):
            ember.sparse_compressed_tensor(*parts, layout=layout, check_invariants=True)


def test_invariants_can_be_checked_at_once():
    checked = ember.sparse.check_sparse_tensor_invariants()
    with checked, pytest.raises(RuntimeError, match="index 3"):
        ember.sparse_coo_tensor([[3]], [1.0], (2,))
    assert ember.sparse_coo_tensor([[3]], [1.0], (2,))._nnz() == 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_ops_that_do_not_know_sparse_tensors_say_so(layout):
    s, x = in_layout(ember.eye(2), layout), ember.ones(2, 2)
    for call, name in [
        (lambda: s.exp(), "exp"),
        (lambda: ember.cos(s), "cos"),
        (lambda: ember.where(x > 0, x, s), "where"),
        (lambda: x.view_as(s), "view_as"),
        (lambda: s > 0, "gt"),
        (lambda: s.real, "real"),
        (lambda: ember.nn.functional.conv2d(x[None, None], s), "conv2d"),
        (lambda: x.__setitem__(0, s), "__setitem__"),
    ]:
        with pytest.raises(NotImplementedError) as error:
            call()
        assert name in str(error.value) and str(layout) in str(error.value)


def sparse_parameter(x):
    return ember.nn.Parameter(x.to_sparse())


@pytest.mark.parametrize("kind", [ember.Tensor.to_sparse, sparse_parameter])
def test_no_way_into_the_core_reads_what_is_not_there(kind):
    s, x = kind(ember.eye(2)), ember.ones(2, 2)
    expected = (NotImplementedError, RuntimeError, TypeError, BufferError, ValueError)
    for call in [
        lambda: memoryview(s),
        lambda: np.asarray(s),
        lambda: s.numpy(),
        lambda: s.tolist(),
        lambda: s.untyped_storage(),
        lambda: s.data_ptr(),
        lambda: s.as_subclass(ember.Tensor),
        lambda: setattr(x, "data", s),
        lambda: x.copy_(s),
        lambda: x[s],
        lambda: ember.tensor(s),
        lambda: ember.ones(2, 2, layout=ember.sparse_coo),
        lambda: ember.from_dlpack(s),
        lambda: ember.empty(2, device="sparse"),
    ]:
        with pytest.raises(expected):
            call()
    assert x.tolist() == [[1, 1], [1, 1]]


def test_devices_that_ops_mix_up_are_not_read():
    x, meta = ember.ones(2, 2), ember.ones(2, 2, device="meta")
    at = ember.zeros(2, 2, dtype=ember.int64)
    for call in [
        lambda: ember.addmm(meta, x, x),
        lambda: ember.addmv(meta[0], x, x[0]),
        lambda: ember.block_diag(x, meta),
        lambda: ember.scatter(x, 0, at, meta),
        lambda: ember.gather(x, 0, at.to("meta")),
        lambda: ember.masked_select(x, meta > 0),
        lambda: ember.linalg.solve(x, meta),
        lambda: ember.isin(x, meta),
        lambda: ember.nn.functional.linear(x, x, meta[0]),
        lambda: ember.nn.functional.scaled_dot_product_attention(x, x, meta),
        lambda: x.index_put([at], meta),
    ]:
        with pytest.raises(RuntimeError, match=r"same device|no data"):
            call()


def test_every_op_takes_a_sparse_tensor_or_refuses_it():
    s, x = ember.eye(2).to_sparse(), ember.ones(2, 2)
    refusals = (RuntimeError, TypeError, ValueError, IndexError)
    for name, op in ember._C._ops.items():
        for args in ((s,), (s, s), (s, 1), (x, s), ([s, x],), (s, 0, x)):
            try:
                made = op(*args)
            except refusals:
                continue
            for t in made if isinstance(made, (tuple, list)) else (made,):
                if isinstance(t, ember.Tensor):
                    assert t.device.type == "cpu", name
    assert s.to_dense().shape == (2, 2)


# --- ops against dense ones -----------------------------------------------------------

UNARY = "abs neg sin tanh sqrt sign relu ceil log1p expm1 square asinh isnan".split()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", UNARY)
def test_functions_that_keep_zeros(layout, name):
    x = matrix().abs()
    s = in_layout(x, layout)
    made = getattr(s, name)()
    assert made.layout is layout
    same(made, getattr(x, name)())


def test_functions_add_up_repeated_elements_first():
    s = uncoalesced()
    same(s.square(), s.to_dense().square())
    same(-s, -s.to_dense())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arithmetic(layout):
    x, y = matrix(), matrix(seed=7)
    a, b = in_layout(x, layout), in_layout(y, layout)
    for made, expected in [
        (a + b, x + y),
        (a - b, x - y),
        (a * b, x * y),
        (a * 3, x * 3),
        (2 * a, 2 * x),
        (a / 2, x / 2),
        (a * y, x * y),
        (y * a, x * y),
        (a * ember.arange(6.0).double(), x * ember.arange(6.0).double()),
        (ember.add(a, b, alpha=3), x + 3 * y),
        (a**2, x**2),
        (a.t(), x.t()),
        (a.T, x.T),
    ]:
        assert isinstance(made, SparseTensor)
        same(made, expected)
    for made, expected in [(y + a, y + x), (y - a, y - x), (a.sum(), x.sum())]:
        assert type(made) is ember.Tensor
        same(made, expected)


def test_arithmetic_of_different_layouts():
    x, y = matrix(), matrix(seed=1)
    same(x.to_sparse() + y.to_sparse_csr(), x + y)
    same(x.to_sparse_csr() * y.to_sparse(), x * y)


def test_in_place():
    x, y = matrix(), matrix(seed=5)
    s = x.to_sparse()
    kept = s
    s += y.to_sparse()
    s *= 2
    s.div_(4).neg_()
    assert s is kept
    same(s, -(x + y) / 2)
    z = y.clone()
    where = z.data_ptr()
    z.add_(x.to_sparse(), alpha=2)
    z -= x.to_sparse_csr()
    assert z.data_ptr() == where
    same(z, y + x)
    s.zero_()
    assert s._nnz() == 0
    s.copy_(y.to_sparse())
    same(s, y)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x.to_sparse().requires_grad_().mul_(2)


def test_dense_in_place_with_strides():
    z = matrix().t()
    expected = z + 2 * matrix(6, 4, 2)
    z.add_(matrix(6, 4, 2).to_sparse(), alpha=2)
    same(z, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [ember.float32, ember.float64, ember.complex128])
def test_products(layout, dtype):
    x = matrix(dtype=dtype)
    s = in_layout(x, layout)
    d, v = ember.randn(6, 5, dtype=dtype), ember.randn(6, dtype=dtype)
    left, wide = ember.randn(3, 4, dtype=dtype), ember.randn(6, 80, dtype=dtype)
    close = {"rtol": 1e-5, "atol": 1e-5}
    for made, expected in [
        (s @ d, x @ d),
        (s @ wide, x @ wide),
        (left @ s, left @ x),
        (s @ v, x @ v),
        (ember.mm(s, d), x @ d),
        (ember.mv(s, v), x @ v),
        (ember.sparse.mm(s, d), x @ d),
        (s.t() @ left.t(), x.t() @ left.t()),
    ]:
        assert type(made) is ember.Tensor and made.dtype == dtype
        np.testing.assert_allclose(made.numpy(), expected.numpy(), **close)
    both = s @ matrix(6, 3, 9, dtype).to_sparse(layout=ember.sparse_coo)
    assert isinstance(both, SparseTensor)
    np.testing.assert_allclose(
        both.to_dense().numpy(), (x @ matrix(6, 3, 9, dtype)).numpy(), **close
    )


def test_addmm_linear_bmm():
    x, d, c = matrix(), ember.randn(6, 2).double(), ember.randn(4, 2).double()
    s = x.to_sparse()
    same(ember.addmm(c, s, d, beta=2, alpha=3), 2 * c + 3 * (x @ d))
    same(ember.sparse.addmm(c, s, d), c + x @ d)
    f = ember.nn.functional.linear
    same(f(d.t(), s, ember.ones(4).double()), d.t() @ x.t() + 1)
    batch = ember.stack([x, 2 * x, 0 * x])
    other = ember.randn(3, 6, 2).double()
    same(ember.bmm(batch.to_sparse(), other), batch @ other)
    same(batch.to_sparse() @ other, batch @ other)


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_products_with_a_reduction(reduce):
    x, d = matrix(), ember.randn(6, 3).double()
    made = ember.sparse.mm(x.to_sparse_csr(), d, reduce)
    for r in range(4):
        terms = (x[r].unsqueeze(1) * d)[x[r] != 0]
        if len(terms):
            expected = getattr(terms, reduce)(0)
        else:
            expected = ember.zeros(3).double()
        same(made[r], expected)


def test_sampled_addmm():
    x, a, b = matrix(), ember.randn(4, 3).double(), ember.randn(3, 6).double()
    made = ember.sparse.sampled_addmm(x.to_sparse_csr(), a, b, beta=2, alpha=3)
    same(made, 2 * x + 3 * (a @ b) * (x != 0))


def test_shapes():
    x = matrix()
    s = x.to_sparse()
    same(s[1], x[1])
    same(s[:, 2], x[:, 2])
    same(s[-1, 3], x[-1, 3])
    same(s[1:3], x[1:3])
    same(s[None, :, 1:], x[None, :, 1:])
    same(s[ember.tensor([2, 0, 0, 3])], x[ember.tensor([2, 0, 0, 3])])
    same(s.index_select(1, ember.tensor([5, 1])), x[:, [5, 1]])
    same(s.narrow_copy(1, 2, 3), x[:, 2:5])
    same(s.unsqueeze(1), x.unsqueeze(1))
    same(s.permute(1, 0), x.t())
    same(ember.cat([s, s], 1), ember.cat([x, x], 1))
    same(ember.stack([s, 2 * s], 1), ember.stack([x, 2 * x], 1))
    same(ember.cat([s.to_sparse_csr()] * 2), ember.cat([x, x]))
    for part, expected in zip(s, x):
        same(part, expected)
    with pytest.raises(IndexError, match="out of range"):
        s[7]
    with pytest.raises(IndexError, match="too many"):
        s[0, 0, 0]


def test_sums():
    x = ember.stack([matrix(), matrix(seed=2)])
    s = x.to_sparse()
    for dim in (0, 1, -1, (0, 1), (1, 2)):
        same(ember.sparse.sum(s, dim), x.sum(dim))
        same(s.sum(dim, keepdim=True), x.sum(dim, keepdim=True))
    same(ember.sparse.sum(s, (0, 1, 2)), x.sum())
    assert ember.sparse.sum(ember.eye(2).long().to_sparse()).dtype == ember.int64
    assert s.norm().item() == pytest.approx(x.norm().item())
    assert bool(s.any()) and not bool(ember.zeros_like(s).any())


def test_softmax():
    x = matrix()
    s = x.to_sparse()
    for dim in (0, 1):
        hidden = x.masked_fill(x == 0, -np.inf)
        expected = ember.softmax(hidden, dim).nan_to_num(0)
        same(ember.sparse.softmax(s, dim), expected)
        logs = ember.sparse.log_softmax(s, dim)
        same(logs._with(logs.values().exp()), expected)
    hybrid = x.to_sparse(1)
    same(ember.sparse.softmax(hybrid, 1).values(), hybrid.values().softmax(1))


def test_sparse_mask():
    x, y = matrix(), matrix(seed=4)
    mask = y.to_sparse()
    for source in (x, x.to_sparse(), x.to_sparse_csr()):
        same(source.sparse_mask(mask), x * (y != 0))
    assert x.sparse_mask(y.to_sparse_csr()).layout is ember.sparse_csr


def test_conversions():
    s = matrix(dtype=ember.float32).to_sparse()
    assert s.to(ember.float32) is s and s.float() is s
    assert s.double().dtype == s.to(ember.float64).dtype == ember.float64
    assert s.to("cpu", ember.int64).dtype == s.long().dtype == ember.int64
    assert s.type() == "torch.sparse.FloatTensor"
    assert s.clone()._indices().data_ptr() != s._indices().data_ptr()
    meta = s.to("meta")
    assert meta.is_meta and meta.shape == s.shape and meta._nnz() == s._nnz()
    assert ember.zeros_like(s)._nnz() == 0
    assert ember.is_tensor(s) and ember.as_tensor(s) is s


def test_old_names():
    i, v = ember.tensor([[0, 1]]), ember.ones(2)
    s = ember.sparse.FloatTensor(i, v, ember.Size([3]))
    assert s.to_dense().tolist() == [1, 1, 0]
    assert isinstance(s, ember.sparse.FloatTensor)
    assert not isinstance(s, (ember.FloatTensor, ember.sparse.DoubleTensor))
    assert ember.sparse.LongTensor(2, 3).shape == (2, 3)
    x = matrix()
    same(ember.spmm(x.to_sparse(), x.t()), x @ x.t())
    same(ember.hspmm(x.to_sparse(), x.t()), x @ x.t())
    same(x.to_sparse().smm(x.t()), x @ x.t())
    assert ember.crow_indices_copy(ember.eye(2).to_sparse_csr()).tolist() == [0, 1, 2]


def test_spdiags():
    d = ember.tensor([[1.0, 2, 3], [4, 5, 6]])
    made = ember.sparse.spdiags(d, ember.tensor([0, -1]), (3, 3))
    assert made.to_dense().tolist() == [[1, 0, 0], [4, 2, 0], [0, 5, 3]]


# --- text, copies, files --------------------------------------------------------------


def test_text():
    s = ember.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    assert repr(s) == (
        "tensor(indices=tensor([[0, 1],\n"
        "                       [2, 0]]),\n"
        "       values=tensor([3., 4.]),\n"
        "       size=(2, 3), nnz=2, layout=torch.sparse_coo)"
    )
    assert repr(s.to_sparse_csr().double()) == (
        "tensor(crow_indices=tensor([0, 1, 2]),\n"
        "       col_indices=tensor([2, 0]),\n"
        "       values=tensor([3., 4.]), size=(2, 3), nnz=2, dtype=torch.float64,\n"
        "       layout=torch.sparse_csr)"
    )
    assert repr(s.requires_grad_()).endswith("requires_grad=True)")
    assert f"{s}" == str(s)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_and_files(layout):
    s = in_layout(matrix(), layout)
    file = io.BytesIO()
    ember.save({"s": s}, file)
    file.seek(0)
    for made in (
        pickle.loads(pickle.dumps(s)),
        copy.deepcopy(s),
        copy.copy(s),
        ember.load(file)["s"],
    ):
        assert made.layout is layout and repr(made) == repr(s) and made is not s


def test_files_are_checked():
    s = ember.sparse_coo_tensor([[9]], [1.0], (2,))
    file = io.BytesIO()
    ember.save(s, file)
    file.seek(0)
    with pytest.raises(RuntimeError, match="index 9"):
        ember.load(file)


def test_buffers_of_modules():
    m = ember.nn.Module()
    m.register_buffer("adjacency", ember.eye(2).to_sparse())
    assert m.double().adjacency.dtype == ember.float64
    other = ember.nn.Module()
    other.register_buffer("adjacency", ember.zeros(2, 2).double().to_sparse())
    other.load_state_dict(m.state_dict())
    same(other.adjacency, ember.eye(2).double())


@pytest.mark.at_once
def test_memory_is_freed():
    gc.collect()
    w = ember.zeros(1000, 64, requires_grad=True)
    ids = ember.arange(1000)
    before = ember.cpu.memory_allocated()
    for _ in range(3):
        w.grad = None
        embedded(w, ids).sum().backward()
    w.grad = None
    gc.collect()
    assert ember.cpu.memory_allocated() - before < 1000 * 64 * 4


# --- what is written to keeps its dtype -----------------------------------------------

INTO = {
    "add_": lambda a, b: a.add_(b),
    "sub_": lambda a, b: a.sub_(b),
    "mul_": lambda a, b: a.mul_(b),
    "add out": lambda a, b: ember.add(a, b, out=a),
}


@pytest.mark.parametrize("change", INTO.values(), ids=INTO)
@pytest.mark.parametrize("dense", [False, True])
def test_the_dtype_of_what_is_written_to_stays(change, dense):
    other = ember.tensor([0.0, 3.0, 2.0]).to_sparse()

    def target(dtype):
        made = ember.tensor([1, 2, 0], dtype=dtype)
        return made if dense else made.to_sparse()

    short = change(target(ember.uint8), other.to(ember.int16))
    assert short.dtype is ember.uint8
    wide = change(target(ember.float64), other)
    assert wide.dtype is ember.float64
    values = [v % 256 for v in wide.to_dense().tolist()]
    assert values == short.to_dense().tolist()
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        change(target(ember.int64), other)


@pytest.mark.parametrize("layout", [ember.strided, ember.sparse_coo, ember.sparse_csr])
def test_differences_of_unsigned_numbers_can_be_negative(layout):
    """As for dense tensors: they are computed in the dtype of the result."""
    a = ember.tensor([[0, 3, 0], [1, 0, 0]], dtype=ember.int8)
    b = ember.tensor([[0, 7, 1], [0, 2, 0]], dtype=ember.uint8)
    want = ember.tensor([[0, -4, -1], [1, -2, 0]], dtype=ember.int16)

    def made(t):
        return t.to_sparse(layout=layout) if layout is not ember.strided else t

    sparse = b.to_sparse() if layout is ember.strided else made(b)
    for difference in (made(a) - sparse, made(a).sub(sparse), sparse.rsub(made(a))):
        assert difference.dtype is want.dtype
        assert ember.equal(difference.to_dense(), want)
    assert ember.equal(made(a.float()).sub_(sparse).to_dense(), want.float())
