"""Nodes of a program as vectors: numbers and what is computed of them before the loops,
and one element of the space, or one row of it, in them.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ember.compiler import _rows
from ember.compiler._graph import Graph, V, is_float
from ember.compiler._lower import Lowering, literal, llvm_type
from ember.compiler._program import Node, Program, constant

MANY = 8  # uses of a formula, for which it is a function of its own
LONG = 20  # steps that make it worth a call


def _use(node: Node) -> tuple[str, ...]:
    return node.op, node.name, node.dtype, node.compute


class Values:
    """What is known in the place that is being written."""

    def __init__(self, program: Program, level: str, low: Lowering) -> None:
        self.program, self.level, self.low = program, level, low
        self.calls: dict[_rows.Call, str] = {}
        self.invariants: dict[tuple[Any, ...], str] = {}
        self.vectors: dict[int, str] = {}  # of the loop that is written now
        self.rows: dict[int, str] = {}  # of the row
        self.uses = Counter(map(_use, program.nodes))
        self.formulas: dict[Any, str] = {}  # that are functions of their own

    # --- what is computed once ---

    def once(self, key: tuple[Any, ...], make: Any) -> str:
        """What `make` writes into the entry block."""
        if key not in self.invariants:
            lines, self.low.lines = self.low.lines, self.low.head
            self.invariants[key] = make()
            self.low.lines = lines
        return self.invariants[key]

    def number(self, at: int) -> str:
        """A number node as a vector."""
        node = self.program.nodes[at]
        type = _rows.VALUE[node.dtype]
        if node.op == "constant":
            return f"splat ({llvm_type(type)} {literal(node.value, type)})"

        def make() -> str:
            raw = f"%number{node.slot}"
            if type == "f64":
                one = self.low.new(f"bitcast i64 {raw} to double")
            elif type == "b1":
                one = self.low.new(f"icmp ne i64 {raw}, 0")
            elif type == "f32":
                wide = self.low.new(f"bitcast i64 {raw} to double")
                one = self.low.new(f"fptrunc double {wide} to float")
            elif type in ("i64", "u64"):
                one = raw
            else:
                one = self.low.new(f"trunc i64 {raw} to {llvm_type(type)}")
            return self.low.splat(type, one)

        return self.once(("number", at), make)

    def param(self, value: Any, native: str) -> str:
        """p0 and so on in the type that a row computes in."""
        type = _rows.VALUE[native]

        def make() -> str:
            graph = Graph(self.level)
            if isinstance(value, int):
                v = graph.input("p", "f64", True)
                inputs = {"p": self.number(value)}
            else:
                v, inputs = graph.const(value.value, "f64"), {}
            if type == "f32":
                v = v.make("fptrunc", v, type="f32")
            elif not is_float(type):
                v = v.make("saturate", v, type=type)
            return self.low.lower(graph, [v], inputs)[0]

        return self.once(("param", value, native), make)

    def params_room(self, node: Node) -> str:
        """Where the params of a call of an eager kernel are, with the flag."""

        def make() -> str:
            low = self.low
            room = low.new("alloca [4 x i64], align 16")
            low.line(f"store [4 x i64] zeroinitializer, ptr {room}")
            for i, value in enumerate(node.params):
                at = low.new(f"getelementptr i64, ptr {room}, i64 {i}")
                if isinstance(value, int):
                    raw = f"%number{self.program.nodes[value].slot}"
                    low.line(f"store i64 {raw}, ptr {at}")
                else:
                    number = literal(value.value, "f64")
                    low.line(f"store double {number}, ptr {at}")
            at = low.new(f"getelementptr i64, ptr {room}, i64 3")
            low.line(f"store ptr %flag, ptr {at}")
            return room

        return self.once(("params", node.params), make)

    def function(self, node: Node, native: str) -> str:
        call = _rows.Call(node.op, node.name, native)
        if call not in self.calls:
            self.calls[call] = f"%function{len(self.calls)}"
        return self.calls[call]

    # --- nodes ---

    def value(self, at: int) -> str:
        """The vector of a node that was computed."""
        if self.program.nodes[at].op in ("number", "constant"):
            return self.number(at)
        return self.rows[at] if at in self.rows else self.vectors[at]

    def dtypes(self, node: Node) -> list[str]:
        return [self.program.nodes[a].dtype for a in node.args]

    def invariant_cast(self, at: int, wanted: str) -> str | None:
        """A number in another dtype, converted before the loop."""
        node = self.program.nodes[at]
        if node.op not in ("number", "constant"):
            return None

        def make() -> str:
            graph = Graph(self.level)
            v = graph.input("x", _rows.VALUE[node.dtype], True)
            v = _rows.cast(v, node.dtype, wanted)
            return self.low.lower(graph, [v], {"x": self.number(at)})[0]

        return self.once(("cast", at, wanted), make)

    def compute(self, at: int) -> str:
        """The vector of a node whose operands are known."""
        node = self.program.nodes[at]
        assert node.op not in ("load", "reduce"), node
        graph = Graph(self.level)
        inputs: dict[str, str] = {}

        def operand(place: int, wanted: str) -> V:
            source = self.program.nodes[node.args[place]]
            name = f"x{place}"
            invariant = source.op in ("number", "constant")
            done = self.invariant_cast(node.args[place], wanted)
            if done is not None:
                inputs[name] = done
                return graph.input(name, _rows.VALUE[wanted], invariant)
            inputs[name] = self.value(node.args[place])
            v = graph.input(name, _rows.VALUE[source.dtype])
            return _rows.cast(v, source.dtype, wanted)

        if node.op == "cast":
            out = operand(0, node.dtype)
            return self.low.lower(graph, [out], inputs)[0]
        native = _rows.native_of(node, self.dtypes(node))
        wanted = _rows.operand_dtypes(node, native)
        operands = [operand(i, dtype) for i, dtype in enumerate(wanted)]
        params: list[V | None] = []
        parameter = native if native not in _rows.NARROW else "float32"
        for i, value in enumerate(node.params):
            inputs[f"p{i}"] = self.param(self._param(value), parameter)
            params.append(graph.input(f"p{i}", _rows.VALUE[parameter], True))

        many, called = self.uses[_use(node)] >= MANY, ["null", "null"]

        def call(type: str, given: list[V], rare: Any = None) -> V:
            room = self.params_room(
                node._replace(params=tuple(self._param(p) for p in node.params))
            )
            called[:] = [self.function(node, native), room]
            names = ["%function", "%params"] if many else called
            how = (*given, ("function", names[0]), ("params", names[1]))
            if rare is None:
                return graph.make("call", type, *how)
            return graph.make("rare", type, *rare, *how)

        resolved = map(self._param, node.params)
        fixed = [p.value if isinstance(p, Node) else p for p in resolved]
        v = _rows.apply(
            graph, node._replace(params=tuple(fixed)), native, operands, params, call
        )
        result = "bool" if node.op in ("predicate", "compare") else native
        v = _rows.cast(v, result, node.dtype)
        if many and (len(graph.nodes) >= LONG or called[0] != "null"):
            return self.outside(graph, v, inputs, called)
        return self.low.lower(graph, [v], inputs)[0]

    def outside(
        self, graph: Graph, v: V, inputs: dict[str, str], called: list[str]
    ) -> str:
        """The vector of a formula by a call of a function that has it once."""
        low, type = self.low, self.low.vector(graph.nodes[v.index][1])
        given = {
            node[2][0][1]: low.vector(node[1])
            for node in graph.nodes
            if node[0] == "input"
        }
        key = (tuple(graph.nodes), v.index)
        name = self.formulas.get(key)
        if name is None:
            name = self.formulas[key] = f"formula{len(self.formulas)}"
            inner = Lowering(low.width, self.level)
            inner.count = "%count"
            inner.block("start")
            result = inner.lower(graph, [v], {n: f"%given.{n}" for n in given})[0]
            inner.line(f"ret {type} {result}")
            taken = [f"{t} %given.{n}" for n, t in given.items()]
            taken += ["i64 %count", "ptr %function", "ptr %params"]
            low.declarations |= inner.declarations
            low.functions += [
                f"define internal {type} @{name}({', '.join(taken)}) noinline #0 {{",
                *["entry:", *inner.head, "  br label %start"],
                *[*inner.lines, "}"],
            ]
        passed = [f"{t} {inputs[n]}" for n, t in given.items()]
        passed += [f"i64 {low.count}", f"ptr {called[0]}", f"ptr {called[1]}"]
        return low.new(f"call {type} @{name}({', '.join(passed)})")

    def _param(self, value: Any) -> Any:
        """A position of a number node, or a constant."""
        if isinstance(value, int) and not isinstance(value, bool):
            node = self.program.nodes[value]
            if node.op == "number":
                return value
            value = node.value
        return constant(value)

    def loaded(self, node: Node, raw: str) -> str:
        """From what is in memory to what is computed with."""
        if node.dtype not in _rows.NARROW:
            return raw
        graph = Graph(self.level)
        v = _rows.widened(graph.input("x", "u16"), node.dtype)
        return self.low.lower(graph, [v], {"x": raw})[0]

    def stored(self, at: int) -> str:
        """A node as it is in memory."""
        value = self.value(at)
        dtype = self.program.nodes[at].dtype
        if dtype not in _rows.NARROW:
            return value
        graph = Graph(self.level)
        v = _rows.narrowed(graph.input("x", "f32"), dtype)
        return self.low.lower(graph, [v], {"x": value})[0]
