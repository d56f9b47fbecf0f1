"""Transforms of vectors and matrices: onto the simplex and onto Cholesky factors."""

from __future__ import annotations

import math
from typing import Any

import ember
import ember.nn.functional as F
from ember import Tensor
from ember.distributions import constraints
from ember.distributions.transforms.base import Transform
from ember.distributions.transforms.elementwise import clipped_sigmoid
from ember.distributions.utils import eps, tiny, tril_matrix_to_vec, vec_to_tril_matrix


class _Plain(Transform):
    """A transform without parameters: two of one class are equal."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    __hash__ = None  # type: ignore[assignment]


def _need_axes(shape: Any, count: int) -> None:
    if len(shape) < count:
        raise ValueError("Too few dimensions on input")


class SoftmaxTransform(_Plain):
    """Vectors to probabilities by softmax: not a bijection, the inverse is log.

    >>> SoftmaxTransform()(ember.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        weights = (x - x.max(-1, keepdim=True)[0]).exp()
        return weights / weights.sum(-1, keepdim=True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        _need_axes(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(_Plain):
    """Vectors of n numbers to n + 1 probabilities, each a fraction of what is left.

    >>> StickBreakingTransform()(ember.zeros(1))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _offset(self, x: Tensor) -> Tensor:
        """Logarithms of the numbers of pieces to come: zero means equal shares."""
        n = x.shape[-1]
        return ember.arange(n, 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Tensor) -> Tensor:
        fraction = clipped_sigmoid(x - self._offset(x))
        left = (1 - fraction).cumprod(-1)
        return F.pad(fraction, [0, 1], value=1) * F.pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        pieces = y[..., :-1]
        left = (1 - pieces.cumsum(-1)).clamp(min=tiny(y))
        return pieces.log() - left.log() + self._offset(pieces)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offset(x)
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _need_axes(shape, 1)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        _need_axes(shape, 1)
        return shape[:-1] + (shape[-1] - 1,)


class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 numbers to Cholesky factors of n x n correlations.

    Row by row, tanh of the numbers are fractions of the unit length that is left.

    >>> CorrCholeskyTransform()(ember.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        bound = 1 - eps(x)
        fraction = vec_to_tril_matrix(x.tanh().clamp(min=-bound, max=bound), diag=-1)
        left = (1 - fraction.square()).sqrt().cumprod(-1)
        left = F.pad(left[..., :-1], [1, 0], value=1)
        identity = ember.eye(fraction.shape[-1], dtype=x.dtype, device=x.device)
        return (fraction + identity) * left

    def _inverse(self, y: Tensor) -> Tensor:
        left = 1 - y.square().cumsum(-1)
        left = F.pad(left[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - (-t).log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        left = 1 - y.square().cumsum(-1)
        # Below the second diagonal: what is left after the row's own first entries.
        sticks = 0.5 * tril_matrix_to_vec(left, diag=-2).log().sum(-1)
        slopes = 2 * (math.log(2) - x - F.softplus(-2 * x)).sum(-1)
        return sticks + slopes

    def forward_shape(self, shape: Any) -> Any:
        _need_axes(shape, 1)
        length = shape[-1]
        n = (math.isqrt(8 * length + 1) + 1) // 2
        if n * (n - 1) // 2 != length:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (n, n)

    def inverse_shape(self, shape: Any) -> Any:
        _need_axes(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        n = shape[-1]
        return shape[:-2] + (n * (n - 1) // 2,)


class LowerCholeskyTransform(_Plain):
    """Square matrices to lower triangular ones with positive diagonal.

    >>> LowerCholeskyTransform()(ember.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Plain):
    """Square matrices to positive definite ones, by way of their Cholesky factor.

    >>> PositiveDefiniteTransform()(ember.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(ember.linalg.cholesky(y))
