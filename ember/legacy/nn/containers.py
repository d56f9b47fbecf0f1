"""Modules made of modules. Each child runs its own forward and backward, so that its
output and gradInput are there to look at, as in Torch7."""

from __future__ import annotations

from typing import Any

import ember
from ember import Tensor
from ember.legacy.nn.module import Module, Table, each, flat


class Container(Module):
    """Holds modules in order."""

    def __init__(self, *modules: Module) -> None:
        super().__init__()
        self.modules: list[Module] = list(modules)

    def add(self, module: Module) -> Any:
        """Append a module; returns the container."""
        self.modules.append(module)
        return self

    def get(self, index: int) -> Module:
        """The module at a place, counted from 0."""
        return self.modules[index]

    def size(self) -> int:
        return len(self.modules)

    __len__ = size

    def children(self) -> list[Module]:
        return self.modules

    def __repr__(self) -> str:
        lines = [
            f"  ({i}): {m!r}".replace("\n", "\n  ") for i, m in enumerate(self.modules)
        ]
        return "\n".join([f"nn.{type(self).__name__} {{", *lines, "}"])


class Sequential(Container):
    """Each module takes the output of the one before."""

    def insert(self, module: Module, index: int | None = None) -> None:
        """Put a module at a place, or at the end."""
        self.modules.insert(len(self.modules) if index is None else index, module)

    def remove(self, index: int = -1) -> Module:
        """Take a module out."""
        return self.modules.pop(index)

    def updateOutput(self, input: Table) -> Table:
        for module in self.modules:
            input = module.updateOutput(input)
        self.output = input
        return self.output

    def _inputs(self, input: Table) -> list[Table]:
        return [input, *(module.output for module in self.modules[:-1])]

    def updateGradInput(self, input: Table, gradOutput: Table) -> Table:
        for module, seen in self._pairs(input):
            gradOutput = module.updateGradInput(seen, gradOutput)
        self.gradInput = gradOutput
        return self.gradInput

    def _pairs(self, input: Table) -> list[tuple[Module, Table]]:
        return list(zip(self.modules, self._inputs(input), strict=True))[::-1]

    def accGradParameters(
        self, input: Table, gradOutput: Table, scale: float = 1.0
    ) -> None:
        for module, seen in self._pairs(input):
            module.accGradParameters(seen, gradOutput, scale)
            gradOutput = module.gradInput

    def backward(self, input: Table, gradOutput: Table, scale: float = 1.0) -> Table:
        for module, seen in self._pairs(input):
            gradOutput = module.backward(seen, gradOutput, scale)
        self.gradInput = gradOutput
        return self.gradInput


class _Branches(Container):
    """Modules side by side: how the input is handed out and outputs are joined is up to
    the subclass."""

    def hand_out(self, input: Table) -> list[Table]:
        return [input] * len(self.modules)

    def join(self, outputs: list[Table]) -> Table:
        return outputs

    def part(self, gradOutput: Table, index: int) -> Table:
        return gradOutput[index]

    def collect(self, input: Table, grads: list[Table]) -> Table:
        total = grads[0]
        for grad in grads[1:]:
            sums = [a + b for a, b in zip(flat(total), flat(grad), strict=True)]
            waiting = iter(sums)
            total = each(total, lambda _, w=waiting: next(w))
        return total

    def updateOutput(self, input: Table) -> Table:
        parts = zip(self.modules, self.hand_out(input), strict=True)
        self.output = self.join([module.updateOutput(x) for module, x in parts])
        return self.output

    def updateGradInput(self, input: Table, gradOutput: Table) -> Table:
        grads = [
            module.updateGradInput(x, self.part(gradOutput, i))
            for i, (module, x) in enumerate(
                zip(self.modules, self.hand_out(input), strict=True)
            )
        ]
        self.gradInput = self.collect(input, grads)
        return self.gradInput

    def accGradParameters(
        self, input: Table, gradOutput: Table, scale: float = 1.0
    ) -> None:
        for i, x in enumerate(self.hand_out(input)):
            self.modules[i].accGradParameters(x, self.part(gradOutput, i), scale)


class ConcatTable(_Branches):
    """All modules on the same input; the outputs as a table."""


class ParallelTable(_Branches):
    """One module per entry of the input table."""

    def hand_out(self, input: Table) -> list[Table]:
        return list(input)

    def collect(self, input: Table, grads: list[Table]) -> Table:
        return grads


