"""The binomial distribution."""

from __future__ import annotations

from typing import Any

import ember
from ember import Size, Tensor
from ember.distributions import constraints
from ember.distributions._probs_logits import ProbsLogits
from ember.distributions.distribution import Distribution

__all__ = ["Binomial"]


class Binomial(ProbsLogits, Distribution):
    """The number of successes in `total_count` independent trials.

    >>> Binomial(10, ember.tensor(0.5)).mean
    tensor(5.)
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _params = ("total_count", "probs", "logits")

    def __init__(
        self,
        total_count: Any = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_param(probs, logits, total_count)
        super().__init__(self._param.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with ember.no_grad():
            return ember.binomial(
                self.total_count.expand(shape), self.probs.expand(shape)
            )

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        # n log(1 - p) = -n softplus(logits), of which the positive part is kept exact;
        # (x + |x|) / 2 has the derivative 1/2 at 0, as softplus has.
        size = self.logits.abs()
        softplus = (self.logits + size) / 2 + (-size).exp().log1p()
        return ways + value * self.logits - n * softplus

    def entropy(self) -> Tensor:
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        total = int(self.total_count.max())
        if not self.total_count.min() == total:
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `enumerate_support`."
            )
        values = ember.arange(
            1 + total, dtype=self._param.dtype, device=self._param.device
        )
        values = values.reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values
