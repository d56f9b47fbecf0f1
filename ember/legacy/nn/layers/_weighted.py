"""How layers with a weight and a bias begin."""

from __future__ import annotations

import math

import ember
from ember import Tensor
from ember.legacy.nn.module import Module


def _uniform(*shape: int, bound: float) -> Tensor:
    return ember.empty(*shape).uniform_(-bound, bound)


class _Weighted(Module):
    """A module whose weight and bias are drawn from +-1/sqrt(fan in)."""

    def _shapes(self) -> tuple[tuple[int, ...], tuple[int, ...] | None, int]:
        """Of weight and bias, and the number of inputs of one output."""
        raise NotImplementedError

    def reset(self, stdv: float | None = None) -> Module:
        weight, bias, fan_in = self._shapes()
        bound = stdv * math.sqrt(3) if stdv is not None else 1 / math.sqrt(fan_in)
        drawn = None if bias is None else _uniform(*bias, bound=bound)
        self.learn(weight=_uniform(*weight, bound=bound), bias=drawn)
        return self
