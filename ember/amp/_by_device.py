"""Older functions of autocast, with the device in their names."""

import warnings
from collections.abc import Callable

from ember import dtype
from ember.amp import autocast_mode as mode


def _old(name: str, device: str, function: Callable, *args):
    new = function.__name__
    shown = ", ".join(["'" + device + "'", *("value" for _ in args)])
    warnings.warn(
        f"torch.{name}() is deprecated. Please use torch.{new}({shown}) instead.",
        DeprecationWarning,
        stacklevel=3,
    )
    return function(device, *args)


def is_autocast_cpu_enabled() -> bool:
    """Old: `is_autocast_enabled("cpu")`."""
    return _old("is_autocast_cpu_enabled", "cpu", mode.is_autocast_enabled)


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Old: `set_autocast_enabled("cpu", enabled)`."""
    _old("set_autocast_cpu_enabled", "cpu", mode.set_autocast_enabled, enabled)


def get_autocast_cpu_dtype() -> dtype:
    """Old: `get_autocast_dtype("cpu")`."""
    return _old("get_autocast_cpu_dtype", "cpu", mode.get_autocast_dtype)


def set_autocast_cpu_dtype(dtype: dtype) -> None:
    """Old: `set_autocast_dtype("cpu", dtype)`."""
    _old("set_autocast_cpu_dtype", "cpu", mode.set_autocast_dtype, dtype)


def get_autocast_gpu_dtype() -> dtype:
    """Old: `get_autocast_dtype("cuda")`."""
    return _old("get_autocast_gpu_dtype", "cuda", mode.get_autocast_dtype)


def set_autocast_gpu_dtype(dtype: dtype) -> None:
    """Old: `set_autocast_dtype("cuda", dtype)`."""
    _old("set_autocast_gpu_dtype", "cuda", mode.set_autocast_dtype, dtype)
