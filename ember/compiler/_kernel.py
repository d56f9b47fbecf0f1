"""Programs on tensors: the layout of a call, its machine code, and its words."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

import ember
from ember import _C
from ember.compiler import _llvm, _queue, _rows
from ember.compiler._emit import emit
from ember.compiler._layout import CHEAP, SHORT_ROW, Layout
from ember.compiler._program import Program

GRAIN = 1 << 15  # elements of the cheapest work that are worth a thread of their own
_DEAR = 8  # a row that is no sum, product or choice costs as much as so many that are
_SHORT = 16  # axes are too short to be vectorised, if another is longer
_LONG = 8192  # rows longer than this are summed in steps


class Axes(NamedTuple):
    """A space as it is walked: sizes, and strides in bytes of each operand."""

    sizes: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]


def walked(
    shape: Sequence[int], strides: Sequence[Sequence[int]], keep_last: bool = False
) -> Axes:
    """A space without axes of size 1, and with those merged that all operands walk as
    one. The last axis is the vectorised one: of pointwise work the longest, where the
    last one is short."""
    sizes = list(shape)
    steps = [list(s) for s in strides]
    last_kept = len(sizes) - 1 if keep_last else -1
    alive = [d for d, n in enumerate(sizes) if n != 1 or d == last_kept]
    sizes = [sizes[d] for d in alive]
    steps = [[s[d] for d in alive] for s in steps]
    d = len(sizes) - 2
    while d >= 0:
        if not (keep_last and d == len(sizes) - 2) and all(
            s[d] == s[d + 1] * sizes[d + 1] for s in steps
        ):
            sizes[d] *= sizes.pop(d + 1)
            for s in steps:
                s.pop(d)
        d -= 1
    if not sizes:
        sizes, steps = [1], [[0] for _ in steps]
    if not keep_last and sizes[-1] < _SHORT:
        longest = max(range(len(sizes)), key=sizes.__getitem__)
        if sizes[longest] > sizes[-1]:
            for row in (sizes, *steps):
                row.append(row.pop(longest))
    return Axes(tuple(sizes), tuple(map(tuple, steps)))


def _pattern(step: int, size: int, length: int, output: bool) -> str:
    if step == size or length == 1:
        return "c"
    return "b" if step == 0 and not output else "s"


def _range(sizes: Sequence[int], strides: Sequence[int], size: int) -> tuple[int, int]:
    """First and last element that a walk touches."""
    if 0 in sizes:
        return 0, -1
    ends = [(n - 1) * s // size for n, s in zip(sizes, strides, strict=True)]
    return sum(e for e in ends if e < 0), sum(e for e in ends if e > 0)


def word_of(value: float | int | bool, dtype: str) -> int:
    """A number as the word that code for its dtype reads."""
    if dtype.startswith(("float", "bfloat")):
        return struct.unpack("<q", struct.pack("<d", value))[0]
    return (int(value) + (1 << 63)) % (1 << 64) - (1 << 63)


class Kernel:
    """The machine code of one program in one layout."""

    def __init__(self, program: Program, layout: Layout) -> None:
        self.program, self.layout = program, layout
        self.code, calls = _llvm.machine_code(
            repr((program, layout)), lambda: emit(program, layout, _llvm.level())
        )
        kernels = [_rows.kernel(*call) for call in calls]
        self.functions = [found[0] for found in kernels if found is not None]


class Fused:
    """A program that can be run.

    >>> from ember.compiler._program import Builder
    >>> b = Builder()
    >>> x = b.load("float32")
    >>> f = Fused(b.program([b.binary("mul", x, x)]))
    >>> f(ember.tensor([1.0, 2.0, 3.0]))[0]
    tensor([1., 4., 9.])
    """

    def __init__(self, program: Program) -> None:
        for node in program.nodes:
            if why := _rows.supported(node):
                raise NotImplementedError(f"compile(): no machine code for {why}")
        self.program = program
        self.dtypes = [""] * program.inputs
        self.numbers = [""] * program.numbers
        for node in program.nodes:
            if node.op == "load":
                self.dtypes[node.slot] = node.dtype
            elif node.op == "number":
                self.numbers[node.slot] = node.dtype
        self.dtypes += [program.nodes[at].dtype for at in program.outputs]
        ops = [n for n in program.nodes if n.op not in ("load", "number", "constant")]
        self.cost = sum(1 if n.name in CHEAP else _DEAR for n in ops) // 4 + 1
        self._kernels: dict[Layout, _queue.Pending[Kernel]] = {}

    def prepare(self, layout: Layout) -> _queue.Pending[Kernel]:
        """The kernel for a layout, which a thread in the background compiles."""
        pending = self._kernels.get(layout)
        if pending is None:
            made = _queue.submit(lambda: Kernel(self.program, layout))
            pending = self._kernels.setdefault(layout, made)
        return pending

    def kernel(self, layout: Layout) -> Kernel:
        """The kernel for a layout; waits for it."""
        pending = self._kernels.get(layout)
        if pending is None:
            made: _queue.Pending[Kernel] = _queue.Pending(
                lambda: Kernel(self.program, layout)
            )
            pending = self._kernels.setdefault(layout, made)
        return pending.result()

    def __call__(
        self,
        *inputs: Any,
        numbers: Sequence[Any] = (),
        out: Sequence[Any] | None = None,
        shape: Sequence[int] | None = None,
    ) -> list[Any]:
        """The outputs, for tensors that broadcast to one shape (`shape`, if given)."""
        if shape is None:
            shape = ember.broadcast_shapes(*(x.shape for x in inputs))
        if out is None:
            out = self.outputs(shape)
        self.run([(inputs, out, numbers)], shape)
        return list(out)

    def outputs(self, shape: Sequence[int]) -> list[Any]:
        rows = self.program.rows or (0,) * len(self.program.outputs)
        made = []
        for k, at in enumerate(self.program.outputs):
            dtype = getattr(ember, self.program.nodes[at].dtype)
            size = [*shape[:-1], 1] if rows[k] else shape
            made.append(ember.empty(tuple(size), dtype=dtype))
        return made

    def run(self, calls: Sequence[tuple[Any, Any, Any]], shape: Sequence[int]) -> None:
        """Calls of one shape each: (inputs, outputs, numbers)."""
        by_layout: dict[Layout, list[Any]] = {}
        for inputs, out, numbers in calls:
            layout, item = self.bound(inputs, out, numbers, shape)
            by_layout.setdefault(layout, []).append(item)
        for layout, items in by_layout.items():
            self.launch(layout, items)

    def run_list(self, calls: Sequence[tuple[Any, Any, Any]]) -> None:
        """Calls of any shapes, as an optimizer has them for its parameters: those of
        one layout are shared out to the threads together."""
        by_layout: dict[Layout, list[Any]] = {}
        for inputs, out, numbers in calls:
            layout, item = self.bound(inputs, out, numbers, out[0].shape)
            by_layout.setdefault(layout, []).append(item)
        for layout, items in by_layout.items():
            self.launch(layout, items)

    def launch(self, layout: Layout, items: list[Any]) -> None:
        kernel = self.kernel(layout)
        functions = array("q", kernel.functions).tobytes()
        grain = max(1, GRAIN // self.cost)
        if self.program.reduces:
            grain = max(1, grain // max(items[0][4], 1))
        given = tuple(
            (tensors, ranges, functions + words, units)
            for tensors, ranges, words, units, _ in items
        )
        _C._run_kernel(kernel.code, given, grain)

    def bound(
        self, inputs: Any, out: Any, numbers: Any, shape: Sequence[int]
    ) -> tuple[Layout, Any]:
        """The layout of a call and its item for _run_kernel."""
        tensors = (*inputs, *out)
        if len(tensors) != len(self.dtypes) or len(numbers) != len(self.numbers):
            raise ValueError(
                f"compile(): {len(tensors)} tensors and {len(numbers)} numbers for a "
                f"program with {len(self.dtypes)} and {len(self.numbers)}"
            )
        strides, sizes = [], []
        for place, (t, dtype) in enumerate(zip(tensors, self.dtypes, strict=True)):
            if _rows.name_of(t.dtype) != dtype:
                raise TypeError(f"compile(): a tensor of {t.dtype} in place of {dtype}")
            if place >= len(inputs):
                self._check_output(t, place - len(inputs), shape)
            size = t.element_size()
            sizes.append(size)
            strides.append([s * size for s in t.expand(tuple(shape)).stride()])
        rows = self.program.reduces
        axes = walked(shape or [1], strides if shape else [[0]] * len(strides), rows)
        length = axes.sizes[-1]
        patterns = ""
        for place, (steps, size) in enumerate(zip(axes.strides, sizes, strict=True)):
            output = place >= len(inputs)
            patterns += _pattern(steps[-1], size, length, output)
        long = rows and length > _LONG
        short = rows and length <= SHORT_ROW
        layout = Layout(len(axes.sizes), patterns, False, long, short)
        units = 1
        for n in axes.sizes[:-1] if rows else axes.sizes:
            units *= n
        words = array("q", map(word_of, numbers, self.numbers))
        words.extend(axes.sizes)
        ranges = array("q")
        for place, (steps, size) in enumerate(zip(axes.strides, sizes, strict=True)):
            words.extend(steps)
            first, last = _range(axes.sizes, steps, size)
            ranges.extend((size, first, last, place >= len(inputs)))
        return layout, (tensors, ranges.tobytes(), words.tobytes(), units, length)

    def _check_output(self, t: Any, k: int, shape: Sequence[int]) -> None:
        rows = bool(self.program.rows and self.program.rows[k])
        wanted = [*shape[:-1], 1] if rows else list(shape)
        if list(t.shape) != wanted:
            raise ValueError(
                f"compile(): an output of shape {tuple(t.shape)} in place of "
                f"{tuple(wanted)}"
            )
