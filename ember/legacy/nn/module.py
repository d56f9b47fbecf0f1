"""The base of all modules: what Torch7 calls, done by autograd.

A module says how its output follows from its input in `compute`; everything else is
here. `forward` keeps the output (and, for `backward`, the graph behind it);
`updateGradInput` and `accGradParameters` ask that graph for the two kinds of gradient.
A "table" is a list of tensors, possibly nested.
"""

from __future__ import annotations

import copy
from typing import Any

import ember
from ember import Tensor

Table = Any  # a Tensor, or a list of tables


def each(table: Table, function: Any) -> Table:
    """`function` of every tensor of a table, in a table of the same shape."""
    if isinstance(table, list | tuple):
        return [each(part, function) for part in table]
    return function(table)


def flat(table: Table) -> list[Tensor]:
    """The tensors of a table, in order."""
    if isinstance(table, list | tuple):
        return [tensor for part in table for tensor in flat(part)]
    return [table]


def fill(table: Table, values: list[Tensor]) -> Table:
    """A table of the shape of `table`, of the values in order."""
    waiting = iter(values)
    return each(table, lambda _: next(waiting))


def _watched(x: Tensor) -> Tensor:
    x = x.detach()
    return x.requires_grad_() if x.is_floating_point() or x.is_complex() else x


