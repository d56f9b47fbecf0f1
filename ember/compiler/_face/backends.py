"""Backends by name. "inductor" is ember's own compiler, which works below the tape and
is not handed graphs; any other one is a function of a GraphModule and example inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ember.compiler._face.errors import InvalidBackend

OWN = "inductor"
EAGER = "eager"  # op by op, no graph
_default: Any = OWN
_registered: dict[str, Any] = {}
_tags: dict[str, tuple[str, ...]] = {}
# Names of PyTorch's for running a graph's ops as they are.
_PLAIN = ("eager", "aot_eager", "eager_noexcept", "eager_debug", "pre_dispatch_eager")


def get_default() -> Any:
    """What `compile` uses if it is told none."""
    return _default


def set_default(backend: Any) -> None:
    global _default
    if backend is not None:
        lookup(backend)
    _default = OWN if backend is None else backend


def lookup(backend: Any) -> Any:
    """A backend by its name; "inductor", "eager", or a function of a graph."""
    if isinstance(backend, str):
        if backend in _registered:
            return _registered[backend]
        if backend == OWN:
            return OWN
        if backend in _PLAIN:
            return EAGER
        raise InvalidBackend(backend)
    if not callable(backend):
        raise InvalidBackend(backend)
    return backend


def register(
    compiler_fn: Callable[..., Any] | None = None,
    name: str | None = None,
    tags: Sequence[str] = (),
) -> Any:
    """Make a function of a GraphModule and example inputs a backend by name."""
    if compiler_fn is None:
        return lambda function: register(function, name, tags)
    if not callable(compiler_fn):
        raise AssertionError(
            f"register_backend(): a function of a graph, not {compiler_fn!r}"
        )
    name = name or compiler_fn.__name__
    if name in (OWN, *_PLAIN) or name in _registered:
        raise AssertionError(f"duplicate name: {name}")
    _registered[name], _tags[name] = compiler_fn, tuple(tags)
    return compiler_fn


def names(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """Backends by name."""
    hidden = set(exclude_tags or ())
    found = [OWN] if hidden else [OWN, *_PLAIN]
    found += [name for name, tags in _tags.items() if hidden.isdisjoint(tags)]
    return sorted(found)
