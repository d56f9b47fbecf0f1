"""Models of many kinds in `DistributedDataParallel`: gradients are those of the whole
batch in one process."""

import copy
import dataclasses
from collections import OrderedDict

import pytest

import ember
import ember.distributed as dist
from ember import nn
from ember.futures import Future
from ember.nn.parallel import DistributedDataParallel as DDP
from ember.utils.checkpoint import checkpoint
from tests.distributed.ranks import needs_mpi, run

pytestmark = needs_mpi
BATCH = 8


@dataclasses.dataclass
class Output:
    first: ember.Tensor
    rest: dict


class Nested(nn.Module):
    """Its outputs are in containers; `never` is not used."""

    def __init__(self, container):
        super().__init__()
        self.a, self.b, self.never = (nn.Linear(6, 4) for _ in range(3))
        self.container = container

    def forward(self, x):
        a, b = self.a(x), self.b(x)
        if self.container == "dataclass":
            return Output(a, {"b": [b]})
        return OrderedDict(a=a, more=(b, None, {"text": "x"}))

    @staticmethod
    def values(y):
        if isinstance(y, Output):
            return y.first + y.rest["b"][0]
        return y["a"] + y["more"][0]


class Checkpointed(nn.Module):
    """Layers that are computed again in the backward pass, one of them twice."""

    def __init__(self, reentrant, times=1, tied=False):
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)
        if tied:
            self.first.weight = self.second.weight
        self.reentrant, self.times = reentrant, times

    def forward(self, x):
        x = self.first(x)
        for _ in range(self.times):
            x = checkpoint(self.second, x, use_reentrant=self.reentrant).tanh()
        return x


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(9, 6), nn.Linear(6, 9, bias=False)
        self.out.weight = self.table.weight

    def forward(self, x):
        return self.out(self.table(x.abs().long() % 9))


class Sparse(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 5, sparse=True)
        self.out = nn.Linear(5, 2)

    def forward(self, x):
        return self.out(self.table((x * 7).abs().long() % 20).mean(1))


