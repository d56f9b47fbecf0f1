"""Models whose parameters lie in parts on the ranks train as those of one process."""

import pytest

import ember
import ember.distributed as dist
from ember import nn
from ember.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    FullyShardedDataParallel,
    MixedPrecisionPolicy,
    fully_shard,
    register_fsdp_forward_method,
)
from ember.distributed.tensor import DTensor, Replicate, Shard, init_device_mesh
from ember.distributed.tensor.parallel import parallelize_module
from ember.utils.checkpoint import checkpoint
from tests.distributed.models import (
    Block,
    Residual,
    batches,
    loss_of,
    make,
    part,
    train,
)
from tests.distributed.ranks import needs_mpi, run
from tests.distributed.test_tensor_parallel import plan_of

pytestmark = needs_mpi
LAYERS = (Block, Residual, nn.Linear)


def sharded(model, **options):
    """The model with a group for each layer, and one for the rest."""
    for layer in list(model.modules()):
        inside = isinstance(layer, nn.Linear) and hasattr(model, "blocks")
        if isinstance(layer, LAYERS) and not inside:
            fully_shard(layer, **options)
    return fully_shard(model, **options)


def whole(t):
    return (t.full_tensor() if isinstance(t, DTensor) else t).detach()


def _as_one_process(rank, name, size, accumulate, options):
    plain, model = make(name), sharded(make(name), **options)
    assert isinstance(model, FSDPModule)
    for p in model.parameters():
        assert isinstance(p, DTensor) and p.placements == (Shard(0),)
    norms = []
    for one in (plain, model):
        optimizer = ember.optim.SGD(one.parameters(), lr=0.05, momentum=0.9)
        shard = (0, 1) if one is plain else (rank, size)
        sync = one.set_requires_gradient_sync if one is model else None
        norms.append(train(one, name, optimizer, shard, accumulate, 0.5, sync))
    ember.testing.assert_close(norms[1], norms[0])
    for (key, p), q in zip(plain.named_parameters(), model.parameters()):
        difference = (whole(q) - p.detach()).abs().max().item()
        assert difference < 1e-6, (key, difference)
    return [whole(p) for p in model.parameters()]


@pytest.mark.parametrize(
    "name, size, accumulate",
    [("mlp", 2, 1), ("mlp", 4, 2), ("resnet", 2, 2), ("resnet", 4, 1), ("gpt", 2, 1),
     ("gpt", 4, 2)],
)  # fmt: skip
def test_trains_as_one_process(name, size, accumulate):
    options = {"reshard_after_forward": size == 2 or None}
    answers = run(_as_one_process, size, name, size, accumulate, options)
    for other in answers[1:]:  # every rank has the same bits
        assert all(a.equal(b) for a, b in zip(answers[0], other))


def _memory(rank):
    model = make("gpt")
    total = sum(p.numel() for p in model.parameters())
    sharded(model)
    params = [p for m in model.modules() if isinstance(m, FSDPModule)
              for p in m._fsdp_state.params.params]  # fmt: skip

    def held():
        return sum(p.storage.nbytes() for p in params) // 4

    assert held() == 0
    mine = sum(p.to_local().numel() for p in model.parameters())
    assert mine <= total // 2 + len(params) * 16
    seen = []
    for block in model.blocks:
        block.register_forward_pre_hook(lambda m, a: seen.append(held()))
    ((x, y),) = batches("gpt", 1)
    out = model(x)
    block = sum(p.numel() for p in Block().parameters())
    assert max(seen) < total - block + 1  # never all blocks at once
    assert isinstance(model.blocks[0].up.weight, DTensor)
    assert not isinstance(model.place, DTensor)  # the outermost module keeps its own
    loss_of("gpt", out, y).backward()
    assert held() == 0
    assert all(isinstance(p.grad, DTensor) for p in model.parameters())
    assert all(v.placements == (Shard(0),) for v in model.state_dict().values())
    optimizer = ember.optim.AdamW(model.parameters())
    optimizer.step()
    assert isinstance(optimizer.state[model.place]["exp_avg"], DTensor)


def test_memory_and_what_lies_where():
    run(_memory, 2)


