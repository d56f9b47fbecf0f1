"""What a group of primitives is handed over as: a `Program`.

A program is pointwise work over one space, in the order of its nodes, with reductions
along the last axis of the space if it has any. It is made of plain tuples, equal and
hashable by value, and says nothing of sizes, strides or numbers: these are arguments
of the machine code, which so serves every call of the same form. docs/compile.md has
the whole of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Node(NamedTuple):
    """One primitive.

    =============  =========================================================
    op             name, args
    =============  =========================================================
    load           the elements of input `slot`
    number         number `slot`, a Python number that is an argument
    constant       a number that is part of the code, `name` its text
    cast           copy of args[0] into another dtype
    unary ...      row `name` of core/scalar_functions.h: unary, unary_grad
                   (of g and what is kept), predicate, binary, compare,
                   ternary
    reduce         sum, mean, prod, max, min, any or all of args[0] along the
                   last axis
    =============  =========================================================

    `dtype` is that of the result, which is rounded to it; `compute` that in which the
    row computes. `params` are p0, p1, p2 of the row: positions of number nodes, or the
    values themselves, which are then part of the code.
    """

    op: str
    dtype: str
    name: str = ""
    args: tuple[int, ...] = ()
    compute: str = ""
    params: tuple[Any, ...] = ()
    slot: int = -1

    @property
    def value(self) -> float | int:
        """Of a constant."""
        whole = self.name.lstrip("-").isdigit()
        return int(self.name) if whole else float(self.name)


def constant(value: float, dtype: str = "float64") -> Node:
    """A number that is part of the code. Its text tells -0.0 from 0.0."""
    return Node("constant", dtype, repr(value if dtype == "int64" else float(value)))


class Program(NamedTuple):
    """Nodes, and which of them are written to the outputs, in their order.

    `rows`: the outputs that have one element for each row (1), and those that have the
    whole space (0).
    """

    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]
    rows: tuple[int, ...] = ()

    @property
    def inputs(self) -> int:
        return 1 + max((n.slot for n in self.nodes if n.op == "load"), default=-1)

    @property
    def numbers(self) -> int:
        return 1 + max((n.slot for n in self.nodes if n.op == "number"), default=-1)

    @property
    def reduces(self) -> bool:
        return any(n.op == "reduce" for n in self.nodes)


class Builder:
    """Writes a program down, as one writes eager code.

    >>> b = Builder()
    >>> x = b.load("float32")
    >>> b.program([b.binary("add", b.unary("exp", x), b.number())]).numbers
    1
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[Node, int] = {}
        self._counts = {"load": 0, "number": 0}

    def add(self, node: Node) -> int:
        at = self._known.get(node)
        if at is None:
            at = self._known[node] = len(self.nodes)
            self.nodes.append(node)
        return at

    def _next(self, op: str, dtype: str) -> int:
        slot = self._counts[op]
        self._counts[op] += 1
        return self.add(Node(op, dtype, slot=slot))

    def load(self, dtype: str = "float32") -> int:
        return self._next("load", dtype)

    def number(self, dtype: str = "float64") -> int:
        return self._next("number", dtype)

    def constant(self, value: float, dtype: str = "float64") -> int:
        return self.add(constant(value, dtype))

    def dtype(self, at: int) -> str:
        return self.nodes[at].dtype

    def cast(self, x: int, dtype: str) -> int:
        return self.add(Node("cast", dtype, args=(x,)))

    def row(
        self,
        op: str,
        name: str,
        *args: int,
        dtype: str = "",
        compute: str = "",
        params: tuple[Any, ...] = (),
    ) -> int:
        compute = compute or self.dtype(args[1 if name == "where" else 0])
        if not dtype:
            dtype = "bool" if op in ("predicate", "compare") else compute
        return self.add(Node(op, dtype, name, args, compute, params))

    def unary(self, name: str, x: int, *params: Any, **dtypes: Any) -> int:
        return self.row("unary", name, x, params=params, **dtypes)

    def binary(self, name: str, a: int, b: int, **dtypes: Any) -> int:
        return self.row("binary", name, a, b, **dtypes)

    def compare(self, name: str, a: int, b: int, **dtypes: Any) -> int:
        return self.row("compare", name, a, b, **dtypes)

    def where(self, c: int, a: int, b: int) -> int:
        return self.row("ternary", "where", c, a, b)

    def reduce(self, name: str, x: int, dtype: str = "") -> int:
        return self.add(Node("reduce", dtype or self.dtype(x), name, (x,)))

    def variance(self, x: int, size: int, correction: int) -> int:
        """Of each row in two sweeps, so that nothing cancels; `size` and `correction`
        are numbers: the elements of a row, and what is taken off them."""
        centred = self.binary("sub", x, self.reduce("mean", x))
        total = self.reduce("sum", self.unary("square", centred))
        return self.binary("div", total, self.binary("sub", size, correction))

    def program(self, outputs: list[int], rows: list[int] | None = None) -> Program:
        return Program(tuple(self.nodes), tuple(outputs), tuple(rows or ()))
