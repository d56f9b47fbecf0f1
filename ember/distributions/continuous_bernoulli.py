"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

import ember
import ember.nn.functional as F
from ember import Size, Tensor
from ember.distributions import constraints
from ember.distributions._probs_logits import ProbsLogits
from ember.distributions.exp_family import ExponentialFamily
from ember.distributions.utils import (
    broadcast_all,
    clamp_probs,
    lazy_property,
    probs_to_logits,
    standard_uniform,
)

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsLogits, ExponentialFamily):
    """Density on [0, 1] proportional to p^x (1 - p)^(1 - x).

    Around p = 1/2 the formulas are 0 / 0: for `probs` within `lims`, their series are
    used.

    >>> ContinuousBernoulli(0.5).mean
    tensor(0.5000)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _params = ("probs", "logits")

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._set_param(probs, logits)
        if probs is not None:
            if validate_args and not constraints.unit_interval.check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        new._lims = self._lims
        super()._expand_into(new, batch_shape)

    @lazy_property
    def probs(self) -> Tensor:  # type: ignore[override]
        """Probabilities, off 0 and 1."""
        return clamp_probs(ember.sigmoid(self.logits))

    def _far(self) -> Tensor:
        """Where the formulas are stable."""
        low, high = self._lims
        return (self.probs <= low) | (self.probs > high)

    def _safe_probs(self) -> Tensor:
        """Probabilities, with a harmless value where the formulas are not used."""
        return ember.where(self._far(), self.probs, self._lims[0])

    def _log_constant(self) -> Tensor:
        """log of 2 atanh(1 - 2 p) / (1 - 2 p), the normaliser."""
        p = self._safe_probs()
        below = ember.where(p <= 0.5, p, 0.0)
        above = ember.where(p >= 0.5, p, 1.0)
        span = ember.where(p <= 0.5, (-2.0 * below).log1p(), (2.0 * above - 1.0).log())
        exact = ((-p).log1p() - p.log()).abs().log() - span
        x = (self.probs - 0.5).square()
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return ember.where(self._far(), exact, series)

    @property
    def mean(self) -> Tensor:
        p = self._safe_probs()
        exact = p / (2 * p - 1) + 1 / ((-p).log1p() - p.log())
        x = self.probs - 0.5
        series = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.square()) * x
        return ember.where(self._far(), exact, series)

    @property
    def variance(self) -> Tensor:
        p = self._safe_probs()
        odds = (-p).log1p() - p.log()
        exact = p * (p - 1) / (1 - 2 * p).square() + 1 / odds.square()
        x = (self.probs - 0.5).square()
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return ember.where(self._far(), exact, series)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        with ember.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        u = standard_uniform(self._extended_shape(sample_shape), self.probs)
        return self.icdf(u)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        cross = F.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self._log_constant() - cross

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        p = self._safe_probs()
        powers = p.pow(value) * (1 - p).pow(1 - value)
        exact = (powers + p - 1) / (2 * p - 1)
        inner = ember.where(self._far(), exact, value)
        inner = ember.where(value <= 0, 0.0, inner)
        return ember.where(value >= 1, 1.0, inner)

    def icdf(self, value: Tensor) -> Tensor:
        p = self._safe_probs()
        exact = ((value * (2 * p - 1) - p).log1p() - (-p).log1p()) / probs_to_logits(
            p, is_binary=True
        )
        return ember.where(self._far(), exact, value)

    def entropy(self) -> Tensor:
        log_q = (-self.probs).log1p()
        log_p = self.probs.log()
        return self.mean * (log_q - log_p) - self._log_constant() - log_q

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        low, high = self._lims
        far = (x <= low - 0.5) | (x > high - 0.5)
        safe = ember.where(far, x, low - 0.5)
        exact = safe.expm1().abs().log() - safe.abs().log()
        series = 0.5 * x + x.square() / 24.0 - x.pow(4) / 2880.0
        return ember.where(far, exact, series)