class Module:
    """A function with parameters, its last output and its last gradients.

    >>> import ember
    >>> from ember.legacy import nn
    >>> layer = nn.Linear(2, 1)
    >>> y = layer.forward(ember.ones(1, 2))
    >>> layer.zeroGradParameters()
    >>> dx = layer.backward(ember.ones(1, 2), ember.ones(1, 1))
    >>> layer.gradWeight
    tensor([[1., 1.]])
    """

    # Names of the tensors that are learned, each with a gradient "gradName" beside it.
    learned: tuple[str, ...] = ("weight", "bias")

    def __init__(self) -> None:
        self.output: Table = ember.Tensor()
        self.gradInput: Table = ember.Tensor()
        self.train = True
        self._seen: Table = None
        self._result: Table = None

    # --- to be defined by a module ---

    def compute(self, input: Table) -> Table:
        """The output, by differentiable ops of the input and the learned tensors."""
        raise NotImplementedError(f"{type(self).__name__} has no compute()")

    # --- parameters ---

    def learn(self, **tensors: Tensor | None) -> None:
        """Make tensors parameters, with gradients of the same size."""
        for name, value in tensors.items():
            setattr(self, name, value)
            grad = None if value is None else ember.zeros_like(value)
            setattr(self, "grad" + name[0].upper() + name[1:], grad)

    def own_parameters(self) -> tuple[list[Tensor], list[Tensor]]:
        """The learned tensors of this module itself, and their gradients."""
        values, grads = [], []
        for name in self.learned:
            value = getattr(self, name, None)
            if value is not None:
                values.append(value)
                grads.append(getattr(self, "grad" + name[0].upper() + name[1:]))
        return values, grads

    def children(self) -> list[Module]:
        """Modules inside this one."""
        return []

    def parameters(self) -> tuple[list[Tensor], list[Tensor]]:
        """All learned tensors and their gradients."""
        values, grads = self.own_parameters()
        for child in self.children():
            inner = child.parameters()
            values, grads = values + inner[0], grads + inner[1]
        return values, grads

    def flattenParameters(self) -> tuple[Tensor, Tensor]:
        """One vector of all parameters and one of all gradients, which the modules'
        own tensors are views of from now on."""
        values, grads = self.parameters()
        if not values:
            return ember.Tensor(), ember.Tensor()
        vectors = []
        for tensors in (values, grads):
            vector = ember.cat([t.detach().reshape(-1) for t in tensors])
            at = 0
            for tensor in tensors:
                tensor.data = vector[at : at + tensor.numel()].view(tensor.shape)
                at += tensor.numel()
            vectors.append(vector)
        return vectors[0], vectors[1]

    getParameters = flattenParameters

    def zeroGradParameters(self) -> None:
        """Forget accumulated gradients."""
        for grad in self.parameters()[1]:
            grad.zero_()

    def updateParameters(self, learningRate: float) -> None:
        """A step down the gradient."""
        values, grads = self.parameters()
        with ember.no_grad():
            for value, grad in zip(values, grads, strict=True):
                value.sub_(grad, alpha=learningRate)

    # --- forward and backward ---

    def updateOutput(self, input: Table) -> Table:
        """Compute the output and keep it."""
        self._seen = each(input, _watched)
        own = [p for p in self.own_parameters()[0] if p.is_floating_point()]
        for parameter in own:
            parameter.requires_grad_()
        with ember.enable_grad():
            self._result = self.compute(self._seen)
        for parameter in own:
            parameter.requires_grad_(False)
        self.output = each(self._result, lambda t: t.detach())
        return self.output

    def forward(self, input: Table) -> Table:
        """The output for an input."""
        return self.updateOutput(input)

    __call__ = forward

    def _gradients(self, gradOutput: Table, wanted: list[Tensor]) -> list[Tensor]:
        pairs = [
            (y, dy)
            for y, dy in zip(flat(self._result), flat(gradOutput), strict=True)
            if y.requires_grad
        ]
        wanted_now = [t for t in wanted if t.grad_fn is None]
        if not pairs or not wanted_now:
            return [ember.zeros_like(t) for t in wanted]
        return list(
            ember.autograd.grad(
                [y for y, _ in pairs],
                wanted_now,
                [dy for _, dy in pairs],
                retain_graph=True,
                allow_unused=True,
                materialize_grads=True,
            )
        )

    def _check_forward(self) -> None:
        if self._result is None:
            raise RuntimeError(
                f"{type(self).__name__}: call forward() before asking for gradients"
            )

    def updateGradInput(self, input: Table, gradOutput: Table) -> Table:
        """The gradient with respect to the input of the last forward()."""
        self._check_forward()
        seen = flat(self._seen)
        watched = [t for t in seen if t.requires_grad]
        grads = iter(self._gradients(gradOutput, watched))
        values = [next(grads) if t.requires_grad else ember.zeros_like(t) for t in seen]
        self.gradInput = fill(self._seen, values)
        return self.gradInput

    def accGradParameters(
        self, input: Table, gradOutput: Table, scale: float = 1.0
    ) -> None:
        """Add to the gradients of the parameters."""
        self._check_forward()
        values, grads = self.own_parameters()
        if not values:
            return
        for value in values:
            value.requires_grad_()
        found = self._gradients(gradOutput, values)
        for value in values:
            value.requires_grad_(False)
        for grad, new in zip(grads, found, strict=True):
            grad.add_(new, alpha=scale)

    def backward(self, input: Table, gradOutput: Table, scale: float = 1.0) -> Table:
        """Both gradients; returns that of the input."""
        self.updateGradInput(input, gradOutput)
        self.accGradParameters(input, gradOutput, scale)
        return self.gradInput

    def accUpdateGradParameters(
        self, input: Table, gradOutput: Table, lr: float
    ) -> None:
        """Add the gradients of the parameters, times -lr, to the parameters."""
        values, grads = self.own_parameters()
        kept = [grad.clone() for grad in grads]
        for grad in grads:
            grad.zero_()
        self.accGradParameters(input, gradOutput, 1.0)
        for value, grad, old in zip(values, grads, kept, strict=True):
            value.sub_(grad, alpha=lr)
            grad.copy_(old)

    # --- the rest of Torch7's methods ---

    def training(self) -> Module:
        """Behave as in training: dropout drops, batch normalisation counts."""
        self.train = True
        for child in self.children():
            child.training()
        return self

    def evaluate(self) -> Module:
        """Behave as in use."""
        self.train = False
        for child in self.children():
            child.evaluate()
        return self

    def reset(self, stdv: float | None = None) -> Module:
        """Draw the parameters again."""
        for child in self.children():
            child.reset(stdv)
        return self

    def clearState(self) -> Module:
        """Let go of outputs and gradients of inputs."""
        self.output, self.gradInput = ember.Tensor(), ember.Tensor()
        self._seen = self._result = None
        for child in self.children():
            child.clearState()
        return self

    def clone(self) -> Module:
        """A copy that shares nothing."""
        seen, result = self._seen, self._result
        self._seen = self._result = None
        try:
            return copy.deepcopy(self)
        finally:
            self._seen, self._result = seen, result

    def __deepcopy__(self, memo: dict) -> Module:
        new = self.__class__.__new__(self.__class__)
        memo[id(self)] = new
        for name, value in vars(self).items():
            kept = None if name in ("_seen", "_result") else copy.deepcopy(value, memo)
            setattr(new, name, kept)
        return new

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_seen": None, "_result": None}

    def type(self, dtype: Any = None) -> Any:
        """The dtype of the parameters, or the module with all tensors converted."""
        if dtype is None:
            values = self.parameters()[0]
            return values[0].dtype if values else ember.get_default_dtype()
        for name, value in vars(self).items():
            if isinstance(value, Tensor) and value.is_floating_point():
                setattr(self, name, value.detach().to(dtype))
        self._seen = self._result = None
        for child in self.children():
            child.type(dtype)
        return self

    def float(self) -> Module:
        return self.type(ember.float32)

    def double(self) -> Module:
        return self.type(ember.float64)

    def listModules(self) -> list[Module]:
        """This module and all inside it."""
        return [self] + [m for child in self.children() for m in child.listModules()]

    def findModules(self, name: str) -> list[Module]:
        """Modules of a class, by its name."""
        return [m for m in self.listModules() if type(m).__name__ == name]

    def apply(self, callback: Any) -> None:
        """Call `callback` with this module and all inside it."""
        for module in self.listModules():
            callback(module)

    def __repr__(self) -> str:
        return f"nn.{type(self).__name__}"


