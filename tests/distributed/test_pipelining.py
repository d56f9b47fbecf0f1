"""Pipelines: cutting, microbatches, orders, and training that equals one process."""

import copy

import pytest

import ember
import ember.distributed as dist
import ember.nn.functional as F
from ember import nn
from ember.distributed import pipelining
from ember.distributed.pipelining import SplitPoint, _orders, pipe_split, pipeline
from ember.distributed.pipelining._backward import (
    stage_backward_input,
    stage_backward_weight,
)
from ember.distributed.pipelining.microbatch import (
    TensorChunkSpec,
    _CustomReducer,
    _Replicate,
    merge_chunks,
    split_args_kwargs_into_chunks,
)
from ember.distributed.pipelining.schedules import get_schedule_class
from tests.distributed import models
from tests.distributed.ranks import needs_mpi, run

# --- microbatches ---


def test_microbatches():
    x, y = ember.arange(12).view(6, 2), ember.arange(8).view(2, 4)
    specs = (TensorChunkSpec(0), TensorChunkSpec(1), _Replicate())
    args, kwargs = split_args_kwargs_into_chunks((x, y, x), {"k": 3}, 2, specs)
    assert [a[0].shape for a in args] == [(3, 2), (3, 2)]
    assert [a[1].shape for a in args] == [(2, 2), (2, 2)]
    assert all(a[2] is x for a in args) and kwargs == [{"k": 3}, {"k": 3}]
    back = merge_chunks(args, (TensorChunkSpec(0), TensorChunkSpec(1), None))
    assert back[0].equal(x) and back[1].equal(y)
    assert merge_chunks([1, 2, 3], _CustomReducer(0, lambda a, b: a + b)) == 6


def test_microbatches_of_uneven_sizes():
    args, _ = split_args_kwargs_into_chunks((ember.arange(5),), None, 2)
    assert [len(a[0]) for a in args] == [3, 2]


def test_too_few_rows():
    with pytest.raises(RuntimeError, match="smaller than num_chunks"):
        split_args_kwargs_into_chunks((ember.ones(2),), None, 3)
    with pytest.raises(ValueError, match="does not fit"):
        split_args_kwargs_into_chunks((ember.ones(2),), None, 2, (None, None))


# --- cutting ---


