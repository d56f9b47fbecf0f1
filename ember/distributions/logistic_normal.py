"""The logistic-normal distribution."""

from __future__ import annotations

from typing import Any

from ember import Tensor
from ember.distributions import constraints
from ember.distributions.independent import Independent
from ember.distributions.normal import Normal
from ember.distributions.transformed_distribution import TransformedDistribution
from ember.distributions.transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Probabilities of n + 1 outcomes, made from n normal values by breaking a stick.

    >>> import ember
    >>> LogisticNormal(ember.zeros(2), ember.ones(2)).event_shape
    torch.Size([3])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    base_dist: Independent
    _params = ()

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand((1,))
        transform = StickBreakingTransform()
        super().__init__(base, transform, validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """Means before the transform."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """Standard deviations before the transform."""
        return self.base_dist.base_dist.scale
