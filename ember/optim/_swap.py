"""An optimizer working on other parameters than its own for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

import ember
from ember.optim.optimizer import Optimizer


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer,
    swapin_parameters: "dict[str, ember.Tensor]",
    swapin_optim_state: dict,
) -> Iterator[None]:
    """Let `optimizer` act on given parameters, with a given `state_dict`, inside.

    Parameters come in the order in which the optimizer got its own. Changes in place
    reach the tensors that were given; everything else is undone.

    >>> import ember
    >>> w, other = ember.ones(1, requires_grad=True), ember.zeros(1)
    >>> optimizer = ember.optim.SGD([w], lr=1.0)
    >>> other.grad = ember.ones(1)
    >>> with ember.optim.swap_in_optimizer_params_and_state(
    ...     optimizer, {"w": other}, optimizer.state_dict()
    ... ):
    ...     optimizer.step()
    >>> other, w.detach()
    (tensor([-1.]), tensor([1.]))
    """
    given = list(swapin_parameters.values())
    groups, states = optimizer.param_groups, optimizer.state
    count = sum(len(group["params"]) for group in groups)
    if len(given) != count:
        raise ValueError(
            f"the optimizer has {count} parameters but {len(given)} were swapped in"
        )
    saved_groups = swapin_optim_state["param_groups"]
    if len(saved_groups) != len(groups):
        raise ValueError(
            f"the optimizer has {len(groups)} parameter groups but the state has "
            f"{len(saved_groups)}"
        )
    by_id: dict = {}
    rest, new_groups = iter(given), []
    for group, saved in zip(groups, saved_groups):
        params = [next(rest) for _ in group["params"]]
        by_id.update(zip(saved["params"], params))
        new_groups.append({**group, **saved, "params": params})
    new_states = type(states)(states.default_factory)  # type: ignore[attr-defined]
    for key, value in swapin_optim_state["state"].items():
        new_states[by_id[key]] = dict(value) if isinstance(value, dict) else value
    optimizer.param_groups, optimizer.state = new_groups, new_states
    try:
        yield
    finally:
        optimizer.param_groups, optimizer.state = groups, states
