"""Regions: what runs inside of one is written down, and run in groups (core/lazy/).

The core asks for the machine code of a group when a region ends, and takes it when it
is there. What a group is, `_program.py` says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ember import _C
from ember.compiler import _queue

if TYPE_CHECKING:
    from ember.compiler._kernel import Fused, Kernel


class Compiled(NamedTuple):
    """What the core needs to run a group."""

    code: Any
    functions: list[int]  # addresses of the row kernels that it calls
    grain: int  # elements that are worth a thread of their own
    width: int  # columns that are reduced together


class _Ticket:
    """The code of a group, some time."""

    def __init__(self, fused: Fused, pending: _queue.Pending[Kernel]) -> None:
        self._fused, self._pending = fused, pending

    def ready(self) -> bool:
        return self._pending.ready()

    def result(self) -> Compiled:
        from ember.compiler._kernel import GRAIN

        kernel = self._pending.result()
        grain = max(1, GRAIN // self._fused.cost)
        width = kernel.layout.columns
        return Compiled(kernel.code, kernel.functions, grain, width)


def _compile(nodes: Any, outputs: Any, rows: Any, layout: Any) -> _Ticket:
    from ember.compiler import _llvm
    from ember.compiler._kernel import Fused
    from ember.compiler._layout import Layout, columns_of
    from ember.compiler._program import Node, Program

    program = Program(tuple(Node(*n) for n in nodes), outputs, rows)
    wanted = Layout(*layout)
    if wanted.columns:
        width = columns_of(program, _llvm.level(), wanted.columns)
        wanted = wanted._replace(columns=width)
    fused = Fused(program)
    return _Ticket(fused, fused.prepare(wanted))


_installed = False


def install() -> bool:
    """Has the core ask for machine code. False where there is none, which is told
    once."""
    global _installed
    if not _queue.is_available():
        return False
    if not _installed:
        _C._lazy_compile_hook(_compile)
        _installed = True
    return True


class region:
    """A block whose pointwise work runs in groups.

    `fullgraph`: to look at a value inside is an error. `wait`: the block ends when the
    code of its groups is there.

    >>> import ember
    >>> x = ember.arange(10000.0)
    >>> with region():
    ...     y = (x * 2 + 1).sqrt()
    >>> y[:3]
    tensor([1.0000, 1.7321, 2.2361])
    """

    def __init__(
        self, key: int = 0, fullgraph: bool = False, wait: bool = False
    ) -> None:
        self._options = key, fullgraph, wait

    def __enter__(self) -> region:
        install()
        _C._lazy_open(*self._options)
        return self

    def __exit__(self, *error: object) -> None:
        _C._lazy_close()
