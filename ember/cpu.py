"""The CPU as a device: memory statistics of its allocator, and the names that programs
written for any accelerator call.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import ember
from ember import _C, _lazy, _odds
from ember._odds import Event as Event

__path__: list[str] = []  # so that there can be ember.cpu.amp


def memory_stats() -> dict[str, int]:
    """Bytes in use and taken from the system, with peaks, and counts of requests.

    >>> import ember
    >>> sorted(ember.cpu.memory_stats())[:2]
    ['allocated', 'allocated_peak']
    """
    return _C._memory_stats()


def memory_allocated() -> int:
    """Bytes in use by tensors."""
    return memory_stats()["allocated"]


def max_memory_allocated() -> int:
    """The most bytes that were ever in use since `reset_peak_memory_stats()`."""
    return memory_stats()["allocated_peak"]


def memory_reserved() -> int:
    """Bytes taken from the system: in use, or kept for the next tensor."""
    return memory_stats()["reserved"]


def reset_peak_memory_stats() -> None:
    """Let peaks start again from what is in use now."""
    _C._reset_peak_memory_stats()


def empty_cache() -> None:
    """Return memory that is not in use to the system."""
    _C._empty_cache()


def is_available() -> bool:
    """Always True."""
    return True


def device_count() -> int:
    """Always 1."""
    return 1


def current_device() -> str:
    """Always "cpu"."""
    return "cpu"


def synchronize(device=None) -> None:
    """Nothing to wait for: work on the CPU is done when the call returns."""


def is_initialized() -> bool:
    """Always True."""
    return True


def set_device(device: ember.device | str | int | None) -> None:
    """Nothing to choose from: there is one CPU."""


class Stream(_odds.Stream):
    """The CPU's queue of work, which is always empty."""

    def __init__(self, priority: int = -1) -> None:
        super().__init__("cpu", priority=priority)


_current = Stream()


def current_stream(device: ember.device | str | int | None = None) -> Stream:
    """The stream that work goes to: the innermost of `stream`, or the only default."""
    return _current


class StreamContext:
    """Inside, `stream` is the current one."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        global _current
        self._before = _current
        if self.stream is not None:
            _current = self.stream

    def __exit__(self, *error: object) -> None:
        global _current
        _current = self._before


def stream(stream: Stream | None = None) -> StreamContext:
    """A context in which `stream` is the current one.

    >>> import ember
    >>> queue = ember.cpu.Stream()
    >>> with ember.cpu.stream(queue):
    ...     ember.cpu.current_stream() is queue
    True
    """
    return StreamContext(stream)


@cache
def get_capabilities() -> Mapping[str, Any]:
    """What the processor is and can do: instruction sets, cores, caches.

    Names of instruction sets are those of x86-64 and there only.

    >>> import ember
    >>> ember.cpu.get_capabilities()["num_logical_cores"] > 0
    True
    """
    from types import MappingProxyType

    from ember._processor import describe

    return MappingProxyType(describe())


__getattr__ = _lazy.missing(__name__)
