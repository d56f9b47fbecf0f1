"""Schedulers that are a formula of the epoch. `get_lr` goes on from the rates that are
set, so that schedulers can be chained; `_get_closed_form_lr` computes from the start.
"""

import math
import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ember.optim._scheduler import LRScheduler
from ember.optim.optimizer import Optimizer


def _lambda_list(given, optimizer: Optimizer) -> list:
    count = len(optimizer.param_groups)
    if not isinstance(given, (list, tuple)):
        return [given] * count
    if len(given) != count:
        raise ValueError(f"Expected {count} lr_lambdas, but got {len(given)}")
    return list(given)


def _power(gamma, times: int):
    """gamma**times; in floats, as a large power of an integer takes for ever."""
    return (float(gamma) if isinstance(gamma, int) else gamma) ** times


class _OfFunctions(LRScheduler):
    """Base of schedules by functions of the epoch, one for each group of parameters.

    Functions are not saved; the state of callable objects is.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self.lr_lambdas = _lambda_list(lr_lambda, optimizer)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """State; of the lambdas only what callable objects hold."""
        state = super().state_dict()
        lambdas = state.pop("lr_lambdas")
        state["lr_lambdas"] = [
            None if isinstance(f, types.FunctionType) else f.__dict__.copy()
            for f in lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        state = dict(state_dict)
        for f, saved in zip(self.lr_lambdas, state.pop("lr_lambdas")):
            if saved is not None:
                f.__dict__.update(saved)
        self.__dict__.update(state)


class LambdaLR(_OfFunctions):
    """The initial rate times a function of the epoch.

    Args:
        optimizer: whose rate is set
        lr_lambda: from the epoch to a factor; one for all groups, or a list
        last_epoch: the epoch to go on after; -1 begins

    >>> sgd = ember.optim.SGD([nn.Parameter(ember.ones(1))], lr=8.0)
    >>> schedule = LambdaLR(sgd, lambda epoch: 1 / (1 + epoch))
    >>> for _ in range(3):
    ...     sgd.step()
    ...     schedule.step()
    >>> schedule.get_last_lr()
    [2.0]
    """

    def get_lr(self) -> list:
        self._warn_outside_step()
        return [
            base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs)
        ]


class MultiplicativeLR(_OfFunctions):
    """The rate multiplied by a function of the epoch at each step.

    Args:
        optimizer: whose rate is set
        lr_lambda: from the epoch to a factor of the rate before
        last_epoch: the epoch to go on after; -1 begins

    >>> sgd = ember.optim.SGD([nn.Parameter(ember.ones(1))], lr=1.0)
    >>> schedule = MultiplicativeLR(sgd, lambda epoch: 0.5)
    >>> for _ in range(3):
    ...     sgd.step()
    ...     schedule.step()
    >>> schedule.get_last_lr()
    [0.125]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        given = lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]
        for f in given:
            if not callable(f):
                kind = type(f).__name__
                raise TypeError(f"lr_lambda should be a function, but got {kind}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> list:
        self._warn_outside_step()
        if self._is_initial:
            return self._rates()
        return [r * f(self.last_epoch) for f, r in zip(self.lr_lambdas, self._rates())]


class StepLR(LRScheduler):
    """Multiplies the rate by `gamma` every `step_size` epochs.

    Args:
        optimizer: whose rate is set
        step_size: epochs between two falls
        gamma: the factor
        last_epoch: the epoch to go on after; -1 begins

    >>> sgd = ember.optim.SGD([nn.Parameter(ember.ones(1))], lr=1.0)
    >>> schedule = StepLR(sgd, step_size=2, gamma=0.5)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates.append(schedule.get_last_lr()[0])
    ...     sgd.step()
    ...     schedule.step()
    >>> rates
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        step_size: int,
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        self._warn_outside_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._rates()
        return [rate * self.gamma for rate in self._rates()]

    def _get_closed_form_lr(self) -> list:
        factor = _power(self.gamma, self.last_epoch // self.step_size)
        return [base * factor for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiplies the rate by `gamma` at each milestone.

    Args:
        optimizer: whose rate is set
        milestones: epochs at which the rate falls
        gamma: the factor
        last_epoch: the epoch to go on after; -1 begins

    >>> sgd = ember.optim.SGD([nn.Parameter(ember.ones(1))], lr=1.0)
    >>> schedule = MultiStepLR(sgd, milestones=[1, 3], gamma=0.5)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates.append(schedule.get_last_lr()[0])
    ...     sgd.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 0.5, 0.25, 0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        self._warn_outside_step()
        times = self.milestones.get(self.last_epoch, 0)
        if not times:
            return self._rates()
        return [rate * _power(self.gamma, times) for rate in self._rates()]

    def _get_closed_form_lr(self) -> list:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        factor = _power(self.gamma, passed)
        return [base * factor for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate times `factor` for the first `total_iters` epochs.

    Args:
        optimizer: whose rate is set
        factor: what the rate is multiplied by at first
        total_iters: for how many epochs
        last_epoch: the epoch to go on after; -1 begins

    >>> sgd = ember.optim.SGD([nn.Parameter(ember.ones(1))], lr=1.0)
    >>> schedule = ConstantLR(sgd, factor=0.5, total_iters=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(schedule.get_last_lr()[0])
    ...     sgd.step()
    ...     schedule.step()
    >>> rates
    [0.5, 0.5, 1.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError(
                "Constant multiplicative factor expected to be between 0 and 1."
            )
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        self._warn_outside_step()
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self._rates()]
        if self.last_epoch != self.total_iters:
            return self._rates()
        return [rate * (1.0 / self.factor) for rate in self._rates()]

    def _get_closed_form_lr(self) -> list:
        over = self.last_epoch >= self.total_iters
        return [base * (1.0 if over else self.factor) for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The rate times a factor that goes linearly from start to end.

    A warm-up, if it ends at 1.

    Args:
        optimizer: whose rate is set
        start_factor: the first factor
        end_factor: the last one
        total_iters: epochs between them
        last_epoch: the epoch to go on after; -1 begins

    >>> sgd = ember.optim.SGD([nn.Parameter(ember.ones(1))], lr=1.0)
    >>> schedule = LinearLR(sgd, start_factor=0.25, total_iters=3)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates.append(round(schedule.get_last_lr()[0], 2))
    ...     sgd.step()
    ...     schedule.step()
    >>> rates
    [0.25, 0.5, 0.75, 1.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less "
                "or equal to 1."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError(
                "Ending multiplicative factor expected to be between 0 and 1."
            )
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        self._warn_outside_step()
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in self._rates()]
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        span = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * span
        return [rate * (1.0 + span / before) for rate in self._rates()]

    def _get_closed_form_lr(self) -> list:
        span = self.end_factor - self.start_factor
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (self.start_factor + span * done) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiplies the rate by `gamma` every epoch.

    Args:
        optimizer: whose rate is set
        gamma: the factor
        last_epoch: the epoch to go on after; -1 begins

    >>> sgd = ember.optim.SGD([nn.Parameter(ember.ones(1))], lr=1.0)
    >>> schedule = ExponentialLR(sgd, gamma=0.5)
    >>> for _ in range(3):
    ...     sgd.step()
    ...     schedule.step()
    >>> schedule.get_last_lr()
    [0.125]
    """

    def __init__(
        self, optimizer: Optimizer, gamma: float, last_epoch: int = -1
    ) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        self._warn_outside_step()
        if self._is_initial:
            return self._rates()
        return [rate * self.gamma for rate in self._rates()]

    def _get_closed_form_lr(self) -> list:
        factor = _power(self.gamma, self.last_epoch)
        return [base * factor for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The rate goes to zero as a power of the epochs that are left.

        lr * (1 - epoch / total_iters)^power

    Args:
        optimizer: whose rate is set
        total_iters: the epoch at which the rate is 0
        power: 1 for a straight line
        last_epoch: the epoch to go on after; -1 begins

    >>> sgd = ember.optim.SGD([nn.Parameter(ember.ones(1))], lr=1.0)
    >>> schedule = PolynomialLR(sgd, total_iters=4)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates.append(round(schedule.get_last_lr()[0], 2))
    ...     sgd.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.75, 0.5, 0.25, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        self._warn_outside_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        left = 1.0 - self.last_epoch / self.total_iters
        before = 1.0 - (self.last_epoch - 1) / self.total_iters
        return [rate * (left / before) ** self.power for rate in self._rates()]

    def _get_closed_form_lr(self) -> list:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (1.0 - done) ** self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """The rate follows a cosine from its start to `eta_min` in `T_max` epochs.

        eta_min + (lr - eta_min) * (1 + cos(π * epoch / T_max)) / 2

    Args:
        optimizer: whose rate is set
        T_max: half a period, in epochs
        eta_min: the least rate
        last_epoch: the epoch to go on after; -1 begins

    >>> sgd = ember.optim.SGD([nn.Parameter(ember.ones(1))], lr=1.0)
    >>> schedule = CosineAnnealingLR(sgd, T_max=4)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates.append(round(schedule.get_last_lr()[0], 2))
    ...     sgd.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.85, 0.5, 0.15, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_max: int,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _cosine(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self) -> list:
        self._warn_outside_step()
        low = self.eta_min
        if self._is_initial:
            return self._rates()
        if self._step_count == 1 and self.last_epoch > 0:
            return [
                low + (base - low) * self._cosine(self.last_epoch) / 2
                for base in self.base_lrs
            ]
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # The rate has reached eta_min, from where no factor leads back up.
            up = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                rate + (base - low) * up
                for base, rate in zip(self.base_lrs, self._rates())
            ]
        ratio = self._cosine(self.last_epoch) / self._cosine(self.last_epoch - 1)
        return [ratio * (rate - low) + low for rate in self._rates()]

    def _get_closed_form_lr(self) -> list:
        low, factor = self.eta_min, self._cosine(self.last_epoch) / 2
        return [low + (base - low) * factor for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine annealing that starts again after T_0, T_0 * T_mult, ... epochs
    (arXiv:1608.03983).

    Args:
        optimizer: whose rate is set
        T_0: epochs until the first restart
        T_mult: factor from one period to the next
        eta_min: the least rate
        last_epoch: the epoch to go on after; -1 begins

    >>> sgd = ember.optim.SGD([nn.Parameter(ember.ones(1))], lr=1.0)
    >>> schedule = CosineAnnealingWarmRestarts(sgd, T_0=2)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates.append(round(schedule.get_last_lr()[0], 2))
    ...     sgd.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 1.0, 0.5, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(
                "Expected float or int eta_min, but got "
                f"{eta_min} of type {type(eta_min)}"
            )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        self._warn_outside_step()
        factor = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        low = self.eta_min
        return [low + (base - low) * factor for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go on by one epoch, or to `epoch`, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._restart_at(epoch)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._set_rates(rates)

    def _restart_at(self, epoch: float) -> None:
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            passed = self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_cur = epoch - passed
            self.T_i = self.T_0 * self.T_mult**n
