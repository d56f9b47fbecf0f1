"""What a model consists of: its layers, their outputs and numbers of parameters.

>>> import ember
>>> from ember.utils.summary import summary
>>> model = ember.nn.Sequential(ember.nn.Linear(4, 8), ember.nn.ReLU())
>>> print(summary(model, ember.zeros(2, 4)))
layer       kind        output  parameters
(model)     Sequential  [2, 8]          40
  0         Linear      [2, 8]          40
  1         ReLU        [2, 8]           0
<BLANKLINE>
40 parameters, 40 trainable, 160 bytes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import ember
from ember import Tensor
from ember.nn import Module


@dataclass
class Row:
    """One module of the tree."""

    name: str
    kind: str
    depth: int
    output: str
    parameters: int
    shared: bool  # with one that was listed before

    def cells(self) -> list[str]:
        own = self.name.rpartition(".")[2] if self.name else "(model)"
        count = "(as before)" if self.shared else f"{self.parameters:,}"
        return ["  " * self.depth + own, self.kind, self.output, count]


class Summary:
    """The rows of a model, as text by `print`, as a table in notebooks."""

    HEAD = ("layer", "kind", "output", "parameters")

    def __init__(self, rows: list[Row], total: int, trainable: int, size: int) -> None:
        self.rows, self.total_params = rows, total
        self.trainable_params, self.bytes = trainable, size

    def _last(self) -> str:
        return (
            f"{self.total_params:,} parameters, {self.trainable_params:,} trainable, "
            f"{self.bytes:,} bytes"
        )

    def __str__(self) -> str:
        cells = [list(self.HEAD), *(row.cells() for row in self.rows)]
        wide = [max(len(line[i]) for line in cells) for i in range(4)]
        wide[0] = max(wide[0], 10)
        lines = []
        for a, b, c, d in cells:
            left = f"{a:<{wide[0]}}  {b:<{wide[1]}}  {c:<{wide[2]}}"
            lines.append(f"{left}  {d:>{wide[3]}}")
        return "\n".join([*lines, "", self._last()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.HEAD)
        body = []
        for row in self.rows:
            name, *rest = row.cells()
            indent = f'<td style="padding-left:{row.depth + 0.5}em;text-align:left">'
            others = "".join(f"<td>{escape(cell)}</td>" for cell in rest)
            body.append(f"<tr>{indent}{escape(name.strip())}</td>{others}</tr>")
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody>"
            f"</table><p>{self._last()}</p>"
        )


def summary(
    model: Module, *inputs: Any, depth: int | None = None, **named: Any
) -> Summary:
    """The layers of `model`, down to `depth` if it is given.

    With inputs, the model is run on them once (in evaluation mode, without gradients),
    to learn the shapes of the outputs.
    """
    shapes: dict[int, str] = {}
    if inputs or named:
        shapes = _outputs(model, inputs, named)
    rows: list[Row] = []
    seen: set[int] = set()
    for name, module in model.named_modules(remove_duplicate=False):
        level = name.count(".") + 1 if name else 0
        if depth is not None and level > depth:
            continue
        params = {id(p): p for p in module.parameters()}
        count = sum(_count(p) for p in params.values())
        shared = bool(name) and id(module) in seen
        seen.add(id(module))
        kind, output = type(module).__name__, shapes.get(id(module), "")
        rows.append(Row(name, kind, level, output, count, shared))
    every = {id(p): p for p in model.parameters()}.values()
    trainable = sum(_count(p) for p in every if p.requires_grad)
    size = sum(_count(p) * p.dtype.itemsize for p in every)
    return Summary(rows, sum(map(_count, every)), trainable, size)


def _count(p: Tensor) -> int:
    return 0 if ember.nn.parameter.is_lazy(p) else p.numel()


def _outputs(model: Module, inputs: tuple, named: dict[str, Any]) -> dict[int, str]:
    """The shapes that every module gave, by its identity."""
    shapes: dict[int, str] = {}

    def keep(module: Module, args: Any, output: Any) -> None:
        shapes[id(module)] = _shape(output)

    handles = [m.register_forward_hook(keep) for m in model.modules()]
    modes = [(m, m.training) for m in model.modules()]
    state = ember.get_rng_state()
    try:
        model.eval()
        with ember.no_grad():
            model(*inputs, **named)
    finally:
        for handle in handles:
            handle.remove()
        for module, training in modes:
            module.training = training
        ember.set_rng_state(state)
    return shapes


def _shape(value: Any) -> str:
    if isinstance(value, Tensor):
        return str(list(value.shape))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k}: {_shape(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_shape(v) for v in value)
    return type(value).__name__
