"""Reductions: each element of a vector has an accumulator. Those of a row are joined at
its end, always in the same order; those of columns are results.
"""

from __future__ import annotations

import functools

from ember.compiler import _formula, _math, _rows
from ember.compiler._graph import Graph, is_float
from ember.compiler._layout import Layout
from ember.compiler._values import Values

_TURNS = 64  # of a loop, after which a sum of many is begun anew
_FUNCTIONS = {"maximum": _math.maximum, "minimum": _math.minimum}


@functools.cache
def reductions() -> dict[str, tuple[str, str]]:
    """The fold of each reduction, and how it finishes."""
    found = {name: row.texts for (kind, name), row in _rows.rows().items()
             if kind == "reduction"}  # fmt: skip
    return {name: (texts[0], texts[1]) for name, texts in found.items()}


def _bounds(type: str) -> tuple[float, float]:
    """The lowest and the highest value."""
    if is_float(type):
        return float("-inf"), float("inf")
    size = 1 if type == "b1" else int(type[1:])
    half = 1 << (size - 1)
    return (-half, half - 1) if type[0] == "i" else (0, 2 * half - 1)


class Reduction:
    """One of them, in the loop that is being written."""

    def __init__(self, values: Values, at: int, layout: Layout) -> None:
        self.values, self.low = values, values.low
        self.node = values.program.nodes[at]
        self.type = _rows.VALUE[self.node.dtype]
        self.fold, self.finish = reductions()[self.node.name]
        self.sums = self.fold == "sum" and is_float(self.type)
        self.long, self.columns = layout.long and self.sums, layout.columns
        graph = Graph(self.low.level)
        start = graph.const(self._first(), self.type)
        self.start = self.low.lower(graph, [start], {})[0]
        vector = self.low.vector(self.type)
        # (type, what it begins with, its name in the loop) of what goes from turn to
        # turn: a sum, and if many are added, that of the sums before, and a count.
        self.carried = [(vector, self.start, self.low.name("sum"))]
        if self.long:
            self.carried.append((vector, self.start, self.low.name("sum")))
            self.carried.append(("i64", "0", self.low.name("turn")))
        self.rooms: list[str] = []
        self.now: list[str] = []  # at the end of a turn

    def phis(self) -> None:
        """Where the loop begins."""
        self.at = len(self.low.lines)
        self.low.lines.extend("" for _ in self.carried)

    def _first(self) -> float:
        """What joins anything without changing it: -0.0 is the sum of no floats."""
        lowest, highest = _bounds(self.type)
        names = {"0": -0.0 if self.sums else 0, "1": 1, "lowest": lowest}
        return {**names, "highest": highest}[_rows.rows()["fold", self.fold].texts[1]]

    def _join(self, a: str, b: str) -> str:
        graph = Graph(self.low.level)
        names = {"a": graph.input("a", self.type), "b": graph.input("b", self.type)}
        if self.type == "b1":
            more = self.fold in ("any", "max")
            v = names["a"] | names["b"] if more else names["a"] & names["b"]
        else:
            tree = _formula.parse(_rows.rows()["fold", self.fold].texts[0])
            v = _formula.evaluate(tree, names, _FUNCTIONS, lambda value: value)
        return self.low.lower(graph, [v], {"a": a, "b": b})[0]

    def add(self) -> None:
        low, vector = self.low, self.low.vector(self.type)
        source = self.values.program.nodes[self.node.args[0]]
        graph = Graph(self.low.level)
        v = _rows.cast(
            graph.input("x", _rows.VALUE[source.dtype]), source.dtype, self.node.dtype
        )
        value = low.lower(graph, [v], {"x": self.values.value(self.node.args[0])})[0]
        if not self.columns:  # where what is beyond the end would be joined
            mask = low.vector("b1")
            valid = low.valid()
            value = low.new(
                f"select {mask} {valid}, {vector} {value}, {vector} {self.start}"
            )
        names = [name for _, _, name in self.carried]
        following = self._join(names[0], value)
        if not self.long:
            self.now = [following]
            return
        turn = low.new(f"add i64 {names[2]}, 1")
        low_bits = low.new(f"and i64 {turn}, {_TURNS - 1}")
        full = low.new(f"icmp eq i64 {low_bits}, 0")
        more = self._join(names[1], following)
        total = low.new(f"select i1 {full}, {vector} {more}, {vector} {names[1]}")
        following = low.new(
            f"select i1 {full}, {vector} {self.start}, {vector} {following}"
        )
        self.now = [following, total, turn]

    def close(self, before: str, latch: str) -> None:
        """The loop is written: what goes from turn to turn is known."""
        for k, (type, start, name) in enumerate(self.carried):
            ends = f"[ {start}, %{before} ], [ {self.now[k]}, %{latch} ]"
            self.low.lines[self.at + k] = f"  {name} = phi {type} {ends}"

    def result(self, length: str) -> str:
        """The value of the row, in every element of a vector; or of the columns."""
        low, vector = self.low, self.low.vector(self.type)
        value = self.now[0]
        if self.long:
            value = self._join(self.now[1], value)
        if not self.columns:
            value = self._across(value)
        if self.sums:
            nothing = low.new(f"icmp eq i64 {length}, 0")
            value = low.new(
                f"select i1 {nothing}, {vector} zeroinitializer, {vector} {value}"
            )
        if self.finish == "a / n":
            count = low.new(f"sitofp i64 {length} to {self._scalar()}")
            value = low.new(f"fdiv {vector} {value}, {low.splat(self.type, count)}")
        graph = Graph(self.low.level)
        v = graph.input("x", self.type)
        if self.node.dtype in _rows.NARROW:
            v = _rows.widened(_rows.narrowed(v, self.node.dtype), self.node.dtype)
        return low.lower(graph, [v], {"x": value})[0]

    def _across(self, value: str) -> str:
        """All elements of a vector joined, in each of them."""
        low, vector = self.low, self.low.vector(self.type)
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
        return value

    def _scalar(self) -> str:
        return "double" if self.type == "f64" else "float"

    # --- several rows that are one: what is carried waits in memory between them ---

    def park(self) -> None:
        """Begins, before the first of the rows."""
        low = self.low
        self.rooms = [low.name("parked") for _ in self.carried]
        for room, (type, start, _) in zip(self.rooms, self.carried, strict=True):
            low.head.append(f"  {room} = alloca {type}, align 64")
            low.line(f"store {type} {start}, ptr {room}, align 8")

    def resume(self) -> None:
        """Before a row."""
        self.carried = [
            (type, self.low.new(f"load {type}, ptr {room}, align 8"), name)
            for (type, _, name), room in zip(self.carried, self.rooms, strict=True)
        ]

    def suspend(self) -> None:
        """After a row."""
        for (type, _, _), room, now in zip(
            self.carried, self.rooms, self.now, strict=True
        ):
            self.low.line(f"store {type} {now}, ptr {room}, align 8")
