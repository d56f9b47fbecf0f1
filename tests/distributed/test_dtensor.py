"""Distributed tensors: every op gives what it gives for the whole tensors, in every
placement, and so do gradients."""

import copy
import itertools
import pickle

import pytest

import ember
import ember.distributed as dist
import ember.nn.functional as F
from ember import nn
from ember.distributed import tensor as dt
from ember.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_tensor,
    init_device_mesh,
)
from ember.distributed.tensor._utils import compute_local_shape_and_global_offset
from ember.distributed.tensor._views import match_dims
from ember.distributed.tensor.experimental import implicit_replication
from tests.distributed.ranks import needs_mpi, run

pytestmark = needs_mpi

INDEX = ember.tensor([[0, 3], [4, 1], [2, 3]])
CLASSES = ember.tensor([0, 2, 1, -100, 2])
# Name -> function and shapes of its arguments, which are no multiples of the ranks.
CASES = {
    "add": (lambda a, b: a + b, (5, 3), (5, 3)),
    "broadcast": (lambda a, b: a * b, (5, 3), (3,)),
    "broadcast column": (lambda a, b: a / (b * b + 1), (5, 3), (5, 1)),
    "number": (lambda a: 2 - a * 3 / 4, (5, 3)),
    "where": (lambda a, b: ember.where(a > b, a, b * 2), (5, 3), (3,)),
    "gelu": (lambda a: F.gelu(a), (5, 3)),
    "clamp": (lambda a: a.clamp(-0.5, 0.5), (5, 3)),
    "power": (lambda a: (a * a + 1) ** -0.5, (5, 3)),
    "sum": (lambda a: a.sum(), (5, 3)),
    "sum of rows": (lambda a: a.sum(1), (5, 3)),
    "sum, dimension kept": (lambda a: a.sum(0, keepdim=True), (5, 3)),
    "mean": (lambda a: a.mean(), (5, 3)),
    "mean of columns": (lambda a: a.mean(0), (5, 3)),
    "largest": (lambda a: a.amax(1), (5, 3)),
    "max": (lambda a: a.max(0).values, (5, 3)),
    "variance": (lambda a: a.var(1), (5, 3)),
    "norm": (lambda a: a.norm(), (5, 3)),
    "norm of order 3": (lambda a: ember.linalg.vector_norm(a, 3), (5, 3)),
    "matmul": (lambda a, b: a @ b, (5, 3), (3, 4)),
    "matmul of batches": (lambda a, b: a @ b, (2, 5, 3), (2, 3, 4)),
    "matmul, one batched": (lambda a, b: a @ b, (2, 5, 3), (3, 4)),
    "matmul, broadcast": (lambda a, b: a @ b, (2, 5, 3), (1, 3, 4)),
    "matmul of vectors": (lambda a, b: a @ b, (5, 3), (3,)),
    "addmm": (lambda c, a, b: ember.addmm(c, a, b), (4,), (5, 3), (3, 4)),
    "linear": (lambda x, w, b: F.linear(x, w, b), (2, 5, 3), (4, 3), (4,)),
    "linear without bias": (lambda x, w: F.linear(x, w), (5, 3), (4, 3)),
    "softmax": (lambda a: a.softmax(-1), (5, 3)),
    "log_softmax": (lambda a: F.log_softmax(a, 0), (5, 3)),
    "layer norm": (
        lambda x, w, b: F.layer_norm(x, (3,), w, b), (2, 5, 3), (3,), (3,),
    ),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        (2, 3, 4, 5), (2, 3, 4, 5), (2, 3, 4, 5),
    ),
    "convolution": (lambda x, w: F.conv2d(x, w), (3, 2, 4, 4), (5, 2, 3, 3)),
    "pooling": (lambda x: F.max_pool2d(x, 2), (3, 2, 4, 4)),
    "transpose": (lambda a: a.transpose(0, 1) * 2, (5, 3)),
    "permute": (lambda a: a.permute(2, 0, 1), (5, 3, 2)),
    "T": (lambda a: a.T, (5, 3)),
    "flatten": (lambda a: a.flatten(), (4, 3)),
    "view": (lambda a: a.view(2, 2, 3), (4, 3)),
    "view of heads": (lambda a: a.view(5, 4, -1).transpose(0, 1), (5, 8)),
    "reshape": (lambda a: a.reshape(3, 5), (5, 3)),
    "unsqueeze": (lambda a: a.unsqueeze(1), (5, 3)),
    "squeeze": (lambda a: a.squeeze(), (5, 1, 2)),
    "expand": (lambda a: a.expand(4, 5, 3), (5, 3)),
    "select": (lambda a: a[1], (5, 3)),
    "slice": (lambda a: a[1:4, ..., None], (5, 3)),
    "index": (lambda a: a[ember.tensor([0, 2]).tolist()], (5, 3)),
    "split": (lambda a: a.split(2)[1], (5, 3)),
    "chunk": (lambda a: ember.cat(a.chunk(3, -1)[::-1], -1), (5, 6)),
    "unbind": (lambda a: a.unbind(1)[2], (5, 3)),
    "cat": (lambda a, b: ember.cat([a, b]), (5, 3), (2, 3)),
    "stack": (lambda a, b: ember.stack([a, b], 1), (5, 3), (5, 3)),
    "mse": (lambda a, b: F.mse_loss(a, b), (5, 3), (5, 3)),
    "cumsum": (lambda a: a.cumsum(0), (5, 3)),
    "sort": (lambda a: a.sort(1, descending=True)[0], (5, 3)),
    "topk": (lambda a: a.topk(2, 0)[0], (5, 3)),
    "kthvalue": (lambda a: a.kthvalue(2, 1, keepdim=True)[0], (5, 3)),
    "median of all": (lambda a: a.median(), (5, 3)),
    "std and mean": (lambda a: ember.std_mean(a, 1, keepdim=True)[0], (5, 3)),
    "nansum": (lambda a: a.nansum(0), (5, 3)),
    "transform": (lambda a: ember.fft.rfft(a, dim=0).abs(), (5, 3)),
    "differences": (lambda a: a.diff(dim=1), (5, 3)),
    "roll": (lambda a: a.roll((1, 2), (0, 1)), (5, 3)),
    "roll of all": (lambda a: a.roll(2), (5, 3)),
    "flip": (lambda a: a.flip(0), (5, 3)),
    "softmin module": (lambda a: ember.nn.Softmin(1)(a), (5, 3)),
    "copy of a transpose": (lambda a: ember.transpose_copy(a, 0, 1), (5, 3)),
    "copy of a permutation": (lambda a: ember.permute_copy(a, (2, 0, 1)), (5, 3, 3)),
    "movedim": (lambda a: ember.movedim(a, 0, 2), (3, 3, 3)),
    "rot90": (lambda a: a.rot90(1, (0, 1)), (3, 3)),
    "no rule": (lambda a: ember.linalg.inv(a @ a.T + ember.eye(4).mean()), (4, 4)),
    "tril": (lambda a: a.tril(), (5, 3)),
}  # fmt: skip