class Complex(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(ember.randn(6, dtype=ember.complex64))
        self.real = nn.Linear(6, 3)

    def forward(self, x):
        return self.real((x * self.factor).abs())


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.fixed, self.trained = (
            nn.Linear(6, 6).requires_grad_(False),
            nn.Linear(6, 2),
        )

    def forward(self, x):
        return self.trained(self.fixed(x))


# name -> how it is made, options of DDP
CASES = {
    "dataclass": (lambda: Nested("dataclass"), {"find_unused_parameters": True}),
    "dictionary": (lambda: Nested("dictionary"), {"find_unused_parameters": True}),
    "static": (lambda: Nested("dictionary"), {"static_graph": True}),
    "checkpoint": (lambda: Checkpointed(False), {}),
    "checkpoint unused": (
        lambda: Checkpointed(False),
        {"find_unused_parameters": True},
    ),
    "checkpoint twice": (lambda: Checkpointed(False, 2), {}),
    "reentrant": (lambda: Checkpointed(True), {}),
    "reentrant static": (lambda: Checkpointed(True, 2), {"static_graph": True}),
    "reentrant tied": (lambda: Checkpointed(True, 2, True), {"static_graph": True}),
    "tied": (Tied, {}),
    "sparse": (Sparse, {}),
    "complex": (Complex, {}),
    "frozen": (Frozen, {}),
    "bfloat16": (lambda: nn.Linear(6, 3).bfloat16(), {}),
    "channels last": (
        lambda: nn.Sequential(nn.Unflatten(1, (2, 1, 3)), nn.Conv2d(2, 4, (1, 2))).to(
            memory_format=ember.channels_last
        ),
        {},
    ),
    "two dtypes": (
        lambda: nn.Sequential(nn.Linear(6, 3), Cast(), nn.Linear(3, 2).double()),
        {},
    ),
}  # fmt: skip


class Cast(nn.Module):
    def forward(self, x):
        return x.double()


def gradients(net, x):
    """After the second of two steps that change the weights."""
    values = getattr(getattr(net, "module", net), "values", lambda y: y)
    for step in range(2):
        net.zero_grad()
        dtype = next(net.parameters()).dtype
        x = x.to(dtype) if dtype == ember.bfloat16 else x
        values(net(x)).tanh().float().mean().backward()
        if not step:
            with ember.no_grad():
                for p in net.parameters():
                    if p.grad is not None:
                        p.add_(p.grad, alpha=-0.1)
    return [
        None if p.grad is None else p.grad.to_dense().clone() for p in net.parameters()
    ]


def make(name):
    ember.manual_seed(11)
    return CASES[name][0]()


def data():
    ember.manual_seed(12)
    return ember.randn(BATCH, 6)


def rank_models(rank):
    x = data().chunk(2)[rank]
    found = {}
    for name, (_, options) in CASES.items():
        for as_views in (False, True):
            ddp = DDP(make(name), gradient_as_bucket_view=as_views, **options)
            found[name, as_views] = gradients(ddp, x)
            if name == "sparse":
                assert ddp.module.table.weight.grad.is_sparse
    return found


def test_models_train_as_in_one_process():
    first, second = run(rank_models, 2, seconds=180)
    for (name, as_views), grads in first.items():
        alone = gradients(make(name), data())
        tolerance = 0.02 if name == "bfloat16" else 1e-5
        for mine, other, expected in zip(
            grads, second[name, as_views], alone, strict=True
        ):
            if expected is None:
                assert mine is None and other is None, name
                continue
            assert ember.equal(mine, other), name
            assert mine.dtype == expected.dtype
            assert ember.allclose(mine, expected, rtol=tolerance, atol=1e-6), name


def rank_order(rank):
    """Forward and backward passes that do not alternate."""
    ember.manual_seed(rank)
    weights = []
    for options in ({}, {"find_unused_parameters": True}, {"static_graph": True}):
        net = nn.Linear(2, 2, bias=False)
        ddp = DDP(net, **options)
        for _ in range(3):
            ddp(ember.ones(1, 2))  # nobody needs the output
        ddp(ember.ones(1, 2) * rank).sum().backward()
        weights.append(net.weight.grad.tolist())
        net.zero_grad()
        (ddp(ember.ones(1, 2) * rank) + ddp(ember.ones(1, 2))).sum().backward()
        weights.append(net.weight.grad.tolist())
    twice = DDP(DDP(nn.Linear(2, 2, bias=False)))
    twice(ember.ones(1, 2) * rank).sum().backward()
    assert twice.module.module.weight.grad.tolist() == [[0.5] * 2] * 2
    two = nn.ModuleList([nn.Linear(2, 1), nn.Linear(2, 1)])
    two.forward = lambda x: [layer(x) for layer in two]
    ddp = DDP(two)
    a, b = ddp(ember.ones(1, 2) * rank)
    a.sum().backward()
    b.sum().backward()  # the same forward pass
    weights.append([p.grad.tolist() for p in two.parameters()])
    ddp.require_backward_grad_sync = False  # as no_sync
    two.zero_grad()
    sum(ddp(ember.ones(1, 2) * rank)).sum().backward()
    assert two[0].weight.grad.tolist() == [[rank, rank]]
    return weights


def test_order_of_passes():
    (first, second) = run(rank_order, 2)
    assert first == second
    assert first[:-1] == [[[0.5] * 2] * 2, [[1.5] * 2] * 2] * 3
    assert first[-1] == [[[0.5, 0.5]], [1.0]] * 2


def rank_errs(rank):
    x = data().chunk(2)[rank]
    # Parameters inside a reentrant checkpoint look as if they were not used.
    for net, options in (
        (Checkpointed(True), {"find_unused_parameters": True}),
        (Checkpointed(True, 2), {}),
    ):
        with pytest.raises(RuntimeError, match="mark a variable ready only once"):
            gradients(DDP(net, **options), x)
    ddp = DDP(nn.Linear(6, 2))
    with pytest.raises(TypeError, match="must be callable"):
        ddp.register_comm_hook(None, 1)

    def odd_bucket(state: object, bucket: int) -> Future: ...
    def odd_result(state: object, bucket: dist.GradBucket) -> int: ...

    with pytest.raises(ValueError, match="bucket annotation should be"):
        ddp.register_comm_hook(None, odd_bucket)
    with pytest.raises(ValueError, match="return annotation should be"):
        ddp.register_comm_hook(None, odd_result)
    ddp.register_comm_hook(None, lambda state, bucket: 1)
    with pytest.raises(RuntimeError, match="must return a"):
        ddp(x).sum().backward()
    with pytest.raises(RuntimeError, match="only Embedding"):
        DDP(OddlySparse())(x).sum().backward()
    with pytest.warns(UserWarning, match="is ignored"):
        both = DDP(nn.Linear(2, 2), broadcast_buffers=True, forward_sync_buffers=False)
    assert not both.broadcast_buffers
    other = DDP(nn.Linear(2, 2), process_group=dist.new_group([0, 1]))
    with pytest.raises(RuntimeError, match="default process group"):
        copy.deepcopy(other)


class OddlySparse(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(ember.ones(20, 2))

    def forward(self, x):
        at = (x * 7).abs().long() % 20
        return nn.functional.embedding(at, self.table, sparse=True)


def test_errors():
    run(rank_errs, 2)


def rank_hooks(rank):
    x = data().chunk(2)[rank]
    group = dist.group.WORLD

    def average(state, bucket):
        future = group.allreduce([bucket.buffer()]).get_future()
        return future.then(lambda done: done.wait()[0] / 2)

    def two(state, bucket):
        future = Future()
        future.set_result(ember.full_like(bucket.buffer(), 2.0))
        return future

    by_hand = DDP(make("sparse"))
    by_hand.register_comm_hook(None, average)
    grads = gradients(by_hand, x)
    for mine, plain in zip(grads, gradients(DDP(make("sparse")), x), strict=True):
        assert ember.allclose(mine, plain)
    fixed = DDP(nn.Linear(6, 2))
    fixed.register_comm_hook(None, two)
    assert all((g == 2).all() for g in gradients(fixed, x))


def test_hooks():
    run(rank_hooks, 2)


class WithBuffers(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.weight = nn.Parameter(ember.ones(1))
        self.register_buffer("kept", ember.full((1,), value))
        self.register_buffer("passing", ember.full((1,), value), persistent=False)

    def forward(self, x):
        self.kept += x
        return self.weight * x


def rank_buffers(rank):
    found = []
    for options in (
        {},
        {"forward_sync_buffers": False},
        {"broadcast_buffers": False},
    ):
        net = WithBuffers(5.0 + rank)
        ddp = DDP(net, **options)
        start = net.kept.item(), net.passing.item()
        ddp(ember.tensor([10.0 * (rank + 1)]))
        ddp(ember.tensor([0.0]))
        found.append((*start, net.kept.item()))
    return found


def test_which_buffers_are_sent():
    first, second = run(rank_buffers, 2)
    assert first == [(5, 5, 15)] * 3
    assert second == [(5, 5, 15), (5, 5, 25), (6, 6, 26)]


def rank_joins_sparse(rank):
    ddp = DDP(Sparse(), find_unused_parameters=True)
    with ddp.join():
        for _ in range(1 + rank):
            ddp.zero_grad()
            ddp(data()[:2]).sum().backward()
    return ddp.module.table.weight.grad.to_dense().sum(1)


def test_a_rank_without_batches_takes_part_in_sparse_reductions():
    first, second = run(rank_joins_sparse, 2)
    assert (first != 0).sum() == (second != 0).sum() > 0
