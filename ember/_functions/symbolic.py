"""Functions of sizes and control flow that a tracing compiler would record as such.
Here sizes are numbers and branches are taken, so that they simply run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ember import Tensor


def sym_float(a: Any) -> float:
    """A size or number as a float."""
    return float(a)


def sym_int(a: Any) -> int:
    """A size or number as an int, rounded towards zero.

    >>> import ember
    >>> ember.sym_int(-2.5)
    -2
    """
    return math.trunc(a)


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two; a float if either is.

    >>> import ember
    >>> ember.sym_max(3, 2.5)
    3.0
    """
    return _met(max(a, b), a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two; a float if either is."""
    return _met(min(a, b), a, b)


def _met(value: Any, a: Any, b: Any) -> Any:
    either = isinstance(a, float) or isinstance(b, float)
    return float(value) if either else value


def sym_not(a: Any) -> bool:
    """The opposite of a condition."""
    return not a


def sym_sqrt(a: Any) -> float:
    """The square root of a size."""
    return math.sqrt(a)


def sym_sum(*args: Any) -> Any:
    """The sum of numbers, or of a list of them.

    >>> import ember
    >>> ember.sym_sum([1, 2, 3])
    6
    """
    return sum(
        args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else args
    )


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """`t` if the condition `b` holds, else `f`."""
    return t if b else f


def cond(
    pred: bool | float | Tensor,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: tuple | list = (),
) -> Any:
    """What `true_fn` or `false_fn` makes of `operands`, as `pred` says.

    >>> import ember
    >>> x = ember.tensor([1.0, -3.0])
    >>> ember.cond(x.sum() > 0, ember.sin, ember.neg, (x,))
    tensor([-1.,  3.])
    """
    if not isinstance(pred, bool | int | float | Tensor):
        raise RuntimeError(f"cond(): pred must be a bool or a tensor, got {pred!r}")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(
            "cond(): expected pred to be a bool or a tensor of one element, got one of "
            f"shape {list(pred.shape)}"
        )
    if not isinstance(operands, tuple | list):
        raise RuntimeError(
            "cond(): expected operands to be a tuple of what the functions take, got "
            f"{type(operands).__name__}"
        )
    return (true_fn if pred else false_fn)(*operands)


def while_loop(
    cond_fn: Callable[..., Any],
    body_fn: Callable[..., Any],
    carried_inputs: tuple | list,
) -> tuple:
    """`body_fn` of what it made last, starting with `carried_inputs`, while `cond_fn`.

    >>> import ember
    >>> i, x = ember.tensor(0), ember.ones(2)
    >>> ember.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (i, x))
    (tensor(3), tensor([8., 8.]))
    """
    for name, function in (("cond_fn", cond_fn), ("body_fn", body_fn)):
        if not callable(function):
            raise RuntimeError(f"while_loop(): {name} must be callable")
    carried = tuple(carried_inputs)
    while cond_fn(*carried):
        made = body_fn(*carried)
        if not isinstance(made, tuple) or len(made) != len(carried):
            raise RuntimeError(
                f"while_loop(): body_fn must return {len(carried)} values, as many as "
                f"it takes, got {made!r}"
            )
        carried = made
    return carried


def sym_constrain_range(size, *, min: int | None = None, max: int | None = None):
    """Raise unless a size is in a range.

    >>> import ember
    >>> ember.sym_constrain_range(3, min=1, max=5)
    """
    low = -(1 << 63) if min is None else min
    high = (1 << 63) - 1 if max is None else max
    if not low <= size <= high:
        raise RuntimeError(f"Invalid value range for {size} between [{low}, {high}].")


def sym_constrain_range_for_size(size, *, min: int | None = None, max=None) -> None:
    """Raise unless a size is in a range, and no size is negative."""
    sym_constrain_range(size, min=0 if min is None else min, max=max)


def sym_fresh_size(expr):
    """The size itself: sizes are plain numbers."""
    return expr
