"""make_tensor: values of a range, in any dtype, contiguous or not."""

from __future__ import annotations

from typing import Any

import ember
from ember import Tensor


def make_tensor(
    *shape: Any,
    dtype: ember.dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Random values in [low, high): by default within +-9, or what the dtype holds.

    >>> import ember
    >>> make = ember.testing.make_tensor
    >>> x = make(2, 3, dtype=ember.int8, device="cpu", low=0, high=5)
    >>> x.shape, bool((x < 5).all())
    (torch.Size([2, 3]), True)
    """
    if len(shape) == 1 and isinstance(shape[0], list | tuple | ember.Size):
        shape = tuple(shape[0])
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "make_tensor(): noncontiguous and memory_format exclude each other, got "
            f"noncontiguous={noncontiguous} and memory_format={memory_format}"
        )
    floating = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not floating:
        raise ValueError(
            f"make_tensor(): requires_grad=True is not supported for {dtype}"
        )
    low, high = _range(dtype, low, high)
    wide = (*shape[:-1], 2 * shape[-1]) if noncontiguous and shape else shape
    if dtype is ember.bool:
        result = ember.randint(0, 2, wide, device=device).bool()
    elif dtype.is_complex:
        parts = ember.empty(*wide, 2, dtype=dtype.to_real(), device=device)
        result = ember.view_as_complex(parts.uniform_(low, high))
    elif floating and dtype.itemsize == 1:
        result = ember.empty(wide, device=device).uniform_(low, high).to(dtype)
    elif floating:
        result = ember.empty(wide, dtype=dtype, device=device).uniform_(low, high)
    else:
        result = ember.randint(int(low), int(high), wide, dtype=dtype, device=device)
    if noncontiguous and shape:
        result = result[..., ::2]
    if memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        smallest = 1 if not floating else ember.finfo(dtype).tiny
        result = ember.where(result == 0, ember.full_like(result, smallest), result)
    return result.requires_grad_() if requires_grad else result


def _range(
    dtype: ember.dtype, low: float | None, high: float | None
) -> tuple[float, float]:
    if dtype is ember.bool:
        return 0, 2
    floating = dtype.is_floating_point or dtype.is_complex
    if floating:
        least, most = -9.0, 9.0
    else:
        least, most = max(ember.iinfo(dtype).min, -9), 10
    low, high = least if low is None else low, most if high is None else high
    if not floating:  # what lies outside is cut off
        limits = ember.iinfo(dtype)
        low, high = max(low, limits.min), min(high, limits.max + 1)
    # Of floats all may be the same.
    if not low <= high or (low == high and not floating):
        raise ValueError(f"make_tensor(): low must be below high, got {low} and {high}")
    return low, high
