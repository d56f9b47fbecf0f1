"""The generalised Pareto distribution."""

from __future__ import annotations

from numbers import Number
from typing import Any

import ember
from ember import Size, Tensor
from ember.distributions import constraints
from ember.distributions.distribution import Distribution
from ember.distributions.utils import broadcast_all, standard_uniform

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Tails: how far values exceed a high threshold `loc`.

    The tail is a power law for positive `concentration`, exponential for zero, and ends
    at loc - scale / concentration for negative.

    >>> GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    _params = ("loc", "scale", "concentration")

    def __init__(
        self,
        loc: Any,
        scale: Any,
        concentration: Any,
        validate_args: bool | None = None,
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(
            loc, scale, concentration
        )
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        end = self.loc - self.scale / self.concentration
        upper = ember.where(self.concentration < 0, end, ember.inf)
        return constraints.interval(self.loc, upper)

    def _is_exponential(self) -> Tensor:
        zero = ember.zeros_like(self.concentration)
        return ember.isclose(self.concentration, zero)

    def _safe_concentration(self) -> Tensor:
        return ember.where(self._is_exponential(), 1.0, self.concentration)

    def _z(self, x: Any) -> Tensor:
        return (x - self.loc) / self.scale

    @property
    def mean(self) -> Tensor:
        mean = self.loc + self.scale / (1 - self.concentration)
        return ember.where(self.concentration < 1, mean, ember.inf)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        k = self.concentration
        spread = self.scale.square() / ((1 - k).square() * (1 - 2 * k))
        return ember.where(k < 0.5, spread, ember.inf)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        return self.icdf(standard_uniform(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z, k = self._z(value), self._safe_concentration()
        power = (1 + 1 / k) * (k * z).log1p()
        return -ember.where(self._is_exponential(), z, power) - self.scale.log()

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of more than `value`."""
        if self._validate_args:
            self._validate_sample(value)
        z, k = self._z(value), self._safe_concentration()
        return -ember.where(self._is_exponential(), z, (k * z).log1p() / k)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Any) -> Tensor:
        if isinstance(value, Number):
            value = ember.full_like(self.loc, value)
        k = self._safe_concentration()
        exponential = -(-value).log1p()
        power = ((-k * (-value).log1p()).expm1()) / k
        z = ember.where(self._is_exponential(), exponential, power)
        return self.loc + self.scale * z

    def entropy(self) -> Tensor:
        result = self.scale.log() + self.concentration + 1
        return result
