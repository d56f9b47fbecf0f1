"""Layers whose weights lie on several ranks train as those of one process do."""

import warnings

import pytest

import ember
import ember.nn.functional as F
from ember import nn
from ember.distributed.tensor import (
    DTensor,
    Replicate,
    Shard,
    distribute_tensor,
    init_device_mesh,
)
from ember.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from tests.distributed.models import GPT, Block, make, train
from tests.distributed.ranks import needs_mpi, run

pytestmark = needs_mpi


def plan_of(name):
    if name == "mlp":
        return {"0": ColwiseParallel(), "2": RowwiseParallel(), "4": ColwiseParallel(
            output_layouts=Replicate())}  # fmt: skip
    if name == "resnet":
        return {
            "head": RowwiseParallel(input_layouts=Replicate()),
        }
    return {
        "token": RowwiseParallel(input_layouts=Replicate()),
        "blocks.*.query": ColwiseParallel(),
        "blocks.*.key": ColwiseParallel(),
        "blocks.*.value": ColwiseParallel(),
        "blocks.*.out": RowwiseParallel(),
        "blocks.*.up": ColwiseParallel(),
        "blocks.*.down": RowwiseParallel(),
        "head": ColwiseParallel(output_layouts=Replicate()),
    }


def whole(t):
    return (t.full_tensor() if isinstance(t, DTensor) else t).detach()


def _as_one_process(rank, name, size, accumulate):
    mesh = init_device_mesh("cpu", (size,))
    plain, model = make(name), make(name)
    parallelize_module(model, mesh, plan_of(name))
    norms = []
    for one in (plain, model):
        # Not Adam: it makes steps of the rounding errors in gradients that are zero.
        optimizer = ember.optim.SGD(one.parameters(), lr=0.05, momentum=0.9)
        norms.append(train(one, name, optimizer, accumulate=accumulate, clip=0.5))
    ember.testing.assert_close(norms[1], norms[0])
    for (key, p), q in zip(plain.named_parameters(), model.parameters()):
        difference = (whole(q) - p.detach()).abs().max().item()
        assert difference < 1e-6, (key, difference)
    return [whole(p) for p in model.parameters()]


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("name", ["mlp", "resnet", "gpt"])
def test_trains_as_one_process(name, size):
    answers = run(_as_one_process, size, name, size, 2)
    for other in answers[1:]:  # every rank has the same bits
        assert all(a.equal(b) for a, b in zip(answers[0], other))


def _sequence(rank):
    mesh = init_device_mesh("cpu", (2,))
    ember.manual_seed(0)
    plain, x = Block(), ember.randn(2, 6, 16)
    ember.manual_seed(0)
    block = Block()
    cut = Shard(1)
    parallelize_module(
        block,
        mesh,
        {
            "norm1": SequenceParallel(),
            "norm2": SequenceParallel(),
            "query": ColwiseParallel(input_layouts=cut),
            "key": ColwiseParallel(input_layouts=cut),
            "value": ColwiseParallel(input_layouts=cut),
            "out": RowwiseParallel(output_layouts=cut, use_local_output=False),
            "up": ColwiseParallel(input_layouts=cut),
            "down": RowwiseParallel(output_layouts=cut, use_local_output=False),
        },
    )
    given = distribute_tensor(x, mesh, [cut]).requires_grad_()
    leaf = x.clone().requires_grad_()
    wanted = plain(leaf)
    (wanted**2).sum().backward()
    out = block(given)
    assert out.placements == (cut,)
    ember.testing.assert_close(out.full_tensor(), wanted.detach())
    (out**2).sum().backward()
    ember.testing.assert_close(given.grad.full_tensor(), leaf.grad)
    for p, q in zip(plain.parameters(), block.parameters()):
        ember.testing.assert_close(q.grad.full_tensor(), p.grad)


def test_sequence_parallel():
    run(_sequence, 2)


def _prepared(rank):
    mesh = init_device_mesh("cpu", (2,))
    net = nn.Linear(4, 4)
    seen = []
    net.register_forward_pre_hook(lambda m, args: seen.append(args[0]))
    style = PrepareModuleInput(
        input_layouts=Shard(0), desired_input_layouts=Replicate(), use_local_output=True
    )
    # Hooks run in their order: this one comes first.
    first = nn.Sequential(net)
    parallelize_module(first, mesh, style)
    out = first(ember.full((2, 4), float(rank)))
    assert seen[0].tolist() == [[0.0] * 4] * 2 + [[1.0] * 4] * 2
    assert out.shape == (4, 4)
    back = PrepareModuleOutput(
        output_layouts=Replicate(), desired_output_layouts=Shard(0)
    )
    parallelize_module(first, mesh, back)
    assert first(ember.ones(2, 4)).shape == (2, 4)
    with pytest.raises(AssertionError, match="same length"):
        PrepareModuleInput(input_layouts=Shard(0), desired_input_layouts=())
    with pytest.raises(NotImplementedError, match="only supports"):
        parallelize_module(nn.Conv2d(1, 1, 1), mesh, ColwiseParallel())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        parallelize_module(GPT(), mesh, {"nothing.here": ColwiseParallel()})
    assert "could not be resolved" in str(told[0].message)


def test_inputs_and_outputs():
    run(_prepared, 2)


def _loss(rank):
    mesh = init_device_mesh("cpu", (2,))
    ember.manual_seed(0)
    scores, target = ember.randn(4, 5), ember.tensor([0, 4, -100, 2])
    for reduction in ("mean", "sum", "none"):
        plain = scores.clone().requires_grad_()
        wanted = F.cross_entropy(plain, target, reduction=reduction)
        wanted.sum().backward()
        x = distribute_tensor(scores, mesh, [Shard(1)]).requires_grad_()
        y = distribute_tensor(target, mesh, [Replicate()])
        with loss_parallel():
            loss = F.cross_entropy(x, y, reduction=reduction)
            ember.testing.assert_close(loss.full_tensor(), wanted.detach())
            loss.sum().backward()
        ember.testing.assert_close(x.grad.full_tensor(), plain.grad)
        with loss_parallel(), pytest.raises(NotImplementedError, match="weight"):
            F.cross_entropy(x, y, label_smoothing=0.1)


def test_loss_of_classes_on_several_ranks():
    run(_loss, 2)
