"""What the functions of the namespace share: promotion, axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ember
from ember import Tensor


def pair(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Two operands of the dtype that both promote to.

    PyTorch lets tensors without dimensions count less; here, dtypes alone decide, and
    Python's numbers take the dtype of the array.
    """
    if not isinstance(x1, Tensor):
        return number(x1, x2), x2
    if not isinstance(x2, Tensor):
        return x1, number(x2, x1)
    if x1.dtype == x2.dtype:
        return x1, x2
    dtype = ember.promote_types(x1.dtype, x2.dtype)
    return x1.to(dtype), x2.to(dtype)


def number(value: Any, like: Tensor) -> Tensor:
    """A Python number as an array without dimensions, of a dtype of `like`'s kind."""
    dtype = like.dtype
    if isinstance(value, complex) and not dtype.is_complex:
        dtype = dtype.to_complex() if dtype.is_floating_point else ember.complex64
    elif isinstance(value, float) and not (dtype.is_floating_point or dtype.is_complex):
        dtype = ember.get_default_dtype()
    return ember.tensor(value, dtype=dtype, device=like.device)


def binary(name: str, op: Callable[..., Tensor]) -> Callable[[Any, Any], Tensor]:
    def function(x1: Any, x2: Any, /) -> Tensor:
        return op(*pair(x1, x2))

    return named(function, name, op)


def unary(name: str, op: Callable[..., Tensor]) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor, /) -> Tensor:
        return op(x)

    return named(function, name, op)


def named(function: Any, name: str, op: Any) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__module__ = "ember.array_api"
    other = getattr(op, "__name__", name)
    function.__doc__ = f"The standard's `{name}`, by `ember.{other}`."
    return function


def axes_of(x: Tensor, axis: Any) -> tuple[int, ...]:
    """The axes that are meant, counted from the front; None means all."""
    if axis is None:
        return tuple(range(x.ndim))
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for each in axes:
        if not -x.ndim <= each < x.ndim:
            raise IndexError(f"axis {each} is out of range for {x.ndim} dimensions")
    return tuple(each % x.ndim for each in axes)
