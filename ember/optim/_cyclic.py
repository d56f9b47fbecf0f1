"""Schedulers that move the rate, and with it momentum, up and down: CyclicLR
(arXiv:1506.01186) and OneCycleLR (arXiv:1708.07120).
"""

import math
import types
from collections.abc import Callable
from typing import Any

from ember.optim._scheduler import LRScheduler, copy_of, set_rates
from ember.optim.optimizer import Optimizer


def _per_group(name: str, optimizer: Optimizer, value) -> list:
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [copy_of(value) for _ in range(count)]
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has "
            f"{len(value)} values, param_groups has {count}."
        )
    return [copy_of(v) for v in value]


def _set_momentum(group: dict, momentum: float) -> None:
    """Momentum, or the first beta of optimizers that have betas."""
    if "betas" in group:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


def _check_momentum(optimizer: Optimizer) -> bool:
    """Whether the optimizer calls its momentum beta1."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(
            "optimizer must support momentum or beta1 with `cycle_momentum` option "
            "enabled"
        )
    return "betas" in optimizer.defaults


class CyclicLR(LRScheduler):
    """The rate goes up and down between two bounds, at every batch.

    >>> import ember
    >>> p = ember.nn.Parameter(ember.ones(1))
    >>> optimizer = ember.optim.SGD([p], lr=0.1, momentum=0.9)
    >>> s = ember.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 1.0, step_size_up=10)
    >>> s.get_last_lr()
    [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        base_lrs = _per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            set_rates(optimizer.param_groups, base_lrs)
        self.max_lrs = _per_group("max_lr", optimizer, max_lr)
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up) + float(down)
        self.step_ratio = float(step_size_up) / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _check_momentum(optimizer)
            self.base_momentums = _per_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = _per_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                pairs = zip(self.base_momentums, self.max_momentums)
                for (low, high), group in zip(pairs, optimizer.param_groups):
                    _set_momentum(group, high)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The size of a cycle (or of an iteration) relative to the first."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        if self.mode == "triangular2":
            return 1 / (2.0 ** (x - 1))
        return self.gamma**x

    def get_lr(self) -> list:
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        rising = x <= self.step_ratio
        height = x / self.step_ratio if rising else (x - 1) / (self.step_ratio - 1)
        at = cycle if self.scale_mode == "cycle" else self.last_epoch
        scale = self.scale_fn(at)
        if self.cycle_momentum:
            pairs = zip(self.base_momentums, self.max_momentums)
            for (low, high), group in zip(pairs, self.optimizer.param_groups):
                _set_momentum(group, high - (high - low) * height * scale)
        return [
            low + (high - low) * height * scale
            for low, high in zip(self.base_lrs, self.max_lrs)
        ]

    def state_dict(self) -> dict[str, Any]:
        """State; of a scale function only what a callable object holds."""
        state = super().state_dict()
        custom = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = None
        if custom is not None and not isinstance(custom, types.FunctionType):
            state["_scale_fn_custom"] = custom.__dict__.copy()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        state = dict(state_dict)
        custom = state.pop("_scale_fn_custom", None)
        super().load_state_dict(state)
        if custom is not None:
            self._scale_fn_custom.__dict__.update(custom)


class OneCycleLR(LRScheduler):
    """The rate rises to `max_lr` and falls far below its start, once.

    >>> import ember
    >>> p = ember.nn.Parameter(ember.ones(1))
    >>> optimizer = ember.optim.SGD([p], lr=0.1, momentum=0.9)
    >>> s = ember.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=10)
    >>> s.get_last_lr()
    [0.040000000000000036]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(
                f"Expected float between 0 and 1 pct_start, but got {pct_start}"
            )
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                "anneal_strategy must be one of 'cos' or 'linear', instead got "
                f"{anneal_strategy}"
            )
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        groups = optimizer.param_groups
        if last_epoch == -1:
            for high, group in zip(_per_group("max_lr", optimizer, max_lr), groups):
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _check_momentum(optimizer)
            highs = _per_group("max_momentum", optimizer, max_momentum)
            lows = _per_group("base_momentum", optimizer, base_momentum)
            if last_epoch == -1:
                for low, high, group in zip(lows, highs, groups):
                    _set_momentum(group, high)
                    group["max_momentum"], group["base_momentum"] = high, low
        if last_epoch == -1:
            set_rates(groups, [group["initial_lr"] for group in groups])
        super().__init__(optimizer, last_epoch)

    def _anneal(self, start: float, end: float, done: float) -> float:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * done) + 1)
        return (end - start) * done + start

    def get_lr(self) -> list:
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The total number of steps is "
                f"{self.total_steps}"
            )
        start = 0.0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if step <= end or phase is self._schedule_phases[-1]:
                break
            start = end
        done = (step - start) / (end - start)
        rates = []
        for group in self.optimizer.param_groups:
            first, last = group[phase["start_lr"]], group[phase["end_lr"]]
            rates.append(self._anneal(first, last, done))
            if self.cycle_momentum:
                first = group[phase["start_momentum"]]
                last = group[phase["end_momentum"]]
                _set_momentum(group, self._anneal(first, last, done))
        return rates


def _total_steps(total, epochs, per_epoch) -> int:
    if total is not None:
        if total <= 0 or not isinstance(total, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total}")
        return total
    if epochs is None or per_epoch is None:
        raise ValueError(
            "You must define either total_steps OR (epochs AND steps_per_epoch)"
        )
    if not isinstance(epochs, int) or epochs <= 0:
        raise ValueError(f"Expected positive integer epochs, but got {epochs}")
    if not isinstance(per_epoch, int) or per_epoch <= 0:
        raise ValueError(
            f"Expected positive integer steps_per_epoch, but got {per_epoch}"
        )
    return epochs * per_epoch


def _phases(total: int, pct_start: float, three: bool) -> list[dict]:
    """The parts of the cycle, by the names of the values between which they move."""
    up = float(pct_start * total) - 1
    rates = [(up, "initial_lr", "max_lr")]
    if three:
        rates.append((float(2 * pct_start * total) - 2, "max_lr", "initial_lr"))
        rates.append((total - 1, "initial_lr", "min_lr"))
        momenta = ["max_momentum", "base_momentum", "max_momentum", "max_momentum"]
    else:
        rates.append((total - 1, "max_lr", "min_lr"))
        momenta = ["max_momentum", "base_momentum", "max_momentum"]
    return [
        {
            "end_step": end,
            "start_lr": first,
            "end_lr": last,
            "start_momentum": momenta[i],
            "end_momentum": momenta[i + 1],
        }
        for i, (end, first, last) in enumerate(rates)
    ]
