"""Parts of graphs that libraries import to write hints or subclasses."""

from __future__ import annotations

from typing import Any

from ember import _unavailable

_unavailable.fill(
    globals(), "_C", "ember has no TorchScript compiler", "Graph Value Node Type"
)
use_duck_shape = True


def guard_or_false(a: Any) -> bool:
    """A condition on sizes, which are numbers."""
    return bool(a)


guard_or_true = guard_size_oblivious = statically_known_true = guard_or_false


def is_concrete_int(a: Any) -> bool:
    """Whether a size is a number: it is."""
    return True
