"""How the operands of a call lie in memory, as far as the code depends on it, and how
wide the vectors of the code are.
"""

from __future__ import annotations

from typing import NamedTuple

from ember.compiler import _rows
from ember.compiler._lower import size_of
from ember.compiler._program import Node, Program

SHORT_ROW = 4096  # elements of which a few rows fit on a stack, and in the caches
FEW = 5  # values at a time, with which there is much to wait for
ROOM = 14  # values that vectors of four registers leave room for
LEAST = 16  # elements of a vector, since the logarithm of floats takes so many
REGISTER = {"baseline": 16, "avx2": 32, "avx512": 64}  # bytes


class Layout(NamedTuple):
    """How the operands of a call lie in memory, as far as the code depends on it.

    `patterns` has a letter for each input, then for each output, for the axis that is
    vectorised: c (one after the other), b (one element for all), s (any stride). It is
    large for inputs with one element for all that is reduced together.
    `rank` counts the axes, the last `reduced` of which a reduction goes over. A unit of
    work is what is reduced together, and the last axis is the vectorised one; or, if
    `columns` is not 0, so many elements of the last axis that stays, and that axis is.
    `chunks`: the first axis counts pieces of the first one that is reduced, of which
    the last piece may be shorter.
    `long`: sums are made of shorter ones. `short`: a row is no longer than SHORT_ROW,
    and what is dear to compute is kept from one sweep over it to the next.
    `inner`: of pointwise work, how long the last axis is if that is not much, rounded
    up to a power of two. Longer vectors would be made of parts for each row.
    """

    rank: int
    patterns: str
    chunks: bool = False
    long: bool = False
    short: bool = False
    reduced: int = 1
    columns: int = 0
    inner: int = 0

    @property
    def axis(self) -> int:
        """The one that is vectorised."""
        return self.rank - 1 - (self.reduced if self.columns else 0)


def is_dear(node: Node) -> bool:
    """Whether a row is a long formula."""
    return node.op in ("unary", "unary_grad", "binary") and not _rows.is_cheap(node)


def live(program: Program) -> int:
    """How many values there are at a time, at most."""
    nodes, last = program.nodes, dict[int, int]()  # where a value is used last
    for at, node in enumerate(nodes):
        last.update(dict.fromkeys(node.args, at))
    last.update(dict.fromkeys(program.outputs, len(nodes)))
    ends: dict[int, int] = {}
    now = 0
    for a, at in last.items():
        if nodes[a].op not in ("number", "constant"):
            ends[at] = ends.get(at, 0) + 1
            now += nodes[a].op == "load"  # these are read first
    most = now
    for at, node in enumerate(nodes):
        now -= ends.get(at, 0)
        if at in last and node.op not in ("number", "constant", "load"):
            now += 1
        most = max(most, now)
    return most


def width_of(program: Program, level: str, long: bool = False) -> int:
    """Elements of a vector: some registers of the widest type. What is computed of them
    does not wait for each other, so four are faster than two, as long as there is
    room for the values of a program; and eight where long formulas follow each other,
    of which each step waits for the one before, unless rows may be short (`long`: they
    are not)."""
    most = live(program)
    registers = 4 if most <= ROOM else 2
    if (
        most <= FEW
        and (long or not program.reduces)
        and any(map(is_dear, program.nodes))
    ):
        registers = 8
    widest = 1
    for node in program.nodes:
        if node.op not in ("number", "constant"):
            widest = max(widest, size_of(_rows.VALUE[node.dtype]))
        if node.compute and node.op in ("unary", "unary_grad", "binary", "ternary"):
            widest = max(widest, size_of(_rows.VALUE[node.compute]))
    return registers * REGISTER[level] // max(widest, 2)


def columns_of(program: Program, level: str, columns: int) -> int:
    """Of so many columns, those that are reduced together: more than a vector of them
    where little is computed, so that more of a row is read at a time."""
    width = width_of(program, level)
    ops = [n for n in program.nodes if n.op not in ("load", "number", "constant")]
    cheap = len(ops) <= 4 and all(n.op == "reduce" or _rows.is_cheap(n) for n in ops)
    fewest = min(LEAST, width)
    needed = max(fewest, 1 << (columns - 1).bit_length())
    return min(needed, 2 * width if cheap else width)
