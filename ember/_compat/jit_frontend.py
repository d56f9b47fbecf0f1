"""Private decorators of TorchScript: pyro, torchvision, kornia and torch_geometric
import them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ember._compat.hints import BroadcastingList1, BroadcastingList2, BroadcastingList3
from ember.futures import Future
from ember.jit import (
    Error,
    _IgnoreContextManager,
    _overload,
    _overload_method,
    export,
    ignore,
    is_scripting,
    unused,
)

__all__ = [
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Error",
    "Final",
    "FrontendError",
    "FunctionModifiers",
    "Future",
    "NotSupportedError",
    "UnsupportedNodeError",
    "_IgnoreContextManager",
    "_copy_to_script_wrapper",
    "_overload",
    "_overload_method",
    "boolean_dispatch",
    "export",
    "ignore",
    "is_scripting",
    "is_tuple",
    "unused",
    "weak_module",
    "weak_script_method",
]


class FrontendError(Exception):
    """What a compiler does not understand."""


class NotSupportedError(FrontendError):
    """What a compiler does not know."""


class UnsupportedNodeError(NotSupportedError):
    """A kind of expression that a compiler does not know."""


class FunctionModifiers:
    """How a compiler would treat a function."""

    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (compile if called from a exported function / forward)"
    COPY_TO_SCRIPT_WRAPPER = (
        "if this method is not scripted, copy the python method onto the scripted model"
    )


def _copy_to_script_wrapper(fn: Any) -> Any:
    return fn


weak_module = weak_script_method = _copy_to_script_wrapper


def is_tuple(ann: Any) -> bool:
    """Whether a hint is that of a tuple."""
    return getattr(ann, "__origin__", None) is tuple


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable,
    if_false: Callable,
    module_name: str,
    func_name: str,
) -> Callable:
    """A function that is one of two, by an argument."""

    def function(*args: Any, **kwargs: Any) -> Any:
        flag = kwargs.get(arg_name, default)
        if arg_index < len(args):
            flag = args[arg_index]
        return (if_true if flag else if_false)(*args, **kwargs)

    function.__name__, function.__doc__ = func_name, if_true.__doc__
    return function


def _get_trace_graph(*args: Any, **kwargs: Any) -> Any:
    """Raises: programs are not recorded."""
    raise NotSupportedError(
        "jit._get_trace_graph(): ember does not record programs yet"
    )
