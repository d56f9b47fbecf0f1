"""`PostLocalSGDOptimizer`: steps on each rank, parameters averaged now and then."""

from __future__ import annotations

import warnings
from typing import Any

from ember.distributed.algorithms.model_averaging.averagers import ModelAverager
from ember.optim import Optimizer


class PostLocalSGDOptimizer(Optimizer):
    """`optim`, and after each of its steps `averager` (Lin et al., 2018).

    With `DistributedDataParallel`, gradients are averaged in the first steps only, by
    `ember.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook`.
    """

    def __init__(self, optim: Optimizer, averager: ModelAverager) -> None:
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups
        self.defaults = optim.defaults
        self._make_hook_tables()

    @property
    def state(self) -> Any:  # type: ignore[override]
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict:
        """That of the optimizer, and how many steps the averager has counted."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict) -> None:
        """Take over a state; without a count of steps, the averager begins anew."""
        self.optim.load_state_dict(state_dict)
        self.param_groups = self.optim.param_groups
        if "step" not in state_dict:
            warnings.warn(
                "Loaded state dict does not contain a step counter for an averager. "
                "Setting step counter to 0.",
                stacklevel=2,
            )
        self.averager.step = state_dict.get("step", 0)

    def step(self, closure: Any = None) -> Any:
        """A step of the optimizer, and one of the averager."""
        loss = self.optim.step() if closure is None else self.optim.step(closure)
        self.averager.average_parameters(params=self.param_groups)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict) -> None:
        self.optim.add_param_group(param_group)
