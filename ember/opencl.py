"""OpenCL devices: ``ember.device("opencl")``.

The OpenCL loader is opened on first use, never before: the system's, or the one of the
pyopencl package together with PoCL's CPU device; ``pip install "ember-dl[opencl]"``
brings both. Devices are ``opencl:0``, ``opencl:1`` ..., GPUs first.

=======================  ============================================================
`EMBER_OPENCL_DEVICE`    the devices to use, by place or a part of their names, with
                         commas between them; all of them if it is not set
`EMBER_OPENCL_LIBRARY`   another loader
`EMBER_OPENCL_CACHE`     the directory of compiled kernels (empty for none)
`EMBER_OPENCL_BLOCKING`  1: wait for every kernel, so that errors come at their op
`EMBER_OPENCL_FALLBACK`  1: what has no kernel runs on the host
=======================  ============================================================

Work is enqueued and Python runs ahead; printing, `item()` and copies to the host wait
for it. A position out of bounds that only the device can see (an index tensor that
lives there) touches no memory, and raises at the next such wait.

>>> import ember
>>> if ember.opencl.is_available():
...     x = ember.ones(2, 3, device="opencl")
...     assert (x + x).sum().item() == 12
"""

from __future__ import annotations

import atexit
import ctypes
import importlib.util
import os
import threading
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import Any

import ember
from ember import _C

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
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
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_max_memory_allocated",
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


def _choice(names: list[str]) -> list[int]:
    """The places of the devices that `EMBER_OPENCL_DEVICE` asks for."""
    chosen = os.environ.get("EMBER_OPENCL_DEVICE")
    if not chosen:
        return list(range(len(names)))
    places: list[int] = []
    for part in map(str.strip, chosen.split(",")):
        if part.isdigit() and int(part) < len(names):
            found = [int(part)]
        else:
            found = [i for i, name in enumerate(names) if part.lower() in name.lower()]
        if not found or not part:
            raise RuntimeError(
                f"EMBER_OPENCL_DEVICE={chosen!r}: no OpenCL device is at {part} "
                f"or has it in its name; there are {names}"
            )
        places += [place for place in found if place not in places]
    return places


def init() -> None:
    """Find the devices. Every use of one does this by itself, and opens it."""
    global _initialized
    if _initialized:
        return
    names = _devices()
    if isinstance(names, str):
        raise RuntimeError(f"There is no OpenCL device ({names}); {_INSTALL}")
    _C._opencl_use(_choice(names))
    # Drivers crash if the process ends while they still compile or run a kernel.
    atexit.register(_C._opencl_finish_all)
    _initialized = True


def is_initialized() -> bool:
    """Whether the device is open."""
    return _initialized


def is_available() -> bool:
    """Whether there is an OpenCL device."""
    return not isinstance(_devices(), str)


def device_count() -> int:
    """How many OpenCL devices there are (of those in EMBER_OPENCL_DEVICE, if set)."""
    names = _devices()
    if isinstance(names, str):
        return 0
    return _C._opencl_device_count() if _initialized else len(_choice(names))


def _index(device: Any) -> int:
    init()
    if device is None:
        return _C._opencl_current_device()
    if isinstance(device, int):
        index = device
    else:
        parsed = ember.device(device)
        if parsed.type != "opencl":
            raise ValueError(f"Expected an OpenCL device, but got: {device}")
        index = current_device() if parsed.index is None else parsed.index
    if not 0 <= index < _C._opencl_device_count():
        raise RuntimeError(
            f"Invalid device index {index}: there are {_C._opencl_device_count()} "
            "OpenCL devices"
        )
    return index


def current_device() -> int:
    """The index of this thread's current device, which ``"opencl"`` means."""
    init()
    return _C._opencl_current_device()


def set_device(device: Any) -> None:
    """Make another device this thread's current one."""
    _C._opencl_set_device(_index(device))


