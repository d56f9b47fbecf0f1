"""How the operands of a call lie in memory, as far as the code depends on it, and how
wide the vectors of the code are.
"""

from __future__ import annotations

from typing import NamedTuple

from ember.compiler import _rows
from ember.compiler._lower import size_of
from ember.compiler._program import Program

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


def width_of(program: Program, level: str) -> int:
    """Elements of a vector: two registers of the widest type."""
    widest = 1
    for node in program.nodes:
        if node.op not in ("number", "constant"):
            widest = max(widest, size_of(_rows.VALUE[node.dtype]))
        if node.compute and node.op in ("unary", "unary_grad", "binary", "ternary"):
            widest = max(widest, size_of(_rows.VALUE[node.compute]))
    return 2 * REGISTER[level] // max(widest, 2)
