"""Learning-rate schedulers. `_plain_schedules` has those that are a formula of the
epoch, `_cyclic` the cycling ones; here are the base, the combinations and the one that
watches a metric.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ember import Tensor, _lazy
from ember.optim._cyclic import CyclicLR, OneCycleLR
from ember.optim._plain_schedules import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from ember.optim._scheduler import (  # noqa: F401 (the warning is public here)
    EPOCH_DEPRECATION_WARNING,
    LRScheduler,
    copy_of,
    set_rates,
)
from ember.optim.optimizer import Optimizer

_LRScheduler = LRScheduler


def _check_schedulers(
    owner: LRScheduler, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None
) -> Optimizer:
    """The one optimizer that all `schedulers` of `owner` have to be of."""
    if len(schedulers) < 1:
        raise ValueError(
            f"{type(owner).__name__} expects at least one scheduler to be chained, "
            "but got no scheduler."
        )
    optimizer = optimizer or schedulers[0].optimizer
    for i, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(
                f"{type(owner).__name__} at index {i} should have `optimizer` as "
                "its attribute."
            )
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(
                f"{type(owner).__name__} does not support `ReduceLROnPlateau` "
                "scheduler as it requires additional kwargs to be specified when "
                f"calling `step`, but got one at index {i} in the given schedulers "
                "sequence."
            )
        if scheduler.optimizer is not optimizer:
            raise ValueError(
                f"{type(owner).__name__} expects all schedulers to belong to the "
                f"same optimizer, but got scheduler {type(scheduler).__name__} at "
                f"index {i} has {scheduler.optimizer}, which is different from "
                f"{optimizer.__class__.__name__}."
            )
    return optimizer


class SequentialLR(LRScheduler):
    """Schedulers one after another, each from its milestone on.

    >>> import ember
    >>> from ember.optim.lr_scheduler import ConstantLR, ExponentialLR, SequentialLR
    >>> optimizer = ember.optim.SGD([ember.nn.Parameter(ember.ones(1))], lr=1.0)
    >>> warm, decay = ConstantLR(optimizer, 0.1), ExponentialLR(optimizer, 0.5)
    >>> scheduler = SequentialLR(optimizer, [warm, decay], milestones=[1])
    >>> scheduler.get_last_lr()
    [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        _check_schedulers(self, schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one "
                "more than the number of milestone points, but got number of "
                f"schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Constructing the schedulers has changed the rates; start from the first.
        groups = optimizer.param_groups
        set_rates(groups, [group["initial_lr"] for group in groups])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: LRScheduler | None = None) -> None:
        """Take back the step that making a scheduler does, also of those inside it."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for inner in scheduler._schedulers:
                self.recursive_undo(inner)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Go on by one epoch."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        """State, with that of the schedulers inside."""
        return _nested_state(self)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        _load_nested(self, state_dict)


class ChainedScheduler(LRScheduler):
    """Schedulers that all act at once, one upon the other.

    Args:
        schedulers: of one optimizer
        optimizer: that of the schedulers

    >>> sgd = ember.optim.SGD([nn.Parameter(ember.ones(1))], lr=1.0)
    >>> schedule = ChainedScheduler([ExponentialLR(sgd, 0.5), StepLR(sgd, 2)])
    >>> for _ in range(2):
    ...     sgd.step()
    ...     schedule.step()
    >>> round(schedule.get_last_lr()[0], 4)
    0.025
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        optimizer = _check_schedulers(self, schedulers, optimizer)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = _rates(optimizer)

    def step(self) -> None:  # type: ignore[override]
        """Go on by one epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = _rates(self._schedulers[-1].optimizer)

    def state_dict(self) -> dict[str, Any]:
        """State, with that of the schedulers inside."""
        return _nested_state(self)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        _load_nested(self, state_dict)


def _rates(optimizer: Optimizer) -> list:
    return [copy_of(group["lr"]) for group in optimizer.param_groups]


def _nested_state(scheduler) -> dict[str, Any]:
    state = {
        k: v
        for k, v in scheduler.__dict__.items()
        if k not in ("optimizer", "_schedulers")
    }
    state["_schedulers"] = [inner.state_dict() for inner in scheduler._schedulers]
    return state


def _load_nested(scheduler, state: dict) -> None:
    own = {k: v for k, v in state.items() if k != "_schedulers"}
    scheduler.__dict__.update(own)
    for inner, saved in zip(scheduler._schedulers, state["_schedulers"]):
        inner.load_state_dict(saved)


class ReduceLROnPlateau(LRScheduler):
    """Lowers the rate when a metric has stopped improving.

    >>> import ember
    >>> optimizer = ember.optim.SGD([ember.nn.Parameter(ember.ones(1))], lr=1.0)
    >>> s = ember.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    >>> for loss in (3.0, 3.0, 3.0):
    ...     s.step(loss)
    >>> s.get_last_lr()
    [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if mode not in ("min", "max"):
            raise ValueError("mode " + mode + " is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError("threshold mode " + threshold_mode + " is unknown!")
        self.factor = factor
        self.optimizer = optimizer
        groups = optimizer.param_groups
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != len(groups):
                raise ValueError(f"expected {len(groups)} min_lrs, got {len(min_lr)}")
            self.default_min_lr = None
            self.min_lrs = list(min_lr)
        else:
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * len(groups)
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = _rates(optimizer)
        self.mode_worse = float("inf") if mode == "min" else -float("inf")
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self._reset()

    def _reset(self) -> None:
        """Forget what was seen so far."""
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(  # type: ignore[override]
        self, metrics: float | Tensor, epoch: int | None = None
    ) -> None:
        """Tell the metric of an epoch."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(epoch)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = _rates(self.optimizer)

    def _reduce_lr(self, epoch) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    "The number of param groups in the `optimizer` "
                    f"({len(groups)}) differs from when `ReduceLROnPlateau` was "
                    f"initialized ({len(self.min_lrs)}), usually due to a new param "
                    "group being added to the optimizer. Please modify the `min_lrs` "
                    "field to match the length of the `optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for i, group in enumerate(groups):
            old = float(group["lr"])
            new = max(old * self.factor, self.min_lrs[i])
            if old - new > self.eps:
                set_rates([group], [new])

    @property
    def in_cooldown(self) -> bool:
        """Whether the metric is not watched, just after a reduction."""
        return self.cooldown_counter > 0

    def is_better(self, a: float, best: float) -> bool:
        """Whether `a` improves on `best` by more than the threshold."""
        sign = 1 if self.mode == "min" else -1
        if self.threshold_mode == "rel":
            return sign * a < sign * best * (1 - sign * self.threshold)
        return sign * a < sign * best - self.threshold


__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]


if not TYPE_CHECKING:  # a checker reports what is not here
    __getattr__ = _lazy.missing(__name__)