def _state(rank):
    model, other = sharded(make("mlp")), sharded(make("mlp"))
    with ember.no_grad():
        for p in model.parameters():
            p.add_(1.0)
    ((x, _),) = batches("mlp", 1)
    with ember.no_grad():
        before = other(x)
        wanted = model(x)
        other.load_state_dict(model.state_dict())
        assert other(x).equal(wanted) and not before.equal(wanted)
    names = {k: v.full_tensor().shape for k, v in model.state_dict().items()}
    assert names == {k: v.shape for k, v in make("mlp").state_dict().items()}
    with pytest.raises(AssertionError, match="deepcopy"):
        import copy

        copy.deepcopy(model)


def test_state_dicts_have_the_parts():
    run(_state, 2)


def _options(rank):
    ((x, y),) = batches("mlp", 1)
    x, y = part(x, rank, 2), part(y, rank, 2)
    # Explicit control: gathered ahead, and freed.
    model = sharded(make("mlp"), offload_policy=CPUOffloadPolicy())
    first, second = model[0], model[2]
    handle = first.unshard(async_op=True)
    handle.wait()
    assert not isinstance(first.weight, DTensor)
    first.reshard()
    assert isinstance(first.weight, DTensor)
    first.set_modules_to_forward_prefetch([second])
    second.set_modules_to_backward_prefetch([first])
    wanted = make("mlp")(x)
    assert model(x).equal(wanted)
    loss_of("mlp", model(x), y).backward()
    assert model[0].weight.grad is not None
    # Lower precision while computing.
    policy = MixedPrecisionPolicy(
        param_dtype=ember.bfloat16,
        reduce_dtype=ember.float32,
        output_dtype=ember.float32,
    )
    half = sharded(make("mlp"), mp_policy=policy)
    dtypes = []
    half[2].register_forward_pre_hook(lambda m, a: dtypes.append(a[0].dtype))
    out = half(x)
    assert out.dtype == ember.float32 and dtypes == [ember.bfloat16]
    ember.testing.assert_close(out, wanted, atol=0.03, rtol=0.03)
    loss_of("mlp", out, y).backward()
    assert half[0].weight.grad.dtype == ember.float32
    # Other methods than forward.
    net = make("mlp")
    net.encode = lambda x: net[0](x)
    fully_shard(net)
    register_fsdp_forward_method(net, "encode")
    assert net.encode(x).equal(make("mlp")[0](x))
    # Frozen and unused parameters.
    net = make("mlp")
    net[0].requires_grad_(False)
    net[4].unused = nn.Parameter(ember.ones(3))
    sharded(net)
    loss_of("mlp", net(x), y).backward()
    assert net[0].weight.grad is None
    assert net[2].weight.grad is not None
    assert net[4].unused.grad.full_tensor().tolist() == [0, 0, 0]


def test_options_and_explicit_control():
    run(_options, 2)


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(6, 6), nn.Linear(6, 3)])

    def forward(self, x):
        for layer in self.layers:
            x = checkpoint(layer, x.tanh(), use_reentrant=False)
        return x


def _checkpoints(rank):
    ember.manual_seed(0)
    plain = Checkpointed()
    ember.manual_seed(0)
    model = sharded(Checkpointed())
    ((x, y),) = batches("mlp", 1)
    loss_of("mlp", plain(x), y).backward()
    loss_of("mlp", model(part(x, rank, 2)), part(y, rank, 2)).backward()
    for p, q in zip(plain.parameters(), model.parameters()):
        ember.testing.assert_close(q.grad.full_tensor(), p.grad)


def test_activation_checkpoints():
    run(_checkpoints, 2)


def _hybrid(rank):
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("copies", "parts"))
    plain, model = make("gpt"), sharded(make("gpt"), mesh=mesh)
    assert model.place.placements == (Replicate(), Shard(0))
    for one in (plain, model):
        optimizer = ember.optim.SGD(one.parameters(), lr=0.05, momentum=0.9)
        train(one, "gpt", optimizer, (0, 1) if one is plain else (rank, 4), clip=0.5)
    for p, q in zip(plain.parameters(), model.parameters()):
        assert (whole(q) - p.detach()).abs().max().item() < 1e-6


def test_copies_of_parts():
    run(_hybrid, 4)


