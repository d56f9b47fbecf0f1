"""Functions and classes of PyTorch that ember knows by name and cannot do: they can be
imported, compared and inherited from, and say what is missing when they are used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


class Unavailable(NotImplementedError):
    """What was called is not part of ember."""


def function(name: str, reason: str) -> Callable[..., NoReturn]:
    """A function that raises: `name` is not part of ember, and why."""

    def unavailable(*args: Any, **kwargs: Any) -> NoReturn:
        raise Unavailable(f"{name}(): {reason}")

    unavailable.__name__ = unavailable.__qualname__ = name.rpartition(".")[2]
    unavailable.__doc__ = f"Raises: {reason}."
    return unavailable


def kind(name: str, reason: str, base: type = object, **members: Any) -> type:
    """A class of which no object can be made; `isinstance` works and is False."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        raise Unavailable(f"{name}: {reason}")

    module, _, own = name.rpartition(".")
    doc = f"Cannot be made: {reason}."
    space = {"__init__": __init__, "__doc__": doc, "__module__": "ember." + module}
    return type(own, (base,), space | members)


def fill(space: dict[str, Any], module: str, reason: str, names: str) -> None:
    """Put all `names` into a module; capitalised ones are classes."""
    listed = space.setdefault("__all__", [])
    for name in names.split():
        make: Callable[..., Any] = kind if name[0].isupper() else function
        space[name] = make(f"{module}.{name}", reason)
        listed.append(name)
