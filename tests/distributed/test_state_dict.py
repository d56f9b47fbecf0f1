"""States by names that do not depend on wrappers or the number of ranks."""

import pytest

import ember
import ember.distributed as dist
import ember.distributed.checkpoint as dcp
from ember import nn
from ember.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from ember.nn.parallel import DistributedDataParallel
from tests.distributed.ranks import needs_mpi, run


def made(seed):
    ember.manual_seed(seed)
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    groups = [
        {"params": net[0].parameters(), "lr": 0.01 * (seed + 1)},
        {"params": [*net[1].parameters(), *net[2].parameters()]},
    ]
    return net, ember.optim.AdamW(groups, lr=0.1 * (seed + 1))


def train(net, optimizer, steps):
    ember.manual_seed(9)
    for _ in range(steps):
        optimizer.zero_grad()
        net(ember.randn(6, 3)).square().mean().backward()
        optimizer.step()
    return nn.utils.parameters_to_vector(net.parameters()).detach()


@pytest.mark.parametrize("flat", [False, True])
def test_training_goes_on_from_states(tmp_path, flat):
    options = StateDictOptions(flatten_optimizer_state_dict=flat)
    net, optimizer = made(0)
    train(net, optimizer, 3)
    model, optim = get_state_dict(net, optimizer, options=options)
    if flat:
        assert "state.0.weight.exp_avg" in optim
        assert optim["param_groups.0.weight.lr"] == 0.01
    else:
        assert sorted(optim["state"])[:2] == ["0.bias", "0.weight"]
        assert optim["param_groups"][0]["params"] == ["0.weight", "0.bias"]
    dcp.save({"model": model, "optim": optim}, checkpoint_id=tmp_path, no_dist=True)
    expected = train(net, optimizer, 2)

    net, optimizer = made(1)
    model, optim = get_state_dict(net, optimizer, options=options)
    kept = {"model": model, "optim": optim}
    dcp.load(kept, checkpoint_id=tmp_path, no_dist=True)
    result = set_state_dict(
        net,
        optimizer,
        model_state_dict=kept["model"],
        optim_state_dict=kept["optim"],
        options=options,
    )
    assert not result.missing_keys and not result.unexpected_keys
    assert optimizer.param_groups[0]["lr"] == 0.01
    assert ember.allclose(train(net, optimizer, 2), expected)


def test_asking_changes_nothing():
    """An optimizer that has made no step is as before."""
    for kind, options in (
        (ember.optim.Adam, {"weight_decay": 0.1}),
        (ember.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
        (ember.optim.RMSprop, {}),
        (ember.optim.Rprop, {}),
        (ember.optim.NAdam, {}),
    ):
        results = []
        for asked in (False, True):
            net, _ = made(0)
            optimizer = kind(net.parameters(), **options)
            if asked:
                state = get_optimizer_state_dict(net, optimizer)["state"]
                assert len(state) == 6
                set_optimizer_state_dict(
                    net, optimizer, get_optimizer_state_dict(net, optimizer)
                )  # and so is one that is given what it began with
            results.append(train(net, optimizer, 3))
        assert ember.equal(*results)


def test_several_optimizers_and_frozen_parameters():
    net, _ = made(0)
    net[0].requires_grad_(False)
    options = StateDictOptions(ignore_frozen_params=True)
    assert "0.weight" not in get_model_state_dict(net, options=options)
    optimizers = [
        ember.optim.SGD(net[1].parameters(), lr=0.1, momentum=0.9),
        ember.optim.Adam(net[2].parameters()),
    ]
    state = get_optimizer_state_dict(net, optimizers)
    assert sorted(state["state"]) == ["1.bias", "1.weight", "2.bias", "2.weight"]
    state["param_groups"][1]["lr"] = 7.0
    set_optimizer_state_dict(net, optimizers, state)
    assert optimizers[1].param_groups[0]["lr"] == 7.0
    assert optimizers[0].param_groups[0]["lr"] == 0.1
    del state["state"]["2.bias"]
    with pytest.raises(KeyError, match=r"2\.bias"):
        set_optimizer_state_dict(net, optimizers, state)
    with pytest.raises(RuntimeError, match="Missing key"):
        set_model_state_dict(net, {})
    loose = StateDictOptions(strict=False)
    assert len(set_model_state_dict(net, {}, options=loose).missing_keys) == 8
    inside = get_model_state_dict(
        net,
        submodules={net[2]},
        options=StateDictOptions(keep_submodule_prefixes=False),
    )
    assert list(inside) == ["weight", "bias"]
    with pytest.raises(ValueError, match="full_state_dict must be True"):
        get_model_state_dict(net, options=StateDictOptions(broadcast_from_rank0=True))


def rank_wraps(rank):
    net, optimizer = made(0)
    ddp = DistributedDataParallel(net)
    train(ddp, optimizer, 2)
    model, optim = get_state_dict(ddp, optimizer)
    assert list(model) == list(net.state_dict()), "as if it were not wrapped"
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    whole, _ = get_state_dict(ddp, optimizer, options=options)
    assert bool(whole) == (rank == 0)
    other, its_optimizer = made(rank + 5)
    wrapped = DistributedDataParallel(other)
    set_state_dict(
        wrapped,
        its_optimizer,
        model_state_dict=model if rank == 0 else {},
        optim_state_dict=optim if rank == 0 else {},
        options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True),
    )
    assert its_optimizer.param_groups[0]["lr"] == 0.01
    dist.barrier()
    return nn.utils.parameters_to_vector(wrapped.parameters()).detach()


@needs_mpi
def test_wrapped_models_and_states_of_the_first_rank():
    first, second = run(rank_wraps, 2)
    assert ember.equal(first, second)
