"""Arguments by the names that a function's signature gives them."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from ember import _C

__all__ = ["ArgsKwargsPair", "normalize_function", "normalize_module"]


class ArgsKwargsPair(NamedTuple):
    """Arguments by position and by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def normalize_function(
    target: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple | None = None,
    kwarg_types: dict | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a function by its signature; None if it has none that fits.

    >>> import ember
    >>> from ember.fx.operator_schemas import normalize_function
    >>> normalize_function(ember.relu, (1,), {}, normalize_to_only_use_kwargs=True)
    ArgsKwargsPair(args=(), kwargs={'input': 1})
    """
    kwargs = kwargs or {}
    for names, defaults in _signatures(target):
        found = _bind(names, defaults, args, kwargs, normalize_to_only_use_kwargs)
        if found is not None:
            return found
    return None


def normalize_module(
    root: Any,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a submodule's forward by its signature."""
    forward = type(root.get_submodule(target)).forward
    names, defaults = _of_python(forward)
    return _bind(names[1:], defaults, args, kwargs or {}, normalize_to_only_use_kwargs)


def _signatures(target: Any) -> list[tuple[list[str], dict[str, Any]]]:
    if isinstance(target, _C.Op):
        from ember.fx._schemas import overloads

        return overloads(target)
    try:
        return [_of_python(target)]
    except (TypeError, ValueError):
        return []


def _of_python(function: Any) -> tuple[list[str], dict[str, Any]]:
    parameters = inspect.signature(function).parameters.values()
    stars = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if any(p.kind in stars for p in parameters):
        raise TypeError("no names")
    return [p.name for p in parameters], {
        p.name: p.default
        for p in parameters
        if p.default is not inspect.Parameter.empty
    }


def _bind(
    names: list[str],
    defaults: dict[str, Any],
    args: tuple,
    kwargs: dict[str, Any],
    only_kwargs: bool,
) -> ArgsKwargsPair | None:
    if len(args) > len(names):
        return None
    bound = dict(zip(names, args, strict=False))
    for key, value in kwargs.items():
        key = "input" if key == "self" and "input" in names else key
        if key in bound or key not in names:
            return None
        bound[key] = value
    for name in names:
        if name not in bound:
            if name not in defaults:
                return None
            bound[name] = defaults[name]
    ordered = {name: bound[name] for name in names}
    if only_kwargs:
        return ArgsKwargsPair((), ordered)
    return ArgsKwargsPair(
        tuple(ordered[n] for n in names[: len(args)]),
        {n: ordered[n] for n in names[len(args) :]},
    )
