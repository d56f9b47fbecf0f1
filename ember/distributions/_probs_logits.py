"""What families given by either probabilities or logits have in common."""

from __future__ import annotations

from typing import Any

from ember import Size, Tensor
from ember.distributions.utils import (
    broadcast_all,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)


class ProbsLogits:
    """Holds `probs` or `logits`, whichever was given, and derives the other when asked.

    >>> import ember
    >>> ember.distributions.Bernoulli(logits=ember.zeros(())).probs
    tensor(0.5000)
    """

    total_count: Tensor
    _binary = True  # log-odds of one event, rather than one logit per event

    def _set_param(self, probs: Any, logits: Any, total_count: Any = None) -> None:
        """Keep the given one of the two, broadcast with a number of trials if any."""
        if (probs is None) == (logits is None):
            raise ValueError(
                "Either `probs` or `logits` must be specified, but not both."
            )
        if self._binary:
            name, value = ("logits", logits) if probs is None else ("probs", probs)
            if total_count is None:
                (value,) = broadcast_all(value)
            else:
                self.total_count, value = broadcast_all(total_count, value)
                self.total_count = self.total_count.type_as(value)
            setattr(self, name, value)
        elif probs is not None:
            _check_axes("probs", probs)
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            _check_axes("logits", logits)
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)

    @lazy_property
    def logits(self) -> Tensor:
        """Log-odds, or logarithms of probabilities."""
        return probs_to_logits(self.probs, is_binary=self._binary)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=self._binary)

    @property
    def _param(self) -> Tensor:
        kept = self.__dict__
        return kept["probs"] if "probs" in kept else kept["logits"]

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._param.shape

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)


def _check_axes(name: str, value: Tensor) -> None:
    if value.dim() < 1:
        raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
