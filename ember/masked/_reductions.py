"""Masked sums, products, extremes, means and what is made of them.

Elements where `mask` is False do not count. The mask broadcasts to the input's shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import ember
from ember import Tensor
from ember.masked._mask import (
    DimLike,
    Dims,
    Dtype,
    Mask,
    all_dims,
    covered,
    full_mask,
    greatest,
    is_float,
    least,
    named_as,
)


class Reduction(Protocol):
    """The signature that most reductions have."""

    def __call__(
        self,
        input: Tensor,
        dim: DimLike = None,
        *,
        keepdim: bool = False,
        dtype: ember.dtype | None = None,
        mask: Tensor | None = None,
    ) -> Tensor: ...


def reduction(body: Callable[[Tensor, Dims, bool, Dtype, Mask], Tensor]) -> Reduction:
    """Gives `body`, which takes all arguments as they were made out, that signature."""

    def call(
        input: Tensor,
        dim: DimLike = None,
        *,
        keepdim: bool = False,
        dtype: ember.dtype | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        return body(input, all_dims(dim, input.dim()), bool(keepdim), dtype, mask)

    return named_as(body, call)


def _wide(input: Tensor, dtype: ember.dtype | None) -> ember.dtype:
    """What sums and products of integers have by default: int64."""
    return dtype or (input.dtype if is_float(input.dtype) else ember.int64)


@reduction
def sum(input: Tensor, dims: Dims, keepdim: bool, dtype: Dtype, mask: Mask) -> Tensor:
    """Sum of the elements under the mask.

    >>> import ember
    >>> mask = ember.tensor([True, False, True])
    >>> ember.masked.sum(ember.tensor([1.0, 2.0, 3.0]), mask=mask)
    tensor(4.)
    """
    return covered(input, mask, 0).sum(dims, keepdim, dtype=_wide(input, dtype))


@reduction
def prod(input: Tensor, dims: Dims, keepdim: bool, dtype: Dtype, mask: Mask) -> Tensor:
    """Product of the elements under the mask.

    >>> import ember
    >>> mask = ember.tensor([True, False, True])
    >>> ember.masked.prod(ember.tensor([1.0, 2.0, 3.0]), mask=mask)
    tensor(3.)
    """
    x = covered(input, mask, 1).to(_wide(input, dtype))
    for d in reversed(dims):
        x = x.prod(d, keepdim)
    return x if x is not input else x.clone()


@reduction
def amax(input: Tensor, dims: Dims, keepdim: bool, dtype: Dtype, mask: Mask) -> Tensor:
    """Largest of the elements under the mask; the dtype's smallest value if none is.

    >>> import ember
    >>> mask = ember.tensor([True, True, False])
    >>> ember.masked.amax(ember.tensor([1.0, 2.0, 3.0]), mask=mask)
    tensor(2.)
    """
    x = covered(input, mask, least("amax", input.dtype))
    return x.amax(dims, keepdim).to(dtype or input.dtype)


@reduction
def amin(input: Tensor, dims: Dims, keepdim: bool, dtype: Dtype, mask: Mask) -> Tensor:
    """Smallest of the elements under the mask; the dtype's largest value if none is.

    >>> import ember
    >>> mask = ember.tensor([False, True, True])
    >>> ember.masked.amin(ember.tensor([1.0, 2.0, 3.0]), mask=mask)
    tensor(2.)
    """
    x = covered(input, mask, greatest("amin", input.dtype))
    return x.amin(dims, keepdim).to(dtype or input.dtype)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: ember.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Place of the largest element under the mask, in the input's dtype by default.

    >>> import ember
    >>> mask = ember.tensor([True, True, False])
    >>> ember.masked.argmax(ember.tensor([1, 2, 3]), mask=mask)
    tensor(1)
    """
    x = covered(input, mask, least("argmax", input.dtype))
    return x.argmax(dim, bool(keepdim)).to(dtype or input.dtype)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: ember.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Place of the smallest element under the mask, in the input's dtype by default.

    >>> import ember
    >>> mask = ember.tensor([False, True, True])
    >>> ember.masked.argmin(ember.tensor([1, 2, 3]), mask=mask)
    tensor(1)
    """
    x = covered(input, mask, greatest("argmin", input.dtype))
    return x.argmin(dim, bool(keepdim)).to(dtype or input.dtype)


def _count(input: Tensor, dim: DimLike, keepdim: bool, mask: Tensor | None) -> Tensor:
    """How many elements count in each result."""
    if mask is None:
        mask = ember.ones((), dtype=ember.bool, device=input.device)
    return full_mask(input, mask).sum(all_dims(dim, input.dim()), keepdim)


@reduction
def mean(input: Tensor, dims: Dims, keepdim: bool, dtype: Dtype, mask: Mask) -> Tensor:
    """Mean of the elements under the mask; nan where there are none.

    >>> import ember
    >>> mask = ember.tensor([True, False, True])
    >>> ember.masked.mean(ember.tensor([1.0, 2.0, 3.0]), mask=mask)
    tensor(2.)
    """
    source = "Input" if dtype is None else "Optional"
    dtype = dtype or input.dtype
    if not is_float(dtype):
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a "
            f"floating point or complex dtype. Got: {dtype}"
        )
    total = sum(input, dims, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _count(input, dims, keepdim, mask)


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: ember.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Median of the elements under the mask; nan where there are none.

    >>> import ember
    >>> mask = ember.tensor([True, True, False])
    >>> ember.masked.median(ember.tensor([5.0, 2.0, 3.0]), mask=mask)
    tensor(2.)
    """
    (axis,) = all_dims(int(dim), input.dim())
    exact = input.dtype.is_floating_point
    x = covered(input if exact else input.float(), mask, float("nan"))
    out = x.nanmedian(axis, bool(keepdim))[0]
    if exact:
        return out
    if out.isnan().any():
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating "
            "point"
        )
    return out.to(dtype or input.dtype)


