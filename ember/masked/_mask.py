"""What takes the place of masked-out elements, and the dimensions of a reduction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import ember
from ember import Tensor

DimLike = int | Sequence[int] | None
Dims = tuple[int, ...]
Dtype = ember.dtype | None
Mask = Tensor | None

F = TypeVar("F", bound=Callable[..., Tensor])


def least(op: str, dtype: ember.dtype) -> float | int:
    """The smallest value of a dtype: what a maximum ignores."""
    return _end(op, dtype, "min", -float("inf"))


def greatest(op: str, dtype: ember.dtype) -> float | int:
    """The largest value of a dtype: what a minimum ignores."""
    return _end(op, dtype, "max", float("inf"))


def _end(op: str, dtype: ember.dtype, end: str, infinity: float) -> float | int:
    if dtype.is_floating_point:
        return infinity
    if dtype is ember.bool or dtype.is_complex:
        raise NotImplementedError(f"identity of {op} on {dtype} input")
    return getattr(ember.iinfo(dtype), end)


def full_mask(input: Tensor, mask: Tensor) -> Tensor:
    """`mask` as booleans of the input's shape."""
    if mask.dim() > input.dim():
        raise IndexError(
            "expected broadcastable mask (got mask dimensionality higher than of the "
            f"input): {mask.dim()} and {input.dim()}"
        )
    return mask.to(ember.bool).expand(input.shape)


def covered(input: Tensor, mask: Tensor | None, value: float | int) -> Tensor:
    """`input` with `value` where the mask is False."""
    if mask is None:
        return input
    return ember.where(
        full_mask(input, mask), input, ember.tensor(value, dtype=input.dtype)
    )


def all_dims(dim: DimLike, ndim: int) -> Dims:
    """The dimensions of a `dim=` argument, sorted; all of them for None or ()."""
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return tuple(range(ndim))
    ndim = max(ndim, 1)
    dims: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if not -ndim <= d < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-ndim}, "
                f"{ndim - 1}], but got {d})"
            )
        if d % ndim in dims:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        dims.append(d % ndim)
    return tuple(sorted(dims))


def is_float(dtype: ember.dtype) -> bool:
    return dtype.is_floating_point or dtype.is_complex


def named_as(body: Callable[..., Any], call: F) -> F:
    """`call` with the name and the text of `body`, but its own signature."""
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(call, name, getattr(body, name))
    return call
