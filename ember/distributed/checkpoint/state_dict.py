"""State dictionaries of models and optimizers for checkpoints, by names that do not
depend on how a model is wrapped or how many ranks there are.

The state of an optimizer is named by parameters, not numbered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import ember
import ember.distributed as dist
from ember import Tensor
from ember.distributed.checkpoint import _boxes
from ember.nn import Module
from ember.nn.parallel import DistributedDataParallel
from ember.optim import Optimizer

__all__ = """StateDictOptions get_model_state_dict get_optimizer_state_dict
    get_state_dict set_model_state_dict set_optimizer_state_dict
    set_state_dict""".split()

# What wrappers call the module that they wrap.
_WRAPPED = ("_orig_mod", "_checkpoint_wrapped_module")
_STATE, _GROUPS = "state", "param_groups"


@dataclass
class StateDictOptions:
    """How states are given and taken.

    - `full_state_dict`: whole tensors instead of this rank's parts; with `cpu_offload`
      only on rank 0, in host memory.
    - `ignore_frozen_params`: without parameters that need no gradient.
    - `strict`: names have to match.
    - `broadcast_from_rank0`: take the state of rank 0, which may be the only one.
    - `flatten_optimizer_state_dict`: one level, `state.<name>.<entry>`.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def get_model_state_dict(
    model: Module,
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The state of a model, without the names of wrappers."""
    options = _checked(options)
    state = model.state_dict()
    if options.ignore_frozen_params:
        for name, p in model.named_parameters(remove_duplicate=False):
            if not p.requires_grad:
                state.pop(name, None)
    named = {_clean(model, name): value for name, value in state.items()}
    if submodules is not None:
        named = _of_submodules(model, submodules, named, options)
    return _given(named, options)


def get_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The state of optimizers, by names of parameters; one that has made no step gets
    the state it would begin with."""
    if submodules is not None:
        raise NotImplementedError(
            "get_optimizer_state_dict(): submodules is not supported; leave it out"
        )
    options = _checked(options)
    names = _names(model)
    state: dict[str, Any] = {}
    groups: list[dict] = []
    for optimizer in _several(optimizers):
        found = _state_of(optimizer)
        by_number = _numbered(optimizer, names)
        for number, values in found[_STATE].items():
            state[by_number[number]] = values
        for group in found[_GROUPS]:
            params = [by_number[number] for number in group["params"]]
            groups.append({**group, "params": params})
    result: dict[str, Any] = {_STATE: state, _GROUPS: groups}
    if options.flatten_optimizer_state_dict:
        result = _flattened(result)
    return _given(result, options)


def get_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of a model and of its optimizers.

    >>> import ember
    >>> from ember.distributed.checkpoint.state_dict import get_state_dict
    >>> net = ember.nn.Linear(1, 1, bias=False)
    >>> _, state = get_state_dict(net, ember.optim.Adam(net.parameters()))
    >>> sorted(state["state"]["weight"])
    ['exp_avg', 'exp_avg_sq', 'step']
    """
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(
            model, optimizers, submodules=submodules, options=options
        ),
    )


def set_model_state_dict(
    model: Module,
    model_state_dict: Mapping[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> Any:
    """Give a model its state; returns the names that are missing or not expected."""
    options = _checked(options)
    state = _taken(model_state_dict, options)
    own = model.state_dict(keep_vars=True)
    real = {_clean(model, name): name for name in own}
    loaded = {
        real.get(name, name): _like(value, own.get(real.get(name, name)))
        for name, value in state.items()
    }
    # A model that begins on the meta device has no memory to copy into.
    empty = any(isinstance(t, Tensor) and t.device.type == "meta" for t in own.values())
    return model.load_state_dict(loaded, strict=options.strict, assign=empty)


def set_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    optim_state_dict: Mapping[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Give optimizers their state, by names of parameters."""
    options = _checked(options)
    names = _names(model)
    state = _taken(optim_state_dict, options)
    for optimizer in _several(optimizers):
        own = _state_of(optimizer)
        by_number = _numbered(optimizer, names)
        given = state
        if _GROUPS not in state:  # flattened
            given = _unflattened(state, by_number, own)
        _check_names(given, by_number, own, options)
        params = [p for group in optimizer.param_groups for p in group["params"]]
        values = {
            number: {
                key: _like(value, params[number])
                for key, value in given[_STATE][name].items()
            }
            for number, name in by_number.items()
            if name in given[_STATE]
        }
        groups = [
            {**_group_of(group, by_number, given), "params": group["params"]}
            for group in own[_GROUPS]
        ]
        optimizer.load_state_dict({_STATE: values, _GROUPS: groups})


def set_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    model_state_dict: Mapping[str, Any],
    optim_state_dict: Mapping[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Give a model and its optimizers their states."""
    result = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return result


# --- names ---


def _clean(model: Module, name: str) -> str:
    """A name without those of wrappers."""
    parts: list[str] = []
    at: Any = model
    for part in name.split("."):
        wraps = part == "module" and isinstance(at, DistributedDataParallel)
        if not (wraps or part in _WRAPPED):
            parts.append(part)
        at = getattr(at, part, None)
    return ".".join(parts)


def _names(model: Module) -> dict[int, str]:
    """Identity of a parameter -> its name."""
    return {id(p): _clean(model, name) for name, p in model.named_parameters()}


def _numbered(optimizer: Optimizer, names: dict[int, str]) -> dict[int, str]:
    """Number of a parameter in the optimizer's state -> its name."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    unknown = [number for number, p in enumerate(params) if id(p) not in names]
    if unknown:
        raise KeyError(
            f"the optimizer's parameters number {unknown} are not the model's"
        )
    return {number: names[id(p)] for number, p in enumerate(params)}


def _several(optimizers: Optimizer | Iterable[Optimizer]) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _of_submodules(
    model: Module,
    submodules: set[Module],
    state: dict[str, Any],
    options: StateDictOptions,
) -> dict[str, Any]:
    found = {}
    for name, module in model.named_modules():
        if module not in submodules:
            continue
        prefix = _clean(model, name) + "."
        for key, value in state.items():
            if key.startswith(prefix):
                kept = options.keep_submodule_prefixes
                found[key if kept else key.removeprefix(prefix)] = value
    return found


# --- options ---


def _checked(options: StateDictOptions | None) -> StateDictOptions:
    options = options or StateDictOptions()
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError(
            "full_state_dict must be True when broadcast_from_rank0 is True."
        )
    return options


def _given(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """A state as the options want it."""
    result = _each_tensor(state, lambda t: _whole_or_part(t, options))
    first_only = options.full_state_dict and options.cpu_offload
    return {} if first_only and dist.is_initialized() and dist.get_rank() else result


def _whole_or_part(t: Any, options: StateDictOptions) -> Tensor:
    if options.full_state_dict and _boxes.is_sharded(t):
        t = t.full_tensor()
    return t.cpu() if options.cpu_offload else t


def _taken(state: Mapping[str, Any], options: StateDictOptions) -> Mapping[str, Any]:
    """The state that counts: this rank's, or that of rank 0."""
    if not (options.broadcast_from_rank0 and dist.is_initialized()):
        return state
    box = [state if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    assert box[0] is not None
    return box[0]


def _like(value: Any, own: Any) -> Any:
    """A whole tensor in the parts that `own` lies in."""
    if not isinstance(value, Tensor) or not value.dim():
        return value
    if not _boxes.is_sharded(own) or _boxes.is_sharded(value):
        return value
    from ember.distributed.tensor import distribute_tensor

    return distribute_tensor(value, own.device_mesh, own.placements)


def _each_tensor(value: Any, function: Any) -> Any:
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, Mapping):
        return {key: _each_tensor(part, function) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_each_tensor(part, function) for part in value)
    return value


# --- optimizers ---


# What the step that makes a state changes of it; the rest is as it begins.
_AT_FIRST = {"step": 0, "mu_product": 1}


def _state_of(optimizer: Optimizer) -> dict[str, Any]:
    """The state of an optimizer. One that has made no step makes one on gradients of
    zero, which is undone, and gives the state that it would begin with."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(p.grad is not None for p in params):
        return optimizer.state_dict()
    _init_optim_state(optimizer)
    state = optimizer.state_dict()
    optimizer.state.clear()
    return state


def _init_optim_state(optimizer: Optimizer) -> None:
    """Make the state that an optimizer begins with, if it has none."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state:
        return
    if any(p.grad is not None for p in params):
        raise RuntimeError(
            "the state of an optimizer can't be made while it has gradients"
        )
    before = [p.detach().clone() for p in params]
    decays = [group.get("weight_decay") for group in optimizer.param_groups]
    for p in params:
        if p.requires_grad:
            p.grad = ember.zeros_like(p)
    for group in optimizer.param_groups:
        if "weight_decay" in group:
            group["weight_decay"] = 0.0
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    for p, value in zip(params, before):
        p.detach().copy_(value)
    for group, decay in zip(optimizer.param_groups, decays):
        if "weight_decay" in group:
            group["weight_decay"] = decay
    for values in optimizer.state.values():
        for key, first in _AT_FIRST.items():
            if isinstance(values.get(key), Tensor):
                values[key].fill_(first)
            elif key in values:
                values[key] = first


def _group_of(group: dict, by_number: dict[int, str], state: Mapping) -> dict:
    """The saved group with the parameters of this one."""
    mine = {by_number[number] for number in group["params"]}
    for saved in state[_GROUPS]:
        if mine & set(saved["params"]):
            return saved
    return group


def _check_names(
    state: Mapping, by_number: dict[int, str], own: dict, options: StateDictOptions
) -> None:
    missing = sorted(
        name
        for number, name in by_number.items()
        if number in own[_STATE] and name not in state[_STATE]
    )
    if missing and options.strict:
        raise KeyError(f"the optimizer's state has nothing of {', '.join(missing)}")


def _flattened(state: dict[str, Any]) -> dict[str, Any]:
    flat = {
        f"{_STATE}.{name}.{key}": value
        for name, values in state[_STATE].items()
        for key, value in values.items()
    }
    for group in state[_GROUPS]:
        for name in group["params"]:
            for key, value in group.items():
                if key != "params":
                    flat[f"{_GROUPS}.{name}.{key}"] = value
    return flat


def _unflattened(
    flat: Mapping[str, Any], by_number: dict[int, str], own: dict
) -> dict[str, Any]:
    """A flattened state, by the entries that the optimizer has itself."""
    state: dict[str, Any] = {}
    for number, values in own[_STATE].items():
        name = by_number[number]
        entries = {key: f"{_STATE}.{name}.{key}" for key in values}
        if any(full in flat for full in entries.values()):
            state[name] = {k: flat[full] for k, full in entries.items() if full in flat}
    groups = []
    for group in own[_GROUPS]:
        names = [by_number[number] for number in group["params"]]
        options = {
            key: flat.get(f"{_GROUPS}.{names[0]}.{key}", value) if names else value
            for key, value in group.items()
            if key != "params"
        }
        groups.append({**options, "params": names})
    return {_STATE: state, _GROUPS: groups}
