"""What programs ask of CUDA, answered as a build of PyTorch without CUDA answers.

ember has no CUDA devices; accelerators are OpenCL devices (`ember.opencl`). These
functions let programs that would use a GPU if there were one run unchanged.

>>> import ember
>>> ember.device("cuda" if ember.cuda.is_available() else "cpu")
device(type='cpu')
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NoReturn

has_half = False


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def init() -> None:
    """Fails: there is nothing to initialise."""
    _missing()


def get_arch_list() -> list[str]:
    """Empty."""
    return []


def manual_seed(seed: int) -> None:
    """Nothing to seed."""


manual_seed_all = manual_seed


def seed() -> None:
    """Nothing to seed."""


seed_all = seed


def empty_cache() -> None:
    """Nothing is cached."""


def ipc_collect() -> None:
    """Nothing to collect."""


def memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Empty."""
    return {}


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing to reset."""


def is_current_stream_capturing() -> bool:
    """False."""
    return False


def _missing(*args: object, **kwargs: object) -> NoReturn:
    raise AssertionError(
        "ember has no CUDA devices: ember.cuda.is_available() is False. "
        "For a GPU, use an OpenCL device: ember.device('opencl')"
    )


class _Missing:
    """A class that needs a device."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        _missing()


class Stream(_Missing):
    """A queue of work on a device."""


class Event(_Missing):
    """A point in a queue."""


class CUDAGraph(_Missing):
    """A recorded queue."""


synchronize = current_device = get_device_name = get_device_capability = _missing
get_device_properties = mem_get_info = current_stream = default_stream = _missing
set_stream = get_rng_state = set_rng_state = _missing


def set_device(device: Any) -> None:
    """Does nothing for a negative index, and fails for any other."""
    if not isinstance(device, int) or device >= 0:
        _missing()


class device:
    """A context in which `device` is the current one: there is none but -1."""

    def __init__(self, device: Any) -> None:
        self.idx = device

    def __enter__(self) -> None:
        set_device(self.idx if self.idx is not None else -1)

    def __exit__(self, *exception: object) -> None: ...


def __getattr__(name: str) -> Any:
    if name == "amp":
        return import_module("ember.cuda.amp")
    raise AttributeError(f"module 'ember.cuda' has no attribute '{name}'")
