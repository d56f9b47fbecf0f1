"""Sizes that may vary: `Dim`, and the integers that stand for them while a program is
recorded.

A `SymInt` is the size of the example input, as an int, that remembers the node which
computes it and the value that it has in a second run with other sizes (its shadow).
Where both agree, the program does not depend on the size; where a comparison comes out
differently, the program would take another branch, and that is an error.
"""

from __future__ import annotations

import operator
from typing import Any


class Dim:
    """A size by name, with its bounds.

    >>> import ember
    >>> ember.export.Dim("batch", min=1, max=64)
    Dim('batch', min=1, max=64)
    """

    AUTO: Any = None
    DYNAMIC: Any = None
    STATIC: Any = None

    def __init__(
        self, name: str, *, min: int | None = None, max: int | None = None
    ) -> None:
        low, high = min or 0, float("inf") if max is None else max
        if high <= low:
            raise AssertionError(
                f"Cannot create Dim with inconsistent min={min}, max={max}"
            )
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__, self.min, self.max = name, low, high

    def __repr__(self) -> str:
        low = f", min={self.min}" if self.min else ""
        high = f", max={self.max}" if self.max != float("inf") else ""
        return f"Dim('{self.__name__}'{low}{high})"


class _Hint:
    """How a size without a name is treated."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __repr__(self) -> str:
        return f"Dim.{self.__name__}"


Dim.AUTO, Dim.DYNAMIC, Dim.STATIC = _Hint("AUTO"), _Hint("DYNAMIC"), _Hint("STATIC")


class SymInt(int):
    """A size that may vary, while a program is recorded."""

    node: Any
    shadow: int

    def __new__(cls, value: int, shadow: int, node: Any) -> SymInt:
        made = int.__new__(cls, value)
        made.node, made.shadow = node, shadow
        return made

    def __hash__(self) -> int:
        return int.__hash__(self)

    def __reduce__(self) -> tuple:
        return (int, (int(self),))


class SizeError(RuntimeError):
    """A program that needs a size which was said to vary."""


def _arithmetic(name: str, swapped: bool) -> Any:
    function = getattr(operator, name)

    def method(self: SymInt, other: Any) -> Any:
        if not isinstance(other, int | float) or isinstance(other, bool):
            return NotImplemented
        left, right = (other, self) if swapped else (self, other)
        value = function(*map(_value, (left, right)))
        shadow = function(*map(shadow_of, (left, right)))
        if isinstance(value, int) and value == shadow:
            return value
        args = tuple(a.node if isinstance(a, SymInt) else a for a in (left, right))
        node = self.node.graph.call_function(function, args)
        if isinstance(value, float):
            return SymFloat(value, shadow, node)
        return SymInt(value, shadow, node)

    return method


class SymFloat(float):
    """A float that was computed from sizes."""

    node: Any
    shadow: float

    def __new__(cls, value: float, shadow: float, node: Any) -> SymFloat:
        made = float.__new__(cls, value)
        made.node, made.shadow = node, shadow
        return made


def _value(a: Any) -> Any:
    return int(a) if isinstance(a, SymInt) else float(a) if isinstance(a, float) else a


def shadow_of(a: Any) -> Any:
    """The value in the second run."""
    return a.shadow if isinstance(a, SymInt | SymFloat) else a


def _comparison(name: str) -> Any:
    function = getattr(operator, name)

    def method(self: SymInt, other: Any) -> Any:
        if not isinstance(other, int | float):
            return NotImplemented
        result = function(_value(self), _value(other))
        if result != function(self.shadow, shadow_of(other)):
            raise SizeError(
                f"export(): the program asks whether a size ({int(self)}) is "
                f"{_WORDS[name]} {_value(other)}, and another size within its bounds "
                "would take another branch; mark it as static or give bounds that "
                "exclude the other branch"
            )
        return result

    return method


_WORDS = dict(eq="==", ne="!=", lt="<", le="<=", gt=">", ge=">=")  # noqa: C408
for _name in ("add", "sub", "mul", "floordiv", "mod", "truediv", "pow"):
    setattr(SymInt, f"__{_name}__", _arithmetic(_name, False))
    setattr(SymInt, f"__r{_name}__", _arithmetic(_name, True))
for _name in _WORDS:
    setattr(SymInt, f"__{_name}__", _comparison(_name))
SymInt.__neg__ = lambda self: self * -1  # type: ignore[method-assign]
SymInt.__bool__ = lambda self: self != 0  # type: ignore[method-assign]
