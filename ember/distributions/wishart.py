"""The Wishart distribution over covariance matrices."""

from __future__ import annotations

import math
import warnings
from numbers import Number
from typing import Any

import ember
from ember import Size, Tensor
from ember.distributions import constraints
from ember.distributions.chi2 import Chi2
from ember.distributions.exp_family import ExponentialFamily
from ember.distributions.multivariate_normal import (
    half_log_det,
    inverse,
    the_one_given,
    to_scale_tril,
)
from ember.distributions.utils import clamp_tiny_, lazy_property

__all__ = ["Wishart"]


def _digamma_sum(x: Tensor, p: int) -> Tensor:
    """The sum of digamma(x - i / 2) over i < p: the slope of mvlgamma."""
    steps = 0.5 * ember.arange(p, dtype=x.dtype, device=x.device)
    return (x.unsqueeze(-1) - steps).digamma().sum(-1)


class Wishart(ExponentialFamily):
    """Sums of `df` outer products of Gaussian vectors, of the given covariance.

    >>> Wishart(ember.tensor(3.0), ember.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _params = ("df", "covariance_matrix", "precision_matrix", "scale_tril")

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = the_one_given(
            covariance_matrix, precision_matrix, scale_tril, error=AssertionError
        )
        if isinstance(df, Number):
            df = ember.tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch_shape = ember.broadcast_shapes(matrix.shape[:-2], df.shape)
        event_shape = matrix.shape[-2:]
        if (df <= event_shape[-1] - 1).any():
            raise ValueError(
                f"Value of df={df} expected to be greater than ndim - 1 = "
                f"{event_shape[-1] - 1}."
            )
        self.df = df.expand(batch_shape)
        setattr(self, name, matrix.expand(batch_shape + event_shape))
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        if (self.df < event_shape[-1]).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur "
                "for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        self._unbroadcasted_scale_tril = to_scale_tril(name, matrix)
        self._set_chi2()

    def _set_chi2(self) -> None:
        p = ember.arange(
            self._event_shape[-1], dtype=self.df.dtype, device=self.df.device
        )
        self._chi2 = Chi2(self.df.unsqueeze(-1) - p, validate_args=False)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        super()._expand_into(new, batch_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        new._event_shape = self._event_shape
        new._set_chi2()

    def _to_batch(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        return self._to_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance of the vectors."""
        tril = self._unbroadcasted_scale_tril
        return self._to_batch(tril @ tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._to_batch(inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, ember.nan)
        return factor[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df[..., None, None] * (v.square() + products)

    def _bartlett_sampling(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        p = self._event_shape[-1]
        shape = (*sample_shape, *self._batch_shape, p * (p - 1) // 2)
        noise = clamp_tiny_(self._chi2.rsample(sample_shape).sqrt()).diag_embed()
        i, j = ember.tril_indices(p, p, offset=-1)
        noise[..., i, j] = ember.randn(shape, dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(
        self,
        sample_shape: Any = Size(),  # noqa: B008
        max_try_correction: int | None = None,
    ) -> Tensor:
        """Draws; singular ones are replaced, at most `max_try_correction` times."""
        if max_try_correction is None:
            max_try_correction = 10
        sample_shape = Size(sample_shape)
        with ember.no_grad():  # a first draw is discarded, as by PyTorch: equal seeds,
            self._bartlett_sampling(sample_shape)  # equal matrices
        sample = self._bartlett_sampling(sample_shape)
        for _ in range(max_try_correction):
            singular = ~self.support.check(sample)
            if not singular.any():
                break
            again = self._bartlett_sampling(sample_shape)
            sample = ember.where(singular[..., None, None], again, sample)
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        tril = self._unbroadcasted_scale_tril
        value_tril = ember.linalg.cholesky(value)
        solved = ember.linalg.solve_triangular(tril, value_tril, upper=False)
        return (
            (nu - p - 1) * half_log_det(value_tril)
            - 0.5 * solved.square().sum((-2, -1))
            - nu * (half_log_det(tril) + 0.5 * p * math.log(2))
            - ember.mvlgamma(nu / 2, p)
        )

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        scale = (p + 1) * (
            half_log_det(self._unbroadcasted_scale_tril) + 0.5 * p * math.log(2)
        )
        spread = 0.5 * (nu - p - 1) * _digamma_sum(nu / 2, p)
        return scale + ember.mvlgamma(nu / 2, p) - spread + nu * p / 2

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        p = self._event_shape[-1]
        half_df = y + (p + 1) / 2
        log_det = 2 * half_log_det(ember.linalg.cholesky(-2 * x))
        return half_df * (p * math.log(2) - log_det) + ember.mvlgamma(half_df, p)
