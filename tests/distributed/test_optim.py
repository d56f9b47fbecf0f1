"""Optimizers of several ranks: state in parts, parameters that are averaged."""

import copy

import pytest

import ember
import ember.distributed as dist
from ember import nn
from ember.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook as hooks
from ember.distributed.algorithms.join import Join
from ember.distributed.algorithms.model_averaging import averagers, utils
from ember.distributed.optim import PostLocalSGDOptimizer, ZeroRedundancyOptimizer
from ember.nn.parallel import DistributedDataParallel
from tests.distributed.ranks import needs_mpi, run

pytestmark = needs_mpi


def net():
    ember.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 9), nn.Tanh(), nn.Linear(9, 7), nn.Linear(7, 2))


def groups(model):
    return [
        {"params": [p for p in model.parameters() if p.dim() == 2]},
        {"params": [p for p in model.parameters() if p.dim() == 1], "lr": 0.02},
    ]


def data(step):
    ember.manual_seed(100 + step)
    return ember.randn(12, 5)


def train(model, optimizer, steps, rank=0, size=1, start=0):
    scheduler = ember.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    for step in range(start, start + steps):
        optimizer.zero_grad()
        model(data(step).chunk(size)[rank]).square().mean().backward()
        optimizer.step()
        scheduler.step()
    return nn.utils.parameters_to_vector(model.parameters()).detach()


KINDS = {
    "SGD": (ember.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    "AdamW": (ember.optim.AdamW, {"lr": 0.01, "weight_decay": 0.1}),
    "Adagrad": (ember.optim.Adagrad, {"lr": 0.05}),
}


def rank_shards(rank, size):
    found = {}
    for name, (kind, options) in KINDS.items():
        for views in (False, True):
            model = DistributedDataParallel(net())
            optimizer = ZeroRedundancyOptimizer(
                groups(model), kind, parameters_as_bucket_view=views, **options
            )
            mine = [p for g in optimizer.optim.param_groups for p in g["params"]]
            assert 0 < len(mine) < 6, "each rank has a part"
            result = train(model, optimizer, 4, rank, size)
            assert len(optimizer.optim.state) == len(mine)
            found[name, views] = result
    return found


@pytest.mark.parametrize("size", [2, 3])
def test_parts_of_the_state_train_as_the_whole(size):
    results = run(rank_shards, size, size)
    for (name, views), mine in results[0].items():
        kind, options = KINDS[name]
        model = net()
        alone = train(model, kind(groups(model), **options), 4)
        for other in results[1:]:
            assert ember.equal(mine, other[name, views])
        assert ember.allclose(mine, alone, atol=1e-5), name


def rank_saves(rank):
    kind, options = KINDS["AdamW"]
    model = DistributedDataParallel(net())
    optimizer = ZeroRedundancyOptimizer(groups(model), kind, **options)
    train(model, optimizer, 3, rank, 2)
    with pytest.raises(RuntimeError, match="has not been consolidated on this rank"):
        optimizer.state_dict()
    optimizer.consolidate_state_dict(to=1)
    if rank == 0:
        with pytest.raises(RuntimeError, match="consolidate_state_dict"):
            optimizer.state_dict()
    box = [optimizer.state_dict() if rank == 1 else None]
    dist.broadcast_object_list(box, src=1)
    state = box[0]
    weights = copy.deepcopy(model.module.state_dict())
    again = DistributedDataParallel(net())
    again.module.load_state_dict(weights)
    fresh = ZeroRedundancyOptimizer(groups(again), kind, lr=5.0)
    fresh.load_state_dict(copy.deepcopy(state))
    assert fresh.param_groups[1]["lr"] == state["param_groups"][1]["lr"] != 5.0
    return train(again, fresh, 2, rank, 2, start=3), state, weights


def test_state_is_that_of_the_optimizer_alone():
    (first, state, weights), (second, *_) = run(rank_saves, 2)
    assert ember.equal(first, second)
    kind, options = KINDS["AdamW"]
    model = net()
    model.load_state_dict(weights)
    optimizer = kind(groups(model), **options)
    optimizer.load_state_dict(state)  # of six parameters, in the usual order
    assert sorted(state["state"]) == list(range(6))
    assert ember.allclose(train(model, optimizer, 2, start=3), first, atol=1e-5)


def rank_adds(rank):
    sizes = [9, 7, 5, 3] * 2
    params = [ember.rand(n, 1, requires_grad=True) for n in sizes[:-1]]
    optimizer = ZeroRedundancyOptimizer(params, ember.optim.SGD, lr=0.1)
    optimizer.add_param_group({"params": [ember.rand(3, 1, requires_grad=True)]})
    counts = [p.numel() for g in optimizer.optim.param_groups for p in g["params"]]
    return len(optimizer.param_groups), sum(counts)


def test_groups_that_are_added_are_shared_out():
    assert run(rank_adds, 2) == [(2, 24), (2, 24)]


def rank_joins(rank):
    model = DistributedDataParallel(net())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), ember.optim.SGD, lr=0.1)
    with Join([model, optimizer]):
        for step in range(2 + 2 * rank):
            optimizer.zero_grad()
            model(data(step).chunk(2)[rank]).square().mean().backward()
            optimizer.step()
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def test_a_rank_without_batches_goes_on_with_its_part():
    first, second = run(rank_joins, 2)
    assert ember.equal(first, second)
    model = net()
    optimizer = ember.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        optimizer.zero_grad()
        halves = data(step).chunk(2)[0 if step < 2 else 1 :]
        sum(model(half).square().mean() / 2 for half in halves).backward()
        optimizer.step()
    expected = nn.utils.parameters_to_vector(model.parameters())
    assert ember.allclose(first, expected, atol=1e-5)