def _with_tensor_parallelism(rank):
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    plain, model = make("gpt"), make("gpt")
    parallelize_module(model, mesh["tp"], plan_of("gpt"))
    sharded(model, mesh=mesh["dp"])
    up = model.blocks[0].up
    assert up.weight.placements == (Shard(0), Shard(0)) and up.weight.shape == (32, 16)
    assert up.weight.to_local().shape == (8, 16)
    assert up.weight.full_tensor().equal(plain.blocks[0].up.weight.detach())
    for one in (plain, model):
        optimizer = ember.optim.SGD(one.parameters(), lr=0.05, momentum=0.9)
        shard = (0, 1) if one is plain else (rank // 2, 2)
        train(one, "gpt", optimizer, shard, accumulate=2, clip=0.5)
    for p, q in zip(plain.parameters(), model.parameters()):
        assert (whole(q) - p.detach()).abs().max().item() < 1e-6
    return [whole(p) for p in model.parameters()]


def test_with_tensor_parallelism():
    answers = run(_with_tensor_parallelism, 4)
    for other in answers[1:]:
        assert all(a.equal(b) for a, b in zip(answers[0], other))


def _refusals(rank):
    net = fully_shard(nn.Linear(2, 2))
    with pytest.raises(AssertionError, match="already"):
        fully_shard(net)
    with pytest.raises(ValueError, match="forward"):
        fully_shard(nn.ModuleList([nn.Linear(1, 1)]))
    with pytest.raises(NotImplementedError, match="fully_shard does this"):
        FullyShardedDataParallel(nn.Linear(1, 1))
    mixed = nn.Linear(2, 2)
    mixed.bias.data = mixed.bias.data.double()
    with pytest.raises(RuntimeError, match="one dtype"):
        fully_shard(mixed)(ember.ones(1, 2))
    columns = fully_shard(nn.Linear(6, 4), shard_placement_fn=lambda p: (
        Shard(1) if p.dim() == 2 else None))  # fmt: skip
    assert columns.weight.placements == (Shard(1),)
    assert columns.weight.to_local().shape == (4, 3)
    columns(ember.ones(1, 6)).sum().backward()
    assert columns.weight.grad.full_tensor().equal(ember.ones(4, 6))
    assert dist.get_world_size() == 2


def test_refusals_and_other_dimensions():
    run(_refusals, 2)


def from_meta(rank):
    with ember.device("meta"):
        model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
    for layer in (model[0], model[2], model):
        fully_shard(layer)
    model.to_empty(device="cpu")
    for i, p in enumerate(model.parameters()):
        nn.init.constant_(p, 0.1 * (i + 1))
    x = ember.arange(8.0).view(2, 4) / 8
    found = []
    for _ in range(2):
        model(x).sum().backward()
        found.append([p.grad.full_tensor().tolist() for p in model.parameters()])
        # Parameters of a checkpoint stand in the place of those that were there.
        state = {k: nn.Parameter(v.detach() * 1) for k, v in model.state_dict().items()}
        model.load_state_dict(state, assign=True)
    model(x).sum().backward()
    found.append([p.grad.full_tensor().tolist() for p in model.parameters()])
    plain = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
    for i, p in enumerate(plain.parameters()):
        nn.init.constant_(p, 0.1 * (i + 1))
    plain(x).sum().backward()
    for grads in found:
        for grad, p in zip(grads, plain.parameters(), strict=True):
            assert p.grad.allclose(ember.tensor(grad))
    return True


def test_a_model_that_begins_on_the_meta_device():
    assert run(from_meta, 2) == [True, True]


def state_onto_meta(rank):
    from ember.distributed.checkpoint.state_dict import (
        StateDictOptions,
        _init_optim_state,
        set_model_state_dict,
    )

    plain = nn.Linear(4, 3)
    nn.init.constant_(plain.weight, 2.0)
    nn.init.constant_(plain.bias, 1.0)
    with ember.device("meta"):
        model = nn.Linear(4, 3)
    fully_shard(model)
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    state = plain.state_dict() if rank == 0 else {}
    set_model_state_dict(model, state, options=options)
    assert model(ember.ones(1, 4)).tolist() == [[9.0] * 3]
    optimizer = ember.optim.Adam(model.parameters())
    _init_optim_state(optimizer)
    states = list(optimizer.state.values())
    assert len(states) == 2 and all(int(s["step"]) == 0 for s in states)
    model.reshard()
    assert model.weight.full_tensor().eq(2).all()
    return True


def test_a_state_for_a_model_on_the_meta_device():
    assert run(state_onto_meta, 2) == [True, True]
