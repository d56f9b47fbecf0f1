"""Modes that see every op by its name in aten: `torch.utils._python_dispatch`.

A mode sees the ops that Python calls, also on plain tensors; not those inside of a
backward pass of plain tensors, which are the core's own.

>>> import ember
>>> from ember.utils._python_dispatch import TorchDispatchMode
>>> class Names(TorchDispatchMode):
...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
...         print(func)
...         return func(*args, **(kwargs or {}))
>>> with Names():
...     _ = ember.ones(2) * 2
aten.ones
aten.mul
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ember
from ember import _dispatch
from ember._dispatch import wrappers


class TorchDispatchMode:
    """Sees the ops of this thread while it is entered."""

    _dispatch_key = None
    supports_higher_order_operators = False

    def __init__(self, _dispatch_key: Any = None) -> None:
        self._entered: list[bool] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self) -> TorchDispatchMode:
        _dispatch.push_mode(self)
        return self

    def __exit__(self, *error: object) -> None:
        _dispatch.pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchDispatchMode:
        """An older way to make a mode for `with`."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether it belongs to PyTorch's own machinery: never here."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode() -> Any:
    stack = _dispatch.modes()
    return stack[-1] if stack else None


def _get_current_dispatch_mode_stack() -> list:
    return list(_dispatch.modes())


def _len_torch_dispatch_stack() -> int:
    return len(_dispatch.modes())


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a mode is entered."""
    return bool(_dispatch.modes())


def is_in_any_mode_without_ignore_compile_internals() -> bool:
    """Whether a mode is entered."""
    return bool(_dispatch.modes())


@contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[Any]:
    mode = _dispatch.pop_mode()
    try:
        yield mode
    finally:
        _dispatch.push_mode(mode)


@contextmanager
def _disable_current_modes() -> Iterator[list]:
    hidden = [_dispatch.pop_mode() for _ in range(len(_dispatch.modes()))]
    try:
        yield hidden
    finally:
        for mode in reversed(hidden):
            _dispatch.push_mode(mode)


@contextmanager
def no_dispatch() -> Iterator[None]:
    """Ops inside are not dispatched."""
    with wrappers.bare():
        yield


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether `t` is a wrapper that can be taken apart and put together."""
    kind = t if isinstance(t, type) else type(t)
    return (
        issubclass(kind, ember.Tensor)
        and kind is not ember.Tensor
        and hasattr(kind, "__tensor_flatten__")
        and hasattr(kind, "__tensor_unflatten__")
    )


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """The same of a type."""
    return is_traceable_wrapper_subclass(t)


def transform_subclass(t, callback, outer_size=None, outer_stride=None):
    """A wrapper put together from its parts after `callback(name, part)`."""
    outer_size = t.size() if outer_size is None else outer_size
    outer_stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    parts = {name: callback(name, getattr(t, name)) for name in names}
    return type(t).__tensor_unflatten__(parts, context, outer_size, outer_stride)


def return_and_correct_aliasing(func, args, kwargs, out):
    """The result of an op as a subclass returns it: of an in-place op, its argument."""
    name = getattr(func, "__name__", "")
    if name.endswith("_") and not name.endswith("__") and args:
        return args[0]
    return (kwargs or {}).get("out", out)


def autograd_would_have_decomposed(func, flat_args) -> bool:
    """Whether PyTorch would take this op apart before it is seen: never here."""
    return False
