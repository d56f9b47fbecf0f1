"""What ops do, in words: Note [Traits] in core/ops/schema.h.

An op says so where it is registered (`ember._C._ops["sum"].traits`); a function written
in Python, where it is made overridable. Names that Python gives to operators stand for
the ops that they call.
"""

import operator
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from ember import _C

# What operators are called where it is not the op's own name.
_OPERATORS = {
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "invert": "bitwise_not",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
    "div": "div",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pos": "positive",
}


@cache
def op_named(name: str) -> Any:
    """The op that a function or method of this name calls, None if it is none.

    >>> from ember._traits import op_named
    >>> op_named("__radd__")
    <op add>
    """
    if name.startswith("__"):  # of an operator: __bool__ is no cast
        inner = name.strip("_")
        for known in (inner, inner[1:]):  # __pow__; __rpow__, __ipow__
            if known in _OPERATORS or hasattr(operator, f"__{known}__"):
                found = op_named(_OPERATORS.get(known, known))
                if found is not None:
                    return found
        return None
    found = _C._ops.get(name) or getattr(_C.Tensor, name, None)
    if isinstance(found, _C.Op):
        return found
    return op_named(name[:-1]) if name.endswith("_") else None


def traits_of(func: Callable) -> frozenset[str]:
    """The traits of what was called; none of what is no op.

    >>> import ember
    >>> from ember._traits import traits_of
    >>> sorted(traits_of(ember.dropout))
    ['pointwise', 'random']
    """
    if isinstance(func, (_C.Op, FunctionType)):
        return getattr(func, "traits", frozenset())
    name = getattr(func, "__name__", "")
    if name in ("__get__", "__set__"):
        name = func.__self__.__name__  # type: ignore[attr-defined]
    op = op_named(name)
    return frozenset() if op is None else op.traits
