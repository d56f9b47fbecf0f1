"""Layers that are random in training."""

from __future__ import annotations

from ember import Tensor
from ember.legacy.nn.module import Module
from ember.nn import functional as F


class RReLU(Module):
    """A slope drawn at random for negative numbers in training."""

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3) -> None:
        super().__init__()
        self.lower, self.upper = lower, upper

    def compute(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.train)


class Dropout(Module):
    """Sets elements to zero with probability p in training."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def compute(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.train)


class SpatialDropout(Dropout):
    """Sets whole planes to zero."""

    def compute(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.train)
