"""Steps that the ranks of a group take together: an error of one is an error of all."""

from __future__ import annotations

import pickle
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import ember.distributed as dist
from ember.distributed import _objects
from ember.distributed.checkpoint.api import CheckpointException


class Ranks:
    """The ranks that save or load a checkpoint; `group=None` is this process alone."""

    def __init__(self, group: Any, coordinator: int = 0) -> None:
        self.group = group
        self.rank = 0 if group is None else group.rank()
        self.size = 1 if group is None else group.size()
        self.coordinator = 0 if group is None else coordinator
        self.is_coordinator = self.rank == self.coordinator

    def everywhere(self, step: str, function: Callable[[], Any]) -> list[Any]:
        """What a function returns on each rank."""
        value, failure = _outcome(function)
        pairs = [(value, failure)]
        if self.size > 1:
            pairs = _objects.exchange(self.group, (value, failure))
        return self._values(step, dict(enumerate(pairs)))

    def at_first(self, step: str, function: Callable[[], Any]) -> Any:
        """What a function returns on the coordinator."""
        box = [_outcome(function) if self.is_coordinator else None]
        if self.size > 1:
            dist.broadcast_object_list(
                box, group=self.group, group_src=self.coordinator
            )
        return self._values(step, {self.coordinator: box[0]})[0]

    def _values(self, step: str, outcomes: dict[int, Any]) -> list[Any]:
        failures = {rank: pair[1] for rank, pair in outcomes.items() if pair[1]}
        if failures:
            raise CheckpointException(step, failures)
        return [value for value, _ in outcomes.values()]


def _outcome(function: Callable[[], Any]) -> tuple[Any, Any]:
    """Its value, or its error with the way there."""
    try:
        return function(), None
    except Exception as error:
        stack = traceback.extract_tb(error.__traceback__)
        try:
            pickle.loads(pickle.dumps(error))
            return None, (error, stack)
        except Exception:  # errors of others may not travel
            text = f"{type(error).__name__}: {error}"
            return None, (RuntimeError(text), stack)


def ranks_of(process_group: Any, no_dist: bool, verb: str) -> Ranks:
    """Those of a group, or this process where there are no others."""
    if not no_dist and not (dist.is_available() and dist.is_initialized()):
        warnings.warn(
            "torch.distributed is disabled, unavailable or uninitialized, assuming the "
            f"intent is to {verb} in a single process.",
            stacklevel=3,
        )
        no_dist = True
    if no_dist:
        return Ranks(None)
    return Ranks(process_group or dist._get_default_group())