def rank_averages(rank):
    model = DistributedDataParallel(nn.Linear(1, 1, bias=False))
    with ember.no_grad():
        model.module.weight.fill_(0.0)
    state = hooks.PostLocalSGDState(None, None, 2, post_local_gradient_allreduce=False)
    model.register_comm_hook(state, hooks.post_localSGD_hook)
    optimizer = PostLocalSGDOptimizer(
        ember.optim.SGD(model.parameters(), lr=1.0),
        averagers.PeriodicModelAverager(period=3, warmup_steps=2),
    )
    weights = []
    for _ in range(6):
        optimizer.zero_grad()
        model(ember.tensor([[float(rank)]])).sum().backward()
        optimizer.step()
        weights.append(model.module.weight.item())
    kept = optimizer.state_dict()
    other = PostLocalSGDOptimizer(
        ember.optim.SGD(model.parameters(), lr=2.0),
        averagers.PeriodicModelAverager(period=3),
    )
    other.load_state_dict(kept)
    assert other.averager.step == 6 and other.param_groups[0]["lr"] == 1.0
    del kept["step"]
    with pytest.warns(UserWarning, match="step counter"):
        other.load_state_dict(kept)
    assert other.averager.step == 0
    return weights


def test_parameters_are_averaged_now_and_then():
    first, second = run(rank_averages, 2)
    # Gradients are 0 and 1: averaged twice, then parameters at steps 2 and 5.
    assert first == [-0.5, -1.0, -1.5, -1.5, -1.5, -3.0]
    assert second == [-0.5, -1.0, -1.5, -2.5, -3.5, -3.0]


def rank_in_one(rank):
    for given, error in (
        ([], ValueError),
        (ember.randn(1), TypeError),
        (1.2, TypeError),
        ([ember.randn(1), 42], TypeError),
        ([ember.randn(1), ember.randn(1).double()], ValueError),
        ([ember.eye(2).to_sparse()], ValueError),
    ):
        with pytest.raises(error):
            ZeroRedundancyOptimizer(given, ember.optim.SGD, lr=0.1)
    x = ember.ones(1, requires_grad=True)
    with pytest.raises(NotImplementedError, match="overlap_with_ddp"):
        ZeroRedundancyOptimizer([x], ember.optim.SGD, overlap_with_ddp=True, lr=0.1)

    class Extra(ember.optim.SGD):
        def step(self, closure=None, note=None):
            super().step()
            self.param_groups[0]["new"] = note

    optimizer = ZeroRedundancyOptimizer(iter([x]), Extra, lr=0.1)
    x.backward()
    optimizer.step(note=5)
    assert optimizer.param_groups[0]["new"] == 5
    for arguments in ({"period": 0}, {"period": 2, "warmup_steps": -1}):
        with pytest.raises(ValueError, match="must be a"):
            averagers.PeriodicModelAverager(**arguments)
    mixed = [ember.full((2,), float(rank)), ember.full((3,), rank * 1.0).double()]
    utils.average_parameters(mixed, None)
    return [t.tolist() for t in mixed]


def test_errors_and_options():
    assert run(rank_in_one, 2) == [[[0.5] * 2, [0.5] * 3]] * 2
