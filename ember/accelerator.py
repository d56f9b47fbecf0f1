"""The current accelerator, whatever its kind; the API of `torch.accelerator`.

>>> import ember
>>> ember.accelerator.is_available() == (ember.accelerator.device_count() > 0)
True
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import ember


def _backend() -> ModuleType | None:
    """The module of the accelerator that is here, if there is one."""
    module = getattr(ember, "opencl", None)
    return module if module is not None and module.is_available() else None


def _required() -> ModuleType:
    module = _backend()
    if module is None:
        raise RuntimeError(
            "ember.accelerator: there is no accelerator on this machine; "
            f"for OpenCL devices, {ember.version.pip_install('opencl')}"
        )
    return module


def is_available() -> bool:
    """True if there is an accelerator."""
    return _backend() is not None


def device_count() -> int:
    """How many there are."""
    module = _backend()
    return module.device_count() if module is not None else 0


def current_accelerator(check_available: bool = False) -> ember.device | None:
    """Its device type, or None."""
    return ember.device("opencl") if _backend() is not None else None


def current_device_index() -> int:
    """The index of the device in use."""
    return _required().current_device()


current_device_idx = current_device_index


def set_device_index(device: Any) -> None:
    """Make another device the current one."""
    _required().set_device(device)


set_device_idx = set_device_index


def synchronize(device: Any = None) -> None:
    """Wait for all work on the device."""
    _required().synchronize(device)


class device_index:
    """A context in which another device is the current one; None changes nothing.

    >>> import ember
    >>> if ember.accelerator.is_available():
    ...     with ember.accelerator.device_index(0):
    ...         assert ember.accelerator.current_device_index() == 0
    """

    def __init__(self, device: int | None) -> None:
        self.idx = device
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx is not None:
            self.prev_idx = _required().current_device()
            _required().set_device(self.idx)

    def __exit__(self, *error: object) -> None:
        if self.idx is not None:
            _required().set_device(self.prev_idx)


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """Bytes that are free, and all there are."""
    return _required().mem_get_info(device_index)


def current_stream(device: Any = None) -> Any:
    """The queue that new work joins."""
    return _required().current_stream(device)


def set_stream(stream: Any) -> None:
    """Let new work join another queue."""
    _required().set_stream(stream)


def memory_allocated(device_index: Any = None, /) -> int:
    """Bytes in use by tensors."""
    return _required().memory_allocated(device_index)


def max_memory_allocated(device_index: Any = None, /) -> int:
    """The most bytes that were ever in use."""
    return _required().max_memory_allocated(device_index)


def memory_reserved(device_index: Any = None, /) -> int:
    """Bytes taken from the device: in use, or cached."""
    return _required().memory_reserved(device_index)


def max_memory_reserved(device_index: Any = None, /) -> int:
    """The most bytes that were ever taken from the device."""
    return _required().max_memory_reserved(device_index)


def memory_stats(device_index: Any = None, /) -> dict[str, Any]:
    """All the counters of the device's allocator."""
    return _required().memory_stats(device_index)


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """Let peaks start again from what is in use now."""
    _required().reset_peak_memory_stats(device_index)


def empty_cache() -> None:
    """Give cached memory back to the device."""
    _required().empty_cache()


def empty_host_cache() -> None:
    """Give back cached host memory that devices can read: there is none to keep."""
    _required()


def get_device_capability(device: Any = None, /) -> dict[str, Any]:
    """What tensors on the device can hold, as `supported_dtypes`.

    >>> import ember
    >>> if ember.accelerator.is_available():
    ...     found = ember.accelerator.get_device_capability()
    ...     assert ember.float32 in found["supported_dtypes"]
    """
    module = _required()
    where = ember.device("opencl", _index(module, device))
    return {"supported_dtypes": {d for d in _dtypes() if _holds(d, where)}}


def _index(module: ModuleType, device: Any) -> int:
    if device is None:
        return module.current_device()
    if isinstance(device, int):
        return device
    index = ember.device(device).index
    return module.current_device() if index is None else index


def _dtypes() -> set[ember.dtype]:
    return {value for value in vars(ember._C).values() if type(value) is ember.dtype}


def _holds(dtype: ember.dtype, device: ember.device) -> bool:
    try:
        ember.zeros(1, dtype=dtype, device=device)
    except (RuntimeError, NotImplementedError, TypeError):
        return False
    return True
