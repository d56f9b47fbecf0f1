"""The geometric distribution."""

from __future__ import annotations

from typing import Any

import ember
import ember.nn.functional as F
from ember import Size, Tensor
from ember.distributions import constraints
from ember.distributions._probs_logits import ProbsLogits
from ember.distributions.distribution import Distribution
from ember.distributions.utils import broadcast_all, empty, tiny

__all__ = ["Geometric"]


class Geometric(ProbsLogits, Distribution):
    """The number of failures before the first success, which has probability `probs`.

    >>> Geometric(0.25).mean
    tensor(3.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _params = ("probs", "logits")

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._set_param(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and probs is not None:
            invalid = self.probs[self.probs <= 0]
            if invalid.numel() > 0:
                raise ValueError(
                    f"Expected parameter probs (Tensor of shape "
                    f"{tuple(self.probs.shape)}) of distribution {self!r} to be "
                    f"positive but found invalid values:\n{invalid}"
                )

    @property
    def mean(self) -> Tensor:
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        return ember.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        with ember.no_grad():
            u = empty(self._extended_shape(sample_shape), self.probs)
            u.uniform_(tiny(self.probs), 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        failed = ember.where((probs == 1) & (value == 0), 0.0, probs)
        return value * (-failed).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        spent = F.binary_cross_entropy_with_logits(
            self.logits, self.probs, reduction="none"
        )
        return spent / self.probs
