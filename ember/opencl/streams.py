"""Queues of a device that work beside each other, and points in them."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

import ember
from ember import _C
from ember.opencl.devices import device_index


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
        index = device_index(device)
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
    index = device_index(device)
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
