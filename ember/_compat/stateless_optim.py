"""An optimizer that works for a while on other parameters, with another state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from ember import Tensor
from ember.optim import Optimizer

_NAME = "swap_in_optimizer_params_and_state"


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict, swapin_optim_state: dict
) -> Iterator[None]:
    """The optimizer with these parameters, in its own order, and a state as its
    `state_dict` gives it; afterwards with its own. Tensors of the state that change
    in place stay changed, nothing else does.

    >>> import ember
    >>> w = ember.ones(1, requires_grad=True)
    >>> optimizer = ember.optim.SGD([w], lr=0.5, momentum=0.5)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> v = ember.ones(1, requires_grad=True)
    >>> v.grad = ember.ones(1)
    >>> state = optimizer.state_dict()
    >>> with swap_in_optimizer_params_and_state(optimizer, {"w": v}, state):
    ...     optimizer.step()
    >>> w, v
    (tensor([0.5000], requires_grad=True), tensor([0.2500], requires_grad=True))
    """
    _check_state(optimizer, swapin_optim_state)
    groups = swapin_optim_state["param_groups"]
    ids = [i for group in groups for i in group["params"]]
    if len(swapin_parameters) != len(ids):
        raise RuntimeError(
            f"{_NAME}: {len(swapin_parameters)} parameters were given, but they have "
            f"to match optimizer.param_groups ordering, which has {len(ids)}"
        )
    params = iter(swapin_parameters.values())
    state: defaultdict = defaultdict(dict)
    given, new_groups = swapin_optim_state["state"], []
    for group in groups:
        own = [next(params) for _ in group["params"]]
        new_groups.append({**group, "params": own})
        for param, i in zip(own, group["params"], strict=True):
            if i in given:
                state[param] = dict(given[i])
    kept, kept_state = [dict(g) for g in optimizer.param_groups], optimizer.state
    try:
        optimizer.state = state
        for live, new in zip(optimizer.param_groups, new_groups, strict=True):
            live.update(new)
        yield
    finally:
        optimizer.state = kept_state
        for live, before in zip(optimizer.param_groups, kept, strict=True):
            live.clear()
            live.update(before)


def _check_state(optimizer: Optimizer, given: dict) -> None:
    """Refuse what is no state of this optimizer."""
    if not optimizer.state:
        raise RuntimeError(f"{_NAME} requires initialized optimizer state.")
    state, groups = given["state"], given["param_groups"]
    for name, value, kind in (("state", state, dict), ("param_groups", groups, list)):
        if not isinstance(value, kind):
            raise RuntimeError(
                f"{_NAME}: expected swapin_optim_state['{name}'] to be a "
                f"{kind.__name__}, got {type(value).__name__}"
            )
    if len(groups) != len(optimizer.param_groups):
        raise RuntimeError(
            f"{_NAME}: swapin_optim_state has a different number of parameter groups "
            f"({len(groups)}) than the optimizer ({len(optimizer.param_groups)})"
        )
    ids: set = set()
    for i, (new, live) in enumerate(zip(groups, optimizer.param_groups, strict=True)):
        _check_group(i, new, live)
        ids.update(new["params"])
    if any(isinstance(key, Tensor) for key in state):
        raise RuntimeError(f"{_NAME}: expected state keyed by packed parameter ids")
    extra = [key for key in state if key not in ids]
    if extra:
        raise RuntimeError(
            f"{_NAME}: expected state keyed by packed parameter ids; got extra keys "
            f"{extra}"
        )
    if not all(isinstance(value, dict) for value in state.values()):
        raise RuntimeError(
            f"{_NAME}: expected per-parameter optimizer state entries to be "
            "dictionaries"
        )


def _check_group(i: int, new: dict, live: dict) -> None:
    more, fewer = (sorted(set(a) - set(b)) for a, b in ((new, live), (live, new)))
    if more or fewer:
        raise RuntimeError(
            f"{_NAME}: param group {i} has other keys than the optimizer's. Keys only "
            f"in swap-in: {more}. Keys only in live: {fewer}."
        )
    if len(new["params"]) != len(live["params"]):
        raise RuntimeError(
            f"{_NAME}: param group {i} has a different number of params "
            f"({len(new['params'])}) than the optimizer's ({len(live['params'])})"
        )
    if not all(isinstance(p, int) for p in new["params"]):
        raise RuntimeError(
            f"{_NAME}: expected param_groups[*]['params'] entries keyed by packed "
            f"parameter ids, got {new['params']!r:.200}"
        )
