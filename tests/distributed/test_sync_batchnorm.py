"""Batch norm over the batches of all ranks is that of the whole batch."""

import pytest

import ember
from ember import nn
from ember.nn.parallel import DistributedDataParallel
from tests.distributed.ranks import needs_mpi, run

pytestmark = needs_mpi


def whole(dims):
    ember.manual_seed(3)
    shape = [9, 4, 3, 2][:dims]
    return ember.randn(shape).double() * 2 + 1, ember.randn(shape).double()


def layer(kind, **options):
    ember.manual_seed(5)
    made = kind(4, dtype=ember.float64, **options)
    if made.affine:
        nn.init.normal_(made.weight)
        nn.init.normal_(made.bias)
    return made


def results(norm, x, target, steps=2):
    """Output, gradients and buffers after some steps."""
    x = x.clone().requires_grad_()
    for _ in range(steps):
        norm.zero_grad()
        x.grad = None
        y = norm(x)
        (y.tanh() * target).sum().backward()
    return {
        "y": y.detach(),
        "x": x.grad,
        "parameters": [p.grad for p in norm.parameters()],
        "buffers": list(norm.buffers()),
    }


def rank_normalizes(rank, dims, sizes, options):
    x, target = whole(dims)
    norm = layer(nn.SyncBatchNorm, **options)
    answer = results(norm, x.split(sizes)[rank], target.split(sizes)[rank])
    norm.eval()
    answer["eval"] = norm(x)  # by running statistics, and without communication
    return answer


@pytest.mark.parametrize(
    ("dims", "sizes", "options"),
    [
        (4, [5, 4], {}),
        (2, [1, 8], {}),
        (3, [9, 0], {}),
        (4, [2, 3, 4], {"affine": False}),
        (2, [3, 6], {"momentum": None}),
        (3, [3, 6], {"track_running_stats": False}),
    ],
)
def test_statistics_are_of_the_whole_batch(dims, sizes, options):
    parts = run(rank_normalizes, len(sizes), dims, sizes, options)
    ordinary = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d}[dims]
    norm = layer(ordinary, **options)
    x, target = whole(dims)
    alone = results(norm, x, target)
    for name in ("y", "x"):
        together = ember.cat([part[name] for part in parts])
        assert ember.allclose(together, alone[name], rtol=1e-9, atol=1e-12), name
    for i, grad in enumerate(alone["parameters"]):
        total = sum(part["parameters"][i] for part in parts)
        assert ember.allclose(total, grad, rtol=1e-9, atol=1e-12)
    for part in parts:
        for mine, other in zip(part["buffers"], alone["buffers"], strict=True):
            assert ember.allclose(mine, other, rtol=1e-9)
        assert ember.allclose(part["eval"], norm.eval()(x), rtol=1e-9)


def rank_trains(rank, size):
    ember.manual_seed(1)
    net = nn.Sequential(
        nn.Conv2d(1, 3, 2), nn.BatchNorm2d(3), nn.ReLU(),
        nn.Flatten(), nn.Linear(12, 2), nn.BatchNorm1d(2, affine=False),
    )  # fmt: skip
    x, y = ember.randn(8, 1, 3, 3), ember.randn(8, 2)
    if size > 1:
        x, y = x.chunk(size)[rank], y.chunk(size)[rank]
        net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
        assert [type(m).__name__ for m in net].count("SyncBatchNorm") == 2
        net = DistributedDataParallel(net)
    optimizer = ember.optim.SGD(net.parameters(), lr=0.5)
    for _ in range(4):
        optimizer.zero_grad()
        ((net(x) - y) ** 2).mean().backward()
        optimizer.step()
    return [t.detach() for t in net.state_dict().values()]


def test_data_parallel_training_with_synchronized_statistics():
    alone = rank_trains(0, 1)
    for state in run(rank_trains, 2, 2):
        for mine, expected in zip(state, alone, strict=True):
            assert ember.allclose(mine, expected, atol=1e-5)


def rank_half(rank):
    norm = nn.SyncBatchNorm(2).bfloat16()
    x = (ember.randn(4, 2, 3) + rank).bfloat16().requires_grad_()
    y = norm(x)
    y.float().square().sum().backward()
    kinds = y.dtype, x.grad.dtype, norm.weight.grad.dtype
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        nn.SyncBatchNorm(2)(ember.ones(1 - rank, 2))
    with pytest.raises(ValueError, match="at least 2D"):
        norm(ember.ones(2))
    before = norm.running_var.clone()
    nobody = ember.ones(0, 2, 3, dtype=ember.bfloat16, requires_grad=True)
    norm(nobody).sum().backward()
    assert nobody.grad.shape == nobody.shape
    assert ember.equal(norm.running_var, before)
    return str(kinds), y.float().mean().item()


def test_half_precision_and_errors():
    (kinds, first), (_, second) = run(rank_half, 2)
    assert kinds == str((ember.bfloat16,) * 3)
    assert abs(first + second) < 0.05
    with pytest.raises(ValueError, match="more than 1 value"):
        nn.SyncBatchNorm(2)(ember.ones(1, 2))
