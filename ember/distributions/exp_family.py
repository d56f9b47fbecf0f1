"""Families whose log density is linear in functions of the value."""

from __future__ import annotations

from typing import Any

import ember
from ember import Tensor
from ember.distributions.distribution import Distribution
from ember.distributions.utils import sum_rightmost

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution with density exp(<t(x), theta> - F(theta) + k(x)).

    A family gives its natural parameters theta, its log normalizer F and the mean of
    its carrier measure k; entropy and KL divergence follow from the gradient of F.

    >>> isinstance(ember.distributions.Gamma(1.0, 1.0), ExponentialFamily)
    True
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """F(theta) - <grad F(theta), theta> - E k(x), as the mean of t is grad F."""
        carrier = self._mean_carrier_measure
        params = [p.detach().requires_grad_() for p in self._natural_params]
        with ember.enable_grad():
            log_normalizer = self._log_normalizer(*params)
            slopes = ember.autograd.grad(
                log_normalizer.sum(), params, create_graph=True
            )
        result = log_normalizer - carrier
        for param, slope in zip(params, slopes, strict=True):
            product = param * slope
            result = result - sum_rightmost(product, product.dim() - result.dim())
        return result