def placements_of(shape):
    return [Replicate(), *map(Shard, range(len(shape)))]


def check(name, function, shapes, mesh, choice):
    """Values and gradients of a function, against those of the plain tensors."""
    ember.manual_seed(3)
    plain = [ember.randn(s, dtype=ember.float64, requires_grad=True) for s in shapes]
    wanted = function(*plain)
    ember.manual_seed(4)
    weights = ember.randn_like(wanted)
    (wanted * weights).sum().backward()
    spread = [
        distribute_tensor(t.detach(), mesh, p).requires_grad_()
        for t, p in zip(plain, choice)
    ]
    made = function(*spread)
    text = f"{name} {choice}"
    assert isinstance(made, DTensor) and made.shape == wanted.shape, text
    ember.testing.assert_close(made.full_tensor(), wanted.detach(), msg=text)
    given = distribute_tensor(weights, mesh, [Replicate()] * mesh.ndim)
    (made * given).sum().backward()
    for t, s in zip(plain, spread):
        assert s.grad.placements == s.placements, text
        assert s.grad.to_local().shape == s.to_local().shape, text
        ember.testing.assert_close(s.grad.full_tensor(), t.grad, msg=text)


def _every_case(rank, names):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for name in names:
        function, *shapes = CASES[name]
        for choice in itertools.product(*map(placements_of, shapes)):
            check(name, function, shapes, mesh, [[p] for p in choice])


@pytest.mark.parametrize("part", range(3))
def test_ops_in_every_placement(part):
    run(_every_case, 2, list(CASES)[part::3], seconds=120)


def _along(rank):
    mesh = init_device_mesh("cpu", (2,))
    x = distribute_tensor(ember.randn(4, 6, 2), mesh, [Shard(0)])
    for name, op in {
        "topk": lambda x: x.topk(3, 1)[1],
        "cummax": lambda x: x.cummax(-1)[0],
        "var_mean": lambda x: ember.var_mean(x, (1, 2))[1],
        "mode": lambda x: x.mode(2, keepdim=True)[0],
        "argmax": lambda x: x.argmax(1),
        "count_nonzero": lambda x: x.count_nonzero(1),
        "fft": lambda x: ember.fft.fftn(x, dim=(1, 2)),
        "log_softmax": lambda x: ember.nn.LogSoftmax(1)(x),
        "quantile": lambda x: x.quantile(0.5, 1),
    }.items():
        assert op(x).placements == (Shard(0),), name
        assert (
            ember.testing.assert_close(op(x).full_tensor(), op(x.full_tensor())) is None
        )


