"""Programs on tensors: the layout of a call, its machine code, and its words."""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import ember
from ember import _C
from ember.compiler import _llvm, _queue, _rows
from ember.compiler._layout import SHORT_ROW, Layout, columns_of
from ember.compiler._program import Program
from ember.compiler._space import Axes, reduced, walked

GRAIN = 1 << 15  # elements of the cheapest work that are worth a thread of their own
_DEAR = 8  # a row that is no sum, product or choice costs as much as so many that are
_LONG = 8192  # rows longer than this are summed in steps
_TALL = 256  # and so are columns


def word_of(value: float | int | bool, dtype: str) -> int:
    """A number as the word that code for its dtype reads."""
    if dtype.startswith(("float", "bfloat")):
        return struct.unpack("<q", struct.pack("<d", value))[0]
    return (int(value) + (1 << 63)) % (1 << 64) - (1 << 63)


class Kernel:
    """The machine code of one program in one layout."""

    def __init__(self, program: Program, layout: Layout) -> None:
        self.program, self.layout = program, layout

        def emitted() -> Any:
            from ember.compiler._emit import emit  # not for what is on disk

            return emit(program, layout, _llvm.level())

        key = repr((program, layout))
        self.code, calls = _llvm.machine_code(key, emitted)
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
        self.cost = sum(1 if _rows.is_cheap(n) else _DEAR for n in ops) // 4 + 1
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
        axes: Sequence[int] = (-1,),
    ) -> list[Any]:
        """The outputs, for tensors that broadcast to one shape (`shape`, if given).
        Reductions go over `axes`."""
        if shape is None:
            shape = ember.broadcast_shapes(*(x.shape for x in inputs))
        if out is None:
            out = self.outputs(shape, axes)
        self.run([(inputs, out, numbers)], shape, axes)
        return list(out)

    def sizes(self, k: int, shape: Sequence[int], axes: Sequence[int]) -> list[int]:
        """The shape of an output."""
        if not (self.program.rows and self.program.rows[k]):
            return list(shape)
        away = {d % len(shape) for d in axes} if shape else set()
        return [1 if d in away else n for d, n in enumerate(shape)]

    def outputs(self, shape: Sequence[int], axes: Sequence[int] = (-1,)) -> list[Any]:
        made = []
        for k, at in enumerate(self.program.outputs):
            dtype = getattr(ember, self.program.nodes[at].dtype)
            made.append(ember.empty(tuple(self.sizes(k, shape, axes)), dtype=dtype))
        return made

    def run(
        self,
        calls: Sequence[tuple[Any, Any, Any]],
        shape: Sequence[int],
        axes: Sequence[int] = (-1,),
    ) -> None:
        """Calls of one shape each: (inputs, outputs, numbers)."""
        self._launch_all(self.bound(*call, shape, axes) for call in calls)

    def run_list(self, calls: Sequence[tuple[Any, Any, Any]]) -> None:
        """Calls of any shapes, as an optimizer has them for its parameters: those of
        one layout are shared out to the threads together."""
        self._launch_all(self.bound(*call, call[1][0].shape) for call in calls)

    def _launch_all(self, bound: Iterable[tuple[Layout, Any]]) -> None:
        by_layout: dict[Layout, list[Any]] = {}
        for layout, item in bound:
            by_layout.setdefault(layout, []).append(item)
        for layout, items in by_layout.items():
            self.launch(layout, items)

    def launch(self, layout: Layout, items: list[Any]) -> None:
        """Items of `bound`, of one layout."""
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
        self,
        inputs: Any,
        out: Any,
        numbers: Any,
        shape: Sequence[int],
        axes: Sequence[int] = (-1,),
    ) -> tuple[Layout, Any]:
        """The layout of a call and its item for _run_kernel."""
        tensors = (*inputs, *out)
        if len(tensors) != len(self.dtypes) or len(numbers) != len(self.numbers):
            raise ValueError(
                f"compile(): {len(tensors)} tensors and {len(numbers)} numbers for a "
                f"program with {len(self.dtypes)} and {len(self.numbers)}"
            )
        for k, t in enumerate(out):
            wanted = self.sizes(k, shape, axes)
            if list(t.shape) != wanted:
                raise ValueError(
                    f"compile(): an output of shape {tuple(t.shape)} in place of "
                    f"{tuple(wanted)}"
                )
        strides = self.strides(tensors, shape)
        elements = [t.element_size() for t in tensors]
        if self.program.reduces:
            space = reduced(shape, strides, axes, elements[: len(inputs)])
        else:
            space = walked(shape or [1], strides if shape else [[0]] * len(strides))
        return self.item(space, tensors, len(inputs), numbers)

    def strides(self, tensors: Sequence[Any], shape: Sequence[int]) -> list[list[int]]:
        """In bytes, in the space of a call."""
        strides = []
        for t, dtype in zip(tensors, self.dtypes, strict=False):
            if _rows.name_of(t.dtype) != dtype:
                raise TypeError(f"compile(): a tensor of {t.dtype} in place of {dtype}")
            size = t.element_size()
            strides.append([s * size for s in t.expand(tuple(shape)).stride()])
        return strides

    def item(
        self,
        space: Axes,
        tensors: Sequence[Any],
        inputs: int,
        numbers: Sequence[Any],
        uncut: Axes | None = None,
    ) -> tuple[Layout, Any]:
        """The layout of a space and its item for _run_kernel: tensors, the ranges of
        them that are touched, words, units, and what a unit costs. `uncut`: the space
        of which this one is pieces, with the same inputs."""
        elements = [t.element_size() for t in tensors]
        words = array("q", map(word_of, numbers, self.numbers))
        words.extend(space.sizes)
        ranges = array("q")
        for place, size in enumerate(elements):
            words.extend(space.strides[place])
            touched = uncut if uncut and place < inputs else space
            least, most = touched.bounds(place, size)
            ranges.extend((size, least, most, place >= inputs))
        if uncut:
            words.append(uncut.sizes[uncut.stay])
        width, cost = 0, space.size
        units = math.prod(space.sizes[: space.stay])
        if space.columns:
            columns = space.sizes[space.axis]
            width = columns_of(self.program, _llvm.level(), columns)
            units, cost = units // max(columns, 1) * -(-columns // width), cost * width
        rows = self.program.reduces
        layout = Layout(
            len(space.sizes),
            space.patterns(elements, inputs),
            uncut is not None,
            rows and space.size > (_TALL if width else _LONG),
            rows and not width and space.reduced == 1 and space.size <= SHORT_ROW,
            max(space.reduced, 1),
            width,
        )
        return layout, (tuple(tensors), ranges.tobytes(), words.tobytes(), units, cost)
