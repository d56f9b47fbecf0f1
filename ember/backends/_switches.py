"""What the modules of this package are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any


def flags_of(space: dict[str, Any], *names: str) -> Callable[..., Any]:
    """A module's `flags`: values of its switches, for a block."""

    @contextmanager
    def flags(**values: Any) -> Iterator[None]:
        unknown = values.keys() - set(names)
        if unknown:
            raise TypeError(f"flags() got an unexpected keyword argument {unknown}")
        before = {name: space[name] for name in values}
        space.update({k: v for k, v in values.items() if v is not None})
        try:
            yield
        finally:
            space.update(before)

    return flags


def setter(space: dict[str, Any], *names: str) -> Callable[..., tuple]:
    """A module's `set_flags`: sets switches, and returns what they were."""

    def set_flags(*args: Any, **values: Any) -> tuple:
        values |= dict(zip(("_" + n for n in names), args))
        before = tuple(space[name] for name in names)
        for name in names:
            given = values.get("_" + name, values.get(name))
            if given is not None:
                space[name] = given
        return before

    return set_flags


def absent() -> bool:
    """False: the library is not part of ember."""
    return False


class nothing(AbstractContextManager):
    """A block that changes nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __exit__(self, *error: object) -> None: ...
