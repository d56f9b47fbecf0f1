"""Layers that learn what to add to elements, or multiply them by."""

from __future__ import annotations

import math

import ember
from ember import Tensor
from ember.legacy.nn.layers._weighted import _uniform
from ember.legacy.nn.module import Module
from ember.nn import functional as F


class Add(Module):
    """Adds a learned vector, or one number if `scalar`."""

    learned = ("bias",)

    def __init__(self, inputSize: int, scalar: bool = False) -> None:
        super().__init__()
        size = 1 if scalar else inputSize
        self.learn(bias=_uniform(size, bound=1 / math.sqrt(size)))

    def compute(self, input: Tensor) -> Tensor:
        return input + self.bias


class Mul(Module):
    """Multiplies by one learned number."""

    learned = ("weight",)

    def __init__(self) -> None:
        super().__init__()
        self.learn(weight=_uniform(1, bound=1.0))

    def compute(self, input: Tensor) -> Tensor:
        return input * self.weight


class CAdd(Module):
    """Adds a learned tensor."""

    learned = ("bias",)

    def __init__(self, *size: int) -> None:
        super().__init__()
        shape = ember.Size(size)
        self.learn(bias=_uniform(*shape, bound=1 / math.sqrt(shape.numel())))

    def compute(self, input: Tensor) -> Tensor:
        return input + self.bias


class CMul(Module):
    """Multiplies by a learned tensor."""

    learned = ("weight",)

    def __init__(self, *size: int) -> None:
        super().__init__()
        shape = ember.Size(size)
        self.learn(weight=_uniform(*shape, bound=1 / math.sqrt(shape.numel())))

    def compute(self, input: Tensor) -> Tensor:
        return input * self.weight


class PReLU(Module):
    """A slope learned for negative numbers, one or one per plane."""

    learned = ("weight",)

    def __init__(self, nOutputPlane: int = 0) -> None:
        super().__init__()
        self.learn(weight=ember.full((nOutputPlane or 1,), 0.25))

    def compute(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)
