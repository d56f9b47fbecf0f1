"""What the optimizers share: checks of options, and what a step of a group needs."""

import functools
from collections.abc import Collection
from typing import Any

import ember
from ember import _C, Tensor

_strided = ember.strided


def options(arguments: dict[str, Any]) -> dict[str, Any]:
    """What a group has unless it says otherwise: the arguments of an `__init__`, from
    its `locals()` before it has others."""
    beside = ("self", "params", "__class__")
    return {name: arguments[name] for name in arguments if name not in beside}


def check(ok: bool, what: str, value: Any) -> None:
    """Raise PyTorch's error for an option out of range."""
    if not ok:
        raise ValueError(f"Invalid {what}: {value}")


def check_lr(lr: Any) -> None:
    """A learning rate is a non-negative number or a tensor of one."""
    if isinstance(lr, Tensor):
        if lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
    else:
        check(lr >= 0.0, "learning rate", lr)


def check_betas(betas: Any) -> None:
    """Two averaging factors in [0, 1)."""
    pair = betas[0], betas[1]  # of an endless list, too
    if len({isinstance(beta, Tensor) for beta in pair}) > 1:
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(pair):
        check(0.0 <= beta < 1.0, f"beta parameter at index {i}", beta)


def number(value: Any) -> float:
    """A learning rate as a number, also if it was given as a tensor."""
    return value.item() if isinstance(value, Tensor) else value


def real(t: Tensor) -> Tensor:
    """A complex tensor as pairs of reals, which is how its elements are averaged."""
    return ember.view_as_real(t) if t.is_complex() else t


def collect(optimizer: Any, group: dict, start: Any) -> tuple[list, list, list[dict]]:
    """The parameters of a group that have a gradient, these, and their states.

    `start(p, state, group)` fills a state that is empty. Complex tensors are given as
    pairs of reals.
    """
    params, grads, states = [], [], []
    for p in group["params"]:
        grad = p.grad
        if grad is None:
            continue
        if grad.layout is not _strided:
            name = type(optimizer).__name__
            other = ", please consider SparseAdam instead" * (name in ("Adam", "AdamW"))
            raise RuntimeError(f"{name} does not support sparse gradients{other}")
        state = optimizer.state[p]
        if not state:
            start(p, state, group)
        if p.is_complex():
            p, grad = ember.view_as_real(p), ember.view_as_real(grad)
            state = {name: real(column([state], name)[0]) for name in state}
        params.append(p)
        grads.append(grad)
        states.append(state)
    return params, grads, states


def column(states: list[dict], name: str) -> list[Tensor]:
    """One entry of all states."""
    found = [state[name] for state in states]
    if set(map(type, found)) <= {Tensor}:
        return found
    for i, value in enumerate(found):
        if not isinstance(value, Tensor):  # from PyTorch before 1.12
            states[i][name] = found[i] = scalar(float(value))
    return found


@functools.cache
def _arguments(op: str) -> tuple[list[str], list[str]]:
    """The lists that a step takes after the gradients, and its options."""
    from ember import _schemas

    params = _schemas.parse(_C._ops[op].schemas[0]).params[2:]
    lists = [param.name for param in params if not param.keyword_only]
    return lists, [param.name for param in params if param.keyword_only]


def make_step(
    name: str, found: tuple, group: dict, without: Collection[str] = (), **options: Any
) -> None:
    """Make the step `name`, a row of core/optim_formulas.h, for what `collect` found.

    What it keeps is in the states, but for what it goes `without`. Options that are not
    given are those of the group.
    """
    params, grads, states = found
    op = f"_fused_{name}_"
    lists, names = _arguments(op)
    kept = [[] if entry in without else column(states, entry) for entry in lists]
    given = {name: group[name] for name in names if name in group}
    getattr(_C, op)(params, grads, *kept, **given, **options)


def check_implementation(foreach: bool | None, fused: bool | None) -> None:
    """These choose among PyTorch's implementations; ember has one of each."""
    if foreach and fused:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def scalar(value: float) -> Tensor:
    """A number in an optimizer's state, as PyTorch keeps it."""
    wide = ember.get_default_dtype() == ember.float64
    return ember.tensor(value, dtype=ember.float64 if wide else ember.float32)


def advance(state: dict) -> float:
    """Count a step of one parameter; the number of this step."""
    return column([state], "step")[0].add_(1).item()
