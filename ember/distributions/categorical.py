"""The categorical distribution."""

from __future__ import annotations

from typing import Any

import ember
from ember import Size, Tensor
from ember.distributions import constraints
from ember.distributions._probs_logits import ProbsLogits
from ember.distributions.distribution import Distribution

__all__ = ["Categorical"]


class Categorical(ProbsLogits, Distribution):
    """One of the integers 0 .. K - 1, with probabilities along the last axis.

    >>> Categorical(ember.tensor([1.0, 3.0])).log_prob(ember.tensor(1)).exp()
    tensor(0.7500)
    """

    arg_constraints = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    has_enumerate_support = True
    _binary = False
    _params = ("probs", "logits")

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_param(probs, logits)
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    @property
    def _num_events(self) -> int:
        return self._param.shape[-1]

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        return ember.full_like(self._param[..., 0], ember.nan)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return ember.full_like(self._param[..., 0], ember.nan)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        sample_shape = Size(sample_shape)
        rows = self.probs.detach().reshape(-1, self._num_events)
        draws = ember.multinomial(rows, sample_shape.numel(), replacement=True)
        return draws.T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        index = value.long().unsqueeze(-1)
        index, log_probs = ember.broadcast_tensors(index, self.logits)
        return log_probs.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        # A probability of zero contributes nothing, though its logarithm is infinite.
        finite = self.logits.clamp(min=ember.finfo(self.logits.dtype).min)
        return -(finite * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = ember.arange(self._num_events, device=self._param.device)
        values = values.reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values
