"""Small questions about tensors: transformers and einops import them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ember
from ember import Tensor

TensorLike = Tensor
Number = bool | int | float | complex
ShapeType = Sequence[int]
DeviceLikeType = str | ember.device | int


def is_contiguous_or_false(a: Tensor, memory_format: Any = None) -> bool:
    """Whether elements lie one after the other."""
    return a.is_contiguous()


def is_float_dtype(dtype: ember.dtype) -> bool:
    """Whether numbers have fractions, and are not complex."""
    return dtype.is_floating_point


def is_complex_dtype(dtype: ember.dtype) -> bool:
    """Whether numbers are complex."""
    return dtype.is_complex


def is_boolean_dtype(dtype: ember.dtype) -> bool:
    """Whether values are True and False."""
    return dtype == ember.bool


def is_integer_dtype(dtype: ember.dtype) -> bool:
    """Whether numbers are whole; booleans are."""
    return not dtype.is_floating_point and not dtype.is_complex


def corresponding_real_dtype(dtype: ember.dtype) -> ember.dtype:
    """The dtype of the parts of a complex one."""
    return dtype.to_real()


def corresponding_complex_dtype(dtype: ember.dtype) -> ember.dtype:
    """The complex dtype whose parts are of this one."""
    return dtype.to_complex()


def canonicalize_dim(rank: int, idx: int, wrap_scalar: bool = True) -> int:
    """A dimension counted from the front."""
    if rank == 0 and wrap_scalar:
        rank = 1
    if not -rank <= idx < rank:
        raise IndexError(
            "Dimension out of range (expected to be in range of "
            f"[{-rank}, {rank - 1}], but got {idx})"
        )
    return idx % rank


def canonicalize_dims(rank: int, indices: Any, wrap_scalar: bool = True) -> Any:
    """A dimension, or several, counted from the front."""
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple(canonicalize_dim(rank, i, wrap_scalar) for i in indices)


def get_computation_dtype(dtype: ember.dtype) -> ember.dtype:
    """The dtype that sums of halves are computed in."""
    wider = {
        ember.float16: ember.float32,
        ember.bfloat16: ember.float32,
        ember.complex32: ember.complex64,
    }
    return wider.get(dtype, dtype)


def suggest_memory_format(x: Tensor) -> ember.memory_format:
    """The order of the elements of images, channels last or first."""
    for rank, order in ((4, ember.channels_last), (5, ember.channels_last_3d)):
        contiguous = x.layout == ember.strided and x.is_contiguous()
        last = x.dim() == rank and x.is_contiguous(memory_format=order)
        if last and not contiguous:
            return order
    return ember.contiguous_format


def make_contiguous_strides_for(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of elements one after the other."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))
