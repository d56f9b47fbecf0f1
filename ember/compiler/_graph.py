"""The values of one formula, as nodes that operators on `V` write down, and what the
C++ compiler makes of products and sums: fused ones, where the machine has them.

A node is (op, type, args). Types are those of elements: f32, f64, i8 ... i64, u8 ...
u64 and b1 (what comparisons give). Equal nodes are one node.
"""

from __future__ import annotations

import struct
from typing import Any

_LARGEST_F32 = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]


def is_float(type: str) -> bool:
    return type[0] == "f"


def is_signed(type: str) -> bool:
    return type[0] == "i"


def bits_of(type: str) -> int:
    return int(type[1:])


def rounded(value: float, type: str) -> float:
    """A Python number as an element of a floating type holds it."""
    if type == "f64":
        return float(value)
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


class V:
    """A value of a graph; its operators are those of the formulas' C."""

    __slots__ = ("graph", "index")

    def __init__(self, graph: Graph, index: int) -> None:
        self.graph, self.index = graph, index

    @property
    def type(self) -> str:
        return self.graph.nodes[self.index][1]

    def make(self, op: str, *args: Any, type: str | None = None) -> V:
        return self.graph.make(op, type or self.type, *args)

    def const(self, value: float) -> V:
        return self.graph.const(value, self.type)

    def _two(self, op: str, other: Any, swap: bool = False) -> V:
        other = self.graph.coerce(other, self.type)
        a, b = (other, self) if swap else (self, other)
        if is_float(self.type):
            op = "f" + op
        return self.graph.make(op, self.type, a, b)

    def __add__(self, o: Any) -> V:
        return self._two("add", o)

    def __radd__(self, o: Any) -> V:
        return self._two("add", o, True)

    def __sub__(self, o: Any) -> V:
        return self._two("sub", o)

    def __rsub__(self, o: Any) -> V:
        return self._two("sub", o, True)

    def __mul__(self, o: Any) -> V:
        return self._two("mul", o)

    def __rmul__(self, o: Any) -> V:
        return self._two("mul", o, True)

    def __truediv__(self, o: Any) -> V:
        return self._two("div", o)

    def __rtruediv__(self, o: Any) -> V:
        return self._two("div", o, True)

    def __neg__(self) -> V:
        if is_float(self.type):
            return self.make("fneg", self)
        return self.const(0) - self

    def __and__(self, o: Any) -> V:
        return self.make("and", self, self.graph.coerce(o, self.type))

    def __or__(self, o: Any) -> V:
        return self.make("or", self, self.graph.coerce(o, self.type))

    def __xor__(self, o: Any) -> V:
        return self.make("xor", self, self.graph.coerce(o, self.type))

    def __invert__(self) -> V:
        return self ^ (1 if self.type == "b1" else -1)

    def __lshift__(self, o: Any) -> V:
        return self.make("shl", self, self.graph.coerce(o, self.type))

    def __rshift__(self, o: Any) -> V:
        op = "ashr" if is_signed(self.type) else "lshr"
        return self.make(op, self, self.graph.coerce(o, self.type))

    def _compare(self, predicate: str, other: Any) -> V:
        other = self.graph.coerce(other, self.type)
        if is_float(self.type):
            predicate = "fcmp " + ("une" if predicate == "ne" else "o" + predicate)
        elif predicate in ("eq", "ne"):
            predicate = "icmp " + predicate
        else:
            predicate = f"icmp {'s' if is_signed(self.type) else 'u'}{predicate}"
        return self.graph.make(predicate, "b1", self, other)

    def __lt__(self, o: Any) -> V:
        return self._compare("lt", o)

    def __le__(self, o: Any) -> V:
        return self._compare("le", o)

    def __gt__(self, o: Any) -> V:
        return self._compare("gt", o)

    def __ge__(self, o: Any) -> V:
        return self._compare("ge", o)

    def eq(self, o: Any) -> V:
        return self._compare("eq", o)

    def ne(self, o: Any) -> V:
        return self._compare("ne", o)


class Graph:
    """Nodes in the order they were asked for.

    `fma`: the machine fuses a product and a sum, and the eager kernels were compiled to
    do so. `turn` and the like in _math ask for it, too.
    """

    def __init__(self, level: str) -> None:
        self.level = level
        self.fma = level != "baseline"
        self.nodes: list[tuple[Any, ...]] = []
        self._known: dict[tuple[Any, ...], int] = {}

    def make(self, op: str, type: str, *args: Any) -> V:
        plain = tuple(a.index if isinstance(a, V) else a for a in args)
        node = (op, type, plain)
        index = self._known.get(node)
        if index is None:
            index = self._known[node] = len(self.nodes)
            self.nodes.append(node)
        return V(self, index)

    def const(self, value: float, type: str) -> V:
        known: Any  # by its bits, as -0. is not 0., and NaN is NaN
        if is_float(type):
            known = struct.pack("<d", rounded(value, type))
        else:
            known = int(value)
            if type != "b1":
                known &= (1 << bits_of(type)) - 1
        return self.make("const", type, ("value", known))

    def input(self, name: str, type: str, invariant: bool = False) -> V:
        return self.make("input", type, ("name", name), ("invariant", invariant))

    def coerce(self, value: Any, type: str) -> V:
        return value if isinstance(value, V) else self.const(value, type)

    def contracted(self, outputs: list[int]) -> list[tuple[Any, ...]]:
        """The nodes with products and sums fused as GCC does: in order, a product all
        of whose uses are sums and differences is computed in each of them instead.
        What does not change in the loop is computed before it, and is not fused."""
        if not self.fma:
            return self.nodes
        nodes = list(self.nodes)
        users: list[list[int]] = [[] for _ in nodes]
        live = [False] * len(nodes)
        for index in outputs:
            live[index] = True
        for index in reversed(range(len(nodes))):
            if live[index]:
                for a in nodes[index][2]:
                    if isinstance(a, int):
                        live[a] = True
        invariant = [False] * len(nodes)
        for index, (op, _, args) in enumerate(nodes):
            if op == "const":
                invariant[index] = True
            elif op == "input":
                invariant[index] = args[1][1]
            else:
                inner = [a for a in args if isinstance(a, int)]
                invariant[index] = all(invariant[a] for a in inner)
                if live[index]:
                    for a in inner:
                        users[a].append(index)
        kept = set(outputs)
        for index, (op, _, _) in enumerate(self.nodes):
            if op == "fmul" and live[index] and not invariant[index]:
                _fuse(nodes, users, kept, index)
        return nodes


def _fuse(nodes: list[Any], users: list[list[int]], kept: set[int], at: int) -> None:
    _, type, (a, b) = nodes[at]
    ends = []  # (sum, value that is the product there, whether negated on the way)
    for user in users[at]:
        value, negated = at, False
        if nodes[user][0] == "fneg":
            value, negated = user, True
            if user in kept or len(users[user]) != 1:
                return
            user = users[user][0]
        op, _, args = nodes[user]
        if op not in ("fadd", "fsub") or args[0] == args[1]:
            return
        ends.append((user, value, negated))
    if at in kept or not ends:
        return
    for user, value, negated in ends:
        op, _, (left, right) = nodes[user]
        other = right if left == value else left
        minus_product = negated != (op == "fsub" and right == value)
        minus_other = op == "fsub" and left == value
        nodes[user] = ("fma", type, (a, b, other, minus_product, minus_other))
        for used in (a, b):
            users[used].append(user)
