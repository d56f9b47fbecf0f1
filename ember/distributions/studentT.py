"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

import ember
from ember import Size, Tensor
from ember.distributions import constraints
from ember.distributions.chi2 import Chi2
from ember.distributions.distribution import Distribution
from ember.distributions.utils import broadcast_all, standard_normal

__all__ = ["StudentT"]


class StudentT(Distribution):
    """A normal value over the root of a mean of `df` squares, shifted and scaled.

    >>> StudentT(4.0).variance
    tensor(2.)
    """

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    _params = ("df", "loc", "scale")

    def __init__(
        self,
        df: Any,
        loc: Any = 0.0,
        scale: Any = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df, validate_args=False)
        super().__init__(self.df.shape, validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        super()._expand_into(new, batch_shape)
        new._chi2 = self._chi2.expand(batch_shape)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, ember.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        spread = self.scale.square() * self.df / (self.df - 2)
        spread = spread.masked_fill(self.df <= 2, ember.inf)
        return spread.masked_fill(self.df <= 1, ember.nan)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        noise = standard_normal(self._extended_shape(sample_shape), self.df)
        squares = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * noise * (squares / self.df).rsqrt()

    def _log_normalizer(self) -> Tensor:
        df = self.df
        return (
            self.scale.log()
            + 0.5 * (df.log() + math.log(math.pi))
            + (0.5 * df).lgamma()
            - (0.5 * (df + 1)).lgamma()
        )

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        tails = 0.5 * (self.df + 1) * (z.square() / self.df).log1p()
        return -tails - self._log_normalizer()

    def entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        return self._log_normalizer() + more * (more.digamma() - half.digamma())
