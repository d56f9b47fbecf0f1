"""The older names of `ember.profiler`, with the arguments they had."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

from ember import _lazy, profiler
from ember.profiler import (
    EventList as EventList,
    FunctionEvent as FunctionEvent,
    KinetoStepTracker as KinetoStepTracker,
    ProfilerActivity as ProfilerActivity,
    ProfilerConfig as ProfilerConfig,
    ProfilerState as ProfilerState,
    kineto_available as kineto_available,
    record_function as record_function,
)


class profile(profiler.profile):
    """As `ember.profiler.profile`; `enabled=False` records nothing.

    >>> import ember
    >>> with ember.autograd.profiler.profile() as prof:
    ...     y = ember.ones(2) + 1
    >>> len(prof.function_events)
    2
    """

    def __init__(self, enabled: bool = True, **options: Any) -> None:
        for name in ("use_cuda", "use_device", "use_kineto", "use_cpu"):
            options.pop(name, None)
        super().__init__(**options)
        self.enabled = enabled

    def __enter__(self) -> profile:
        if self.enabled:
            self.start()
        return self

    @property
    def function_events(self) -> EventList:
        return self.events()

    def table(self, *args: Any, **kwargs: Any) -> str:
        return self.events().table(*args, **kwargs)

    def total_average(self) -> profiler.EventAverage:
        return self.events().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        return self.events().self_cpu_time_total

    def config(self) -> ProfilerConfig:
        """What is recorded.

        >>> from ember.autograd.profiler import profile
        >>> profile(record_shapes=True).config().report_input_shapes
        True
        """
        state = ProfilerState.CPU if self.enabled else ProfilerState.Disabled
        return ProfilerConfig(
            state,
            self.record_shapes,
            self.profile_memory,
            self.with_stack,
            self.with_flops,
            self.with_modules,
        )


class EnforceUnique:
    """Refuses a key that it has seen.

    >>> from ember.autograd.profiler import EnforceUnique
    >>> names = EnforceUnique()
    >>> names.see("a", 1)
    >>> names.see("a", 1)
    Traceback (most recent call last):
    RuntimeError: duplicate key: ('a', 1)
    """

    def __init__(self) -> None:
        self.seen: set = set()

    def see(self, *key: Any) -> None:
        """Take note of a key, or raise."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class MemRecordsAcc:
    """Records of memory in order of time: pairs whose first has a `start_ns()`."""

    def __init__(self, mem_records: list[tuple]) -> None:
        self._mem_records = sorted(mem_records, key=lambda r: r[0].start_ns())
        self._start_nses = [r[0].start_ns() for r in self._mem_records]

    def in_interval(self, start_ns: int, end_ns: int) -> list[tuple]:
        """The records from one time to another, both included."""
        first = bisect_left(self._start_nses, start_ns)
        return self._mem_records[first : bisect_right(self._start_nses, end_ns)]


__getattr__ = _lazy.missing(__name__)
