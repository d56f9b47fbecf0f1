"""`Connection`, `Pipe` and queues whose messages carry descriptors.

All are Python's own classes over sockets instead of pipes: a pipe cannot carry
descriptors. On the wire a message is its length, the number of its descriptors, and
the pickle; the descriptors go with the first bytes.
"""

import io
import os
import socket
import struct
import threading
from multiprocessing import connection, queues, reduction

from ember import _C
from ember.multiprocessing import reductions
from ember.multiprocessing.reductions import Parcel

_HEADER = struct.Struct("!QI")
_SMALL = 1 << 16  # below, header and message are sent as one
_LARGE = 1 << 26  # bytes that are received at once
_local = threading.local()


class Connection(connection.Connection):
    """One end of a `Pipe`."""

    def send(self, obj) -> None:
        """Send an object; its tensors are shared, not copied."""
        self._check_closed()
        self._check_writable()
        data, parcel = reductions.dump(obj)
        self._send_parcel(data, parcel)

    @staticmethod
    def pack(data, parcel: Parcel) -> bytes:
        """A message as it is sent."""
        return _HEADER.pack(len(data), len(parcel.descriptors)) + data

    def _send_parcel(self, data, parcel: Parcel) -> None:
        head = _HEADER.pack(len(data), len(parcel.descriptors))
        try:
            if len(data) < _SMALL:
                _C._send_message(self._handle, head + data, parcel.descriptors)
            else:
                _C._send_message(self._handle, head, parcel.descriptors)
                _C._send_message(self._handle, data)
        finally:
            parcel.close()

    def _send_bytes(self, buf) -> None:
        parcel = getattr(_local, "parcel", None) or Parcel()
        _local.parcel = None
        self._send_parcel(memoryview(buf), parcel)

    def _recv_bytes(self, maxsize=None):
        head, descriptors = _C._receive_message(self._handle, _HEADER.size)
        reductions.received(descriptors)
        size, count = _HEADER.unpack(head)
        if maxsize is not None and size > maxsize:
            return None
        if count != len(descriptors):
            raise OSError(f"a message came with {len(descriptors)} of {count} files")
        return io.BytesIO(self._receive(size))

    def _receive(self, size: int) -> bytes:
        """That many bytes. Room for them is made as they come, not as is claimed."""
        parts: list[bytes] = []
        while size or not parts:
            part, strays = _C._receive_message(self._handle, min(size, _LARGE))
            for descriptor in strays:
                os.close(descriptor)
            parts.append(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def Pipe(duplex: bool = True) -> tuple[Connection, Connection]:
    """Two connected ends; without `duplex`, the first receives, the second sends."""
    a, b = socket.socketpair()
    return (
        Connection(a.detach(), writable=duplex),
        Connection(b.detach(), readable=duplex),
    )


def _rebuild(duplicate, readable: bool, writable: bool) -> Connection:
    return Connection(duplicate.detach(), readable, writable)


def _reduce(end: Connection) -> tuple:
    return _rebuild, (reduction.DupFd(end.fileno()), end.readable, end.writable)


reduction.register(Connection, _reduce)


class _Wrapped:
    """An object in a queue, until the queue's thread pickles and sends it."""

    def __init__(self, obj) -> None:
        self.obj = obj

    def __reduce__(self) -> tuple:
        data, _local.parcel = reductions.dump(self.obj)
        return reductions.ForkingPickler.loads, (bytes(data),)


class _Sockets:
    """Puts sockets in the place of the pipe that Python's queues make."""

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self._reader.close()
        self._writer.close()
        self._reader, self._writer = Pipe(duplex=False)


class _Queue(_Sockets):
    def __init__(self, maxsize: int = 0, *, ctx) -> None:
        super().__init__(maxsize, ctx=ctx)
        self._reset()

    def put(self, obj, block: bool = True, timeout: float | None = None) -> None:
        super().put(_Wrapped(obj), block, timeout)

    def _on_queue_feeder_error(self, e, obj) -> None:
        queues.Queue._on_queue_feeder_error(e, getattr(obj, "obj", obj))


class Queue(_Queue, queues.Queue):
    """`multiprocessing.Queue` that shares tensors."""


class JoinableQueue(_Queue, queues.JoinableQueue):
    """`multiprocessing.JoinableQueue` that shares tensors."""


class SimpleQueue(_Sockets, queues.SimpleQueue):
    """`multiprocessing.SimpleQueue` that shares tensors."""

    def __init__(self, *, ctx) -> None:
        super().__init__(ctx=ctx)
        self._poll = self._reader.poll

    def put(self, obj) -> None:
        data, parcel = reductions.dump(obj)
        with self._wlock:
            self._writer._send_parcel(data, parcel)