class MapTable(_Branches):
    """The same module for each entry of the input table."""

    def __init__(self, module: Module | None = None) -> None:
        super().__init__(*([module] if module is not None else []))

    def hand_out(self, input: Table) -> list[Table]:
        while len(self.modules) < len(input):
            self.modules.append(self._sharing_copy())
        return list(input)

    def _sharing_copy(self) -> Module:
        copy = self.modules[0].clone()
        ours, theirs = self.modules[0].parameters(), copy.parameters()
        for kept, other in zip(ours[0] + ours[1], theirs[0] + theirs[1], strict=True):
            other.data = kept.data
        return copy

    def parameters(self) -> tuple[list[Tensor], list[Tensor]]:
        return self.modules[0].parameters()

    def updateOutput(self, input: Table) -> Table:
        self.output = [
            m.updateOutput(x)
            for m, x in zip(self.modules, self.hand_out(input), strict=False)
        ]
        return self.output

    def updateGradInput(self, input: Table, gradOutput: Table) -> Table:
        self.gradInput = [
            self.modules[i].updateGradInput(x, gradOutput[i])
            for i, x in enumerate(input)
        ]
        return self.gradInput


class Concat(_Branches):
    """All modules on the same input; the outputs joined along a dimension."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.dimension = dimension

    def join(self, outputs: list[Table]) -> Tensor:
        return ember.cat(outputs, self.dimension)

    def part(self, gradOutput: Tensor, index: int) -> Tensor:
        sizes = [module.output.size(self.dimension) for module in self.modules]
        return gradOutput.narrow(self.dimension, sum(sizes[:index]), sizes[index])


class DepthConcat(Concat):
    """As Concat; outputs that are smaller in other dimensions get a rim of zeros."""

    def _rims(self) -> list[list[int]]:
        shapes = [tuple(module.output.shape) for module in self.modules]
        largest = [max(sizes) for sizes in zip(*shapes, strict=True)]
        return [
            [
                0 if d == self.dimension else (largest[d] - size) // 2
                for d, size in enumerate(shape)
            ]
            for shape in shapes
        ]

    def join(self, outputs: list[Table]) -> Tensor:
        largest = [
            max(sizes) for sizes in zip(*(y.shape for y in outputs), strict=True)
        ]
        padded = []
        for y, rim in zip(outputs, self._rims(), strict=True):
            shape = [
                y.size(d) if d == self.dimension else largest[d] for d in range(y.dim())
            ]
            whole = y.new_zeros(shape)
            self._inside(whole, rim, y.shape).copy_(y)
            padded.append(whole)
        return ember.cat(padded, self.dimension)

    @staticmethod
    def _inside(whole: Tensor, rim: list[int], shape: Any) -> Tensor:
        for d, size in enumerate(shape):
            whole = whole.narrow(d, rim[d], size)
        return whole

    def part(self, gradOutput: Tensor, index: int) -> Tensor:
        whole = super().part(gradOutput, index)
        shape = self.modules[index].output.shape
        return self._inside(whole, self._rims()[index], shape)


class Parallel(_Branches):
    """One module per slice of the input; the outputs joined."""

    def __init__(self, inputDimension: int, outputDimension: int) -> None:
        super().__init__()
        self.inputDimension, self.outputDimension = inputDimension, outputDimension

    def hand_out(self, input: Tensor) -> list[Table]:
        return list(input.unbind(self.inputDimension))

    def join(self, outputs: list[Table]) -> Tensor:
        return ember.cat(outputs, self.outputDimension)

    def part(self, gradOutput: Tensor, index: int) -> Tensor:
        sizes = [module.output.size(self.outputDimension) for module in self.modules]
        return gradOutput.narrow(self.outputDimension, sum(sizes[:index]), sizes[index])

    def collect(self, input: Table, grads: list[Table]) -> Tensor:
        return ember.stack(grads, self.inputDimension)


class Bottle(Container):
    """Lets a module that wants `nInputDim` dimensions take more: the first are one."""

    def __init__(self, module: Module, nInputDim: int = 2) -> None:
        super().__init__(module)
        self.nInputDim = nInputDim

    def _flat(self, x: Tensor) -> Tensor:
        return x.reshape(-1, *x.shape[x.dim() - self.nInputDim + 1 :])

    def updateOutput(self, input: Tensor) -> Tensor:
        y = self.modules[0].updateOutput(self._flat(input))
        head = input.shape[: input.dim() - self.nInputDim + 1]
        self.output = y.reshape(*head, *y.shape[1:])
        return self.output

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        inner = gradOutput.reshape(self.modules[0].output.shape)
        grad = self.modules[0].updateGradInput(self._flat(input), inner)
        self.gradInput = grad.reshape(input.shape)
        return self.gradInput

    def accGradParameters(
        self, input: Tensor, gradOutput: Tensor, scale: float = 1.0
    ) -> None:
        inner = gradOutput.reshape(self.modules[0].output.shape)
        self.modules[0].accGradParameters(self._flat(input), inner, scale)