class Skips(nn.Module):
    """A value that is used far behind, a parameter of two stages, a size, a buffer."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(ember.randn(4, 4))
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.register_buffer("shift", ember.ones(4))

    def forward(self, x, y, scale=2.0):
        rows = x.shape[0]
        x = x @ self.weight
        kept = x
        x = self.first(x + y)
        pipe_split()
        x = ember.relu(x) @ self.weight
        pipe_split()
        x = self.second(x) + kept + self.shift
        return x.view(rows, -1) * scale


def test_stages_of_a_model():
    model = Skips()
    x, y = ember.randn(3, 4), ember.randn(3, 4)
    pipe = pipeline(model, (x, y))
    assert pipe.num_stages == 3
    assert pipe(x, y)[0].equal(model(x, y))
    names = [set(pipe.get_stage_module(i).state_dict()) for i in range(3)]
    assert names[0] == {"weight", "first.weight", "first.bias"}
    assert names[1] == set() and "second.weight" in names[2] and "shift" in names[2]
    expected = ember.autograd.grad(model(x, y).sum(), list(model.parameters()))
    found = ember.autograd.grad(pipe(x, y)[0].sum(), list(model.parameters()))
    for a, b in zip(found, expected):
        assert a.allclose(b)


@pytest.mark.parametrize("where, stages", [("BEGINNING", 2), ("END", 2)])
def test_cut_at_submodules(where, stages):
    model = nn.Sequential(nn.Sequential(nn.Linear(2, 3), nn.ReLU()), nn.Linear(3, 2))
    x = ember.randn(4, 2)
    spec = {"0.1": SplitPoint[where]}
    pipe = pipeline(model, (x,), split_spec=spec)
    assert pipe.num_stages == stages and pipe(x)[0].equal(model(x))


def test_tied_weights_live_in_the_first_stage():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.head = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
            self.head.weight = self.token.weight

        def forward(self, x):
            x = self.token(x)
            pipe_split()
            return self.head(ember.tanh(x))

    model = Tied()
    x = ember.tensor([[1, 2], [3, 4]])
    pipe = pipeline(model, (x,))
    assert pipe.num_stages == 2 and pipe(x)[0].equal(model(x))
    assert not pipe.get_stage_module(1).state_dict()


def test_cutting_leaves_buffers_and_random_numbers_alone():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout())
    before = copy.deepcopy(model.state_dict())
    state = ember.get_rng_state()
    pipeline(model, (ember.randn(4, 2),), split_spec={"1": SplitPoint.BEGINNING})
    for name, value in model.state_dict().items():
        assert value.equal(before[name])
    assert ember.get_rng_state().equal(state) is False  # the randn above
    state = ember.get_rng_state()
    pipeline(model, (ember.ones(4, 2),), split_spec={"1": SplitPoint.END})
    assert ember.get_rng_state().equal(state)


def test_cutting_errors():
    model = nn.Sequential(nn.Linear(2, 2))
    with pytest.raises(AttributeError, match="absent"):
        pipeline(model, (ember.ones(1, 2),), split_spec={"absent": SplitPoint.END})
    with pytest.raises(ValueError, match="Cannot specify both"):
        pipeline(model, (ember.ones(1, 2),), split_spec={}, split_policy=lambda g: g)
    with pytest.raises(ValueError, match="stage index 1"):
        pipeline(model, (ember.ones(1, 2),)).get_stage_module(1)


# --- orders ---


def computed(order, ranks):
    """Runs the orders of all ranks against each other; the most activations kept."""
    done, at = set(), dict.fromkeys(order, 0)
    stages = 1 + max(a.stage_index for actions in order.values() for a in actions)
    kept, most = dict.fromkeys(order, 0), dict.fromkeys(order, 0)
    moved = True
    while moved:
        moved = False
        for rank, actions in order.items():
            while at[rank] < len(actions):
                stage, kind, m = actions[at[rank]]
                forward = kind is _orders.F
                needs = []
                if forward and stage:
                    needs = [(stage - 1, _orders.F, m)]
                elif not forward:
                    needs = [(stage, _orders.F, m)]
                    if stage < stages - 1:
                        needs.append((stage + 1, _orders.B, m))
                if not done.issuperset(needs):
                    break
                done.add((stage, kind, m))
                kept[rank] += 1 if forward else -1
                most[rank] = max(most[rank], kept[rank])
                at[rank] += 1
                moved = True
    assert all(at[rank] == len(actions) for rank, actions in order.items()), "stuck"
    return done, most


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("count", [1, 2, 4, 8, 12, 16])
def test_orders_come_to_their_end(ranks, count):
    single = {
        r: _orders.one_forward_one_backward(r, ranks, count) for r in range(ranks)
    }
    done, most = computed(single, ranks)
    assert len(done) == 2 * ranks * count
    assert most == {r: min(count, ranks - r) for r in range(ranks)}
    for several in (1, 2, 3):
        own = {r: list(range(r, ranks * several, ranks)) for r in range(ranks)}
        loops = {r: _orders.gpipe(own[r], count) for r in range(ranks)}
        assert len(computed(loops, ranks)[0]) == 2 * ranks * several * count
        if count % max(1, count // ranks):
            with pytest.raises(ValueError, match="multiple of the number of rounds"):
                _orders.interleaved(0, ranks, several, count)
            continue
        mixed = {r: _orders.interleaved(r, ranks, several, count) for r in range(ranks)}
        assert len(computed(mixed, ranks)[0]) == 2 * ranks * several * count


def test_an_order_is_written_shortly():
    order = _orders.one_forward_one_backward(1, 2, 3)
    assert str(order) == "[1F0, 1B0, 1F1, 1B1, 1F2, 1B2]"


def test_schedules_by_name():
    assert get_schedule_class("gpipe") is pipelining.ScheduleGPipe
    assert get_schedule_class("Interleaved1F1B") is pipelining.ScheduleInterleaved1F1B
    with pytest.raises(ValueError, match="Unknown schedule name"):
        get_schedule_class("zigzag")


# --- the backward pass in two halves ---


def test_inputs_first_then_weights():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    x = ember.randn(5, 3, requires_grad=True)
    model(x).pow(2).sum().backward()
    expected = [x.grad, *(p.grad for p in model.parameters())]
    model.zero_grad()
    x.grad = None
    out = model(x).pow(2).sum()
    grads, kept = stage_backward_input([out], None, [x, "other"], model.parameters())
    assert all(p.grad is None for p in model.parameters()) and grads[1] is None
    stage_backward_weight(model.parameters(), kept)
    for found, wanted in zip(
        [grads[0], *(p.grad for p in model.parameters())], expected
    ):
        assert found.allclose(wanted)


# --- training ---

ROWS, CHUNKS = 8, 4


def layers(count):
    ember.manual_seed(3)
    return nn.Sequential(
        *(nn.Sequential(nn.Linear(6, 6), nn.Tanh()) for _ in range(count))
    ).double()


def data():
    ember.manual_seed(4)
    return [
        (ember.randn(ROWS, 6).double(), ember.randn(ROWS, 6).double()) for _ in range(3)
    ]


def alone(model, accumulate=False):
    optimizer = ember.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for x, y in data():
        optimizer.zero_grad()
        for _ in range(2 if accumulate else 1):
            loss = F.mse_loss(model(x), y)
            loss.backward()
        optimizer.step()
        losses.append(float(loss))
    return losses, [p.detach() for p in model.parameters()]


def pipelined(rank, name, ranks, per_rank, accumulate=False):
    kind = getattr(pipelining, name)
    model = layers(ranks * per_rank)
    numbers = range(rank, ranks * per_rank, ranks)
    stages = [
        pipelining.PipelineStage(model[i], i, ranks * per_rank, "cpu") for i in numbers
    ]
    parameters = [p for stage in stages for p in stage.submod.parameters()]
    optimizer = ember.optim.SGD(parameters, lr=0.1)
    given = stages[0] if per_rank == 1 and name != "ScheduleLoopedBFS" else stages
    schedule = kind(given, CHUNKS, loss_fn=F.mse_loss)
    losses = []
    for x, y in data():
        optimizer.zero_grad()
        for _ in range(2 if accumulate else 1):
            parts: list = []
            args = (x,) if rank == 0 else ()
            last = {"target": y, "losses": parts} if rank == ranks - 1 else {}
            out = schedule.step(*args, **last)
        assert (out is not None) == (rank == ranks - 1)
        optimizer.step()
        losses.append(float(ember.stack(parts).mean()) if parts else None)
    args = (data()[0][0],) if rank == 0 else ()
    out = schedule.eval(*args)
    if rank == ranks - 1:
        assert out.shape == (ROWS, 6) and not out.requires_grad
    return losses, {
        i: [p.detach().numpy() for p in s.submod.parameters()]
        for i, s in zip(numbers, stages)
    }


CASES = [
    ("ScheduleGPipe", 2, 1),
    ("ScheduleGPipe", 4, 1),
    ("Schedule1F1B", 2, 1),
    ("Schedule1F1B", 4, 1),
    ("ScheduleInterleaved1F1B", 2, 2),
    ("ScheduleLoopedBFS", 2, 2),
]


@needs_mpi
@pytest.mark.parametrize("name, ranks, per_rank", CASES)
def test_training_equals_one_process(name, ranks, per_rank):
    losses, parameters = alone(layers(ranks * per_rank))
    found = run(pipelined, ranks, name, ranks, per_rank)
    assert found[-1][0] == pytest.approx(losses, abs=1e-9)
    stages = {i: p for _, own in found for i, p in own.items()}
    flat = [ember.from_numpy(p) for i in sorted(stages) for p in stages[i]]
    for a, b in zip(flat, parameters):
        assert a.allclose(b, atol=1e-9)


@needs_mpi
def test_steps_add_their_gradients_up():
    losses, _ = alone(layers(2), accumulate=True)
    found = run(pipelined, 2, "Schedule1F1B", 2, 1, True)
    assert found[-1][0] == pytest.approx(losses, abs=1e-9)


def gpt(rank, ranks):
    model = models.make("gpt").double()
    x, _ = next(models.batches("gpt"))
    cuts = {2: ["blocks.1"], 4: ["blocks.0", "blocks.1", "norm"]}[ranks]
    spec = dict.fromkeys(cuts, SplitPoint.BEGINNING)
    stage = pipeline(model, (x[:2],), split_spec=spec).build_stage(rank, "cpu")
    schedule = pipelining.Schedule1F1B(
        stage, 4, lambda out, y: models.loss_of("gpt", out, y)
    )
    optimizer = ember.optim.SGD(stage.submod.parameters(), lr=0.1)
    losses = []
    for x, y in models.batches("gpt"):
        parts: list = []
        optimizer.zero_grad()
        if rank == 0:
            schedule.step(x)
        elif rank == ranks - 1:
            schedule.step(target=y, losses=parts)
        else:
            schedule.step()
        optimizer.step()
        losses += [float(ember.stack(parts).mean())] if parts else []
    return losses


@needs_mpi
@pytest.mark.parametrize("ranks", [2, 4])
def test_gpt_cut_by_pipeline(ranks):
    model = models.make("gpt").double()
    optimizer = ember.optim.SGD(model.parameters(), lr=0.1)
    expected = []
    for x, y in models.batches("gpt"):
        optimizer.zero_grad()
        loss = models.loss_of("gpt", model(x), y)
        loss.backward()
        optimizer.step()
        expected.append(float(loss))
    assert run(gpt, ranks, ranks)[-1] == pytest.approx(expected, abs=1e-6)


def many(rank):
    """More messages each way than the engine has collectives in flight."""
    model = nn.ModuleList([nn.Linear(64, 64) for _ in range(4)])
    stages = [pipelining.PipelineStage(model[i], i, 4, "cpu") for i in (rank, rank + 2)]
    schedule = pipelining.ScheduleLoopedBFS(stages, 100, loss_fn=F.mse_loss)
    x = ember.randn(25600, 64)
    if rank == 0:
        schedule.step(x)
    else:
        schedule.step(target=x)
    return True


@needs_mpi
def test_many_microbatches():
    assert run(many, 2) == [True, True]


def wrong(rank):
    stage = pipelining.PipelineStage(nn.Linear(2, 2), rank, 2, "cpu")
    with pytest.raises(ValueError, match="belongs to process"):
        pipelining.PipelineStage(nn.Linear(2, 2), 1 - rank, 2, "cpu")
    with pytest.raises(ValueError, match="n_microbatches"):
        pipelining.ScheduleGPipe(stage, 0)
    with pytest.raises(ValueError, match="expected"):
        pipelining.ScheduleLoopedBFS([stage, stage], 2)
    if rank == 1:
        with pytest.raises(RuntimeError, match="needs a target"):
            pipelining.ScheduleGPipe(stage, 2, F.mse_loss).step()
    dist.barrier()
    return True


@needs_mpi
def test_errors():
    assert run(wrong, 2) == [True, True]
