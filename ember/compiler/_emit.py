"""A program in one layout as LLVM's text: a function that does units of its work.

Explicit vectors of a few native registers, no passes over the text, no fast-math.
docs/compile.md says what the words are; _sweep.py has the loops within a unit.
"""

from __future__ import annotations

from typing import NamedTuple

from ember.compiler import _rows
from ember.compiler._layout import LEAST, Layout, width_of
from ember.compiler._lower import Lowering
from ember.compiler._program import Program
from ember.compiler._sweep import Sweeps


class Emitted(NamedTuple):
    text: str
    calls: tuple[_rows.Call, ...]  # eager kernels whose addresses are words


def emit(program: Program, layout: Layout, level: str, name: str = "kernel") -> Emitted:
    return _Emitter(program, layout, level).kernel(name)


class _Emitter:
    def __init__(self, program: Program, layout: Layout, level: str) -> None:
        self.program, self.layout = program, layout
        width = layout.columns or width_of(program, level, layout.chunks)
        if layout.inner:
            width = min(width, max(layout.inner, LEAST))
        self.low = Lowering(width, level)
        self.sweeps = Sweeps(program, layout, self.low, level)
        self.memory = self.sweeps.memory

    def kernel(self, name: str) -> Emitted:
        low, memory, calls = self.low, self.memory, self.sweeps.values.calls
        low.block("start")
        if self.program.reduces:
            self.units_loop()
        else:
            self.pieces_loop()
        low.line("ret void")
        attributes = (
            '{ nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
        )
        text = [
            *low.declarations.values(),
            *memory.helpers.values(),
            *low.functions,
            f"define void @{name}(ptr %words, i64 %begin, i64 %end) #0 {{",
            *memory.entry(calls),
            *low.head,
            "  br label %start",
            *low.lines,
            "}",
            f"attributes #0 = {attributes}",
            '!0 = !{!"branch_weights", i32 1, i32 100000}',  # of what is rare
        ]
        return Emitted("\n".join(text) + "\n", tuple(calls))

    def pieces_loop(self) -> None:
        """Pointwise: elements begin .. end, in pieces of rows."""
        low, memory, rank = self.low, self.memory, self.layout.rank
        outputs = list(range(len(self.program.outputs)))
        if rank == 1:
            memory.base = memory.moved(memory.tensors, [0], "%begin")
            self.sweeps.length = low.new("sub i64 %end, %begin")
            self.sweeps.begin()
            self.sweeps.sweep(0, outputs)
            return
        low.line("br label %rows")
        low.block("rows")
        phi_at = len(low.lines)
        low.lines.append("")
        inner = f"%size{rank - 1}"
        row = low.new(f"udiv i64 %at, {inner}")
        column = low.new(f"urem i64 %at, {inner}")
        memory.base = memory.moved(memory.tensors, range(rank - 1), row)
        memory.base = memory.moved(memory.base, [rank - 1], column)
        rest = low.new(f"sub i64 {inner}, {column}")
        left = low.new("sub i64 %end, %at")
        length = self.sweeps.length = self.least(left, rest)
        self.sweeps.begin()
        self.sweeps.sweep(0, outputs)
        self.next_unit(phi_at, length)

    def least(self, a: str, b: str) -> str:
        less = self.low.new(f"icmp slt i64 {a}, {b}")
        return self.low.new(f"select i1 {less}, i64 {a}, i64 {b}")

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

    def units_loop(self) -> None:
        """With reductions: units begin .. end, each in as many sweeps as it takes."""
        low, memory, sweeps = self.low, self.memory, self.sweeps
        low.line("br label %rows")
        low.block("rows")
        phi_at = len(low.lines)
        low.lines.append("")
        stay = self.layout.rank - self.layout.reduced
        if self.layout.columns:
            self.columns(stay - 1)
        else:
            memory.base = memory.moved(memory.tensors, range(stay), "%at")
            self.piece = self.first_of("%at", range(stay))
        self.sizes(stay)
        sweeps.begin()
        written = sweeps.stages.written()
        if self.layout.short:
            sweeps.save(written)
        for stage, outputs in enumerate(written):
            sweeps.sweep(stage, outputs)
        sweeps.write_rows()
        self.next_unit(phi_at, "1")

    def columns(self, axis: int) -> None:
        """A unit is a tile of columns of what lies before them."""
        low, memory, width = self.low, self.memory, self.low.width
        more = low.new(f"add i64 %size{axis}, {width - 1}")
        tiles = low.new(f"udiv i64 {more}, {width}")
        place = low.new(f"udiv i64 %at, {tiles}")
        tile = low.new(f"urem i64 %at, {tiles}")
        first = low.new(f"mul i64 {tile}, {width}")
        memory.base = memory.moved(memory.tensors, range(axis), place)
        memory.base = memory.moved(memory.base, [axis], first)
        left = low.new(f"sub i64 %size{axis}, {first}")
        self.sweeps.partial = low.new(f"icmp slt i64 {left}, {width}")
        self.sweeps.length = self.least(left, str(width))
        self.piece = self.first_of(place, range(axis))

    def first_of(self, index: str, axes: range) -> str:
        """The place on the first axis of a flat index over a few: the piece."""
        if not self.layout.chunks:
            return ""
        for d in axes[1:]:
            index = self.low.new(f"udiv i64 {index}, %size{d}")
        return index

    def sizes(self, stay: int) -> None:
        """What is reduced together: `sweeps.length`, `.turns` and `.size`."""
        low, layout = self.low, self.layout
        counts = [f"%size{d}" for d in range(stay, layout.rank)]
        if layout.chunks:
            first = low.new(f"mul i64 {self.piece}, {counts[0]}")
            rest = low.new(f"sub i64 %total, {first}")
            counts[0] = self.least(rest, counts[0])
        if not layout.columns:
            self.sweeps.length = counts.pop()
        turns = counts[0] if counts else ""
        for count in counts[1:]:
            turns = low.new(f"mul i64 {turns}, {count}")
        self.sweeps.turns = self.sweeps.size = turns
        if not layout.columns:
            self.sweeps.size = self.sweeps.length
            if turns:
                self.sweeps.size = low.new(f"mul i64 {turns}, {self.sweeps.length}")
