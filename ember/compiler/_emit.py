"""A program in one layout as LLVM's text: loops, loads and stores, and the tail.

Explicit vectors of two native registers, no passes over the text, no fast-math. The
last turn of a loop works on copies of its operands that are as long as a vector, so
there is one copy of the code for every length. docs/compile.md says what the words are.
"""

from __future__ import annotations

from typing import NamedTuple

from ember.compiler import _rows
from ember.compiler._layout import SHORT_ROW, Layout, width_of
from ember.compiler._lower import Lowering, memory_type, size_of
from ember.compiler._memory import Memory
from ember.compiler._program import Node, Program
from ember.compiler._reduce import Reduction
from ember.compiler._stages import Stages
from ember.compiler._values import Values


class Emitted(NamedTuple):
    text: str
    calls: tuple[_rows.Call, ...]  # eager kernels whose addresses are words


def emit(program: Program, layout: Layout, level: str, name: str = "kernel") -> Emitted:
    return _Emitter(program, layout, level).kernel(name)


class _Emitter:
    def __init__(self, program: Program, layout: Layout, level: str) -> None:
        self.program, self.layout = program, layout
        self.width = width_of(program, level)
        self.low = Lowering(self.width, level)
        self.values = Values(program, level, self.low)
        self.memory = Memory(program, layout, self.low)
        self.stages = Stages(program)
        self.saved: dict[int, str] = {}  # kept from one sweep over a row to the next

    def kernel(self, name: str) -> Emitted:
        low = self.low
        low.block("start")
        if self.program.reduces:
            self.rows_loop()
        else:
            self.pieces_loop()
        low.line("ret void")
        entry = self.memory.entry(self.values.calls)
        attributes = (
            '{ nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
        )
        text = [
            *low.declarations.values(),
            *self.memory.helpers.values(),
            f"define void @{name}(ptr %words, i64 %begin, i64 %end) #0 {{",
            *entry,
            *low.head,
            "  br label %start",
            *low.lines,
            "}",
            f"attributes #0 = {attributes}",
        ]
        return Emitted("\n".join(text) + "\n", tuple(self.values.calls))

    def pieces_loop(self) -> None:
        """Pointwise: elements begin .. end, in pieces of rows."""
        low, memory, rank = self.low, self.memory, self.layout.rank
        if rank == 1:
            memory.base = memory.bases("", "%begin")
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
        memory.base = memory.bases(row, column)
        rest = low.new(f"sub i64 {inner}, {column}")
        left = low.new("sub i64 %end, %at")
        less = low.new(f"icmp slt i64 {left}, {rest}")
        length = low.new(f"select i1 {less}, i64 {left}, i64 {rest}")
        self.once_a_row()
        self.sweep(length, 0, list(range(len(self.program.outputs))))
        self.next_unit(phi_at, length)

    def next_unit(self, phi_at: int, step: str) -> None:
        """The end of the loop over what begin .. end counts."""
        low = self.low
        following = low.new(f"add i64 %at, {step}")
        more = low.new(f"icmp slt i64 {following}, %end")
        low.lines[phi_at] = (
            f"  %at = phi i64 [ %begin, %start ], [ {following}, %{low.label} ]"
        )
        low.line(f"br i1 {more}, label %rows, label %done")
        low.block("done")

    def rows_loop(self) -> None:
        """With reductions: rows begin .. end, each in as many sweeps as it takes."""
        low, memory = self.low, self.memory
        low.line("br label %rows")
        low.block("rows")
        phi_at = len(low.lines)
        low.lines.append("")
        length = f"%size{self.layout.rank - 1}"
        if self.layout.chunks:
            first = low.new(f"mul i64 %at, {length}")
            rest = low.new(f"sub i64 %total, {first}")
            less = low.new(f"icmp slt i64 {rest}, {length}")
            length = low.new(f"select i1 {less}, i64 {rest}, i64 {length}")
            memory.base = memory.bases("", first)
            for i, dtype in enumerate(memory.slots):
                if memory.is_row_slot(i):
                    step = low.new(f"mul i64 %at, {size_of(_rows.MEMORY[dtype])}")
                    memory.base[i] = low.new(
                        f"getelementptr i8, ptr %tensor{i}, i64 {step}"
                    )
        else:
            memory.base = memory.bases("%at", "0")
        self.once_a_row()
        written = self.stages.written()
        if self.layout.short:
            self.save(written)
        for stage, outputs in enumerate(written):
            self.sweep(length, stage, outputs)
        low.count = "1"
        narrow = [k for k in range(len(self.program.outputs)) if self.stages.narrow(k)]
        outputs_at = [self.program.outputs[k] for k in narrow]
        for at in self.needed(outputs_at, set()):
            self.values.rows[at] = self.values.compute(at)
        for k in narrow:
            self.store_row(k)
        self.next_unit(phi_at, "1")

    def save(self, written: list[list[int]]) -> None:
        """Makes room for what a sweep keeps for later ones."""
        for at in self.stages.kept(written):
            room = self.low.name("kept")
            type = memory_type(_rows.VALUE[self.program.nodes[at].dtype])
            size = f"[{SHORT_ROW + self.width} x {type}]"
            self.low.head.append(f"  {room} = alloca {size}, align 64")
            self.saved[at] = room

    def kept(self, at: int, j: str) -> str:
        size = size_of(_rows.VALUE[self.program.nodes[at].dtype])
        step = self.low.new(f"mul i64 {j}, {size}")
        return self.low.new(f"getelementptr i8, ptr {self.saved[at]}, i64 {step}")

    def store_row(self, k: int) -> None:
        slot = self.program.inputs + k
        value = self.values.stored(self.program.outputs[k])
        type = _rows.MEMORY[self.memory.slots[slot]]
        one = self.low.new(f"extractelement {self.low.vector(type)} {value}, i32 0")
        if type == "b1":
            one = self.low.new(f"zext i1 {one} to i8")
        self.low.line(f"store {memory_type(type)} {one}, ptr {self.memory.base[slot]}")

    # --- one loop along the last axis ---

    def once_a_row(self) -> None:
        """Forgets the row before; reads what all its elements have in common."""
        self.values.vectors, self.values.rows = {}, {}
        for at, node in enumerate(self.program.nodes):
            if node.op == "load" and self.layout.patterns[node.slot] == "b":
                self.values.rows[at] = self.read_one(node)

    def read_one(self, node: Node) -> str:
        low, type = self.low, _rows.MEMORY[node.dtype]
        pointer = self.memory.base[node.slot]
        one = low.new(f"load {memory_type(type)}, ptr {pointer}")
        if type == "b1":
            one = low.new(f"icmp ne i8 {one}, 0")
        return self.values.loaded(node, low.splat(type, one))

    def needed(self, roots: list[int], known: set[int]) -> list[int]:
        """What is to be computed for some nodes, without what is known, in order."""
        seen: set[int] = set()
        stack = list(roots)
        while stack:
            at = stack.pop()
            if at in seen or at in known or at in self.values.rows:
                continue
            if self.program.nodes[at].op not in ("number", "constant"):
                seen.add(at)
                stack.extend(self.program.nodes[at].args)
        return sorted(seen)

    def sweep(self, length: str, stage: int, outputs: list[int]) -> None:
        low, program, values = self.low, self.program, self.values
        reduces = self.stages.reduces(stage)
        roots = self.stages.roots(stage, outputs)
        if not roots:
            return
        kept = [at for at in self.saved if self.stages.stage[at] == stage]
        known = {at for at in self.saved if self.stages.stage[at] < stage}
        low.count = "1"
        for at in self.needed(roots + kept, known):
            if self.stages.per_row[at]:
                values.rows[at] = values.compute(at)
        values.vectors = {}
        needed = self.needed(roots + kept, known)
        loads = [at for at in needed if program.nodes[at].op == "load"]
        totals = [Reduction(values, at, self.layout.long) for at in reduces]
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
        pointers = self.memory.sources(loads, outputs, j, partial, fix, body)
        self.load(loads, pointers)
        for at in sorted(known):
            type = _rows.VALUE[program.nodes[at].dtype]
            values.vectors[at] = low.load(type, self.kept(at, j))
        for at in needed:
            if at not in values.vectors:
                values.vectors[at] = values.compute(at)
        for at in kept:
            type = _rows.VALUE[program.nodes[at].dtype]
            low.store(type, values.value(at), self.kept(at, j))
        after, latch = low.new_label("after"), low.new_label("latch")
        self.store(outputs, pointers)
        for total in totals:
            total.add()
        self.memory.targets(outputs, partial, after, latch)
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
        values.vectors = {}
        low.count = "1"
        for at, total in zip(reduces, totals, strict=True):
            values.rows[at] = total.result(length)

    def load(self, loads: list[int], pointers: dict[int, str]) -> None:
        for at in loads:
            node = self.program.nodes[at]
            raw = self.low.load(_rows.MEMORY[node.dtype], pointers[node.slot])
            self.values.vectors[at] = self.values.loaded(node, raw)

    def store(self, outputs: list[int], pointers: dict[int, str]) -> None:
        # All is computed before anything is written: an output may be an input.
        stored = [self.values.stored(self.program.outputs[k]) for k in outputs]
        for k, value in zip(outputs, stored, strict=True):
            slot = self.program.inputs + k
            self.low.store(_rows.MEMORY[self.memory.slots[slot]], value, pointers[slot])
