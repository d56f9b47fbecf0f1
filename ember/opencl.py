"""OpenCL devices: ``ember.device("opencl")``.

The OpenCL loader is opened on first use, never before: the system's, or the one of the
pyopencl package together with PoCL's CPU device; ``pip install "ember-dl[opencl]"``
brings both. `EMBER_OPENCL_DEVICE` chooses among several devices by place or a part of a
name, `EMBER_OPENCL_LIBRARY` names another loader, `EMBER_OPENCL_CACHE` the directory
of compiled kernels (empty for none).

>>> import ember
>>> if ember.opencl.is_available():
...     x = ember.ones(2, 3, device="opencl")
...     assert (x + x).sum().item() == 12
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import Any

import ember
from ember import _C

__all__ = [
    "Event",
    "Stream",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_available",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]

_INSTALL = (
    "install the OpenCL driver of your device's vendor, or, for a device that runs on "
    'the CPU: pip install "ember-dl[opencl]"'
)
# None: nothing was tried yet; a list: names of devices; a str: why there are none
_found: list[str] | str | None = None
_initialized = False


def _wheel_loader() -> str | None:
    """The loader in pyopencl's wheel, prepared to find PoCL there."""
    spec = importlib.util.find_spec("pyopencl")
    if spec is None or not spec.origin:
        return None
    home = Path(spec.origin).parent
    libraries = home / ".libs"
    loaders = sorted(libraries.glob("libOpenCL*.so*"))
    if not loaders:
        return None
    # The loader crashes without the variable, and PoCL's .icd file names no directory.
    os.environ.setdefault("PYOPENCL_HOME", str(home))
    for pocl in libraries.glob("libpocl*.so*"):
        try:
            ctypes.CDLL(str(pocl))
        except OSError:
            continue
    return str(loaders[0])


def _cache_directory() -> str:
    chosen = os.environ.get("EMBER_OPENCL_CACHE")
    if chosen == "":
        return ""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(chosen) if chosen else Path(base) / "ember" / "opencl"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError:
        return ""
    return str(path)


def _devices() -> list[str] | str:
    global _found
    if _found is not None:
        return _found
    named = os.environ.get("EMBER_OPENCL_LIBRARY")
    reasons = []
    for find in [lambda: named] if named else [lambda: "libOpenCL.so.1", _wheel_loader]:
        loader = find()
        if loader is None:
            continue
        answer = _C._opencl_open(loader, _cache_directory())
        if not isinstance(answer, str):
            _found = answer
            return answer
        reasons.append(answer)
    _found = "; ".join(reasons)
    return _found


def _choice(names: list[str]) -> int:
    chosen = os.environ.get("EMBER_OPENCL_DEVICE", "0")
    if chosen.isdigit():
        return int(chosen)
    for place, name in enumerate(names):
        if chosen.lower() in name.lower():
            return place
    raise RuntimeError(
        f"EMBER_OPENCL_DEVICE={chosen!r}: no OpenCL device has this in its name; "
        f"there are {names}"
    )


def init() -> None:
    """Open the device. Every use of it does this by itself."""
    global _initialized
    if _initialized:
        return
    names = _devices()
    if isinstance(names, str):
        raise RuntimeError(f"There is no OpenCL device ({names}); {_INSTALL}")
    _C._opencl_use(_choice(names))
    _initialized = True


def is_initialized() -> bool:
    """Whether the device is open."""
    return _initialized


def is_available() -> bool:
    """Whether there is an OpenCL device."""
    return not isinstance(_devices(), str)


def device_count() -> int:
    """1 if there is an OpenCL device (EMBER_OPENCL_DEVICE chooses which), else 0."""
    return int(is_available())


def _index(device: Any) -> int:
    if device is None:
        index = 0
    elif isinstance(device, int):
        index = device
    else:
        parsed = ember.device(device)
        if parsed.type != "opencl":
            raise ValueError(f"Expected an OpenCL device, but got: {device}")
        index = parsed.index or 0
    if index != 0:
        raise RuntimeError(f"there is one OpenCL device, 'opencl:0', got index {index}")
    init()
    return index


def current_device() -> int:
    """The index of the device in use."""
    init()
    return 0


def set_device(device: Any) -> None:
    """Make another device the current one; there is only one."""
    _index(device)


class device:
    """A context manager that makes a device the current one."""

    def __init__(self, device: Any) -> None:
        self.idx = _index(device)

    def __enter__(self) -> device:
        return self

    def __exit__(self, *error: object) -> None:
        return None


def get_device_properties(device: Any = None) -> SimpleNamespace:
    """What the device says of itself: name, memory, limits, abilities."""
    _index(device)
    return SimpleNamespace(**_C._opencl_properties())


def get_device_name(device: Any = None) -> str:
    """The name of the device."""
    return get_device_properties(device).name


def synchronize(device: Any = None) -> None:
    """Wait for all work on the device."""
    _index(device)
    _C._opencl_synchronize()


def memory_stats(device: Any = None) -> dict[str, int]:
    """The counters of the allocator, and of the cache of compiled kernels."""
    _index(device)
    return _C._opencl_memory_stats()


