"""Small tools that the families share: broadcasting of parameters, probabilities and
logits, attributes computed on first use, and triangular matrices as vectors.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

import ember
import ember.nn.functional as F
from ember import Tensor, _lazy

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors of one common shape; numbers take dtype and device of the first tensor.

    >>> loc, scale = broadcast_all(0.0, ember.ones(3))
    >>> loc.shape
    torch.Size([3])
    """
    tensors = [v for v in values if isinstance(v, Tensor)]
    if not all(isinstance(v, (Tensor, Number)) for v in values):
        kinds = ", ".join(type(v).__name__ for v in values)
        raise ValueError(f"expected numbers or tensors, but got ({kinds})")
    if len(tensors) < len(values):
        dtype = tensors[0].dtype if tensors else ember.get_default_dtype()
        device = tensors[0].device if tensors else None
        values = tuple(
            v if isinstance(v, Tensor) else ember.tensor(v, dtype=dtype, device=device)
            for v in values
        )
    return tuple(ember.broadcast_tensors(*values))


def standard_normal(shape: Sequence[int], like: Tensor) -> Tensor:
    """Draws of N(0, 1) with the dtype and device of `like`."""
    return _standard_normal(shape, like.dtype, like.device)


def _standard_normal(shape: Sequence[int], dtype: Any, device: Any) -> Tensor:
    zeros = ember.zeros(tuple(shape), dtype=dtype, device=device)
    return ember.normal(zeros, ember.ones_like(zeros))


def standard_uniform(shape: Sequence[int], like: Tensor) -> Tensor:
    """Draws from [0, 1) with the dtype and device of `like`."""
    return ember.rand(tuple(shape), dtype=like.dtype, device=like.device)


def empty(shape: Sequence[int], like: Tensor) -> Tensor:
    """Room for draws made in place, with the dtype and device of `like`."""
    return ember.empty(tuple(shape), dtype=like.dtype, device=like.device)


def tiny(x: Tensor) -> float:
    """The smallest positive normal number of `x`'s dtype."""
    return ember.finfo(x.dtype).tiny


def eps(x: Tensor) -> float:
    """The distance from 1 to the next number of `x`'s dtype."""
    return ember.finfo(x.dtype).eps


def clamp_tiny_(x: Tensor) -> Tensor:
    """Lift values to at least `tiny` without the gradient noticing."""
    x.data.clamp_(min=tiny(x))
    return x


def sum_rightmost(value: Tensor, dims: int) -> Tensor:
    """Sum over the last `dims` axes."""
    if dims == 0:
        return value
    return value.reshape(value.shape[: value.dim() - dims] + (-1,)).sum(-1)


def xlogx(x: Tensor) -> Tensor:
    """x log x, and 0 at 0."""
    return ember.xlogy(x, x)


def clamp_probs(probs: Tensor) -> Tensor:
    """Keep probabilities off 0 and 1 by the precision of their dtype.

    >>> clamp_probs(ember.tensor([0.0, 0.5])) > 0
    tensor([True, True])
    """
    return probs.clamp(min=eps(probs), max=1 - eps(probs))


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities: a sigmoid of log-odds, or a softmax over the last axis.

    >>> logits_to_probs(ember.zeros(2))
    tensor([0.5000, 0.5000])
    """
    return ember.sigmoid(logits) if is_binary else F.softmax(logits, dim=-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log-odds if `is_binary`, logarithms of the probabilities otherwise.

    >>> probs_to_logits(ember.tensor(0.5), is_binary=True)
    tensor(0.)
    """
    probs = clamp_probs(probs)
    return probs.log() - (-probs).log1p() if is_binary else probs.log()


class lazy_property:
    """A property computed on first use and then kept as an attribute of the instance.

    >>> class Circle:
    ...     radius = 2.0
    ...
    ...     @lazy_property
    ...     def area(self):
    ...         return 3.0 * self.radius**2
    >>> Circle().area
    12.0
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with ember.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The entries on and below diagonal `diag`, row by row, as one vector.

    >>> tril_matrix_to_vec(ember.tensor([[1, 2], [3, 4]]))
    tensor([1, 3, 4])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) must be within [{-n}, {n - 1}].")
    i, j = ember.tril_indices(n, n, diag, device=mat.device)
    return mat[..., i, j]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The matrix, zero above diagonal `diag`, whose other entries are `vec`.

    >>> vec_to_tril_matrix(ember.tensor([1, 3, 4]))
    tensor([[1, 0],
            [3, 4]])
    """
    # Entries of an n x n matrix on and below the diagonal: m (m + 1) / 2 with
    # m = n + diag for diag <= 0; for diag > 0 only a corner is missing. Solved for n:
    length = vec.shape[-1]
    discriminant = 8 * length + 1 + (8 * diag * (diag + 1) if diag > 0 else 0)
    root = math.isqrt(discriminant)
    if root * root != discriminant:
        raise ValueError(
            f"The size of last dimension is {length} which cannot be expressed as the "
            "lower triangular part of a square D x D matrix."
        )
    n = (root - 1 - 2 * diag) // 2
    mat = vec.new_zeros(vec.shape[:-1] + (n, n))
    i, j = ember.tril_indices(n, n, diag, device=vec.device)
    mat[..., i, j] = vec
    return mat


__getattr__ = _lazy.missing(__name__)
