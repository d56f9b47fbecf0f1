"""Layers that compare the input with each row of a weight, or look rows up."""

from __future__ import annotations

import math

import ember
from ember import Tensor
from ember.legacy.nn.layers._weighted import _uniform, _Weighted
from ember.legacy.nn.module import Module, Table
from ember.nn import functional as F


class Linear(_Weighted):
    """input @ weight.T + bias."""

    def __init__(self, inputSize: int, outputSize: int, bias: bool = True) -> None:
        super().__init__()
        self._sizes = (outputSize, inputSize, bias)
        self.reset()

    def _shapes(self):
        outputs, inputs, bias = self._sizes
        return (outputs, inputs), (outputs,) if bias else None, inputs

    def compute(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def __repr__(self) -> str:
        return f"nn.Linear({self._sizes[1]} -> {self._sizes[0]})"


class Bilinear(_Weighted):
    """x1 W x2 + bias of a table [x1, x2]."""

    def __init__(
        self, inputSize1: int, inputSize2: int, outputSize: int, bias: bool = True
    ) -> None:
        super().__init__()
        self._sizes = (outputSize, inputSize1, inputSize2, bias)
        self.reset()

    def _shapes(self):
        outputs, first, second, bias = self._sizes
        return (outputs, first, second), (outputs,) if bias else None, first

    def compute(self, input: Table) -> Tensor:
        return F.bilinear(input[0], input[1], self.weight, self.bias)


class Cosine(Module):
    """The cosine between the input and each row of the weight."""

    learned = ("weight",)

    def __init__(self, inputSize: int, outputSize: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(inputSize)
        self.learn(weight=_uniform(outputSize, inputSize, bound=bound))

    def compute(self, input: Tensor) -> Tensor:
        rows = self.weight / self.weight.norm(2, 1, True).clamp_min(1e-12)
        return F.linear(input / input.norm(2, -1, True).clamp_min(1e-12), rows)


class Euclidean(Module):
    """The distance between the input and each column of the weight."""

    learned = ("weight",)

    def __init__(self, inputSize: int, outputSize: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(inputSize)
        self.learn(weight=_uniform(inputSize, outputSize, bound=bound))

    def compute(self, input: Tensor) -> Tensor:
        return (input.unsqueeze(-1) - self.weight).norm(2, -2)


class LookupTable(Module):
    """Rows of the weight, by index."""

    learned = ("weight",)

    def __init__(
        self, nIndex: int, nOutput: int, paddingValue: int | None = None
    ) -> None:
        super().__init__()
        self.paddingValue = paddingValue
        self.learn(weight=ember.randn(nIndex, nOutput))

    def compute(self, input: Tensor) -> Tensor:
        return F.embedding(input.long(), self.weight, self.paddingValue)
