"""The arguments of a call by the names that the op's schema gives them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from typing import Any

import ember
from ember import Tensor
from ember._schemas import Param, Schema, parse

# Parameters that name dimensions.
DIMS = frozenset(
    "dim dims dimension dim0 dim1 dim2 axis0 axis1 source destination".split()
)
_SYNONYMS = {"axis": "dim", "input": "self", "keepdims": "keepdim", "x": "self"}


@cache
def schemas_of(func: Any) -> tuple[Schema, ...]:
    """The overloads of an op."""
    return tuple(parse(text) for text in func.schemas)


@cache
def default_of(text: str) -> Any:
    """A default as it stands in a schema."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # a word: "mean"


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _sizes(value: Any) -> bool:
    many = isinstance(value, (list, tuple))
    return all(map(_whole, value)) if many else _whole(value)


_FITS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda v: isinstance(v, Tensor),
    "Tensor[]": lambda v: isinstance(v, (list, tuple)),
    "Tensor?[]": lambda v: isinstance(v, (list, tuple)),
    "Number": lambda v: isinstance(v, (Tensor, bool, int, float, complex)),
    "Scalar": lambda v: isinstance(v, (bool, int, float, complex)),
    "int": _whole,
    "float": lambda v: _whole(v) or isinstance(v, float),
    "bool": lambda v: isinstance(v, bool),
    "str": lambda v: isinstance(v, str),
    "Dims": _sizes,
    "Size": _sizes,
    "Dtype": lambda v: isinstance(v, ember.dtype),
}


def _fits(param: Param, value: Any) -> bool:
    if value is None:
        return param.optional or param.type == "Any"
    check = _FITS.get(param.type)
    return check is None or check(value)


class Bound:
    """Arguments bound to one overload; `given` may be changed before `call`."""

    def __init__(self, schema: Schema, given: dict[str, Any]) -> None:
        self.schema, self.given = schema, given

    def value(self, param: Param) -> Any:
        """What was given for a parameter, or its default."""
        if param.name in self.given or param.default is None:
            return self.given.get(param.name)
        return default_of(param.default)

    def get(self, name: str) -> Any:
        """What was given by this name, None if nothing was."""
        return self.given.get(name)

    def tensors(self) -> list[str]:
        """The names of the parameters that got a tensor."""
        return [name for name, v in self.given.items() if isinstance(v, Tensor)]

    def call(self, func: Callable) -> Any:
        """The op with these arguments."""
        args: list = []
        kwargs: dict = {}
        for param in self.schema.params:
            if param.name not in self.given:
                continue
            if kwargs or param.keyword_only or len(args) < self._place(param):
                kwargs[param.name] = self.given[param.name]
            else:
                args.append(self.given[param.name])
        return func(*args, **kwargs)

    def _place(self, param: Param) -> int:
        return self.schema.params.index(param)


def _bind(schema: Schema, args: tuple, kwargs: dict) -> Bound | None:
    given: dict[str, Any] = {}
    free = [p for p in schema.params if not p.keyword_only]
    for i, value in enumerate(args):
        if i >= len(free):
            return None
        param = free[i]
        last = param.type in ("Size", "Dims") and i + 1 == len(free) < len(args)
        rest = (param.varargs or last) and not isinstance(value, (list, tuple))
        if rest:
            value = args[i:]
        if not _fits(param, value):
            return None
        given[param.name] = value
        if rest:
            break
    named = {p.name: p for p in schema.params}
    for key, value in kwargs.items():
        if key not in named:
            key = _SYNONYMS.get(key, key)
        if key not in named or key in given or not _fits(named[key], value):
            return None
        given[key] = value
    for param in schema.params:
        if param.default is None and param.name not in given:
            return None
    return Bound(schema, given)


def bound(func: Any, args: tuple, kwargs: dict) -> Bound | None:
    """The arguments of a call of an op, by the first overload that they fit."""
    for schema in schemas_of(func):
        found = _bind(schema, args, kwargs)
        if found is not None:
            return found
    return None