class device:
    """A context manager that makes a device the current one.

    >>> import ember
    >>> if ember.opencl.is_available():
    ...     last = ember.opencl.device_count() - 1
    ...     with ember.opencl.device(last):
    ...         assert ember.ones(2, device="opencl").device.index == last
    """

    def __init__(self, device: Any) -> None:
        self.idx = _index(device)
        self.prev_idx = -1

    def __enter__(self) -> device:
        self.prev_idx = _C._opencl_current_device()
        _C._opencl_set_device(self.idx)
        return self

    def __exit__(self, *error: object) -> None:
        _C._opencl_set_device(self.prev_idx)


class device_of(device):
    """A context manager that makes a tensor's device the current one."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device if obj.device.type == "opencl" else None)


def get_device_properties(device: Any = None) -> SimpleNamespace:
    """What the device says of itself: name, memory, limits, abilities."""
    return SimpleNamespace(**_C._opencl_properties(_index(device)))


def get_device_name(device: Any = None) -> str:
    """The name of the device."""
    return get_device_properties(device).name


def synchronize(device: Any = None) -> None:
    """Wait for all work on the device, in all its streams."""
    _C._opencl_synchronize(_index(device))


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Bytes that this process may still take from the device, and all it has.

    OpenCL does not tell what other processes take.
    """
    index = _index(device)
    total = _C._opencl_properties(index)["total_memory"]
    return total - _C._opencl_memory_stats(index)["reserved"], total


def memory_stats(device: Any = None) -> dict[str, int]:
    """The counters of the allocator, and of the cache of compiled kernels.

    Those that `torch.cuda` has too come under its names as well.

    >>> import ember
    >>> if ember.opencl.is_available():
    ...     x = ember.ones(1000, device="opencl")
    ...     stats = ember.opencl.memory_stats()
    ...     assert stats["allocated_bytes.all.current"] >= 4000
    ...     assert stats["allocated"] <= stats["reserved"]
    """
    stats = _C._opencl_memory_stats(_index(device))
    for old, new in _TORCH_NAMES.items():
        stats[new] = stats[old]
    return stats


_TORCH_NAMES = {
    "allocated": "allocated_bytes.all.current",
    "allocated_peak": "allocated_bytes.all.peak",
    "reserved": "reserved_bytes.all.current",
    "reserved_peak": "reserved_bytes.all.peak",
    "blocks": "allocation.all.current",
    "requests": "allocation.all.allocated",
    "device_allocations": "num_device_alloc",
    "device_frees": "num_device_free",
    "retries": "num_alloc_retries",
    "ooms": "num_ooms",
}


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
    _C._opencl_reset_peaks(_index(device))


reset_max_memory_allocated = reset_peak_memory_stats


