"""Masked softmax and its relatives: results of the input's shape."""

from __future__ import annotations

import ember
from ember import Tensor
from ember.masked._mask import all_dims, covered, greatest, least
from ember.masked._reductions import norm


def softmax(
    input: Tensor,
    dim: int,
    *,
    dtype: ember.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Exponentials along `dim`, scaled to sum to 1 over the elements under the mask.

    >>> import ember
    >>> mask = ember.tensor([True, False, True])
    >>> ember.masked.softmax(ember.tensor([1.0, 2.0, 1.0]), 0, mask=mask)
    tensor([0.5000, 0.0000, 0.5000])
    """
    (axis,) = all_dims(int(dim), input.dim())
    x = covered(input, mask, least("amax", input.dtype))
    return x.softmax(axis, dtype=dtype or input.dtype)


def log_softmax(
    input: Tensor,
    dim: int,
    *,
    dtype: ember.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Logarithm of `softmax`; -inf where the mask is False.

    >>> import ember
    >>> mask = ember.tensor([True, False, True])
    >>> ember.masked.log_softmax(ember.tensor([1.0, 2.0, 1.0]), 0, mask=mask)
    tensor([-0.6931,    -inf, -0.6931])
    """
    (axis,) = all_dims(int(dim), input.dim())
    x = covered(input, mask, least("amax", input.dtype))
    return x.log_softmax(axis, dtype=dtype or input.dtype)


def softmin(
    input: Tensor,
    dim: int,
    *,
    dtype: ember.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """`softmax` of the negative elements.

    >>> import ember
    >>> mask = ember.tensor([True, False, True])
    >>> ember.masked.softmin(ember.tensor([1.0, 2.0, 1.0]), 0, mask=mask)
    tensor([0.5000, 0.0000, 0.5000])
    """
    (axis,) = all_dims(int(dim), input.dim())
    x = covered(input, mask, greatest("amin", input.dtype))
    return (-x).softmax(axis, dtype=dtype or input.dtype)


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: ember.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The elements under the mask, divided by their norm along `dim`, 0 elsewhere.

    >>> import ember
    >>> mask = ember.tensor([True, False, True])
    >>> ember.masked.normalize(ember.tensor([3.0, 2.0, 4.0]), 2.0, 0, mask=mask)
    tensor([0.6000, 0.0000, 0.8000])
    """
    length = norm(input, ord, int(dim), keepdim=True, dtype=dtype, mask=mask)
    return covered(input, mask, 0) / length.clamp(min=eps)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: ember.dtype | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(input) + exp(other)), leaving out what is not under its mask.

    >>> import ember
    >>> mask = ember.tensor([True, False])
    >>> x = ember.zeros(2)
    >>> ember.masked.logaddexp(x, x, input_mask=mask)
    tensor([0.6931, 0.0000])
    """
    a = covered(input, input_mask, least("logaddexp", input.dtype))
    b = covered(other, other_mask, least("logaddexp", other.dtype))
    return ember.logaddexp(a, b).to(dtype or input.dtype)
