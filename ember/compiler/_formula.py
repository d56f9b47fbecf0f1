"""The formulas of core/scalar_functions.h, which come as text from the compiled core,
as values of a graph: a small part of C (calls, casts, arithmetic, comparisons).
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from ember.compiler._graph import V

_TOKEN = re.compile(r"\s*(\d+\.?\d*(?:[eE][-+]?\d+)?|\w+|[<>=!]=|\S)")
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("+", "-"),
    ("*", "/"),
)
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "==": lambda a, b: a ^ b ^ True if _is_bool(a) else a.eq(b),
    "!=": lambda a, b: a ^ b if _is_bool(a) else a.ne(b),
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


def _is_bool(value: Any) -> bool:
    return isinstance(value, V) and value.type == "b1"


class _Parser:
    """Recursive descent; a tree is a nested tuple whose first item says what it is."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens = text, _TOKEN.findall(text)
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, expected: str = "") -> str:
        token = self.peek()
        if not token or (expected and token != expected):
            wanted = expected or "more"
            raise ValueError(f"formula {self.text!r}: {wanted!r} expected at {token!r}")
        self.at += 1
        return token

    def binary(self, level: int = 0) -> Any:
        if level == len(_LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.peek() in _LEVELS[level]:
            operator = self.take()
            left = ("op", operator, left, self.binary(level + 1))
        return left

    def unary(self) -> Any:
        if self.peek() == "-":
            self.take()
            return ("neg", self.unary())
        if self.tokens[self.at : self.at + 3] == ["(", "T", ")"]:
            self.at += 3
            return ("cast", self.unary())
        if self.peek() == "(":
            self.take()
            inner = self.binary()
            self.take(")")
            return inner
        token = self.take()
        if token[0].isdigit():
            number = float(token) if set(token) & set(".eE") else int(token)
            return ("number", number)
        if not re.fullmatch(r"[A-Za-z_]\w*", token):
            raise ValueError(f"formula {self.text!r}: {token!r} is not understood")
        if self.peek() != "(":
            return ("name", token)
        self.take("(")
        args = [self.binary()]
        while self.peek() == ",":
            self.take()
            args.append(self.binary())
        self.take(")")
        return ("call", token, *args)


@functools.cache
def parse(text: str) -> Any:
    """The tree of a formula.

    >>> parse("x * (T)0.5")
    ('op', '*', ('name', 'x'), ('cast', ('number', 0.5)))
    """
    parser = _Parser(text)
    tree = parser.binary()
    if parser.peek():
        raise ValueError(f"formula {text!r}: ends before {parser.peek()!r}")
    return tree


def calls(tree: Any) -> set[str]:
    """The functions that a tree calls."""
    if not isinstance(tree, tuple):
        return set()
    found = {tree[1]} if tree[0] == "call" else set()
    return found.union(*(calls(part) for part in tree[1:]))


def steps(tree: Any) -> float:
    """How many steps a tree is of; without end, if it divides."""
    if not isinstance(tree, tuple):
        return 0
    own = math.inf if tree[:2] == ("op", "/") else tree[0] in ("op", "neg", "call")
    return own + sum(map(steps, tree[1:]))


def evaluate(
    tree: Any,
    names: Mapping[str, V],
    functions: Mapping[str, Any],
    cast: Any,
    unfused: Any = None,
) -> Any:
    """The value of a tree. Arguments of calls come last first, as GCC has them, which
    matters where one of two products is fused with their sum. `unfused`, if given, is
    called with what the outermost sums add."""

    def value(tree: Any, outside: bool = unfused is not None) -> Any:
        match tree:
            case ("number", number):
                return number
            case ("name", "NAN"):
                return float("nan")
            case ("name", name):
                return names[name]
            case ("neg", inner):
                return -value(inner)
            case ("cast", inner):
                return cast(value(inner))
            case ("op", operator, left, right):
                plain = outside and operator == "+"
                a = value(left, outside and not plain)
                b = value(right, outside and not plain)
                if plain and isinstance(b, V):
                    b = unfused(b)
                if not isinstance(a, V) and isinstance(b, V):
                    a = b.const(a)
                return _OPERATORS[operator](a, b)
            case ("call", name, *args):
                done = [value(arg, False) for arg in reversed(args)]
                return functions[name](*reversed(done))
        raise AssertionError(tree)

    return value(tree)
