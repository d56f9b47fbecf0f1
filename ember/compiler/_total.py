"""Reductions of a whole space: pieces of a fixed size, which any thread may reduce, and
then the results of the pieces in their order. So a total does not depend on the number
of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ember
from ember.compiler import _rows
from ember.compiler._kernel import Fused
from ember.compiler._program import Node, Program
from ember.compiler._space import reduced

_CHUNK = 8192  # elements of a piece
_TILE = 128  # columns that are reduced together, about
_ENOUGH = 1024  # results that need no pieces for threads to share


def _wide(dtype: str) -> str:
    return "float32" if dtype in _rows.NARROW else dtype


def split(program: Program) -> tuple[Program, Program, list[str]]:
    """The program of a piece, that of their results, and the dtypes in between."""
    nodes = program.nodes
    reduced = [at for at, node in enumerate(nodes) if node.op == "reduce"]
    on = [False] * len(nodes)  # of a total
    for at, node in enumerate(nodes):
        on[at] = node.op == "reduce" or any(on[a] for a in node.args)
    for at in reduced:
        if on[nodes[at].args[0]]:
            raise NotImplementedError(
                "compile(): a total of what depends on another total is two programs"
            )
    first = list(nodes)
    for at in reduced:
        node = nodes[at]
        name = "sum" if node.name == "mean" else node.name
        first[at] = node._replace(name=name, dtype=_wide(node.dtype))
    last: list[Node] = []
    places: dict[int, int] = {}
    count = program.numbers

    def place(node: Node) -> int:
        last.append(node)
        return len(last) - 1

    def moved(at: int) -> int:
        if at not in places:
            node = nodes[at]
            if node.op == "reduce":
                wide = first[at].dtype
                load = place(Node("load", wide, slot=reduced.index(at)))
                made = place(Node("reduce", wide, first[at].name, (load,)))
                if node.name == "mean":
                    size = place(Node("number", "float64", slot=count))
                    div = Node("binary", wide, "div", (made, size), wide)
                    made = place(div)
                if wide != node.dtype:
                    made = place(Node("cast", node.dtype, args=(made,)))
            elif node.op == "load":
                raise NotImplementedError("compile(): an output that is no total")
            else:
                args = tuple(moved(a) for a in node.args)
                params = tuple(
                    moved(p) if isinstance(p, int) else p for p in node.params
                )
                made = place(node._replace(args=args, params=params))
            places[at] = made
        return places[at]

    # In order, so that this does not go deep; every reduction is loaded.
    for at in range(len(nodes)):
        if on[at]:
            moved(at)
    ends = tuple(moved(at) for at in program.outputs)
    between = [first[at].dtype for at in reduced]
    pieces = Program(tuple(first), tuple(reduced), (1,) * len(reduced))
    return pieces, Program(tuple(last), ends, (1,) * len(ends)), between


class Total:
    """A program whose outputs have one element for all that is reduced together: in two
    passes, where that gives more than a few threads something to do."""

    def __init__(self, program: Program) -> None:
        self.program = program
        first, last, self.between = split(program)
        self.whole, self.first, self.last = Fused(program), Fused(first), Fused(last)

    def __call__(
        self,
        *inputs: Any,
        numbers: Sequence[Any] = (),
        shape: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
    ) -> list[Any]:
        """The outputs: totals without axes, or over some axes, then of size 1."""
        if shape is None:
            shape = ember.broadcast_shapes(*(x.shape for x in inputs))
        away = set(
            range(len(shape)) if axes is None else (d % len(shape) for d in axes)
        )
        wanted = [1 if d in away else n for d, n in enumerate(shape)]
        results = math.prod(wanted)
        if axes is not None and (results >= _ENOUGH or math.prod(shape) < 2 * _CHUNK):
            return self.whole(*inputs, numbers=numbers, shape=shape, axes=axes)
        strides = self.first.strides(inputs, shape)
        elements = [x.element_size() for x in inputs]
        dtypes = [getattr(ember, dtype) for dtype in self.between]
        for dtype in dtypes:
            like = ember.empty(wanted, dtype=dtype, device="meta").expand(tuple(shape))
            strides.append([s * dtype.itemsize for s in like.stride()])
        space = reduced(shape, strides, tuple(away), elements)
        at = space.stay
        inner = math.prod(space.sizes[at + 1 :])
        if space.columns:
            inner *= min(space.sizes[space.axis], _TILE)
        pieces = space.chunked(max(1, _CHUNK // max(inner, 1)))
        parts = [ember.empty((pieces.sizes[0], *wanted), dtype=d) for d in dtypes]
        steps = [results * dtype.itemsize for dtype in dtypes]
        of_parts = pieces.strides[len(inputs) :]
        written = [(step, *s[1:]) for step, s in zip(steps, of_parts, strict=True)]
        pieces = pieces._replace(strides=(*pieces.strides[: len(inputs)], *written))
        if math.prod(pieces.sizes[: pieces.stay]):
            given = (*inputs, *parts)
            layout, item = self.first.item(pieces, given, len(inputs), numbers, space)
            self.first.launch(layout, [item])
        more = [*numbers]
        if len(more) < len(self.last.numbers):
            more.append(float(space.size))
        out = self.last(*parts, numbers=more, axes=(0,))
        return [y.reshape(() if axes is None else wanted) for y in out]
