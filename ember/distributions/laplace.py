"""The Laplace distribution."""

from __future__ import annotations

import math
from typing import Any

from ember import Size, Tensor
from ember.distributions import constraints
from ember.distributions.distribution import Distribution
from ember.distributions.utils import broadcast_all, empty, eps

__all__ = ["Laplace"]


class Laplace(Distribution):
    """Density proportional to exp(-|x - loc| / scale).

    >>> Laplace(0.0, 2.0).variance
    tensor(8.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _params = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.square()

    @property
    def stddev(self) -> Tensor:
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        # The range is open at -1, where the logarithm would be infinite.
        u = empty(self._extended_shape(sample_shape), self.loc)
        u.uniform_(eps(self.loc) - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = value - self.loc
        return 0.5 - 0.5 * z.sign() * (-z.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        z = value - 0.5
        return self.loc - self.scale * z.sign() * (-2 * z.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()