def test_ops_along_a_dimension_leave_the_others_cut():
    run(_along, 2)


def _two_dimensions(rank):
    mesh = init_device_mesh("cpu", (2, 2))
    for name in ("linear", "broadcast", "mean", "view of heads", "layer norm", "cat"):
        function, *shapes = CASES[name]
        first, *rest = shapes
        for choice in itertools.product(placements_of(first), repeat=2):
            others = [[Replicate(), Shard(0)] for _ in rest]
            check(name, function, shapes, mesh, [list(choice), *others])


def test_ops_on_a_mesh_of_two_dimensions():
    run(_two_dimensions, 4, seconds=120)


def _changes(rank):
    mesh = init_device_mesh("cpu", (2, 2))
    x = ember.arange(7 * 5.0).view(7, 5)
    ways = [Replicate(), Shard(0), Shard(1)]
    for old in itertools.product(ways, repeat=2):
        d = distribute_tensor(x, mesh, old)
        shape, offset = compute_local_shape_and_global_offset(x.shape, mesh, old)
        part = x[tuple(slice(o, o + n) for o, n in zip(offset, shape))]
        assert d.to_local().equal(part), old
        for new in itertools.product(ways, repeat=2):
            moved = d.detach().requires_grad_().redistribute(mesh, new)
            assert moved.full_tensor().equal(x), (old, new)
            leaf = d.detach().requires_grad_()
            (leaf.redistribute(mesh, new).full_tensor() ** 2).sum().backward()
            assert leaf.grad.full_tensor().equal(2 * x), (old, new)


def test_redistribution_between_all_placements():
    run(_changes, 4)


def _terms(rank):
    mesh = init_device_mesh("cpu", (2,))
    x = (ember.arange(6.0).view(3, 2) * (rank + 1)).requires_grad_()
    d = DTensor.from_local(x, mesh, [Partial()])
    whole = ember.arange(6.0).view(3, 2) * 3
    assert d.full_tensor().equal(whole)
    assert d.redistribute(mesh, [Shard(0)]).full_tensor().equal(whole)
    for y in (-d, d * 2, d + d, d.T, d.sum(0), d.view(2, 3)):
        assert y.placements == (Partial(),)  # no communication yet
    assert (d + 1).full_tensor().equal(whole + 1)
    assert (d * d).full_tensor().equal(whole * whole)
    (d.redistribute(mesh, [Shard(0)]) * 3).sum().backward()
    assert x.grad.equal(ember.full((3, 2), 3.0))
    assert (
        DTensor.from_local(x, mesh, [Partial("max")])
        .full_tensor()
        .equal(ember.arange(6.0).view(3, 2) * 2)
    )
    with pytest.raises(RuntimeError, match="in-place"):
        d.detach().add_(1)
    with pytest.raises(RuntimeError, match="redistribute to Partial"):
        DTensor.from_local(x, mesh, [Replicate()]).redistribute(mesh, [Partial()])
    # Copies that the ranks use for different things: the gradients are terms.
    leaf = distribute_tensor(ember.ones(2), mesh, [Replicate()]).requires_grad_()
    (leaf.to_local(grad_placements=[Partial()]) * (rank + 1)).sum().backward()
    assert leaf.grad.to_local().equal(ember.full((2,), 3.0))


def test_tensors_of_terms():
    run(_terms, 2)


def _losses(rank):
    mesh = init_device_mesh("cpu", (2,))
    ember.manual_seed(0)
    scores, weight = ember.randn(5, 3), ember.rand(3)
    cases = [
        {}, {"reduction": "sum"}, {"reduction": "none"}, {"weight": weight},
        {"label_smoothing": 0.1}, {"ignore_index": 2},
    ]  # fmt: skip
    target = CLASSES.clone()
    for how, options in itertools.product((Replicate(), Shard(0), Shard(1)), cases):
        if options.get("ignore_index") == 2:
            target = CLASSES.abs() % 3
        plain = scores.clone().requires_grad_()
        F.cross_entropy(plain, target, **options).sum().backward()
        x = distribute_tensor(scores, mesh, [how]).requires_grad_()
        y = (
            distribute_tensor(target, mesh, [Shard(0) if how == Shard(0) else how])
            if how != Shard(1)
            else distribute_tensor(target, mesh, [Replicate()])
        )
        given = dict(options)
        if "weight" in given:
            given["weight"] = distribute_tensor(weight, mesh, [Replicate()])
        loss = F.cross_entropy(x, y, **given)
        wanted = F.cross_entropy(scores, target, **options)
        ember.testing.assert_close(loss.full_tensor(), wanted)
        loss.sum().backward()
        ember.testing.assert_close(x.grad.full_tensor(), plain.grad)


