"""Where the time and the memory of a program go, op by op.

>>> import ember
>>> from ember.profiler import profile, record_function
>>> x = ember.randn(64, 64)
>>> with profile(record_shapes=True) as prof:
...     with record_function("product"):
...         y = x @ x
>>> [event.name for event in prof.events()]
['product', 'matmul']
"""

from __future__ import annotations

import functools
import os
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ember import _C, _lazy
from ember._files import replacing as replacing
from ember.profiler.events import (
    EventAverage as EventAverage,
    EventList as EventList,
    FunctionEvent as FunctionEvent,
    from_core as from_core,
)

__all__ = [
    "DeviceType",
    "ExecutionTraceObserver",
    "ProfilerAction",
    "ProfilerActivity",
    "RecordScope",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(Enum):
    """What is recorded; ember records the CPU side of every op."""

    CPU = 0
    CUDA = 2


class DeviceType(Enum):
    """Where an event ran."""

    CPU = 0
    CUDA = 1


class RecordScope(Enum):
    """What a span stands for."""

    FUNCTION = 0
    BACKWARD_FUNCTION = 1
    USER_SCOPE = 7


class ProfilerState(Enum):
    """How a profile is made; ember's own is `CPU`, or `Disabled`."""

    Disabled = 0
    CPU = 1
    CUDA = 2
    NVTX = 3
    ITT = 4
    PRIVATEUSE1 = 5
    KINETO = 6
    KINETO_GPU_FALLBACK = 7
    KINETO_PRIVATEUSE1_FALLBACK = 8
    KINETO_PRIVATEUSE1 = 9

    def __int__(self) -> int:
        return self.value


@dataclass
class ProfilerConfig:
    """What a profile was asked to record: see `autograd.profiler.profile.config`."""

    state: ProfilerState
    report_input_shapes: bool
    profile_memory: bool
    with_stack: bool
    with_flops: bool
    with_modules: bool
    experimental_config: Any = None
    trace_id: str = ""


class KinetoStepTracker:
    """Counts the steps of a program that several parties tell of.

    Each has a count of its own; the program's is the largest, so that a step told by a
    profile and by an optimizer counts once.

    >>> from ember.autograd.profiler import KinetoStepTracker as Steps
    >>> before = Steps.current_step()
    >>> Steps.init_step_count("loader")
    >>> Steps.increment_step("loader") - before, Steps.increment_step("loop") - before
    (1, 2)
    >>> Steps.erase_step_count("loader"), Steps.erase_step_count("loader")
    (True, False)
    """

    _current_step = 0
    _step_dict: dict[str, int] = {}

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Let a count begin at the current step."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Drop a count; whether there was one."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Add 1 to a count; the current step of the program."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        cls._current_step = max(cls._current_step, cls._step_dict[requester])
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The current step of the program."""
        return cls._current_step


class ProfilerAction(Enum):
    """What a schedule asks for at a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ExecutionTraceObserver:
    """Writes a trace of what runs between `start()` and `stop()` to a file.

    >>> import ember, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "trace.json")
    >>> observer = ember.profiler.ExecutionTraceObserver().register_callback(path)
    >>> observer.start()
    >>> y = ember.ones(2).exp()
    >>> observer.stop()
    >>> os.path.getsize(path) > 0
    True
    """

    def __init__(self) -> None:
        self._path: str | None = None
        self._profile: profile | None = None

    def register_callback(self, output_file_path: str) -> ExecutionTraceObserver:
        """Choose the file."""
        self._path = output_file_path
        return self

    def unregister_callback(self) -> None:
        """Stop, and forget the file."""
        self.stop()
        self._path = None

    cleanup = unregister_callback

    @property
    def is_registered(self) -> bool:
        return self._path is not None

    def is_running(self) -> bool:
        return self._profile is not None

    def get_output_file_path(self) -> str | None:
        return self._path

    def start(self) -> None:
        """Begin, if a file has been chosen."""
        if self._path is not None and self._profile is None:
            self._profile = profile(record_shapes=True)
            self._profile.start()

    def stop(self) -> None:
        """End, and write the file."""
        if self._profile is not None and self._path is not None:
            self._profile.stop()
            self._profile.export_chrome_trace(self._path)
            self._profile = None


def supported_activities() -> set[ProfilerActivity]:
    """The activities that `profile` can record here."""
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """False: ember's profiler is its own."""
    return False


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """Which steps to record: after `skip_first`, cycles of wait, warmup, active.

    >>> from ember.profiler import schedule
    >>> plan = schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, active, repeat, skip_first) < 0 or active == 0:
        raise ValueError(
            "schedule(): wait, warmup, repeat and skip_first must not be negative and "
            f"active must be positive, got wait={wait}, warmup={warmup}, "
            f"active={active}, repeat={repeat}, skip_first={skip_first}"
        )
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        if repeat and step // cycle >= repeat:
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        last = place == cycle - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action


def tensorboard_trace_handler(
    dir_name: str,
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[profile], None]:
    """An `on_trace_ready` that writes each trace to a file of its own in `dir_name`."""

    def write(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json"
        prof.export_chrome_trace(os.path.join(dir_name, name + ".gz" * use_gzip))

    return write


class record_function:
    """A named region of the program, as context manager or decorator.

    >>> from ember.profiler import record_function
    >>> with record_function("forward pass"):
    ...     pass
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._span: Any = None

    def __enter__(self) -> record_function:
        self._span = _C._profile_begin(self.name)
        return self

    def __exit__(self, *exception: object) -> None:
        self._span = None

    def __call__(self, function: Callable) -> Callable:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return wrapped


class profile:
    """Records every op between entering and leaving it.

    Args:
        activities: accepted for compatibility; the CPU is what is recorded.
        schedule: which steps to record, told apart by calls of `step()`.
        on_trace_ready: called with the profile after each recorded cycle.
        record_shapes: keep the shapes of the tensors that ops were given.
        profile_memory: keep how many bytes each op took and gave back.
        with_stack: keep the Python lines that called each op.

    >>> import ember
    >>> with ember.profiler.profile() as prof:
    ...     y = ember.ones(3).exp().sum()
    >>> sorted(average.key for average in prof.key_averages())
    ['exp', 'ones', 'sum']
    """

    def __init__(
        self,
        *,
        activities: Iterable | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        **ignored: Any,
    ) -> None:
        self.activities = set(activities or supported_activities())
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops, self.with_modules = with_flops, with_modules
        self.step_num = 0
        self.current_action = ProfilerAction.NONE
        self._events: EventList | None = None
        self._recording = False
        self._step_span: Any = None

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with the schedule's first step."""
        self.current_action = self.schedule(self.step_num)
        self._follow()

    def stop(self) -> None:
        """End, and hand what was recorded to `on_trace_ready`."""
        if self._recording:
            self._finish()

    def step(self) -> None:
        """Tell the profile that a step of the program is over."""
        self._step_span = None
        saves = self.current_action == ProfilerAction.RECORD_AND_SAVE
        if saves and self._recording:
            self._finish()
        self.step_num += 1
        KinetoStepTracker.increment_step("ProfilerStep")
        self.current_action = self.schedule(self.step_num)
        self._follow()

    def _follow(self) -> None:
        records = self.current_action in (
            ProfilerAction.RECORD,
            ProfilerAction.RECORD_AND_SAVE,
        )
        if records and not self._recording:
            if _C._profile_on():
                raise RuntimeError("profile: another profile is being recorded already")
            _C._profile_start(self.record_shapes, self.profile_memory, self.with_stack)
            self._recording = True
        elif not records and self._recording:
            self._finish()
        if self._recording and self.step_num:
            self._step_span = _C._profile_begin(f"ProfilerStep#{self.step_num}")

    def _finish(self) -> None:
        self._step_span = None
        self._events = from_core(_C._profile_stop())
        self._recording = False
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def events(self) -> EventList:
        """What was recorded, in order of time within each thread."""
        if self._events is None:
            raise AssertionError("profile: nothing has been recorded yet")
        return self._events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0
    ) -> EventList:
        """The events added up by name; `.table(sort_by=...)` prints them."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: str) -> None:
        """Write a trace for chrome://tracing or ui.perfetto.dev (.gz: compressed)."""
        self.events().export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks and their cost, one a line, as flame graph tools read them."""
        if not self.with_stack:
            raise AssertionError("export_stacks() needs profile(with_stack=True)")
        events = self.events()
        with replacing(path, text=True) as file:
            for event in events:
                if event.stack:
                    frames = [line.replace(" ", "_") for line in event.stack[::-1]]
                    cost = int(getattr(event, metric))
                    file.write(";".join([*frames, event.name]) + f" {cost}\n")

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """Draw memory in use over time as an SVG."""
        from ember.utils.viz import memory_timeline

        memory_timeline(self, path)

    def add_metadata(self, key: str, value: str) -> None:
        """Accepted for compatibility."""

    add_metadata_json = add_metadata

    def __str__(self) -> str:
        return str(self.key_averages()) if self._events is not None else repr(self)


__getattr__ = _lazy.missing(__name__)
