"""Reductions of a whole space: pieces of a fixed size, which any thread may reduce, and
then the results of the pieces in their order. So a total does not depend on the number
of threads.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any

import ember
from ember.compiler import _rows
from ember.compiler._kernel import Fused, _pattern, _range, walked, word_of
from ember.compiler._layout import Layout
from ember.compiler._program import Node, Program

_CHUNK = 8192  # elements of a piece


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
    """A program whose outputs are totals of its space."""

    def __init__(self, program: Program) -> None:
        self.program = program
        first, last, self.between = split(program)
        self.first, self.last = Fused(first), Fused(last)

    def __call__(
        self,
        *inputs: Any,
        numbers: Sequence[Any] = (),
        shape: Sequence[int] | None = None,
    ) -> list[Any]:
        """The totals, as tensors without axes."""
        if shape is None:
            shape = ember.broadcast_shapes(*(x.shape for x in inputs))
        strides, sizes = [], []
        for x, dtype in zip(inputs, self.first.dtypes, strict=False):
            if _rows.name_of(x.dtype) != dtype:
                raise TypeError(f"compile(): a tensor of {x.dtype} in place of {dtype}")
            sizes.append(x.element_size())
            strides.append([s * sizes[-1] for s in x.expand(tuple(shape)).stride()])
        axes = walked(shape or [1], strides if shape else [[0]] * len(strides))
        chunks = len(axes.sizes) == 1
        length = axes.sizes[-1]
        pieces = math.prod(axes.sizes[:-1])
        if chunks:
            length, pieces = _CHUNK, -(-axes.sizes[0] // _CHUNK)
        parts = [
            ember.empty(pieces, dtype=getattr(ember, dtype)) for dtype in self.between
        ]
        words = array("q", map(word_of, numbers, self.first.numbers))
        words.extend((*axes.sizes[:-1], length))
        ranges = array("q")
        for size, steps in zip(sizes, axes.strides, strict=True):
            words.extend(steps)
            ranges.extend((size, *_range(axes.sizes, steps, size), 0))
        for part in parts:
            words.extend(_contiguous(axes.sizes[:-1], part.element_size()))
            ranges.extend((part.element_size(), 0, pieces - 1, 1))
        if chunks:
            words.append(axes.sizes[0])
        patterns = "".join(
            _pattern(steps[-1], size, length, False)
            for steps, size in zip(axes.strides, sizes, strict=True)
        )
        patterns += "c" * len(parts)
        layout = Layout(len(axes.sizes), patterns, chunks, length > _CHUNK, False)
        item = ((*inputs, *parts), ranges.tobytes(), words.tobytes(), pieces, length)
        if pieces:
            self.first.launch(layout, [item])
        more = [*numbers]
        if len(more) < len(self.last.numbers):
            more.append(float(math.prod(shape)))
        out = self.last(*parts, numbers=more)
        return [y.reshape(()) for y in out]


def _contiguous(sizes: Sequence[int], size: int) -> list[int]:
    """Strides in bytes, with that of the axis that is reduced."""
    strides = [0]
    for n in reversed(sizes):
        strides.insert(0, size)
        size *= n
    return strides
