"""Queues of work and points in them: OpenCL's, or what says that there are none."""

from __future__ import annotations

from typing import Any

from ember import cuda

if cuda._IS_OPENCL:  # type: ignore[has-type]
    from ember.opencl.streams import Event, Stream, StreamContext
else:

    class Stream:  # type: ignore[no-redef]
        """A queue of work on a device: there is none."""

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            raise RuntimeError(
                "torch.cuda.Stream requires CUDA support; ember has no CUDA devices"
            )

    class Event:  # type: ignore[no-redef]
        """A point in a queue of work: there is none."""

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            raise RuntimeError(
                "torch.cuda.Event requires CUDA support; ember has no CUDA devices"
            )

    class StreamContext:  # type: ignore[no-redef]
        """A block whose work goes to a stream; for None it changes nothing."""

        def __init__(self, stream: Stream | None) -> None:
            self.stream = stream

        def __enter__(self) -> None: ...

        def __exit__(self, *error: object) -> None: ...


class ExternalStream(Stream):  # type: ignore[misc, valid-type]
    """A queue that somebody else made: they cannot be taken over."""

    def __new__(cls, *args: Any, **kwargs: Any) -> ExternalStream:
        raise RuntimeError("ember.cuda: streams of other libraries cannot be used")


def get_stream_from_external(data_ptr: int, device: Any = None) -> Stream:
    """Fails: streams of other libraries cannot be used."""
    return ExternalStream(data_ptr)


def stream(stream: Stream | None) -> StreamContext:
    """A block whose work goes to a stream; for None it changes nothing."""
    return StreamContext(stream)