def empty_cache() -> None:
    """Give cached memory back to the devices."""
    if _initialized:
        _C._opencl_empty_cache()


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Take at most this part of the device's memory.

    >>> import ember
    >>> if ember.opencl.is_available():
    ...     ember.opencl.set_per_process_memory_fraction(0.5)
    ...     ember.opencl.set_per_process_memory_fraction(1.0)
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0 to 1")
    _C._opencl_limit_memory(_index(device), fraction)


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
    """A point in a stream, to wait for or to measure time by.

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
        self._handle: Any = None  # what was recorded
        self._device = 0

    @property
    def device(self) -> ember.device | None:
        """Where it was recorded."""
        return ember.device("opencl", self._device) if self._handle else None

    def record(self, stream: Stream | None = None) -> None:
        """Put the event at the end of a stream, or of the current one."""
        stream = current_stream() if stream is None else stream
        self._device = stream.device_index
        self._handle = _C._opencl_event_record(*stream._key)

    def synchronize(self) -> None:
        """Wait until the device has come to the event."""
        if self._handle:
            _C._opencl_event_wait(self._handle)

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work of a stream, or of the current one, come after the event."""
        stream = current_stream() if stream is None else stream
        stream.wait_event(self)

    def query(self) -> bool:
        """Whether the device has come to the event."""
        return not self._handle or _C._opencl_event_done(self._handle)

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another; waits for both."""
        for event in (self, end_event):
            if not event.enable_timing:
                raise ValueError("Both events must be created with enable_timing=True")
            if not event._handle:
                raise ValueError("Both events must be recorded first")
            event.synchronize()
        if self._device != end_event._device:
            raise ValueError("Both events must be recorded on one device")
        times = map(_C._opencl_event_time, (self._handle, end_event._handle))
        begin, end = times
        return (end - begin) / 1e6


class Stream:
    """A queue of a device, which works in order; several work beside each other.

    Each device has a default stream and a pool of others, handed out in turn. Memory
    that a tensor frees is used again in the stream where it was made: call
    `Tensor.record_stream` for a tensor that another stream uses, too. `backward` works
    in the stream that is current when it is called.

    >>> import ember
    >>> if ember.opencl.is_available():
    ...     side = ember.opencl.Stream()
    ...     x = ember.ones(100, device="opencl")
    ...     side.wait_stream(ember.opencl.current_stream())
    ...     with ember.opencl.stream(side):
    ...         y = x * 2
    ...     x.record_stream(side)
    ...     ember.opencl.current_stream().wait_stream(side)
    ...     assert y.sum().item() == 200
    """

    def __init__(
        self, device: Any = None, priority: int = 0, *, _id: int | None = None
    ) -> None:
        index = _index(device)
        self.priority = priority
        self._key = (index, _C._opencl_stream_new(index) if _id is None else _id)

    @property
    def device(self) -> ember.device:
        """Whose stream it is."""
        return ember.device("opencl", self._key[0])

    @property
    def device_index(self) -> int:
        """The index of its device."""
        return self._key[0]

    @property
    def stream_id(self) -> int:
        """Its place on the device; 0 is the default stream."""
        return self._key[1]

    def synchronize(self) -> None:
        """Wait for all its work."""
        _C._opencl_stream_synchronize(*self._key)

    def query(self) -> bool:
        """Whether all its work is done."""
        return _C._opencl_stream_idle(*self._key)

    def record_event(self, event: Event | None = None) -> Event:
        """Put an event at the end of the stream."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let later work come after an event, without making Python wait."""
        if event._handle:
            _C._opencl_stream_wait(*self._key, event._handle, event._device)

    def wait_stream(self, stream: Stream) -> None:
        """Let later work come after what another stream has to do now."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        _entered.stack.append(StreamContext(self).__enter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _entered.stack.pop().__exit__(kind, error, trace)

    def __repr__(self) -> str:
        return f"<ember.opencl.Stream device={self.device} id={self.stream_id}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other._key == self._key

    def __hash__(self) -> int:
        return hash(self._key)


class StreamContext:
    """What `stream(s)` returns: new work of this thread joins `s` in a block."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> StreamContext:
        if self.stream is not None:
            self._device = _C._opencl_current_device()
            self._before = _C._opencl_stream_current(self.stream.device_index)
            set_stream(self.stream)
        return self

    def __exit__(self, *error: object) -> None:
        if self.stream is not None:
            _C._opencl_stream_use(self.stream.device_index, self._before)
            _C._opencl_set_device(self._device)


class _Entered(threading.local):
    """Streams that this thread has entered by `with`."""

    def __init__(self) -> None:
        self.stack: list[StreamContext] = []


_entered = _Entered()


def current_stream(device: Any = None) -> Stream:
    """The stream that new work of this thread joins."""
    index = _index(device)
    return Stream(index, _id=_C._opencl_stream_current(index))


def default_stream(device: Any = None) -> Stream:
    """The stream that is there from the start."""
    return Stream(device, _id=0)


def set_stream(stream: Stream) -> None:
    """Let new work of this thread join another stream, and make its device current."""
    if not isinstance(stream, Stream):
        raise TypeError(f"set_stream(): expected a Stream, got {type(stream).__name__}")
    _C._opencl_set_device(stream.device_index)
    _C._opencl_stream_use(*stream._key)


def stream(stream: Stream | None) -> StreamContext:
    """A context in which new work joins a stream; None changes nothing."""
    return StreamContext(stream)
