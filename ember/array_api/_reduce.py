"""Reductions, scans, searching, sorting, sets: the standard's axes and dtypes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import ember
from ember import Tensor
from ember.array_api._arrays import axes_of, number, pair


def _sum_dtype(x: Tensor, dtype: Any) -> Any:
    """Sums of integers are those of the default integer, int64."""
    if dtype is not None or x.is_floating_point() or x.is_complex():
        return dtype or x.dtype
    return ember.int64


def sum(
    x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False
) -> Tensor:
    """The sum over `axis`, or over all."""
    kind = _sum_dtype(x, dtype)
    axes = axes_of(x, axis)
    if not axes:
        return x.to(kind, copy=True)
    return ember.sum(x, axes, keepdims, dtype=kind)


def prod(
    x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False
) -> Tensor:
    """The product over `axis`, or over all."""
    kind = _sum_dtype(x, dtype)
    out = x.to(kind, copy=True)
    for each in sorted(axes_of(x, axis), reverse=True):
        out = ember.prod(out, each, keepdims)
    return out


def mean(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The mean over `axis`, or over all."""
    axes = axes_of(x, axis)
    return ember.mean(x, axes, keepdims) if axes else x.clone()


def var(
    x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The variance over `axis`: sum of squares / (count - correction)."""
    axes = axes_of(x, axis)
    if not axes:
        return (x - x) / (1 - correction) if correction < 1 else x * math.nan
    return ember.var(x, axes, correction=correction, keepdim=keepdims)


def std(
    x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The square root of `var`."""
    return ember.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def max(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The greatest over `axis`, or over all."""
    axes = axes_of(x, axis)
    return ember.amax(x, axes, keepdims) if axes else x.clone()


def min(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The least over `axis`, or over all."""
    axes = axes_of(x, axis)
    return ember.amin(x, axes, keepdims) if axes else x.clone()


def all(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether every element is true (not zero)."""
    out = x.to(ember.bool, copy=True)
    for each in sorted(axes_of(x, axis), reverse=True):
        out = ember.all(out, each, keepdims)
    return out


def any(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether an element is true (not zero)."""
    out = x.to(ember.bool, copy=True)
    for each in sorted(axes_of(x, axis), reverse=True):
        out = ember.any(out, each, keepdims)
    return out


def count_nonzero(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """How many elements are not zero."""
    return sum(x.to(ember.bool).to(ember.int64), axis=axis, keepdims=keepdims)


def _scan(op: Any, start: int, x: Tensor, axis: Any, dtype: Any, initial: bool) -> Any:
    if axis is None:
        if x.ndim != 1:
            raise ValueError("axis is needed for an array that has not one dimension")
        axis = 0
    (axis,) = axes_of(x, axis)
    kind = _sum_dtype(x, dtype)
    out = op(x.to(kind), axis)
    if initial:
        shape = list(out.shape)
        shape[axis] = 1
        first = ember.full(shape, start, dtype=out.dtype, device=x.device)
        out = ember.cat([first, out], axis)
    return out


def cumulative_sum(
    x: Tensor, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """Sums of all elements up to each, along `axis`."""
    return _scan(ember.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Tensor, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """Products of all elements up to each, along `axis`."""
    return _scan(ember.cumprod, 1, x, axis, dtype, include_initial)


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Differences of neighbours along `axis`, `n` times."""
    if n == 0 and prepend is None and append is None:
        return x.clone()
    return ember.diff(x, n, axis, prepend, append)


# --- searching, sorting, sets ---------------------------------------------------------


def _where_it_is(op: Any, x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    if axis is None:
        out = op(x.reshape(-1), 0)
        return out.reshape([1] * x.ndim) if keepdims else out
    return op(x, *axes_of(x, axis), keepdims)


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The place of the (first) greatest element."""
    return _where_it_is(ember.argmax, x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The place of the (first) least element."""
    return _where_it_is(ember.argmin, x, axis, keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The places of elements that are not zero, an array for each axis."""
    if x.ndim == 0:
        raise ValueError("nonzero() of an array without dimensions")
    return ember.nonzero(x, as_tuple=True)


def searchsorted(
    x1: Tensor, x2: Any, /, *, side: str = "left", sorter: Tensor | None = None
) -> Tensor:
    """Where in the sorted `x1` each of `x2` belongs."""
    if not isinstance(x2, Tensor):
        x2 = number(x2, x1)
    x1, x2 = pair(x1, x2)
    return ember.searchsorted(x1, x2, side=side, sorter=sorter)


def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
    """`x1` where the condition holds, else `x2`."""
    if not isinstance(x1, Tensor) and not isinstance(x2, Tensor):
        raise TypeError("where(): x1 or x2 has to be an array")
    return ember.where(condition, *pair(x1, x2))


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The places of the elements in their order."""
    return ember.argsort(x, dim=axis, descending=descending, stable=stable)


def sort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The elements in order."""
    return ember.sort(x, dim=axis, descending=descending, stable=stable).values


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> UniqueAll:
    """The different elements, where each is first, which is where, and how often."""
    flat = x.reshape(-1)
    values, inverse, counts = ember.unique(
        flat, return_inverse=True, return_counts=True
    )
    places = ember.arange(len(flat), device=x.device)
    first = ember.full((len(values),), len(flat), dtype=ember.int64, device=x.device)
    first = first.scatter_reduce(0, inverse, places, "amin")
    return UniqueAll(values, first, inverse.reshape(x.shape), counts)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The different elements and how often each is there."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The different elements and which of them is where."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """The different elements."""
    return ember.unique(x)


__all__ = """
    sum prod mean var std max min all any count_nonzero cumulative_sum cumulative_prod
    diff argmax argmin nonzero searchsorted where argsort sort unique_all unique_counts
    unique_inverse unique_values
    """.split()
