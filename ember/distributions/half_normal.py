"""The half-normal distribution."""

from __future__ import annotations

import math

from ember import Tensor
from ember.distributions._half import Half
from ember.distributions.normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Half):
    """The absolute value of a normal value with mean 0.

    >>> HalfNormal(1.0).mean
    tensor(0.7979)
    """

    base_dist: Normal
    _base = Normal

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.square() * (1 - 2 / math.pi)