def test_cross_entropy():
    run(_losses, 2)


def _lookups(rank):
    mesh = init_device_mesh("cpu", (2,))
    table = ember.arange(15.0).view(5, 3)
    for how, padding in itertools.product((Replicate(), Shard(0), Shard(1)), (None, 3)):
        plain = table.clone().requires_grad_()
        (F.embedding(INDEX, plain, padding) ** 2).sum().backward()
        for at in (Replicate(), Shard(0)):
            w = distribute_tensor(table, mesh, [how]).requires_grad_()
            rows = F.embedding(distribute_tensor(INDEX, mesh, [at]), w, padding)
            wanted = F.embedding(INDEX, table, padding)
            ember.testing.assert_close(rows.full_tensor(), wanted)
            (rows**2).sum().backward()
            ember.testing.assert_close(w.grad.full_tensor(), plain.grad)


def test_embedding():
    run(_lookups, 2)


OPTIMIZERS = {
    "sgd": lambda p: ember.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1),
    "nesterov": lambda p: ember.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda p: ember.optim.Adam(p, lr=0.1, amsgrad=True),
    "adamw": lambda p: ember.optim.AdamW(p, lr=0.1),
    "adamw fused": lambda p: ember.optim.AdamW(p, lr=0.1, fused=True),
    "sgd foreach": lambda p: ember.optim.SGD(p, lr=0.1, foreach=True),
    "rmsprop": lambda p: ember.optim.RMSprop(p, lr=0.1, momentum=0.5),
    "adagrad": lambda p: ember.optim.Adagrad(p, lr=0.1),
    "nadam": lambda p: ember.optim.NAdam(p, lr=0.1),
}


def _optimizers(rank):
    mesh = init_device_mesh("cpu", (2,))
    for name, make in OPTIMIZERS.items():
        ember.manual_seed(1)
        plain = nn.Linear(4, 3)
        net = dt.distribute_module(copy.deepcopy(plain), mesh, cut_rows)
        one, two = make(plain.parameters()), make(net.parameters())
        for _ in range(3):
            x = ember.randn(5, 4)
            for model, optimizer in ((plain, one), (net, two)):
                optimizer.zero_grad()
                given = x
                if model is net:
                    given = distribute_tensor(x, mesh, [Replicate()])
                (model(given) ** 2).sum().backward()
                norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                optimizer.step()
        full = norm.full_tensor() if isinstance(norm, DTensor) else norm
        assert full > 0
        for p, q in zip(plain.parameters(), net.parameters()):
            assert isinstance(q, nn.Parameter) and isinstance(q, DTensor)
            assert q.placements == (Shard(0),)
            ember.testing.assert_close(q.full_tensor(), p.detach(), msg=name)
        state = two.state[net.weight]
        kept = [v for v in state.values() if getattr(v, "ndim", 0)]
        assert all(isinstance(v, DTensor) for v in kept), name


def cut_rows(name, module, mesh):
    for key, param in module.named_parameters(recurse=False):
        made = distribute_tensor(param, mesh, [Shard(0)])
        module.register_parameter(key, nn.Parameter(made))


def test_optimizers_and_clipping():
    run(_optimizers, 2)


