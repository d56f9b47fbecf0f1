"""CUDA, as far as there is any: none, or the OpenCL device under its name.

ember has no CUDA devices, and answers what programs ask as a build of PyTorch without
CUDA does. With `EMBER_CUDA=opencl` in the environment, or `python -m ember.as_torch
--cuda opencl script.py`, "cuda" means the OpenCL device instead: `device("cuda:0")`,
`.cuda()` and the functions here are those of `ember.opencl`.

>>> import ember
>>> device = ember.device("cuda" if ember.cuda.is_available() else "cpu")
>>> ember.ones(2, device=device).sum().item()
2.0
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

from ember import _C, _lazy
from ember._errors import (
    AcceleratorError as AcceleratorError,
    OutOfMemoryError as OutOfMemoryError,
)

has_half = False
has_magma = False
default_generators: tuple = ()
# Chosen when this module is loaded, as classes cannot change later.
_IS_OPENCL = _C._means_device_kind("cuda", "opencl")


def _missing(*args: object, **kwargs: object) -> NoReturn:
    """Raises: there are no CUDA devices."""
    raise AssertionError(
        "ember is not compiled with CUDA enabled: it has no CUDA devices, and "
        "ember.cuda.is_available() is False. For a GPU, use an OpenCL device: "
        "ember.device('opencl'); EMBER_CUDA=opencl in the environment lets 'cuda' mean "
        "it"
    )


def _without(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a function does where there are no devices; else it is `ember.opencl`'s."""
    if not _IS_OPENCL:
        return function

    @functools.wraps(function)
    def on_opencl(*args: Any, **kwargs: Any) -> Any:
        from ember import opencl

        return getattr(opencl, function.__name__)(*args, **kwargs)

    return on_opencl


def _raises(name: str) -> Callable[..., Any]:
    """A function that only devices have."""

    def function(*args: Any, **kwargs: Any) -> Any:
        _missing()

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`ember.opencl.{name}`, if that is what CUDA means."
    return _without(function)


@_without
def is_available() -> bool:
    """Whether there is a device: False, unless "cuda" means OpenCL."""
    return False


@_without
def is_initialized() -> bool:
    """Whether a device is in use."""
    return False


@_without
def device_count() -> int:
    """How many devices there are."""
    return 0


@_without
def empty_cache() -> None:
    """Give back memory that is kept for later."""


@_without
def memory_allocated(device: Any = None) -> int:
    """Bytes of tensors on the device."""
    return 0


@_without
def max_memory_allocated(device: Any = None) -> int:
    """The most bytes of tensors on the device so far."""
    return 0


@_without
def memory_reserved(device: Any = None) -> int:
    """Bytes taken from the device."""
    return 0


@_without
def max_memory_reserved(device: Any = None) -> int:
    """The most bytes taken from the device so far."""
    return 0


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


@_without
def memory_stats(device: Any = None) -> dict[str, Any]:
    """What is known of the device's memory."""
    return {}


@_without
def reset_peak_memory_stats(device: Any = None) -> None:
    """Start to count the most bytes anew."""


@_without
def manual_seed(seed: int) -> None:
    """Seed the device's random numbers; nothing to seed where there is none."""


@_without
def manual_seed_all(seed: int) -> None:
    """Seed the random numbers of all devices."""


@_without
def seed() -> None:
    """Seed the device's random numbers by chance."""


@_without
def seed_all() -> None:
    """Seed the random numbers of all devices by chance."""


@_without
def get_rng_state_all() -> list[_C.Tensor]:
    """The states of the random numbers of all devices."""
    return []


@_without
def set_rng_state_all(new_states: list[_C.Tensor]) -> None:
    """Set the states of the random numbers of all devices."""
    if list(new_states):
        _missing()


synchronize, current_device = _raises("synchronize"), _raises("current_device")
get_device_name = _raises("get_device_name")
mem_get_info, initial_seed = _raises("mem_get_info"), _raises("initial_seed")
current_stream, default_stream = _raises("current_stream"), _raises("default_stream")
set_stream = _raises("set_stream")
set_per_process_memory_fraction = _raises("set_per_process_memory_fraction")
_opencl_state, _opencl_set_state = _raises("get_rng_state"), _raises("set_rng_state")
_properties = _raises("get_device_properties")


def get_rng_state(device: Any = "cuda") -> _C.Tensor:
    """The state of the device's random numbers."""
    return _opencl_state(device)


def set_rng_state(new_state: _C.Tensor, device: Any = "cuda") -> None:
    """Set the state of the device's random numbers."""
    _opencl_set_state(new_state, device)


def get_device_properties(device: Any = None) -> Any:
    """What the device says of itself; with the names that programs look for."""
    found = _properties(device)
    memory = getattr(found, "global_memory", getattr(found, "global_mem_size", 0))
    for name, value in (("total_memory", memory), ("major", 0), ("minor", 0)):
        if not hasattr(found, name):
            setattr(found, name, value)
    if not hasattr(found, "multi_processor_count"):
        found.multi_processor_count = getattr(found, "compute_units", 1)
    return found


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """(0, 0): there is no version of CUDA's instructions to speak of."""
    _properties(device)
    return 0, 0


def init() -> None:
    """Open the device; fails where there is none."""
    if not _IS_OPENCL:
        _missing()
    from ember import opencl

    opencl.init()


_lazy_init = init


def _is_compiled() -> bool:
    return _IS_OPENCL


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether bfloat16 can be computed with, in any way."""
    return is_available() and including_emulation


def is_tf32_supported() -> bool:
    """False."""
    return False


def is_current_stream_capturing() -> bool:
    """False."""
    return False


def get_arch_list() -> list[str]:
    """Empty: no kernels are compiled for CUDA."""
    return []


def get_gencode_flags() -> str:
    """Empty: no kernels are compiled for CUDA."""
    return ""


def ipc_collect() -> None:
    """Nothing to collect."""


def set_device(device: Any) -> None:
    """Make another device the current one; a negative index changes nothing."""
    if isinstance(device, int) and device < 0:
        return
    _raises("set_device")(device)


class device:
    """A block in which a device is the current one; None and negative ones change
    nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = device
        self._inner: Any = None

    def __enter__(self) -> None:
        if self.idx is None or (isinstance(self.idx, int) and self.idx < 0):
            return
        if not _IS_OPENCL:
            _missing()
        from ember import opencl

        self._inner = opencl.device(self.idx)
        self._inner.__enter__()

    def __exit__(self, *error: object) -> None:
        if self._inner is not None:
            self._inner.__exit__(*error)


class device_of(device):
    """A block in which a tensor's device is the current one, if it is one of these."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device if obj.is_cuda else -1)


_device_t = Any

from ember.cuda.streams import (  # noqa: E402 (they ask what is above)
    Event as Event,
    ExternalStream as ExternalStream,
    Stream as Stream,
    StreamContext as StreamContext,
    get_stream_from_external as get_stream_from_external,
    stream as stream,
)

__getattr__ = _lazy.missing(__name__)
