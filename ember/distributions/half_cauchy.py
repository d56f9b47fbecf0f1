"""The half-Cauchy distribution."""

from __future__ import annotations

import ember
from ember import Tensor
from ember.distributions._half import Half
from ember.distributions.cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """The absolute value of a Cauchy value around 0.

    >>> HalfCauchy(1.0).icdf(ember.tensor(0.5))
    tensor(1.)
    """

    base_dist: Cauchy
    _base = Cauchy

    @property
    def mean(self) -> Tensor:
        return ember.full_like(self.scale, ember.inf)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance
