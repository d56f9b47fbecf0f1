"""Reductions along the vectorised axis: each element of a vector has an accumulator,
and they are joined at the end of the row, always in the same order.
"""

from __future__ import annotations

from ember.compiler import _math, _rows
from ember.compiler._graph import Graph, V, is_float
from ember.compiler._values import Values

REDUCTIONS = ("sum", "mean", "prod", "max", "min", "any", "all")
_TURNS = 64  # of a loop, after which a sum of many is begun anew


def _least(type: str) -> float:
    if is_float(type):
        return float("-inf")
    return -(1 << (int(type[1:]) - 1)) if type[0] == "i" else 0


def _most(type: str) -> float:
    if is_float(type):
        return float("inf")
    size = int(type[1:])
    return (1 << (size - (type[0] == "i"))) - 1


def _joined(name: str, a: V, b: V) -> V:
    if name in ("sum", "mean"):
        return a + b
    if name == "prod":
        return a * b
    if a.type == "b1":
        return a | b if name in ("any", "max") else a & b
    return _math.maximum(a, b) if name == "max" else _math.minimum(a, b)


def _start(name: str, type: str) -> float:
    if type == "b1":
        return name in ("all", "min")
    if name in ("sum", "mean"):
        return -0.0 if is_float(type) else 0
    if name == "prod":
        return 1
    return _least(type) if name == "max" else _most(type)


class Reduction:
    """One of them, in the loop that is being written."""

    def __init__(self, values: Values, at: int, long: bool) -> None:
        self.values, self.low = values, values.low
        self.node = values.program.nodes[at]
        self.type = _rows.VALUE[self.node.dtype]
        self.name = self.node.name
        self.long = long and self.name in ("sum", "mean") and is_float(self.type)
        graph = Graph(self.low.level)
        start = graph.const(_start(self.name, self.type), self.type)
        self.start = self.low.lower(graph, [start], {})[0]
        self.short = self.low.name("sum")
        self.total = self.low.name("sum")

    def phis(self) -> None:
        self.at = len(self.low.lines)
        self.low.lines.append("")
        if self.long:
            self.low.lines.append("")
            self.turn = self.low.name("turn")
            self.low.lines.append("")

    def _join(self, a: str, b: str) -> str:
        graph = Graph(self.low.level)
        v = _joined(self.name, graph.input("a", self.type), graph.input("b", self.type))
        return self.low.lower(graph, [v], {"a": a, "b": b})[0]

    def add(self) -> None:
        low, vector = self.low, self.low.vector(self.type)
        source = self.values.program.nodes[self.node.args[0]]
        graph = Graph(self.low.level)
        v = _rows.cast(
            graph.input("x", _rows.VALUE[source.dtype]), source.dtype, self.node.dtype
        )
        value = low.lower(graph, [v], {"x": self.values.value(self.node.args[0])})[0]
        mask = low.vector("b1")
        valid = low.valid()
        value = low.new(
            f"select {mask} {valid}, {vector} {value}, {vector} {self.start}"
        )
        self.next = self._join(self.short, value)
        if not self.long:
            return
        self.turn_next = low.new(f"add i64 {self.turn}, 1")
        low_bits = low.new(f"and i64 {self.turn_next}, {_TURNS - 1}")
        full = low.new(f"icmp eq i64 {low_bits}, 0")
        more = self._join(self.total, self.next)
        self.total_next = low.new(
            f"select i1 {full}, {vector} {more}, {vector} {self.total}"
        )
        self.next = low.new(
            f"select i1 {full}, {vector} {self.start}, {vector} {self.next}"
        )

    def close(self, before: str, latch: str) -> None:
        """The loop is written: what goes from turn to turn is known."""
        vector, lines = self.low.vector(self.type), self.low.lines

        def phi(name: str, type: str, start: str, following: str) -> str:
            ends = f"[ {start}, %{before} ], [ {following}, %{latch} ]"
            return f"  {name} = phi {type} {ends}"

        lines[self.at] = phi(self.short, vector, self.start, self.next)
        if self.long:
            lines[self.at + 1] = phi(self.total, vector, self.start, self.total_next)
            lines[self.at + 2] = phi(self.turn, "i64", "0", self.turn_next)

    def result(self, length: str) -> str:
        """The value of the row, in every element of a vector."""
        low, vector = self.low, self.low.vector(self.type)
        value = self.next
        if self.long:
            value = self._join(self.total_next, value)
        distance = low.width // 2
        while distance:
            lanes = ", ".join(
                f"i32 {(i + distance) % low.width}" for i in range(low.width)
            )
            other = low.new(
                f"shufflevector {vector} {value}, {vector} {value}, "
                f"<{low.width} x i32> <{lanes}>"
            )
            value = self._join(value, other)
            distance //= 2
        if self.name == "mean":
            count = low.new(f"sitofp i64 {length} to {self._scalar()}")
            value = low.new(f"fdiv {vector} {value}, {low.splat(self.type, count)}")
        graph = Graph(self.low.level)
        v = graph.input("x", self.type)
        if self.node.dtype in _rows.NARROW:
            v = _rows.widened(_rows.narrowed(v, self.node.dtype), self.node.dtype)
        return low.lower(graph, [v], {"x": value})[0]

    def _scalar(self) -> str:
        return "double" if self.type == "f64" else "float"
