"""`LRScheduler`, the base of learning-rate schedulers."""

import warnings
import weakref
from functools import wraps
from typing import Any

from ember import Tensor
from ember.optim.optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being "
    "deprecated where possible. Please use `scheduler.step()` to step the scheduler. "
    "During the deprecation, if epoch is different from None, the closed form is used "
    "instead of the new chainable form, where available. Please open an issue if you "
    "are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)


def copy_of(rate: Any) -> Any:
    """A rate that does not change when the tensor it was does."""
    return rate.clone() if isinstance(rate, Tensor) else rate


def set_rates(groups: list, rates: list, name: str = "lr") -> None:
    """Set the rate of each group; one that is a tensor stays that tensor."""
    for group, rate in zip(groups, rates):
        if isinstance(group[name], Tensor):
            group[name].fill_(float(rate))
        else:
            group[name] = rate


class LRScheduler:
    """Base: `get_lr` says the rates of an epoch, `step` goes on and sets them.

    >>> import ember
    >>> optimizer = ember.optim.SGD([ember.nn.Parameter(ember.ones(1))], lr=1.0)
    >>> scheduler = ember.optim.lr_scheduler.StepLR(optimizer, step_size=1)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.1]
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                # An earlier scheduler may have set it, and changed the rate since.
                group.setdefault("initial_lr", copy_of(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    "param 'initial_lr' is not specified in "
                    f"param_groups[{i}] when resuming scheduler with last_epoch >= 0."
                )
        groups = optimizer.param_groups
        self.base_lrs = [copy_of(group["initial_lr"]) for group in groups]
        self.last_epoch = last_epoch
        _count_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[float]:
        """The rates that are set now."""
        return self._last_lr

    def get_lr(self) -> list:
        """The rates of epoch `last_epoch`, from those that are set."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go on by one epoch (or, deprecated, to a given one)."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed = getattr(self, "_get_closed_form_lr", self.get_lr)
                rates = closed()
        finally:
            self._get_lr_called_within_step = False
        self._set_rates(rates)

    def _set_rates(self, rates: list) -> None:
        groups = self.optimizer.param_groups
        set_rates(groups, rates)
        self._last_lr = [copy_of(group["lr"]) for group in groups]

    def _check_order(self) -> None:
        step = self.optimizer.step
        if not hasattr(step, "_wrapped_by_lr_sched"):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate "
                "scheduler initialization. Please, make sure to call "
                "`optimizer.step()` before `lr_scheduler.step()`. See more details at https://pytorch.org/"
                "docs/stable/optim.html#how-to-adjust-learning-rate",
                UserWarning,
                stacklevel=3,
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In "
                "PyTorch 1.1.0 and later, you should call them in the opposite order: "
                "`optimizer.step()` before `lr_scheduler.step()`.  Failure to do this "
                "will result in PyTorch skipping the first value of the learning rate "
                "schedule. See more details at https://pytorch.org/docs/stable/"
                "optim.html#how-to-adjust-learning-rate",
                UserWarning,
                stacklevel=3,
            )

    def _rates(self) -> list:
        """The rates that are set in the optimizer."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )


def _count_steps(optimizer: Optimizer) -> None:
    """Note on the optimizer that it has made a step, to warn about a wrong order."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    step = type(optimizer).step
    there = weakref.ref(optimizer)  # which would otherwise hold itself

    @wraps(step)
    def counted(*args, **kwargs):
        owner: Any = there()
        owner._opt_called = True
        return step(owner, *args, **kwargs)

    counted._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = counted  # type: ignore[method-assign]