class Criterion:
    """A loss: a number for an input and a target.

    >>> import ember
    >>> from ember.legacy import nn
    >>> criterion = nn.MSECriterion()
    >>> criterion.forward(ember.tensor([1.0]), ember.tensor([3.0]))
    4.0
    >>> criterion.backward(ember.tensor([1.0]), ember.tensor([3.0]))
    tensor([-4.])
    """

    def __init__(self) -> None:
        self.output = 0.0
        self.gradInput: Table = ember.Tensor()

    def compute(self, input: Table, target: Table) -> Tensor:
        """The loss, by differentiable ops."""
        raise NotImplementedError(f"{type(self).__name__} has no compute()")

    def updateOutput(self, input: Table, target: Table) -> float:
        with ember.no_grad():
            self.output = self.compute(input, target).item()
        return self.output

    def forward(self, input: Table, target: Table) -> float:
        return self.updateOutput(input, target)

    __call__ = forward

    def updateGradInput(self, input: Table, target: Table) -> Table:
        seen = each(input, _watched)
        with ember.enable_grad():
            loss = self.compute(seen, target)
        grads = ember.autograd.grad(
            loss, flat(seen), allow_unused=True, materialize_grads=True
        )
        self.gradInput = fill(seen, list(grads))
        return self.gradInput

    def backward(self, input: Table, target: Table) -> Table:
        return self.updateGradInput(input, target)

    def clone(self) -> Criterion:
        return copy.deepcopy(self)

    def type(self, dtype: Any) -> Criterion:
        for name, value in vars(self).items():
            if isinstance(value, Tensor) and value.is_floating_point():
                setattr(self, name, value.to(dtype))
        return self

    def __repr__(self) -> str:
        return f"nn.{type(self).__name__}"
