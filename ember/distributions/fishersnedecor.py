"""The F distribution of Fisher and Snedecor."""

from __future__ import annotations

from typing import Any

import ember
from ember import Size, Tensor
from ember.distributions import constraints
from ember.distributions.distribution import Distribution
from ember.distributions.gamma import Gamma
from ember.distributions.utils import broadcast_all, clamp_tiny_

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The ratio of two means of squares, of `df1` and `df2` normal values.

    >>> FisherSnedecor(2.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _params = ("df1", "df2")

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._set_means()
        super().__init__(self.df1.shape, validate_args=validate_args)

    def _set_means(self) -> None:
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1, validate_args=False)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2, validate_args=False)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        super()._expand_into(new, batch_shape)
        new._set_means()

    @property
    def mean(self) -> Tensor:
        mean = self.df2 / (self.df2 - 2)
        return mean.masked_fill(self.df2 <= 2, ember.nan)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, ember.nan)

    @property
    def variance(self) -> Tensor:
        df1, df2 = self.df1, self.df2
        spread = 2 * df2.square() * (df1 + df2 - 2)
        spread = spread / (df1 * (df2 - 2).square() * (df2 - 4))
        return spread.masked_fill(df2 <= 4, ember.nan)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        above = self._gamma1.rsample(sample_shape)
        below = clamp_tiny_(self._gamma2.rsample(sample_shape))
        return clamp_tiny_(above / below)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, b = self.df1 * 0.5, self.df2 * 0.5
        ratio = self.df1 / self.df2
        log_beta = a.lgamma() + b.lgamma() - (a + b).lgamma()
        powers = (a - 1) * value.log() - (a + b) * (ratio * value).log1p()
        return a * ratio.log() + powers - log_beta