def _makers(rank):
    mesh = init_device_mesh("cpu", (2,))
    where = {"device_mesh": mesh, "placements": [Shard(0)]}
    assert dt.zeros(5, 2, **where).to_local().shape == ([3, 2][rank], 2)
    assert dt.ones((5, 2), **where).sum().item() == 10
    assert dt.full((5,), 2.5, **where).full_tensor().equal(ember.full((5,), 2.5))
    assert dt.empty(3, dtype=ember.int64, **where).dtype == ember.int64
    for make, plain in ((dt.rand, ember.rand), (dt.randn, ember.randn)):
        ember.manual_seed(5)
        made = make(5, 2, requires_grad=True, **where)
        ember.manual_seed(5)
        assert made.full_tensor().equal(plain(5, 2)) and made.is_leaf
    d = dt.zeros(5, 2, **where)
    ember.manual_seed(5)
    nn.init.xavier_uniform_(d)
    ember.manual_seed(5)
    assert d.full_tensor().equal(nn.init.xavier_uniform_(ember.empty(5, 2)))
    ember.manual_seed(5)
    dropped = F.dropout(dt.ones(50, 2, **where), 0.5)
    ember.manual_seed(5)
    assert dropped.full_tensor().equal(F.dropout(ember.ones(50, 2), 0.5))
    d[0] = 7.0
    assert d.full_tensor()[0].tolist() == [7, 7]
    assert d[1:].tolist() == d.full_tensor()[1:].tolist()
    assert d.T.stride() == (1, 2) and not d.T.is_contiguous() and d.is_contiguous()
    assert d.T.contiguous().is_contiguous()
    assert len(d) == 5 and d.numel() == 10 and d.dim() == 2 and d.ndim == 2
    assert ember.zeros_like(d).placements == (Shard(0),)
    assert bool((d == d).all()) and ember.equal(d, d)
    assert d.to(ember.float64).dtype == ember.float64
    back = copy.deepcopy(d)
    assert back.full_tensor().equal(d.full_tensor()) and back.placements == d.placements
    again = pickle.loads(pickle.dumps(d))
    assert again.full_tensor().equal(d.full_tensor()) and again.device_mesh == mesh


def test_making_and_copying():
    run(_makers, 2)


def _refusals(rank):
    mesh = init_device_mesh("cpu", (2,))
    d = distribute_tensor(ember.ones(4, 2), mesh, [Shard(0)])
    with pytest.raises(RuntimeError, match="mixed"):
        d + ember.ones(4, 2)
    with implicit_replication():
        assert (d + ember.ones(4, 2)).sum().item() == 16
    assert (d * ember.tensor(2.0)).sum().item() == 16
    with pytest.raises(ValueError, match="same length"):
        distribute_tensor(ember.ones(4), mesh, [Shard(0), Shard(0)])
    with pytest.raises(ValueError, match="no such dimension"):
        distribute_tensor(ember.ones(4), mesh, [Shard(1)])
    with pytest.raises(ValueError, match="redistribute"):
        distribute_tensor(d, mesh, [Replicate()])
    with pytest.raises(RuntimeError, match="only accepts"):
        DTensor.from_local(d, mesh, [Shard(0)])
    with pytest.raises(RuntimeError, match="this process has"):
        DTensor.from_local(ember.ones(3), mesh, [Shard(0)], shape=(3,))
    with pytest.raises(TypeError, match="cannot be called"):
        DTensor()
    for name, args in (("t_", ()), ("unsqueeze_", (0,)), ("squeeze_", ())):
        with pytest.raises(NotImplementedError, match="shape in place"):
            getattr(d, name)(*args)
    with pytest.raises(NotImplementedError, match="shape in place"):
        d.detach().resize_(2, 2)
    with pytest.raises(NotImplementedError, match="out="):
        ember.add(d, d, out=d)
    d.requires_grad_()
    grads = []
    d.register_hook(lambda g: grads.append(g.placements))
    d.sum().backward()
    assert grads == [(Shard(0),)] and d.grad.full_tensor().equal(ember.ones(4, 2))
    d.grad = None
    assert d.grad is None
    for given in (None, d.detach() * 2, d.detach().redistribute(mesh, [Replicate()])):
        (found,) = ember.autograd.grad(d * d, d, ember.ones_like(d) if given is None
                                       else given)  # fmt: skip
        assert found.placements == (Shard(0),)
    assert found.full_tensor().equal(ember.full((4, 2), 2.0))
    w = ember.ones(2, requires_grad=True)
    whole = DTensor.from_local(w, mesh, [Replicate()])
    assert ember.autograd.grad((d * whole).sum(), [w, d])[0].tolist() == [4.0, 4.0]
    ember.autograd.backward([(d * 3).sum()], inputs=[d])
    assert d.grad.full_tensor().equal(ember.full((4, 2), 3.0))
    with pytest.raises(RuntimeError, match="full_tensor"):
        d.numpy()


def test_refusals_hooks_and_gradients():
    run(_refusals, 2)


def test_reshapes_keep_what_can_be_cut():
    assert match_dims((6, 4), (24,), 2) == ([0, None], [0])
    assert match_dims((5, 4), (20,), 2) == ([None, None], [None])
    assert match_dims((2, 8), (2, 4, 2), 2) == ([0, 1], [0, 1, None])
    assert match_dims((1, 8), (8, 1), 2)[1][0] is not None
    assert match_dims((5, 3), (5, 1, 3), 2) == ([0, 1], [0, None, 1])
