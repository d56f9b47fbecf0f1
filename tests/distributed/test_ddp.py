"""Data parallelism: several ranks with parts of a batch train as one process does."""

import copy

import pytest

import ember
import ember.distributed as dist
from ember import nn
from ember.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from ember.nn.parallel import DistributedDataParallel
from tests.distributed.ranks import needs_mpi, run

pytestmark = needs_mpi
STEPS, BATCH = 4, 12
WRAPPED = default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook)


def mlp():
    return nn.Sequential(
        nn.Linear(6, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 3)
    )


def convolutional():
    return nn.Sequential(
        nn.Unflatten(1, (1, 2, 3)), nn.Conv2d(1, 4, 2), nn.ReLU(), nn.Flatten(),
        nn.Linear(8, 3),
    )  # fmt: skip


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(6, 2, 8, dropout=0, batch_first=True)
        self.out = nn.Linear(6, 3)

    def forward(self, x):
        return self.out(self.layer(x[:, None] + x[:, :, None] / 6).mean(1))


MODELS = {"mlp": mlp, "convolutional": convolutional, "attention": Attention}


def batches():
    ember.manual_seed(7)
    return [(ember.randn(BATCH, 6), ember.randn(BATCH, 3)) for _ in range(STEPS)]


def part(t, rank, size):
    return t[rank * len(t) // size : (rank + 1) * len(t) // size]


def train(net, rank, size, accumulate=1, clip=None, **options):
    """The parameters after some steps; gradients are clipped and accumulate."""
    if size > 1 or options.pop("wrap", False):
        net = DistributedDataParallel(net, bucket_cap_mb=0.002, **options)
    optimizer = ember.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for x, y in batches():
        optimizer.zero_grad()
        pieces = list(zip(x.chunk(accumulate), y.chunk(accumulate), strict=True))
        for i, (a, b) in enumerate(pieces):
            a, b = part(a, rank, size), part(b, rank, size)
            last = i == len(pieces) - 1
            if size > 1 and not last:
                with net.no_sync():
                    ((net(a) - b) ** 2).mean().div(accumulate).backward()
            else:
                ((net(a) - b) ** 2).mean().div(accumulate).backward()
        if clip:
            nn.utils.clip_grad_norm_(net.parameters(), clip)
        optimizer.step()
    return nn.utils.parameters_to_vector(net.parameters()).detach()


def made(name):
    ember.manual_seed(0)
    return MODELS[name]()


def rank_trains(rank, name, size, options):
    ember.manual_seed(rank)  # the weights of rank 0 count
    net = MODELS[name]()
    if rank == 0:
        net.load_state_dict(made(name).state_dict())
    return train(net, rank, size, **options)


@pytest.mark.parametrize(
    ("name", "size", "options"),
    [
        *((name, 2, {}) for name in MODELS),
        *((name, 2, {"accumulate": 3, "clip": 0.1}) for name in MODELS),
        ("mlp", 2, {"gradient_as_bucket_view": True}),
        ("mlp", 4, {"gradient_as_bucket_view": True, "accumulate": 3}),
        ("mlp", 4, {}),
    ],
)
def test_ranks_train_as_one_process(name, size, options):
    results = run(rank_trains, size, name, size, options)
    for other in results[1:]:
        assert ember.equal(other, results[0]), "ranks are equal to the bit"
    kept = {k: v for k, v in options.items() if k in ("accumulate", "clip")}
    alone = train(made(name), 0, 1, **kept)
    assert ember.allclose(results[0], alone, atol=1e-6)


class Branches(nn.Module):
    """Which branch a pass takes is its argument; `never` is never used."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.never, self.out = nn.Linear(3, 3), nn.Linear(3, 1)

    def forward(self, x, second):
        return self.out(self.second(x) if second else self.first(x))


def rank_leaves_out(rank):
    net = Branches()
    ddp = DistributedDataParallel(net, find_unused_parameters=True)
    ddp(ember.ones(2, 3), second=rank == 1).sum().backward()
    assert net.never.weight.grad is None, "nobody used it"
    halves = net.first.bias.grad.tolist(), net.second.bias.grad.tolist()
    net.zero_grad()
    ddp(ember.ones(2, 3), second=False).sum().backward()
    assert net.second.weight.grad is None
    strict = DistributedDataParallel(copy.deepcopy(net))
    strict(ember.ones(2, 3), second=False).sum().backward()
    with pytest.raises(RuntimeError, match=r"finished reduction.*\n.*: 2 3 4 5"):
        strict(ember.ones(2, 3), second=False)
    fixed = DistributedDataParallel(copy.deepcopy(net), static_graph=True)
    for _ in range(3):
        fixed.zero_grad()
        fixed(ember.ones(2, 3), second=False).sum().backward()
    assert fixed.module.never.weight.grad is None
    return halves, fixed.module.first.bias.grad.tolist(), net.out.weight.tolist()


def test_parameters_that_are_not_used():
    (halves, fixed, out), other = run(rank_leaves_out, 2)
    assert (halves, fixed, out) == other
    expected = [pytest.approx(w * 2) for w in out[0]]
    assert fixed == expected
    assert halves[0] == halves[1] == [pytest.approx(w) for w in out[0]]


def rank_hooks(rank):
    found = {}
    state = powerSGD_hook.PowerSGDState(None, 40, start_powerSGD_iter=2)
    state.min_compression_rate = 0.1  # whatever is a matrix
    hooks = {
        "none": None,
        "average": (None, default_hooks.allreduce_hook),
        "float16": (None, default_hooks.fp16_compress_hook),
        "bfloat16": (None, default_hooks.bf16_compress_hook),
        "wrapped": (None, WRAPPED),
        "full rank": (state, powerSGD_hook.powerSGD_hook),
        "rank 1": (
            powerSGD_hook.PowerSGDState(None, 1, start_powerSGD_iter=2),
            powerSGD_hook.batched_powerSGD_hook,
        ),
    }  # fmt: skip
    for name, hook in hooks.items():
        net = DistributedDataParallel(made("mlp"), bucket_cap_mb=0.002)
        if hook:
            net.register_comm_hook(*hook)
            with pytest.raises(RuntimeError, match="once"):
                net.register_comm_hook(*hook)
        for x, y in batches():
            net.zero_grad()
            ((net(part(x, rank, 2)) - part(y, rank, 2)) ** 2).mean().backward()
        grads = [p.grad.flatten() for p in net.parameters()]
        found[name] = ember.cat(grads)
    return found, state.compression_stats()


def test_communication_hooks():
    (first, stats), (second, _) = run(rank_hooks, 2)
    for name, grads in first.items():
        assert ember.equal(grads, second[name]), name
    exact, size = first["none"], first["none"].abs().max().item()
    close = {"average": 0, "float16": 1e-3, "wrapped": 1e-3, "bfloat16": 1e-2}
    for name, error in close.items():
        assert (first[name] - exact).abs().max().item() <= error * size, name
    assert (first["full rank"] - exact).abs().max().item() < 1e-3 * size
    assert (first["rank 1"] - exact).abs().max().item() > 0.1 * size
    assert stats[1] > 0 and stats[2] > 0


def rank_joins(rank, by_all):
    net = DistributedDataParallel(nn.Linear(2, 1, bias=False))
    optimizer = ember.optim.SGD(net.parameters(), lr=1.0)
    net.module.weight.data.fill_(0.0)
    with net.join(divide_by_initial_world_size=by_all):
        for _ in range(1 + 2 * rank):  # rank 1 has more
            optimizer.zero_grad()
            net(ember.ones(1, 2)).sum().backward()
            optimizer.step()
    return net.module.weight.tolist()


@pytest.mark.parametrize(("by_all", "weight"), [(True, -2.0), (False, -3.0)])
def test_ranks_with_fewer_batches(by_all, weight):
    assert run(rank_joins, 2, by_all) == [[[weight, weight]]] * 2


def rank_buffers(rank):
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    ddp = DistributedDataParallel(net)
    for _ in range(3):
        ddp(ember.randn(5, 3) + rank).sum().backward()
    ddp.eval()(ember.ones(1, 3))  # takes the buffers of rank 0
    kept = ddp.state_dict()
    assert next(iter(kept)) == "module.0.weight"
    loaded = ember.load(_saved(ddp), weights_only=False)
    assert type(loaded) is DistributedDataParallel
    return net[1].running_mean


def _saved(thing):
    import io

    file = io.BytesIO()
    ember.save(thing, file)
    file.seek(0)
    return file


def test_buffers_are_those_of_the_first_rank():
    first, second = run(rank_buffers, 2)
    assert ember.equal(first, second)


def rank_errs(rank):
    with pytest.raises(RuntimeError, match="same model across all ranks"):
        DistributedDataParallel(nn.Linear(2, 2 + rank))
    with pytest.raises(RuntimeError, match="not needed"):
        DistributedDataParallel(nn.ReLU())
    net = nn.Linear(2, 2)
    with pytest.raises(NotImplementedError, match="device_mesh"):
        DistributedDataParallel(net, device_mesh=object())


def test_errors():
    run(rank_errs, 2)
    with pytest.raises(ValueError, match="process group has not been"):
        DistributedDataParallel(nn.Linear(2, 2))
    assert not dist.is_initialized()
