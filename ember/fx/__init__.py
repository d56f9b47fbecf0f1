"""Programs as graphs: the names, for libraries that import them. Tracing itself raises.

>>> import ember
>>> @ember.fx.wrap
... def scale(x):
...     return x * 2
>>> scale(3)
6
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ember import _lazy, _unavailable
from ember.nn import Module

_REASON = "ember does not record programs as graphs yet"

GraphModule = _unavailable.kind("fx.GraphModule", _REASON, Module)
_unavailable.fill(
    globals(),
    "fx",
    _REASON,
    """CodeGen Graph Node Interpreter Transformer ProxyableClassMeta
    replace_pattern symbolic_trace""",
)


class Tracer:
    """Follows a program; subclasses can be written, `trace` raises."""

    def __init__(self, autowrap_modules: Any = (), *args: Any, **kwargs: Any) -> None:
        self.autowrap_modules = autowrap_modules

    trace = _unavailable.function("fx.Tracer.trace", _REASON)

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a call of a module is one step: it is for those of `ember.nn`."""
        return m.__module__.startswith(("ember.nn", "torch.nn")) and not isinstance(
            m, _sequential()
        )


def _sequential() -> type:
    from ember.nn import Sequential

    return Sequential


class Proxy:
    """Stands for a value while a program is followed; none is made."""

    def __init__(self, node: Any, tracer: Any = None) -> None:
        raise _unavailable.Unavailable(f"fx.Proxy: {_REASON}")


class _Placeholder:
    def __repr__(self) -> str:
        return "PH"


PH = _Placeholder()


def wrap(fn_or_name: Any) -> Any:
    """Name a function as one step of a graph; it is given back."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string "
            "name"
        )
    return fn_or_name


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Name a function that must stay in a graph; it is given back."""
    return fn


def map_arg(a: Any, fn: Callable[[Any], Any]) -> Any:
    """`a`, with `fn` of every node in it; there are no nodes.

    >>> import ember
    >>> ember.fx.map_arg((1, [2]), print)
    (1, [2])
    """
    return a


__all__ += [  # type: ignore[name-defined]  # noqa: F821 (begun by `fill`)
    "PH",
    "GraphModule",
    "Proxy",
    "Tracer",
    "has_side_effect",
    "map_arg",
    "wrap",
]
__getattr__ = _lazy.missing(__name__)
