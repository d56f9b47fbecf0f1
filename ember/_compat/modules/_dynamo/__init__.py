"""The compiler's front end, which is not here: accelerate, diffusers, einops,
lightning, timm, torchvision and transformers ask it whether they are being compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ember import _lazy
from ember.compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    reset,
)
from ember.nn import Module

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "disable",
    "disallow_in_graph",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "optimize",
    "reset",
    "run",
]


class OptimizedModule(Module):
    """What a compiler would make of a module; `ember.compile` makes none."""


def disallow_in_graph(fn: Any) -> Any:
    """The function itself."""
    return fn


forbid_in_graph = run = disallow_in_graph


def graph_break(msg: str = "") -> None:
    """Nothing: no graph is recorded."""


def mark_dynamic(t: Any, index: Any, **bounds: Any) -> None:
    """Nothing: every size may change."""


maybe_mark_dynamic = mark_dynamic


def mark_static(t: Any, index: Any = None) -> None:
    """Nothing: no graph is recorded."""


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Nothing: no graph is recorded."""


def optimize(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator that gives back its function; see `ember.compile`."""
    return lambda function: function


__getattr__ = _lazy.missing(__name__)
