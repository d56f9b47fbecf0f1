"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

import ember
from ember import Size, Tensor, _lazy
from ember.distributions import constraints
from ember.distributions.distribution import Distribution
from ember.distributions.utils import lazy_property, standard_normal

__all__ = ["MultivariateNormal"]


def matvec(matrix: Tensor, vector: Tensor) -> Tensor:
    """Products of matrices with vectors, both in batches."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def mahalanobis(tril: Tensor, x: Tensor) -> Tensor:
    """Squared lengths of L^-1 x, for factors and vectors in batches that broadcast."""
    if tril.dim() == 2:  # one factor for all vectors: solve for them together
        columns = x.reshape(-1, x.shape[-1]).mT
        solved = ember.linalg.solve_triangular(tril, columns, upper=False)
        return solved.square().sum(0).reshape(x.shape[:-1])
    solved = ember.linalg.solve_triangular(tril, x.unsqueeze(-1), upper=False)
    return solved.square().sum((-2, -1))


def half_log_det(tril: Tensor) -> Tensor:
    """Half the log determinant of L L^T."""
    return tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def inverse(tril: Tensor) -> Tensor:
    """The inverse of L L^T."""
    identity = ember.eye(tril.shape[-1], dtype=tril.dtype, device=tril.device)
    solved = ember.linalg.solve_triangular(tril, identity, upper=False)
    return solved.mT @ solved


def precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The lower Cholesky factor of the inverse of `precision`."""
    # Factoring with rows and columns reversed gives P = U U^T with U upper triangular,
    # so that the inverse is U^-T U^-1 and U^-T is the factor sought.
    upper = ember.linalg.cholesky(precision.flip((-2, -1))).flip((-2, -1))
    identity = ember.eye(upper.shape[-1], dtype=upper.dtype, device=upper.device)
    return ember.linalg.solve_triangular(upper.mT, identity, upper=False)


class MultivariateNormal(Distribution):
    """Gaussian vectors with mean `loc` and one of covariance, precision, or factor.

    >>> normal = MultivariateNormal(ember.zeros(2), ember.eye(2))
    >>> normal.log_prob(ember.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _params = ("loc", "covariance_matrix", "precision_matrix", "scale_tril")

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = the_one_given(covariance_matrix, precision_matrix, scale_tril)
        batch_shape = ember.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + matrix.shape[-2:]))
        self.loc = loc.expand(batch_shape + loc.shape[-1:])
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = to_scale_tril(name, matrix)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        super()._expand_into(new, batch_shape)

    def _to_batch(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        return self._to_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        tril = self._unbroadcasted_scale_tril
        return self._to_batch(tril @ tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._to_batch(inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        each = self._unbroadcasted_scale_tril.square().sum(-1)
        return each.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        noise = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + matvec(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        tril = self._unbroadcasted_scale_tril
        distance = mahalanobis(tril, value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + distance) - half_log_det(tril)

    def entropy(self) -> Tensor:
        constant = 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi))
        result = constant + half_log_det(self._unbroadcasted_scale_tril)
        return result.expand(self._batch_shape)


def the_one_given(
    covariance_matrix: Tensor | None,
    precision_matrix: Tensor | None,
    scale_tril: Tensor | None,
    error: type[Exception] = ValueError,
) -> tuple[str, Tensor]:
    """Which of three ways to give a covariance was used, and the matrix."""
    given = [
        (name, matrix)
        for name, matrix in (
            ("covariance_matrix", covariance_matrix),
            ("precision_matrix", precision_matrix),
            ("scale_tril", scale_tril),
        )
        if matrix is not None
    ]
    if len(given) != 1:
        raise error(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
            "specified."
        )
    name, matrix = given[0]
    if matrix.dim() < 2:
        raise ValueError(
            f"{name} must be at least two-dimensional, with optional leading batch "
            "dimensions"
        )
    return name, matrix


def to_scale_tril(name: str, matrix: Tensor) -> Tensor:
    """The Cholesky factor of the covariance that `the_one_given` found."""
    if name == "scale_tril":
        return matrix
    if name == "covariance_matrix":
        return ember.linalg.cholesky(matrix)
    return precision_to_scale_tril(matrix)


__getattr__ = _lazy.missing(__name__)
