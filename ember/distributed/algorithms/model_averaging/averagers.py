"""When parameters are averaged: `PeriodicModelAverager`."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from ember import Tensor
from ember.distributed import distributed_c10d
from ember.distributed.algorithms.model_averaging import utils


class ModelAverager(ABC):
    """Base: counts steps, and averages over `process_group`."""

    def __init__(self, process_group: Any = None) -> None:
        self.process_group = (
            process_group
            if process_group is not None
            else distributed_c10d._get_default_group()
        )
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Tensor | dict]) -> None:
        """Called after each step of an optimizer."""


class PeriodicModelAverager(ModelAverager):
    """Averages every `period` steps once `warmup_steps` are over, in which gradients
    are supposed to be averaged instead.

    >>> averager = PeriodicModelAverager(period=4, warmup_steps=100)  # doctest: +SKIP
    >>> optimizer.step()  # doctest: +SKIP
    >>> averager.average_parameters(model.parameters())  # doctest: +SKIP
    """

    def __init__(
        self, period: int, warmup_steps: int = 0, process_group: Any = None
    ) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period <= 0:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warnings.warn(
                "PeriodicModelAverager(): with a period of 1 parameters travel in "
                "every step, as gradients do in DistributedDataParallel",
                stacklevel=2,
            )
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params: Iterable[Tensor | dict]) -> None:
        over = self.step - self.warmup_steps
        if over >= 0 and over % self.period == 0:
            utils.average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
