"""The normal distribution with a covariance of low rank plus a diagonal."""

from __future__ import annotations

import math
from typing import Any

import ember
from ember import Size, Tensor
from ember.distributions import constraints
from ember.distributions.distribution import Distribution
from ember.distributions.multivariate_normal import (
    half_log_det,
    mahalanobis,
    matvec,
)
from ember.distributions.utils import lazy_property, standard_normal

__all__ = ["LowRankMultivariateNormal"]


def capacitance_tril(factor: Tensor, diag: Tensor) -> Tensor:
    """The Cholesky factor of I + W^T D^-1 W, all that has to be factored."""
    small = factor.mT @ (factor / diag.unsqueeze(-1))
    identity = ember.eye(small.shape[-1], dtype=small.dtype, device=small.device)
    return ember.linalg.cholesky(small + identity)


def lowrank_log_det(diag: Tensor, capacitance: Tensor) -> Tensor:
    """log det(W W^T + D), by the matrix determinant lemma."""
    return 2 * half_log_det(capacitance) + diag.log().sum(-1)


def lowrank_mahalanobis(
    factor: Tensor, diag: Tensor, x: Tensor, capacitance: Tensor
) -> Tensor:
    """x^T (W W^T + D)^-1 x, by Woodbury's identity."""
    projected = matvec(factor.mT / diag.unsqueeze(-2), x)
    return (x.square() / diag).sum(-1) - mahalanobis(capacitance, projected)


class LowRankMultivariateNormal(Distribution):
    """Gaussian vectors with covariance W W^T + D: W is cov_factor, D has cov_diag.

    >>> zero, one = ember.zeros(2), ember.ones(2)
    >>> normal = LowRankMultivariateNormal(zero, ember.ones(2, 1), one)
    >>> normal.covariance_matrix
    tensor([[2., 1.],
            [1., 2.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _params = (
        "loc",
        "cov_factor",
        "cov_diag",
        "covariance_matrix",
        "scale_tril",
        "precision_matrix",
    )

    def __init__(
        self,
        loc: Tensor,
        cov_factor: Tensor,
        cov_diag: Tensor,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading "
                "batch dimensions"
            )
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(
                "cov_factor must be a batch of matrices with shape "
                f"{event_shape[0]} x m"
            )
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(
                f"cov_diag must be a batch of vectors with shape {event_shape}"
            )
        try:
            batch_shape = ember.broadcast_shapes(
                loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1]
            )
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor "
                f"{cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc = loc.expand(batch_shape + event_shape)
        self.cov_diag = cov_diag.expand(batch_shape + event_shape)
        self.cov_factor = cov_factor.expand(batch_shape + cov_factor.shape[-2:])
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = capacitance_tril(cov_factor, cov_diag)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        new._unbroadcasted_cov_factor = self._unbroadcasted_cov_factor
        new._unbroadcasted_cov_diag = self._unbroadcasted_cov_diag
        new._capacitance_tril = self._capacitance_tril
        super()._expand_into(new, batch_shape)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:  # type: ignore[override]
        each = self._unbroadcasted_cov_factor.square().sum(-1)
        each = each + self._unbroadcasted_cov_diag
        return each.expand(self._batch_shape + self._event_shape)

    def _to_batch(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        # D^1/2 (I + V V^T) D^1/2 with V = D^-1/2 W: the middle is well conditioned.
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        v = self._unbroadcasted_cov_factor / root
        identity = ember.eye(v.shape[-2], dtype=v.dtype, device=v.device)
        return self._to_batch(root * ember.linalg.cholesky(v @ v.mT + identity))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        diagonal = self._unbroadcasted_cov_diag.diag_embed()
        return self._to_batch(factor @ factor.mT + diagonal)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        diag = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diag.unsqueeze(-2)
        solved = ember.linalg.solve_triangular(
            self._capacitance_tril, scaled, upper=False
        )
        return self._to_batch(diag.reciprocal().diag_embed() - solved.mT @ solved)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        rank = self.cov_factor.shape[-1:]
        few = standard_normal(shape[:-1] + rank, self.loc)
        many = standard_normal(shape, self.loc)
        return (
            self.loc
            + matvec(self._unbroadcasted_cov_factor, few)
            + self._unbroadcasted_cov_diag.sqrt() * many
        )

    def _log_det(self) -> Tensor:
        return lowrank_log_det(self._unbroadcasted_cov_diag, self._capacitance_tril)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = lowrank_mahalanobis(
            self._unbroadcasted_cov_factor,
            self._unbroadcasted_cov_diag,
            value - self.loc,
            self._capacitance_tril,
        )
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + self._log_det() + distance)

    def entropy(self) -> Tensor:
        constant = self._event_shape[0] * (1 + math.log(2 * math.pi))
        return (0.5 * (constant + self._log_det())).expand(self._batch_shape)
