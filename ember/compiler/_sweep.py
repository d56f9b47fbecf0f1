"""Loops over the elements of one unit of work, each of which reads, computes and writes
vectors: along a row; along several rows that are reduced together; down columns.

The last turn of a loop along a row works on copies of its operands that are as long as
a vector, so there is one copy of the code for every length.
"""

from __future__ import annotations

from typing import NamedTuple

from ember.compiler import _rows
from ember.compiler._layout import SHORT_ROW, Layout
from ember.compiler._lower import Lowering, memory_type, size_of
from ember.compiler._memory import Memory
from ember.compiler._program import Program
from ember.compiler._reduce import Reduction
from ember.compiler._stages import Stages
from ember.compiler._values import Values


class Work(NamedTuple):
    """What one sweep has to do: nodes, outputs, reductions."""

    loads: list[int]
    needed: list[int]
    kept: list[int]  # written to memory, for later sweeps
    known: list[int]  # read from there
    outputs: list[int]
    totals: list[Reduction]


class Sweeps:
    def __init__(
        self, program: Program, layout: Layout, low: Lowering, level: str
    ) -> None:
        self.program, self.layout, self.low = program, layout, low
        self.values = Values(program, level, low)
        self.memory = Memory(program, layout, low)
        self.stages = Stages(program, layout.patterns)
        self.saved: dict[int, str] = {}  # kept from one sweep over a row to the next
        self.length = ""  # of the row, or elements of the columns
        self.turns = ""  # rows that are reduced together, or elements of a column
        self.size = ""  # elements that are reduced together
        self.partial = ""  # whether there are fewer columns than a vector holds

    def begin(self) -> None:
        """Forgets the unit before; reads what all elements of a row have in common."""
        self.values.vectors, self.values.rows = {}, {}
        for at, node in enumerate(self.program.nodes):
            if node.op == "load" and self.stages.per_row[at]:
                self.values.rows[at] = self.read_row(at)
        if not self.layout.columns and self.layout.reduced == 1:
            for at in self.common():
                self.values.rows[at] = self.read_one(at, self.memory.base)

    def common(self) -> list[int]:
        return [
            at
            for at, node in enumerate(self.program.nodes)
            if node.op == "load" and self.layout.patterns[node.slot] == "b"
        ]

    def read_one(self, at: int, places: dict[int, str]) -> str:
        low, node = self.low, self.program.nodes[at]
        type = _rows.MEMORY[node.dtype]
        one = low.new(f"load {memory_type(type)}, ptr {places[node.slot]}")
        if type == "b1":
            one = low.new(f"icmp ne i8 {one}, 0")
        return self.values.loaded(node, low.splat(type, one))

    def read_row(self, at: int) -> str:
        """What there is once a unit: of rows an element, of columns a vector."""
        low, memory, node = self.low, self.memory, self.program.nodes[at]
        if memory.letter(node.slot) == "b" or not self.layout.columns:
            return self.read_one(at, memory.base)
        low.count = self.count_of_row()
        fix, body = low.new_label("fix"), low.new_label("body")
        pointers = memory.sources([at], [], memory.base, self.partial, fix, body)
        raw = low.load(_rows.MEMORY[node.dtype], pointers[node.slot])
        return self.values.loaded(node, raw)

    def count_of_row(self) -> str:
        """Elements of a vector that matter, of what there is once a unit."""
        return self.length if self.layout.columns else "1"

    def save(self, written: list[list[int]]) -> None:
        """Makes room for what a sweep keeps for later ones."""
        for at in self.stages.kept(written):
            room = self.low.name("kept")
            type = memory_type(_rows.VALUE[self.program.nodes[at].dtype])
            size = f"[{SHORT_ROW + self.low.width} x {type}]"
            self.low.head.append(f"  {room} = alloca {size}, align 64")
            self.saved[at] = room

    def place(self, at: int, j: str) -> str:
        size = size_of(_rows.VALUE[self.program.nodes[at].dtype])
        step = self.low.new(f"mul i64 {j}, {size}")
        return self.low.new(f"getelementptr i8, ptr {self.saved[at]}, i64 {step}")

    def needed(self, roots: list[int], known: list[int]) -> list[int]:
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

    def sweep(self, stage: int, outputs: list[int]) -> None:
        program, values = self.program, self.values
        reduces = self.stages.reduces(stage)
        roots = self.stages.roots(stage, outputs)
        if not roots:
            return
        kept = [at for at in self.saved if self.stages.stage[at] == stage]
        known = sorted(at for at in self.saved if self.stages.stage[at] < stage)
        self.low.count = self.count_of_row()
        for at in self.needed(roots + kept, known):
            if self.stages.per_row[at]:
                values.rows[at] = values.compute(at)
        values.vectors = {}
        needed = self.needed(roots + kept, known)
        loads = [at for at in needed if program.nodes[at].op == "load"]
        totals = [Reduction(values, at, self.layout) for at in reduces]
        work = Work(loads, needed, kept, known, outputs, totals)
        if self.layout.columns:
            self.down(work)
        elif self.layout.reduced > 1:
            self.across(work)
        else:
            self.along(work)
        values.vectors = {}
        self.low.count = self.count_of_row()
        for at, total in zip(reduces, totals, strict=True):
            values.rows[at] = total.result(self.size)

    def along(self, work: Work) -> None:
        """A row, from the beginning to the end."""
        low = self.low
        before = low.label
        loop, fix, body = (low.new_label(t) for t in ("loop", "fix", "body"))
        low.line(f"br label %{loop}")
        low.block(loop)
        j = low.name("j")
        phi_at = len(low.lines)
        low.lines.append("")
        for total in work.totals:
            total.phis()
        left = low.new(f"sub i64 {self.length}, {j}")
        partial = low.new(f"icmp slt i64 {left}, {low.width}")
        low.count = low.new(f"select i1 {partial}, i64 {left}, i64 {low.width}")
        direct = {slot: self.memory.address(slot, j) for slot in self.slots(work)}
        self.turn(work, direct, j, partial, fix, body)
        following = low.new(f"add i64 {j}, {low.width}")
        more = low.new(f"icmp slt i64 {following}, {self.length}")
        low.lines[phi_at] = (
            f"  {j} = phi i64 [ 0, %{before} ], [ {following}, %{low.label} ]"
        )
        for total in work.totals:
            total.close(before, low.label)
        end = low.new_label("end")
        low.line(f"br i1 {more}, label %{loop}, label %{end}")
        low.block(end)

    def across(self, work: Work) -> None:
        """Several rows, one after the other."""
        low, memory, values = self.low, self.memory, self.values
        for total in work.totals:
            total.park()
        beginning, before = memory.base, low.label
        loop = low.new_label("loop")
        low.line(f"br label %{loop}")
        low.block(loop)
        row = low.name("row")
        phi_at = len(low.lines)
        low.lines.append("")
        rank = self.layout.rank
        axes = range(rank - self.layout.reduced, rank - 1)
        memory.base = memory.moved(beginning, axes, row)
        common = [at for at in self.common() if at in work.loads]
        for at in common:
            values.rows[at] = self.read_one(at, memory.base)
        for total in work.totals:
            total.resume()
        rest = [[at for at in nodes if at not in common] for nodes in work[:2]]
        self.along(work._replace(loads=rest[0], needed=rest[1]))
        for total in work.totals:
            total.suspend()
        for at in common:
            del values.rows[at]
        following = low.new(f"add i64 {row}, 1")
        more = low.new(f"icmp slt i64 {following}, {self.turns}")
        low.lines[phi_at] = (
            f"  {row} = phi i64 [ 0, %{before} ], [ {following}, %{low.label} ]"
        )
        end = low.new_label("end")
        low.line(f"br i1 {more}, label %{loop}, label %{end}")
        low.block(end)
        memory.base = beginning

    def down(self, work: Work) -> None:
        """As many columns as a vector has elements, from the top to the bottom."""
        low, layout = self.low, self.layout
        before = low.label
        loop, fix, body = (low.new_label(t) for t in ("loop", "fix", "body"))
        low.line(f"br label %{loop}")
        low.block(loop)
        row = low.name("row")
        phi_at = len(low.lines)
        low.lines.append("")
        for total in work.totals:
            total.phis()
        axes = range(layout.rank - layout.reduced, layout.rank)
        base = {slot: self.memory.base[slot] for slot in self.slots(work)}
        direct = self.memory.moved(base, axes, row)
        self.turn(work, direct, "0", self.partial, fix, body)
        following = low.new(f"add i64 {row}, 1")
        more = low.new(f"icmp slt i64 {following}, {self.turns}")
        low.lines[phi_at] = (
            f"  {row} = phi i64 [ 0, %{before} ], [ {following}, %{low.label} ]"
        )
        for total in work.totals:
            total.close(before, low.label)
        end = low.new_label("end")
        low.line(f"br i1 {more}, label %{loop}, label %{end}")
        low.block(end)

    def slots(self, work: Work) -> list[int]:
        read = [self.program.nodes[at].slot for at in work.loads]
        return read + [self.program.inputs + k for k in work.outputs]

    def turn(
        self,
        work: Work,
        direct: dict[int, str],
        j: str,
        partial: str,
        fix: str,
        body: str,
    ) -> None:
        """One vector of everything."""
        low, program, values = self.low, self.program, self.values
        common = [at for at in self.common() if at in work.loads]
        loads = [at for at in work.loads if at not in common]
        pointers = self.memory.sources(loads, work.outputs, direct, partial, fix, body)
        for at in common:
            values.vectors[at] = self.read_one(at, direct)
        for at in loads:
            node = program.nodes[at]
            raw = low.load(_rows.MEMORY[node.dtype], pointers[node.slot])
            values.vectors[at] = values.loaded(node, raw)
        for at in work.known:
            type = _rows.VALUE[program.nodes[at].dtype]
            values.vectors[at] = low.load(type, self.place(at, j))
        for at in work.needed:
            if at not in values.vectors:
                values.vectors[at] = values.compute(at)
        for at in work.kept:
            type = _rows.VALUE[program.nodes[at].dtype]
            low.store(type, values.value(at), self.place(at, j))
        after, latch = low.new_label("after"), low.new_label("latch")
        # All is computed before anything is written: an output may be an input.
        stored = [values.stored(program.outputs[k]) for k in work.outputs]
        for k, value in zip(work.outputs, stored, strict=True):
            slot = program.inputs + k
            low.store(_rows.MEMORY[self.memory.slots[slot]], value, pointers[slot])
        for total in work.totals:
            total.add()
        self.memory.targets(work.outputs, direct, partial, after, latch)

    # --- what a unit has one of ---

    def write_rows(self) -> None:
        """The outputs with one element for all that is reduced together."""
        outputs = self.program.outputs
        narrow = [k for k in range(len(outputs)) if self.stages.narrow(k)]
        self.low.count = self.count_of_row()
        for at in self.needed([outputs[k] for k in narrow], []):
            self.values.rows[at] = self.values.compute(at)
        for k in narrow:
            if self.layout.columns:
                self.store_columns(k)
            else:
                self.store_row(k)

    def store_row(self, k: int) -> None:
        slot = self.program.inputs + k
        value = self.values.stored(self.program.outputs[k])
        type = _rows.MEMORY[self.memory.slots[slot]]
        one = self.low.new(f"extractelement {self.low.vector(type)} {value}, i32 0")
        if type == "b1":
            one = self.low.new(f"zext i1 {one} to i8")
        self.low.line(f"store {memory_type(type)} {one}, ptr {self.memory.base[slot]}")

    def store_columns(self, k: int) -> None:
        low, memory = self.low, self.memory
        slot = self.program.inputs + k
        value = self.values.stored(self.program.outputs[k])
        pointer = memory.room(slot)
        if self.layout.patterns[slot] == "c":
            way = f"i1 {self.partial}, ptr {pointer}, ptr {memory.base[slot]}"
            pointer = low.new(f"select {way}")
        low.store(_rows.MEMORY[memory.slots[slot]], value, pointer)
        after, latch = low.new_label("after"), low.new_label("latch")
        memory.targets([k], memory.base, self.partial, after, latch)
