"""A program in one layout as LLVM's text: loops, loads and stores, and the tail.

Explicit vectors of two native registers, no passes over the text, no fast-math. The
last turn of a loop works on copies of its operands that are as long as a vector, so
there is one copy of the code for every length. docs/compile.md says what the words are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ember.compiler import _rows
from ember.compiler._graph import Graph, V, is_float
from ember.compiler._lower import Lowering, literal, llvm_type, memory_type, size_of
from ember.compiler._program import Node, Program, constant
from ember.compiler._reduce import Reduction

SHORT_ROW = 4096  # elements of which a few rows fit on a stack, and in the caches
CHEAP = "abs neg sign sgn square relu add sub mul where maximum minimum lt gt".split()
REGISTER = {"baseline": 16, "avx2": 32, "avx512": 64}  # bytes


class Layout(NamedTuple):
    """How the operands of a call lie in memory, as far as the code depends on it.

    `patterns` has a letter for each input, then for each output, for the axis that is
    vectorised: c (one after the other), b (one element for all), s (any stride).
    `rank` counts the axes; those before the last one are walked.
    `chunks`: the last axis is cut into rows of a fixed size, each a unit.
    `long`: sums along it are made of shorter ones. `short`: a row is no longer than
    SHORT_ROW, and what is dear to compute is kept from one sweep over it to the next.
    """

    rank: int
    patterns: str
    chunks: bool = False
    long: bool = False
    short: bool = False


class Emitted(NamedTuple):
    text: str
    calls: tuple[_rows.Call, ...]  # eager kernels whose addresses are words


def width_of(program: Program, level: str) -> int:
    """Elements of a vector: two registers of the widest type."""
    widest = 1
    for node in program.nodes:
        if node.op not in ("number", "constant"):
            widest = max(widest, size_of(_rows.VALUE[node.dtype]))
        if node.compute and node.op in ("unary", "unary_grad", "binary", "ternary"):
            widest = max(widest, size_of(_rows.VALUE[node.compute]))
    return 2 * REGISTER[level] // max(widest, 2)


def emit(program: Program, layout: Layout, level: str, name: str = "kernel") -> Emitted:
    return _Emitter(program, layout, level).kernel(name)


class _Emitter:
    def __init__(self, program: Program, layout: Layout, level: str) -> None:
        self.program, self.layout, self.level = program, layout, level
        self.width = width_of(program, level)
        self.low = Lowering(self.width, level)
        self.calls: dict[_rows.Call, str] = {}
        self.params: dict[tuple[Any, ...], str] = {}
        self.invariants: dict[tuple[Any, ...], str] = {}
        self.numbers: dict[int, str] = {}  # vectors, by node
        self.values: dict[int, str] = {}  # of the loop that is written now
        self.row_values: dict[int, str] = {}  # of the row
        self.helpers: dict[str, str] = {}
        self.saved: dict[int, str] = {}  # kept from one sweep over a row to the next
        nodes = program.nodes
        self.stage = [0] * len(nodes)  # the sweep over the row that computes it
        self.per_row = [False] * len(nodes)  # one value for the row
        self.dear = [False] * len(nodes)  # cheaper to read again than to compute again
        for i, node in enumerate(nodes):
            stages = [self.stage[a] for a in node.args]
            self.stage[i] = max(stages, default=0) + (node.op == "reduce")
            if node.op in ("number", "constant", "reduce"):
                self.per_row[i] = True
            elif node.op != "load":
                self.per_row[i] = all(self.per_row[a] for a in node.args)
            if not self.per_row[i] and node.op != "load":
                row = node.op in ("unary", "unary_grad", "binary")
                own = row and node.name not in CHEAP
                self.dear[i] = own or any(self.dear[a] for a in node.args)

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
        return self.row_values[at] if at in self.row_values else self.values[at]

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

    def compute(self, at: int, node: Node) -> str:
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

        def call(type: str, given: list[V], rare: Any = None) -> V:
            function = self.function(node, native)
            room = self.params_room(
                node._replace(params=tuple(self._param(p) for p in node.params))
            )
            how = (*given, ("function", function), ("params", room))
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
        return self.low.lower(graph, [v], inputs)[0]

    def _param(self, value: Any) -> Any:
        """A position of a number node, or a constant."""
        if isinstance(value, int) and not isinstance(value, bool):
            node = self.program.nodes[value]
            if node.op == "number":
                return value
            value = node.value
        return constant(value)

    # --- the kernel ---

    def kernel(self, name: str) -> Emitted:
        low, program, rank = self.low, self.program, self.layout.rank
        dtypes = [""] * program.inputs
        for node in program.nodes:
            if node.op == "load":
                dtypes[node.slot] = node.dtype
        self.slots = dtypes + [program.nodes[at].dtype for at in program.outputs]
        low.block("start")
        if program.reduces:
            self.rows_loop()
        else:
            self.pieces_loop()
        low.line("ret void")
        entry = self.entry(rank)
        attributes = (
            '{ nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
        )
        text = [
            *low.declarations.values(),
            *self.helpers.values(),
            f"define void @{name}(ptr %words, i64 %begin, i64 %end) #0 {{",
            *entry,
            *low.head,
            "  br label %start",
            *low.lines,
            "}",
            f"attributes #0 = {attributes}",
        ]
        return Emitted("\n".join(text) + "\n", tuple(self.calls))

    def entry(self, rank: int) -> list[str]:
        """Reads the words."""
        lines, at = ["entry:"], 0

        def word(name: str, type: str) -> None:
            nonlocal at
            lines.append(f"  {name}.at = getelementptr i64, ptr %words, i64 {at}")
            lines.append(f"  {name} = load {type}, ptr {name}.at")
            at += 1

        word("%flag", "ptr")
        for i in range(len(self.slots)):
            word(f"%tensor{i}", "ptr")
        for function in self.calls.values():
            word(function, "ptr")
        for i in range(self.program.numbers):
            word(f"%number{i}", "i64")
        for d in range(rank):
            word(f"%size{d}", "i64")
        for i in range(len(self.slots)):
            for d in range(rank):
                word(f"%stride{i}.{d}", "i64")
        if self.layout.chunks:
            word("%total", "i64")
        return lines

    def is_row_slot(self, i: int) -> bool:
        """Whether an output has one element for each row."""
        out = i - self.program.inputs
        return out >= 0 and bool(self.program.rows and self.program.rows[out])

    def bases(self, row: str, column: str) -> list[str]:
        """Where each tensor begins, at a row and a column."""
        low, rank = self.low, self.layout.rank
        pointers = [f"%tensor{i}" for i in range(len(self.slots))]
        left = row
        for d in reversed(range(rank - 1)):
            if d > 0:
                index = low.new(f"urem i64 {left}, %size{d}")
                left = low.new(f"udiv i64 {left}, %size{d}")
            else:
                index = left
            for i, pointer in enumerate(pointers):
                step = low.new(f"mul i64 {index}, %stride{i}.{d}")
                pointers[i] = low.new(f"getelementptr i8, ptr {pointer}, i64 {step}")
        for i, pointer in enumerate(pointers):
            if column != "0" and not self.is_row_slot(i):
                step = low.new(f"mul i64 {column}, %stride{i}.{rank - 1}")
                pointers[i] = low.new(f"getelementptr i8, ptr {pointer}, i64 {step}")
        return pointers

    def pieces_loop(self) -> None:
        """Pointwise: elements begin .. end, in pieces of rows."""
        low, rank = self.low, self.layout.rank
        if rank == 1:
            self.base = self.bases("", "%begin")
            length = low.new("sub i64 %end, %begin")
            self.once_a_row()
            self.sweep(length, 0, list(range(len(self.program.outputs))))
            return
        low.line("br label %rows")
        low.block("rows")
        phi_at = len(low.lines)
        low.lines.append("")
        inner = f"%size{rank - 1}"
        row = low.new(f"udiv i64 %at, {inner}")
        column = low.new(f"urem i64 %at, {inner}")
        self.base = self.bases(row, column)
        rest = low.new(f"sub i64 {inner}, {column}")
        left = low.new("sub i64 %end, %at")
        less = low.new(f"icmp slt i64 {left}, {rest}")
        length = low.new(f"select i1 {less}, i64 {left}, i64 {rest}")
        self.once_a_row()
        self.sweep(length, 0, list(range(len(self.program.outputs))))
        following = low.new(f"add i64 %at, {length}")
        more = low.new(f"icmp slt i64 {following}, %end")
        low.lines[phi_at] = (
            f"  %at = phi i64 [ %begin, %start ], [ {following}, %{low.label} ]"
        )
        low.line(f"br i1 {more}, label %rows, label %done")
        low.block("done")

    def rows_loop(self) -> None:
        """With reductions: rows begin .. end, each in as many sweeps as it takes."""
        low, rank = self.low, self.layout.rank
        low.line("br label %rows")
        low.block("rows")
        phi_at = len(low.lines)
        low.lines.append("")
        length = f"%size{rank - 1}"
        if self.layout.chunks:
            first = low.new(f"mul i64 %at, {length}")
            rest = low.new(f"sub i64 %total, {first}")
            less = low.new(f"icmp slt i64 {rest}, {length}")
            length = low.new(f"select i1 {less}, i64 {rest}, i64 {length}")
            self.base = self.bases("", first)
            for i in range(len(self.slots)):
                if self.is_row_slot(i):
                    size = size_of(_rows.MEMORY[self.slots[i]])
                    step = low.new(f"mul i64 %at, {size}")
                    self.base[i] = low.new(
                        f"getelementptr i8, ptr %tensor{i}, i64 {step}"
                    )
        else:
            self.base = self.bases("%at", "0")
        self.length = length
        self.once_a_row()
        outputs = self.program.outputs
        wide = [k for k in range(len(outputs)) if not self.rows_output(k)]
        last = max(
            [self.stage[n.args[0]] for n in self.program.nodes if n.op == "reduce"]
            + [self.stage[outputs[k]] for k in wide]
        )
        written = [
            [k for k in wide if self.stage[outputs[k]] == stage]
            for stage in range(last + 1)
        ]
        if self.layout.short:
            self.save(written)
        for stage in range(last + 1):
            self.sweep(length, stage, written[stage])
        low.count = "1"
        narrow = [at for k, at in enumerate(outputs) if self.rows_output(k)]
        for at in self.needed(narrow, set()):
            self.row_values[at] = self.compute(at, self.program.nodes[at])
        for k, at in enumerate(outputs):
            if self.rows_output(k):
                self.store_row(k, at)
        following = low.new("add i64 %at, 1")
        more = low.new(f"icmp slt i64 {following}, %end")
        low.lines[phi_at] = (
            f"  %at = phi i64 [ %begin, %start ], [ {following}, %{low.label} ]"
        )
        low.line(f"br i1 {more}, label %rows, label %done")
        low.block("done")

    def roots(self, stage: int, outputs: list[int]) -> list[int]:
        """What a sweep is for: the operands of its reductions, and its outputs."""
        nodes = self.program.nodes
        roots = [
            node.args[0]
            for at, node in enumerate(nodes)
            if node.op == "reduce" and self.stage[at] == stage + 1
        ]
        return roots + [self.program.outputs[k] for k in outputs]

    def save(self, written: list[list[int]]) -> None:
        """Chooses what a sweep keeps for later ones: the last of what is dear."""
        for stage in range(1, len(written)):
            stack = self.roots(stage, written[stage])
            while stack:
                at = stack.pop()
                node = self.program.nodes[at]
                if self.per_row[at] or node.op == "load" or at in self.saved:
                    continue
                if self.stage[at] < stage and self.dear[at]:
                    room = self.low.name("kept")
                    type = _rows.VALUE[node.dtype]
                    size = f"[{SHORT_ROW + self.width} x {memory_type(type)}]"
                    self.low.head.append(f"  {room} = alloca {size}, align 64")
                    self.saved[at] = room
                else:
                    stack.extend(node.args)

    def kept(self, at: int, j: str) -> str:
        size = size_of(_rows.VALUE[self.program.nodes[at].dtype])
        step = self.low.new(f"mul i64 {j}, {size}")
        return self.low.new(f"getelementptr i8, ptr {self.saved[at]}, i64 {step}")

    def rows_output(self, k: int) -> bool:
        return bool(self.program.rows and self.program.rows[k])

    def store_row(self, k: int, at: int) -> None:
        slot = self.program.inputs + k
        value = self.stored(at, self.value(at))
        type = _rows.MEMORY[self.slots[slot]]
        one = self.low.new(f"extractelement {self.low.vector(type)} {value}, i32 0")
        if type == "b1":
            one = self.low.new(f"zext i1 {one} to i8")
        self.low.line(f"store {memory_type(type)} {one}, ptr {self.base[slot]}")

    # --- one loop along the last axis ---

    def once_a_row(self) -> None:
        """Forgets the row before; reads what all its elements have in common."""
        self.values, self.row_values = {}, {}
        for at, node in enumerate(self.program.nodes):
            if node.op == "load" and self.layout.patterns[node.slot] == "b":
                self.row_values[at] = self.read_one(node)

    def read_one(self, node: Node) -> str:
        low, type = self.low, _rows.MEMORY[node.dtype]
        one = low.new(f"load {memory_type(type)}, ptr {self.base[node.slot]}")
        if type == "b1":
            one = low.new(f"icmp ne i8 {one}, 0")
        return self.loaded(node, low.splat(type, one))

    def loaded(self, node: Node, raw: str) -> str:
        """From what is in memory to what is computed with."""
        if node.dtype not in _rows.NARROW:
            return raw
        graph = Graph(self.level)
        v = _rows.widened(graph.input("x", "u16"), node.dtype)
        return self.low.lower(graph, [v], {"x": raw})[0]

    def stored(self, at: int, value: str) -> str:
        dtype = self.program.nodes[at].dtype
        if dtype not in _rows.NARROW:
            return value
        graph = Graph(self.level)
        v = _rows.narrowed(graph.input("x", "f32"), dtype)
        return self.low.lower(graph, [v], {"x": value})[0]

    def needed(self, roots: list[int], known: set[int]) -> list[int]:
        """What is to be computed for some nodes, without what is known, in order."""
        seen: set[int] = set()
        stack = list(roots)
        while stack:
            at = stack.pop()
            if at in seen or at in known or at in self.row_values:
                continue
            if self.program.nodes[at].op not in ("number", "constant"):
                seen.add(at)
                stack.extend(self.program.nodes[at].args)
        return sorted(seen)

    def sweep(self, length: str, stage: int, outputs: list[int]) -> None:
        low, program = self.low, self.program
        reduces = [
            at
            for at, node in enumerate(program.nodes)
            if node.op == "reduce" and self.stage[at] == stage + 1
        ]
        roots = self.roots(stage, outputs)
        if not roots:
            return
        kept = [at for at in self.saved if self.stage[at] == stage]
        known = {at for at in self.saved if self.stage[at] < stage}
        low.count = "1"
        for at in self.needed(roots + kept, known):
            if self.per_row[at]:
                self.row_values[at] = self.compute(at, program.nodes[at])
        self.values = {}
        needed = self.needed(roots + kept, known)
        loads = [at for at in needed if program.nodes[at].op == "load"]
        totals = [Reduction(self, at, self.layout.long) for at in reduces]
        before = low.label
        loop, fix, body = (low.new_label(t) for t in ("loop", "fix", "body"))
        low.line(f"br label %{loop}")
        low.block(loop)
        j = low.name("j")
        phi_at = len(low.lines)
        low.lines.append("")
        for total in totals:
            total.phis()
        left = low.new(f"sub i64 {length}, {j}")
        partial = low.new(f"icmp slt i64 {left}, {self.width}")
        low.count = low.new(f"select i1 {partial}, i64 {left}, i64 {self.width}")
        pointers = self.sources(loads, outputs, j, partial, fix, body)
        self.vectors(loads, pointers)
        for at in sorted(known):
            type = _rows.VALUE[program.nodes[at].dtype]
            self.values[at] = low.load(type, self.kept(at, j))
        for at in needed:
            if at not in self.values:
                self.values[at] = self.compute(at, program.nodes[at])
        for at in kept:
            type = _rows.VALUE[program.nodes[at].dtype]
            low.store(type, self.value(at), self.kept(at, j))
        after, latch = low.new_label("after"), low.new_label("latch")
        rooms = self.stores(outputs, pointers)
        for total in totals:
            total.add()
        self.targets(outputs, rooms, j, partial, after, latch)
        following = low.new(f"add i64 {j}, {self.width}")
        more = low.new(f"icmp slt i64 {following}, {length}")
        low.lines[phi_at] = (
            f"  {j} = phi i64 [ 0, %{before} ], [ {following}, %{low.label} ]"
        )
        for total in totals:
            total.close(before, low.label)
        end = low.new_label("end")
        low.line(f"br i1 {more}, label %{loop}, label %{end}")
        low.block(end)
        self.values = {}
        low.count = "1"
        for at, total in zip(reduces, totals, strict=True):
            self.row_values[at] = total.result()

    def address(self, slot: int, j: str) -> str:
        low = self.low
        if self.layout.patterns[slot] == "c":
            size = size_of(_rows.MEMORY[self.slots[slot]])
            step = low.new(f"mul i64 {j}, {size}")
        else:
            step = low.new(f"mul i64 {j}, %stride{slot}.{self.layout.rank - 1}")
        return low.new(f"getelementptr i8, ptr {self.base[slot]}, i64 {step}")

    def room(self, slot: int) -> str:
        return self.low.buffer(_rows.MEMORY[self.slots[slot]], ("slot", slot))

    def sources(
        self,
        loads: list[int],
        outputs: list[int],
        j: str,
        partial: str,
        fix: str,
        body: str,
    ) -> dict[int, str]:
        """Where each slot is read or written in this turn: in place, or in a room."""
        low, patterns = self.low, self.layout.patterns
        read = [self.program.nodes[at].slot for at in loads]
        written = [self.program.inputs + k for k in outputs]
        direct = {s: self.address(s, j) for s in read + written}
        for slot in read:
            if patterns[slot] == "s":
                last = f"%stride{slot}.{self.layout.rank - 1}"
                self.strided("gather", slot, self.room(slot), direct[slot], last)
        close = [s for s in read + written if patterns[s] == "c"]
        start = low.label
        low.line(f"br i1 {partial}, label %{fix}, label %{body}")
        low.block(fix)
        for slot in read:
            if patterns[slot] == "c":
                self.near("gather", slot, direct[slot])
        low.line(f"br label %{body}")
        low.block(body)
        pointers = {s: self.room(s) for s in read + written if patterns[s] != "c"}
        for slot in close:
            pointers[slot] = low.new(
                f"phi ptr [ {direct[slot]}, %{start} ], [ {self.room(slot)}, %{fix} ]"
            )
        self.direct = direct
        return pointers

    def vectors(self, loads: list[int], pointers: dict[int, str]) -> None:
        for at in loads:
            node = self.program.nodes[at]
            raw = self.low.load(_rows.MEMORY[node.dtype], pointers[node.slot])
            self.values[at] = self.loaded(node, raw)

    def stores(self, outputs: list[int], pointers: dict[int, str]) -> list[int]:
        # All is computed before anything is written: an output may be an input.
        values = []
        for k in outputs:
            at = self.program.outputs[k]
            values.append(self.stored(at, self.value(at)))
        slots = [self.program.inputs + k for k in outputs]
        for slot, value in zip(slots, values, strict=True):
            self.low.store(_rows.MEMORY[self.slots[slot]], value, pointers[slot])
        return slots

    def targets(
        self,
        outputs: list[int],
        slots: list[int],
        j: str,
        partial: str,
        after: str,
        latch: str,
    ) -> None:
        """Moves what is in rooms to where it belongs."""
        low, patterns = self.low, self.layout.patterns
        if any(patterns[slot] == "c" for slot in slots):
            low.line(f"br i1 {partial}, label %{after}, label %{latch}")
            low.block(after)
            for slot in slots:
                if patterns[slot] == "c":
                    self.near("scatter", slot, self.direct[slot])
            low.line(f"br label %{latch}")
            low.block(latch)
        for slot in slots:
            if patterns[slot] == "s":
                last = f"%stride{slot}.{self.layout.rank - 1}"
                self.strided("scatter", slot, self.room(slot), self.direct[slot], last)

    def near(self, way: str, slot: int, at: str) -> None:
        """The tail of what lies together. Not by memcpy, which would have to be found
        when the code is loaded."""
        size = size_of(_rows.MEMORY[self.slots[slot]])
        self.strided(way, slot, self.room(slot), at, str(size))

    def strided(self, way: str, slot: int, room: str, at: str, stride: str) -> None:
        size = size_of(_rows.MEMORY[self.slots[slot]])
        name = f"{way}{size}"
        self.helpers[name] = _HELPER.format(
            name=name,
            type=f"i{size * 8}",
            size=size,
            source="%far" if way == "gather" else "%near",
            target="%near" if way == "gather" else "%far",
        )
        self.low.line(
            f"call void @{name}(ptr {room}, ptr {at}, i64 {stride}, "
            f"i64 {self.low.count})"
        )


# Between a room, where elements follow each other, and memory, where they are apart.
_HELPER = """\
define internal void @{name}(ptr %room, ptr %at, i64 %stride, i64 %count) nounwind {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %near = phi ptr [ %room, %entry ], [ %near.next, %loop ]
  %far = phi ptr [ %at, %entry ], [ %far.next, %loop ]
  %v = load {type}, ptr {source}, align 1
  store {type} %v, ptr {target}, align 1
  %next = add i64 %i, 1
  %near.next = getelementptr i8, ptr %near, i64 {size}
  %far.next = getelementptr i8, ptr %far, i64 %stride
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}"""