def memory_allocated(device: Any = None) -> int:
    """Bytes in use by tensors."""
    return memory_stats(device)["allocated"]


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that were ever in use by tensors."""
    return memory_stats(device)["allocated_peak"]


def memory_reserved(device: Any = None) -> int:
    """Bytes taken from the device: in use, or cached."""
    return memory_stats(device)["reserved"]


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that were ever taken from the device."""
    return memory_stats(device)["reserved_peak"]


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let peaks start again from what is in use now."""
    _index(device)
    _C._opencl_reset_peaks()


def empty_cache() -> None:
    """Give cached memory back to the device."""
    if _initialized:
        _C._opencl_empty_cache()


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Take at most this part of the device's memory."""
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0 to 1")
    _index(device)
    _C._opencl_limit_memory(fraction)


def manual_seed(seed: int) -> None:
    """Seed the device's random numbers; `ember.manual_seed` does so, too.

    They are Philox sequences, one for each draw: the same seed gives the same numbers
    on every OpenCL device, but not those of the CPU.

    >>> import ember
    >>> if ember.opencl.is_available():
    ...     ember.opencl.manual_seed(3)
    ...     first = ember.rand(4, device="opencl")
    ...     ember.opencl.manual_seed(3)
    ...     assert ember.equal(ember.rand(4, device="opencl"), first)
    """
    _C._opencl_generator.manual_seed(int(seed))


manual_seed_all = manual_seed


def seed() -> None:
    """Seed the device's random numbers from the system's entropy."""
    _C._opencl_generator.seed()


seed_all = seed


def initial_seed() -> int:
    """The seed of the device's random numbers."""
    return _C._opencl_generator.initial_seed()


def get_rng_state(device: Any = "opencl") -> ember.Tensor:
    """The state of the device's random numbers, as a tensor of bytes."""
    return _C._opencl_generator.get_state()


def set_rng_state(new_state: ember.Tensor, device: Any = "opencl") -> None:
    """Restore what `get_rng_state` returned."""
    _C._opencl_generator.set_state(new_state)


def get_rng_state_all() -> list[ember.Tensor]:
    """The states of the random numbers of all devices."""
    return [get_rng_state()]


def set_rng_state_all(new_states: list[ember.Tensor]) -> None:
    """Restore what `get_rng_state_all` returned."""
    for state in new_states:
        set_rng_state(state)


class Event:
    """A point in the device's queue, to wait for or to measure time by.

    >>> import ember
    >>> if ember.opencl.is_available():
    ...     start, end = (ember.opencl.Event(enable_timing=True) for _ in range(2))
    ...     start.record()
    ...     y = ember.ones(100, device="opencl") * 2
    ...     end.record()
    ...     end.synchronize()
    ...     assert start.elapsed_time(end) >= 0
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False) -> None:
        self.enable_timing = enable_timing
        self._handle = 0

    def record(self, stream: Stream | None = None) -> None:
        """Put the event at the end of the queue."""
        init()
        self._drop()
        self._handle = _C._opencl_event_record()

    def synchronize(self) -> None:
        """Wait until the device has come to the event."""
        if self._handle:
            _C._opencl_event_wait(self._handle)

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work come after the event; in one in-order queue it does."""

    def query(self) -> bool:
        """Whether the device has come to the event."""
        return not self._handle or _C._opencl_event_done(self._handle)

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another."""
        for event in (self, end_event):
            if not event.enable_timing:
                raise ValueError("Both events must be created with enable_timing=True")
            if not event._handle:
                raise ValueError("Both events must be recorded first")
            event.synchronize()
        times = map(_C._opencl_event_time, (self._handle, end_event._handle))
        begin, end = times
        return (end - begin) / 1e6

    def _drop(self) -> None:
        if self._handle:
            _C._opencl_event_drop(self._handle)
            self._handle = 0

    def __del__(self) -> None:
        self._drop()


class Stream:
    """The device's queue: all work runs in one, in order; every Stream is it."""

    def __init__(self, device: Any = None, priority: int = 0) -> None:
        self.device = ember.device("opencl", _index(device))

    def synchronize(self) -> None:
        """Wait for all work."""
        _C._opencl_synchronize()

    def record_event(self, event: Event | None = None) -> Event:
        """Put an event at the end of the queue."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let later work come after an event."""

    def wait_stream(self, stream: Stream) -> None:
        """Let later work come after another stream's."""

    def query(self) -> bool:
        """Whether all work is done."""
        event = self.record_event()
        return event.query()

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.device == self.device

    def __hash__(self) -> int:
        return hash(self.device)


def current_stream(device: Any = None) -> Stream:
    """The queue that new work joins."""
    return Stream(device)


default_stream = current_stream


def set_stream(stream: Stream) -> None:
    """Let new work join another queue; there is only one."""
    if not isinstance(stream, Stream):
        raise TypeError(f"set_stream(): expected a Stream, got {type(stream).__name__}")


def stream(stream: Stream | None) -> Stream:
    """A context in which new work joins a queue."""
    return Stream() if stream is None else stream
