"""A distribution seen through transforms."""

from __future__ import annotations

from typing import Any

import ember
from ember import Size, Tensor
from ember.distributions import constraints
from ember.distributions.distribution import Distribution
from ember.distributions.independent import Independent
from ember.distributions.transforms import ComposeTransform, Transform
from ember.distributions.utils import sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """Where outcomes of a base distribution land under a chain of transforms.

    >>> from ember.distributions import ExpTransform, Normal
    >>> log_normal = TransformedDistribution(Normal(0.0, 1.0), [ExpTransform()])
    >>> log_normal.log_prob(ember.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: Any = {}
    _params: Any = ()

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif isinstance(transforms, list):
            if not all(isinstance(t, Transform) for t in transforms):
                raise ValueError(
                    "transforms must be a Transform or a list of Transforms"
                )
            self.transforms = transforms
        else:
            raise ValueError(
                f"transforms must be a Transform or list, but was {transforms}"
            )
        chain = ComposeTransform(self.transforms)
        inner, outer = chain.domain.event_dim, chain.codomain.event_dim
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_event_dim = len(base_distribution.event_shape)
        if len(base_shape) < inner:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {inner}, "
                f"but got {base_shape}."
            )
        # Parameters of the transforms may broadcast the base to a larger batch.
        shape = Size(chain.forward_shape(base_shape))
        needed = Size(chain.inverse_shape(shape))
        if needed != base_shape:
            base_distribution = base_distribution.expand(
                needed[: len(needed) - base_event_dim]
            )
        if inner > base_event_dim:
            base_distribution = Independent(base_distribution, inner - base_event_dim)
        self.base_dist = base_distribution
        event_dim = max(outer, base_event_dim + outer - inner)
        cut = len(shape) - event_dim
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        shape = batch_shape + self.event_shape
        shape = Size(ComposeTransform(self.transforms).inverse_shape(shape))
        cut = len(shape) - len(self.base_dist.event_shape)
        new.base_dist = self.base_dist.expand(shape[:cut])
        new.transforms = self.transforms
        super()._expand_into(new, batch_shape)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        with ember.no_grad():
            x = self.base_dist.sample(sample_shape)
            for transform in self.transforms:
                x = transform(x)
            return x

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        x = self.base_dist.rsample(sample_shape)
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        dims = len(self.event_shape)
        result: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            inner = transform.domain.event_dim
            dims += inner - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(x, y)
            result = result - sum_rightmost(slope, dims - inner)
            y = x
        base = self.base_dist.log_prob(y)
        return result + sum_rightmost(base, dims - len(self.base_dist.event_shape))

    def _falling(self, value: Tensor) -> Tensor:
        """`value`, or its distance from 1 where the transforms reverse the order."""
        sign = ComposeTransform(self.transforms).sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._falling(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        value = self.base_dist.icdf(self._falling(value))
        for transform in self.transforms:
            value = transform(value)
        return value
