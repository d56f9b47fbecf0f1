"""Masked normalisation and logaddexp: results of the input's shape."""

from __future__ import annotations

import ember
from ember import Tensor
from ember.masked._mask import covered, least
from ember.masked._reductions import norm


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
