"""Masked functions along one dimension whose results have the input's shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import ember
from ember import Tensor
from ember.masked._mask import Mask, all_dims, covered, greatest, least, named_as


class AlongOne(Protocol):
    """The signature that these functions have."""

    def __call__(
        self,
        input: Tensor,
        dim: int,
        *,
        dtype: ember.dtype | None = None,
        mask: Tensor | None = None,
    ) -> Tensor: ...


def along_one(body: Callable[[Tensor, int, ember.dtype, Mask], Tensor]) -> AlongOne:
    """Gives `body`, which takes all arguments as they were made out, that signature."""

    def call(
        input: Tensor,
        dim: int,
        *,
        dtype: ember.dtype | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        (axis,) = all_dims(int(dim), input.dim())
        return body(input, axis, dtype or input.dtype, mask)

    return named_as(body, call)


@along_one
def cumsum(input: Tensor, dim: int, dtype: ember.dtype, mask: Mask) -> Tensor:
    """Sums of the elements under the mask up to each place along `dim`.

    >>> import ember
    >>> mask = ember.tensor([True, False, True])
    >>> ember.masked.cumsum(ember.tensor([1.0, 2.0, 3.0]), 0, mask=mask)
    tensor([1., 1., 4.])
    """
    return covered(input, mask, 0).cumsum(dim, dtype=dtype)


@along_one
def cumprod(input: Tensor, dim: int, dtype: ember.dtype, mask: Mask) -> Tensor:
    """Products of the elements under the mask up to each place along `dim`.

    >>> import ember
    >>> mask = ember.tensor([True, False, True])
    >>> ember.masked.cumprod(ember.tensor([3.0, 2.0, 3.0]), 0, mask=mask)
    tensor([3., 3., 9.])
    """
    return covered(input, mask, 1).cumprod(dim, dtype=dtype)


@along_one
def softmax(input: Tensor, dim: int, dtype: ember.dtype, mask: Mask) -> Tensor:
    """Exponentials along `dim`, scaled to sum to 1 over the elements under the mask.

    >>> import ember
    >>> mask = ember.tensor([True, False, True])
    >>> ember.masked.softmax(ember.tensor([1.0, 2.0, 1.0]), 0, mask=mask)
    tensor([0.5000, 0.0000, 0.5000])
    """
    x = covered(input, mask, least("amax", input.dtype))
    return x.softmax(dim, dtype=dtype)


@along_one
def log_softmax(input: Tensor, dim: int, dtype: ember.dtype, mask: Mask) -> Tensor:
    """Logarithm of `softmax`; -inf where the mask is False.

    >>> import ember
    >>> mask = ember.tensor([True, False, True])
    >>> ember.masked.log_softmax(ember.tensor([1.0, 2.0, 1.0]), 0, mask=mask)
    tensor([-0.6931,    -inf, -0.6931])
    """
    x = covered(input, mask, least("amax", input.dtype))
    return x.log_softmax(dim, dtype=dtype)


@along_one
def softmin(input: Tensor, dim: int, dtype: ember.dtype, mask: Mask) -> Tensor:
    """`softmax` of the negative elements.

    >>> import ember
    >>> mask = ember.tensor([True, False, True])
    >>> ember.masked.softmin(ember.tensor([1.0, 2.0, 1.0]), 0, mask=mask)
    tensor([0.5000, 0.0000, 0.5000])
    """
    x = covered(input, mask, greatest("amin", input.dtype))
    return (-x).softmax(dim, dtype=dtype)
