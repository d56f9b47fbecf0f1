"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

import ember
from ember import Size, Tensor
from ember.distributions import constraints
from ember.distributions.categorical import Categorical
from ember.distributions.constraints import MixtureSameFamilyConstraint
from ember.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """Pick a member of the last batch axis of the components, then draw from it.

    >>> from ember.distributions import Normal
    >>> weights = Categorical(ember.tensor([1.0, 3.0]))
    >>> MixtureSameFamily(weights, Normal(ember.tensor([0.0, 4.0]), 1.0)).mean
    tensor(3.)
    """

    arg_constraints: Any = {}
    has_rsample = False
    _params = ()

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                "The Mixture distribution needs to be an instance of Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of Distribution"
            )
        weights_shape = mixture_distribution.batch_shape
        batch_shape = component_distribution.batch_shape[:-1]
        pairs = zip(reversed(weights_shape), reversed(batch_shape), strict=False)
        if any(1 not in (i, j) and i != j for i, j in pairs):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({weights_shape}) is not "
                f"compatible with `component_distribution.batch_shape` ({batch_shape})"
            )
        count = mixture_distribution.param_shape[-1]
        components = component_distribution.batch_shape[-1:]
        if components and components[0] != count:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components[0]})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = count
        event_shape = component_distribution.event_shape
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        components = batch_shape + Size((self._num_component,))
        new._component_distribution = self._component_distribution.expand(components)
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component = self._num_component

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The law of the choice of component."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components, along the last batch axis."""
        return self._component_distribution

    def _weights(self) -> Tensor:
        probs = self.mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * len(self._event_shape))

    def _average(self, value: Tensor) -> Tensor:
        """The mean over components, which stand before the event's axes."""
        return (self._weights() * value).sum(-1 - len(self._event_shape))

    @property
    def mean(self) -> Tensor:
        return self._average(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        # The mean of the variances and the variance of the means.
        means = self.component_distribution.mean
        apart = means - self._pad(self.mean)
        within = self._average(self.component_distribution.variance)
        return within + self._average(apart.square())

    def _pad(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1 - len(self._event_shape))

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        with ember.no_grad():
            axis = len(Size(sample_shape)) + len(self._batch_shape)
            choice = self.mixture_distribution.sample(sample_shape)
            draws = self.component_distribution.sample(sample_shape)
            choice = choice.reshape(choice.shape + (1,) * (draws.dim() - choice.dim()))
            shape = draws.shape[:axis] + (1,) + draws.shape[axis + 1 :]
            return draws.gather(axis, choice.expand(shape)).squeeze(axis)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        each = self.component_distribution.log_prob(self._pad(value))
        weights = self.mixture_distribution.logits.log_softmax(dim=-1)
        return (each + weights).logsumexp(dim=-1)

    def cdf(self, value: Tensor) -> Tensor:
        each = self.component_distribution.cdf(self._pad(value))
        return (each * self.mixture_distribution.probs).sum(-1)

    def __repr__(self) -> str:
        parts = f"{self.mixture_distribution},\n  {self.component_distribution}"
        return f"{type(self).__name__}(\n  {parts})"
