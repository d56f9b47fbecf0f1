"""Names of the top level that are little more than themselves: what the build has,
files, futures, streams of the CPU.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import ember
from ember import _C, Tensor
from ember._types import DeviceLike, Dtype
from ember.futures import Future

has_lapack = True
has_mkl = False
has_openmp = True
has_spectral = True
legacy_contiguous_format = _C.contiguous_format


def compiled_with_cxx11_abi() -> bool:
    """Whether the core was built with the current layout of C++'s strings: yes."""
    return True


def is_vulkan_available() -> bool:
    """Whether tensors can live on Vulkan devices: no."""
    return False


def init_num_threads() -> None:
    """Nothing: a new thread computes with `get_num_threads()` threads, too."""


def dequantize(input: Tensor) -> Tensor:
    """In float32: there are no quantized tensors.

    >>> import ember
    >>> ember.dequantize(ember.ones(2, dtype=ember.float64)).dtype
    torch.float32
    """
    return input.dequantize()


def get_device_module(device: "ember.device | str | None" = None) -> ModuleType:
    """The module of a device; that of the accelerator, or of the CPU, if None is given.

    >>> import ember
    >>> ember.get_device_module("cpu") is ember.cpu
    True
    """
    if device is None:
        found = ember.accelerator.current_accelerator()
        kind = "cpu" if found is None else found.type
    elif isinstance(device, (str, _C.device)):
        kind = _C.device(device).type
    else:
        raise RuntimeError(
            f"Invalid value of device '{device}', expect torch.device, str, or None"
        )
    module = getattr(ember, kind, None)
    if not isinstance(module, ModuleType):
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as "
            f"'torch.{kind}'."
        )
    return module


def is_distributed(input: Tensor) -> bool:
    """Whether a tensor lies on several devices: never."""
    return False


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly detection on or off."""
    _C._set_anomaly_enabled(enabled, check_nan)


def from_file(
    filename: Any,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: Dtype | None = None,
    **options: Any,
) -> Tensor:
    """`size` elements of a file as a tensor; with `shared`, writes reach the file.

    >>> import ember, tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "numbers")
    ...     t = ember.from_file(path, shared=True, size=3, dtype=ember.int32)
    ...     _ = t.fill_(7)
    ...     ember.from_file(path, size=3, dtype=ember.int32)
    tensor([7, 7, 7], dtype=torch.int32)
    """
    from ember._storage_methods import map_file

    dtype = ember.get_default_dtype() if dtype is None else dtype
    storage = map_file(filename, bool(shared), size * dtype.itemsize)
    return _C._tensor_from_storage(storage, dtype, 0, (size,), (1,))


def fork(func: Callable, *args: Any, **kwargs: Any) -> Any:
    """A future with the result of `func(*args)`, which runs now.

    >>> import ember
    >>> ember.wait(ember.fork(ember.add, ember.ones(1), 2))
    tensor([3.])
    """
    future: Future = Future()
    try:
        future.set_result(func(*args, **kwargs))
    except Exception as error:
        future.set_exception(error)
    return future


def wait(future: Any) -> Any:
    """The result of a future."""
    return future.wait()


class Stream:
    """A queue of work on a device; the CPU's work is done when a call returns."""

    def __init__(self, device: DeviceLike | None = None, *, priority: int = 0) -> None:
        self.device = _C.device("cpu" if device is None else device)
        self.priority = priority

    def query(self) -> bool:
        """Whether all work is done."""
        return True

    def synchronize(self) -> None:
        """Wait for all work."""

    def wait_event(self, event: "Event") -> None:
        """Let later work wait for an event."""

    def wait_stream(self, stream: "Stream") -> None:
        """Let later work wait for another stream."""

    def record_event(self, event: "Event | None" = None) -> "Event":
        """An event that happens when all work so far is done."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *error: Any) -> None: ...


class Event:
    """A moment in a stream."""

    def __init__(
        self,
        device: DeviceLike | None = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        **options: Any,
    ) -> None:
        self.device = _C.device("cpu" if device is None else device)
        self._time: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Happen now."""
        from time import perf_counter

        self._time = perf_counter()

    def query(self) -> bool:
        """Whether it has happened."""
        return True

    def synchronize(self) -> None:
        """Wait for it."""

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work of a stream wait for it."""

    def elapsed_time(self, end_event: "Event") -> float:
        """Milliseconds from this event to another."""
        if self._time is None or end_event._time is None:
            raise RuntimeError("Both events must be recorded before calculating time")
        return (end_event._time - self._time) * 1000
