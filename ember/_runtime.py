"""Switches of the whole process that PyTorch programs set.

Results on the CPU do not depend on timing or on the number of threads in the first
place; the switches for determinism make OpenCL devices add up in order, too, and memory
that nobody wrote to hold NaN or the greatest number.
"""

import os
import warnings
from typing import Any

from ember import _C

_state: dict[str, Any] = {
    "deterministic": False,
    "warn_only": False,
    "fill": True,
    "precision": "highest",
}

# What ember is built on, by the names that programs ask for.
has_lapack = True
has_mkl = False
has_openmp = True


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for deterministic results; on the CPU they always are."""
    for name, flag in (("mode' (position 1)", mode), ("warn_only'", warn_only)):
        if not isinstance(flag, bool):
            raise TypeError(
                f"_set_deterministic_algorithms(): argument '{name} must be bool, not "
                f"{type(flag).__name__}"
            )
    _C._opencl_deterministic(mode)
    _state["deterministic"], _state["warn_only"] = mode, warn_only
    _C._fill_uninitialised(mode and _state["fill"])


def set_fill_uninitialized_memory(mode: bool) -> None:
    """Whether memory that nobody wrote to is filled, in deterministic mode."""
    if not isinstance(mode, bool):
        raise RuntimeError(
            f"fill_uninitialized_memory: expected a bool, but got {type(mode).__name__}"
        )
    _state["fill"] = mode
    _C._fill_uninitialised(_state["deterministic"] and mode)


def get_fill_uninitialized_memory() -> bool:
    """What `set_fill_uninitialized_memory` was told."""
    return _state["fill"]


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was told."""
    return _state["deterministic"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """What `use_deterministic_algorithms` was told."""
    return _state["warn_only"]


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` by another name: "default", "warn" or "error"."""
    names: dict[Any, int] = {"default": 0, "warn": 1, "error": 2}
    if debug_mode not in names and debug_mode not in names.values():
        raise ValueError(
            "invalid value of debug_mode, expected 'default', 'warn', 'error' or 0, 1, "
            f"2, but got {debug_mode!r}"
        )
    mode = int(names.get(debug_mode, debug_mode))
    use_deterministic_algorithms(mode > 0, warn_only=mode == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 (warn) or 2 (error)."""
    if not _state["deterministic"]:
        return 0
    return 1 if _state["warn_only"] else 2


def alert_not_deterministic(name: str) -> None:
    """The error, or the warning, of an op whose result may depend on chance."""
    text = (
        f"{name} does not have a deterministic implementation, but you set "
        "'torch.use_deterministic_algorithms(True)'."
    )
    if not is_deterministic_algorithms_warn_only_enabled():
        raise RuntimeError(text)

    warnings.warn(text, stacklevel=3)


def set_float32_matmul_precision(precision: str) -> None:
    """Remember "highest", "high" or "medium"; products are always in full float32."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"Invalid matmul precision: {precision!r}")
    _state["precision"] = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was told."""
    return _state["precision"]


def get_num_interop_threads() -> int:
    """Ops of one program do not run beside each other: the count says what could."""
    return _state.get("interop") or os.cpu_count() or 1


def set_num_interop_threads(n: int) -> None:
    """Remember the number."""
    if not 0 < n < 2**31:
        raise RuntimeError(
            f"set_num_interop_threads expects a positive integer below 2**31, got {n}"
        )
    _state["interop"] = n


def set_flush_denormal(mode: bool) -> bool:
    """Denormal numbers are kept: False, as on machines that cannot flush them."""
    return False


def warn_once(text: str, stacklevel: int = 3) -> None:
    """A warning that is given once, or each time after `set_warn_always(True)`."""
    told = _state.setdefault("told", set())
    if text in told and not is_warn_always_enabled():
        return
    told.add(text)
    warnings.warn(text, stacklevel=stacklevel)


def warn_of_create_graph() -> None:
    """What `backward(create_graph=True)` leaves behind."""
    warn_once(
        "Using backward() with create_graph=True will create a reference cycle between "
        "the parameter and its gradient which can cause a memory leak. Use "
        "autograd.grad instead, or set the .grad of the parameters to None afterwards."
    )


def set_warn_always(b: bool, /) -> None:
    """Remember whether warnings should repeat."""
    _state["warn_always"] = bool(b)


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was told."""
    return _state.get("warn_always", False)
