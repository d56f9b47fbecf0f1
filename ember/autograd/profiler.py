"""The older names of `ember.profiler`, with the arguments they had."""

from __future__ import annotations

from typing import Any

from ember import profiler
from ember.profiler import EventList as EventList
from ember.profiler import FunctionEvent as FunctionEvent
from ember.profiler import ProfilerActivity as ProfilerActivity
from ember.profiler import kineto_available as kineto_available
from ember.profiler import record_function as record_function


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
