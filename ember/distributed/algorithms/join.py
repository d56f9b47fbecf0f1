"""Training with different numbers of batches on each rank.

A rank that has no batch left must still take part in the collectives of the others.
What communicates in a step is a `Joinable`; it tells by `join_hook` what to do instead.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, NamedTuple

import ember
from ember import Tensor


class JoinHook:
    """What a rank does that is through."""

    def main_hook(self) -> None:
        """Again and again, until all are through: the collectives of one step."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Once, when all are."""


class _JoinConfig(NamedTuple):
    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool
    divide_by_initial_world_size: bool = True

    @staticmethod
    def construct_disabled_join_config() -> _JoinConfig:
        return _JoinConfig(False, False, False)


class Joinable(ABC):
    """Something that communicates in every step."""

    def __init__(self) -> None:
        self._join_config = _JoinConfig.construct_disabled_join_config()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What to do once this rank is through."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """Where the counting of `Join` happens."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """Among whom."""


class Join:
    """Within it, ranks may stop at different steps.

    >>> with Join([model, optimizer]):  # doctest: +SKIP
    ...     for batch in batches:
    ...         ...
    """

    def __init__(
        self,
        joinables: list[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        groups = {id(j.join_process_group): j.join_process_group for j in joinables}
        if len(groups) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        self._joinables, self._enable = joinables, enable
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._throw = throw_on_early_termination
        self._group = joinables[0].join_process_group
        self._device = joinables[0].join_device
        self._by_all = kwargs.get("divide_by_initial_world_size", True)

    def __enter__(self) -> Join:
        for i, joinable in enumerate(self._joinables):
            joinable._join_config = _JoinConfig(
                self._enable, self._throw, i == 0, self._by_all
            )
        return self

    def __exit__(
        self,
        type: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if self._enable and type is None:
                self._shadow_the_others()
        finally:
            for joinable in self._joinables:
                joinable._join_config = _JoinConfig.construct_disabled_join_config()

    def _shadow_the_others(self) -> None:
        last, steps = True, 0
        while _still_training(self._group, self._device, 0):
            if self._throw:
                raise RuntimeError(_exhausted(self._group))
            last = False
            steps += 1
            if steps == 1001:
                warnings.warn(
                    f"rank {self._group.rank()} has taken part in 1000 steps of the "
                    "others without a batch of its own",
                    stacklevel=3,
                )
            for hook in self._hooks:
                hook.main_hook()
        for hook in self._hooks:
            hook.post_hook(last)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> None:
        """Called by a joinable before the collectives of a step: this rank still
        trains. Only the first one of a context tells it."""
        config = joinable._join_config
        if not config.enable or not config.is_first_joinable:
            return
        group = joinable.join_process_group
        count = _still_training(group, joinable.join_device, 1)
        if config.throw_on_early_termination and count != group.size():
            raise RuntimeError(_exhausted(group))


def _still_training(group: Any, device: Any, mine: int) -> int:
    """How many ranks do; every rank asks once in a step."""
    count: Tensor = ember.tensor([mine], device=device)
    group.allreduce([count]).wait()
    return int(count)


def _exhausted(group: Any) -> str:
    return (
        "Detected at least one rank that exhausted inputs. Throwing across all ranks. "
        f"(This is rank {group.rank()}.)"
    )
