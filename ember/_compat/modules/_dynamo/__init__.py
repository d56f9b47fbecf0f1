"""The names of PyTorch's front end of `compile` that programs use: accelerate,
diffusers, einops, lightning, timm, torchvision and transformers do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ember import _lazy
from ember._dynamo import config
from ember.compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    explain,
    is_compiling,
    list_backends,
    reset,
    set_stance,
    substitute_in_graph,
)
from ember.compiler._face.backends import (
    lookup as lookup_backend,
    register as register_backend,
)
from ember.compiler._face.compiled import compile as _compile
from ember.compiler._face.module import OptimizedModule

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "explain",
    "export",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "list_backends",
    "lookup_backend",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "nonstrict_trace",
    "optimize",
    "optimize_assert",
    "register_backend",
    "reset",
    "run",
    "set_stance",
    "substitute_in_graph",
]


def disallow_in_graph(fn: Any) -> Any:
    """The function itself, which Python calls wherever it is called."""
    return fn


forbid_in_graph = run = nonstrict_trace = disallow_in_graph


def graph_break(msg: str = "") -> None:
    """Nothing: graphs end where values are looked at."""


def mark_dynamic(t: Any, index: Any, **bounds: Any) -> None:
    """Nothing: every size may change."""


maybe_mark_dynamic = mark_dynamic


def mark_static(t: Any, index: Any = None) -> None:
    """Nothing: every size may change."""


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Nothing: memory may lie anywhere."""


def optimize(
    backend: Any = "inductor", *, nopython: bool = False, **options: Any
) -> Callable[[Any], Any]:
    """A decorator: `ember.compile` with a backend."""
    known = {k: v for k, v in options.items() if k in ("disable", "dynamic")}
    return lambda model: _compile(model, backend=backend, fullgraph=nopython, **known)


def optimize_assert(backend: Any, **options: Any) -> Callable[[Any], Any]:
    """A decorator: `ember.compile` to one graph."""
    return optimize(backend, nopython=True, **options)


def export(f: Any, *args: Any, **kwargs: Any) -> Any:
    """See `ember.export.export`, which it was replaced by."""
    from ember import _unavailable

    raise _unavailable.Unavailable("_dynamo.export(): use ember.export.export")


__getattr__ = _lazy.missing(__name__)
