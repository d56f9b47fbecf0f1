"""Where operands are: the words of a call, addresses, and the rooms through which goes
what is not one after the other, and the tail.
"""

from __future__ import annotations

from collections.abc import Sequence

from ember.compiler import _rows
from ember.compiler._layout import Layout
from ember.compiler._lower import Lowering, size_of
from ember.compiler._program import Program

# Bytes of the smallest elements of which a level reads and writes some of a vector.
_MASKED = {"baseline": 16, "avx2": 4, "avx512": 1}


class Memory:
    """The tensors of a program: its inputs, then its outputs."""

    def __init__(self, program: Program, layout: Layout, low: Lowering) -> None:
        self.program, self.layout, self.low = program, layout, low
        self.helpers: dict[str, str] = {}
        dtypes = [""] * program.inputs
        for node in program.nodes:
            if node.op == "load":
                dtypes[node.slot] = node.dtype
        self.slots = dtypes + [program.nodes[at].dtype for at in program.outputs]
        self.tensors = {i: f"%tensor{i}" for i in range(len(self.slots))}
        self.base = self.tensors  # where the unit of work begins

    def entry(self, calls: dict[_rows.Call, str]) -> list[str]:
        """Reads the words."""
        lines, at, rank = ["entry:"], 0, self.layout.rank

        def word(name: str, type: str) -> None:
            nonlocal at
            lines.append(f"  {name}.at = getelementptr i64, ptr %words, i64 {at}")
            lines.append(f"  {name} = load {type}, ptr {name}.at")
            at += 1

        word("%flag", "ptr")
        for i in range(len(self.slots)):
            word(f"%tensor{i}", "ptr")
        for function in calls.values():
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

    def moved(
        self, places: dict[int, str], axes: Sequence[int], index: str
    ) -> dict[int, str]:
        """The place of each tensor, so many steps on through a few axes."""
        low, places = self.low, dict(places)
        for d in reversed(axes):
            at = index
            if d != axes[0]:
                at = low.new(f"urem i64 {index}, %size{d}")
                index = low.new(f"udiv i64 {index}, %size{d}")
            for slot, place in places.items():
                step = low.new(f"mul i64 {at}, %stride{slot}.{d}")
                places[slot] = low.new(f"getelementptr i8, ptr {place}, i64 {step}")
        return places

    def address(self, slot: int, j: str) -> str:
        """So many elements on along the vectorised axis."""
        low = self.low
        if self.letter(slot) == "c":
            size = size_of(_rows.MEMORY[self.slots[slot]])
            step = low.new(f"mul i64 {j}, {size}")
        else:
            step = low.new(f"mul i64 {j}, {self.stride(slot)}")
        return low.new(f"getelementptr i8, ptr {self.base[slot]}, i64 {step}")

    def letter(self, slot: int) -> str:
        """c, b or s: `Layout`."""
        return self.layout.patterns[slot].lower()

    def stride(self, slot: int) -> str:
        return f"%stride{slot}.{self.layout.axis}"

    def room(self, slot: int) -> str:
        return self.low.buffer(_rows.MEMORY[self.slots[slot]], ("slot", slot))

    def sources(
        self,
        loads: list[int],
        outputs: list[int],
        direct: dict[int, str],
        partial: str,
        fix: str,
        body: str,
    ) -> dict[int, str]:
        """Where each slot is read or written in this turn: in place, or in a room."""
        low, letter = self.low, self.letter
        read = [self.program.nodes[at].slot for at in loads]
        written = [self.program.inputs + k for k in outputs]
        for slot in read:
            if letter(slot) == "s":
                here, step = direct[slot], self.stride(slot)
                self.strided("gather", slot, self.room(slot), here, step)
        close = [s for s in read + written if letter(s) == "c"]
        pointers = {s: self.room(s) for s in read + written if letter(s) != "c"}
        start = low.label
        low.line(f"br i1 {partial}, label %{fix}, label %{body}")
        low.block(fix)
        for slot in read:
            if letter(slot) == "c":
                self.near("gather", slot, direct[slot])
        low.line(f"br label %{body}")
        low.block(body)
        for slot in close:
            pointers[slot] = low.new(
                f"phi ptr [ {direct[slot]}, %{start} ], [ {self.room(slot)}, %{fix} ]"
            )
        return pointers

    def targets(
        self,
        outputs: list[int],
        direct: dict[int, str],
        partial: str,
        after: str,
        latch: str,
    ) -> None:
        """Moves what is in rooms to where it belongs."""
        low, letter = self.low, self.letter
        slots = [self.program.inputs + k for k in outputs]
        if any(letter(slot) == "c" for slot in slots):
            low.line(f"br i1 {partial}, label %{after}, label %{latch}")
            low.block(after)
            for slot in slots:
                if letter(slot) == "c":
                    self.near("scatter", slot, direct[slot])
            low.line(f"br label %{latch}")
            low.block(latch)
        for slot in slots:
            if letter(slot) == "s":
                here, step = direct[slot], self.stride(slot)
                self.strided("scatter", slot, self.room(slot), here, step)

    def near(self, way: str, slot: int, at: str) -> None:
        """The tail of what lies together. Not by memcpy, which would have to be found
        when the code is loaded."""
        low, room = self.low, self.room(slot)
        size = size_of(_rows.MEMORY[self.slots[slot]])
        if size < _MASKED[low.level]:
            self.strided(way, slot, room, at, str(size))
        elif way == "gather":
            low.gather(size, at, room)
        else:
            low.scatter(size, room, at)

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
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %loop, label %done
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