def norm(
    input: Tensor,
    ord: float = 2.0,
    dim: DimLike = None,
    *,
    keepdim: bool = False,
    dtype: ember.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Norm of the vector of elements under the mask.

    >>> import ember
    >>> mask = ember.tensor([True, False, True])
    >>> ember.masked.norm(ember.tensor([3.0, 2.0, 4.0]), mask=mask)
    tensor(5.)
    """
    x = covered(input, mask, float("inf") if ord == -float("inf") else 0)
    return ember.linalg.vector_norm(
        x, ord, all_dims(dim, x.dim()), bool(keepdim), dtype=dtype or input.dtype
    )


def var(
    input: Tensor,
    dim: DimLike = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: ember.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Variance of the elements under the mask.

    >>> import ember
    >>> mask = ember.tensor([True, False, True])
    >>> ember.masked.var(ember.tensor([1.0, 2.0, 3.0]), mask=mask)
    tensor(2.)
    """
    if unbiased is not None and correction is not None:
        raise RuntimeError("Only one of correction and unbiased may be given")
    if correction is None:
        correction = 1.0 if unbiased is not False else 0.0
    correction = float(correction)
    dtype = dtype or (input.dtype if is_float(input.dtype) else ember.float32)
    compute = dtype if is_float(dtype) else ember.float32
    total = sum(input, dim, keepdim=True, dtype=dtype, mask=mask)
    x = input - total / _count(input, dim, True, mask)
    squares = sum(x * x.conj(), dim, keepdim=keepdim, dtype=compute, mask=mask)
    count = _count(input, dim, bool(keepdim), mask)
    if correction:
        real = ember.empty((), dtype=compute).abs().dtype
        count = (count.to(real) - correction).clamp(min=0)
    return (squares / count).to(dtype)


def std(
    input: Tensor,
    dim: DimLike = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: ember.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Standard deviation of the elements under the mask.

    >>> import ember
    >>> mask = ember.tensor([True, False, True])
    >>> ember.masked.std(ember.tensor([1.0, 2.0, 5.0]), unbiased=False, mask=mask)
    tensor(2.)
    """
    return var(
        input,
        dim,
        unbiased,
        correction=correction,
        keepdim=keepdim,
        dtype=dtype,
        mask=mask,
    ).sqrt()


@reduction
def logsumexp(
    input: Tensor, dims: Dims, keepdim: bool, dtype: Dtype, mask: Mask
) -> Tensor:
    """Logarithm of the sum of exponentials of the elements under the mask.

    >>> import ember
    >>> mask = ember.tensor([True, False, True])
    >>> ember.masked.logsumexp(ember.tensor([0.0, 9.0, 0.0]), mask=mask)
    tensor(0.6931)
    """
    complex = input.dtype.is_complex
    value = -float("inf") if complex else least("logsumexp", input.dtype)
    x = covered(input, mask, value)
    return x.logsumexp(dims, keepdim).to(dtype or input.dtype)
