"""Calls whose output lies in the memory of an operand: how they are laid out, and made.

Used with ember alone (test_overlap.py) and beside torch (tests/oracle); `m` is either.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .entry import S

REFUSALS = (RuntimeError, TypeError, IndexError, ValueError, NotImplementedError)


def part(m: Any, memory: Any, begin: int, dtype: Any, shape: tuple[int, ...]) -> Any:
    """A tensor over the bytes of `memory` from `begin` on."""
    size = m.empty(0, dtype=dtype).element_size() * math.prod(shape)
    return memory[begin : begin + size].view(dtype).view(shape)


def spread(m: Any, memory: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    """One with a gap after each element."""
    return part(m, memory, 0, dtype, (*shape, 2))[..., 0]


def turned(m: Any, memory: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    """One whose dimensions lie in memory the other way round."""
    order = tuple(reversed(range(len(shape))))
    return part(m, memory, 0, dtype, tuple(reversed(shape))).permute(order)


# From bytes, dtype and shape: the tensor that is written. The operand begins at 0.
LAYOUTS: dict[str, Callable[..., Any]] = {
    "same": lambda m, b, d, s: part(m, b, 0, d, s),
    "shifted": lambda m, b, d, s: part(m, b, m.empty(0, dtype=d).element_size(), d, s),
    "turned": turned,
    "spread": spread,
    "empty": lambda m, b, d, s: part(m, b, 0, d, (0,)),
}


def slots(call: S) -> list[tuple[Any, ...]]:
    """Where the tensors of a call are: ("args", 0), ("args", 1, 2), ("kwargs", "x")."""
    found: list[tuple[Any, ...]] = []

    def visit(value: Any, at: tuple[Any, ...]) -> None:
        if hasattr(value, "element_size"):
            found.append(at)
        elif isinstance(value, (list, tuple)):
            for i, v in enumerate(value):
                visit(v, (*at, i))

    for i, v in enumerate(call.args):
        visit(v, ("args", i))
    for name, v in call.kwargs.items():
        visit(v, ("kwargs", name))
    return found


def get(call: S, at: tuple[Any, ...]) -> Any:
    value = call.args[at[1]] if at[0] == "args" else call.kwargs[at[1]]
    for i in at[2:]:
        value = value[i]
    return value


def put(call: S, at: tuple[Any, ...], new: Any) -> S:
    def replaced(value: Any, path: tuple[Any, ...]) -> Any:
        if not path:
            return new
        items = list(value)
        items[path[0]] = replaced(items[path[0]], path[1:])
        return type(value)(items)

    args, kwargs = list(call.args), dict(call.kwargs)
    if at[0] == "args":
        args[at[1]] = replaced(args[at[1]], at[2:])
    else:
        kwargs[at[1]] = replaced(kwargs[at[1]], at[2:])
    return S(*args, **kwargs)


def cloned(call: S) -> S:
    for at in slots(call):
        call = put(call, at, get(call, at).clone())
    return call


def memory_for(m: Any, *tensors: Any) -> Any:
    return m.zeros(64 + 2 * sum(t.nbytes for t in tensors), dtype=m.uint8)


def with_out(m: Any, call: S, results: list[Any]) -> Iterator[tuple[str, S, list[Any]]]:
    """Each way for an output of `results` to lie where an operand is."""
    for at in slots(call):
        operand = get(call, at)
        if not operand.numel():
            continue
        for i, result in enumerate(results):
            for name, layout in LAYOUTS.items():
                outs = [m.empty_like(r) for r in results]
                memory = memory_for(m, operand, result)
                shape = tuple(result.shape)
                there = part(m, memory, 0, operand.dtype, tuple(operand.shape))
                there.copy_(operand)
                outs[i] = layout(m, memory, result.dtype, shape)
                yield f"{at} {i} {name}", put(cloned(call), at, there), outs
            if operand.dtype == result.dtype:
                given = cloned(call)
                outs = [m.empty_like(r) for r in results]
                outs[i] = get(given, at)
                yield f"{at} {i} itself", given, outs


def in_place(m: Any, call: S) -> Iterator[tuple[str, S]]:
    """Each way for another operand of a method to lie where self is."""
    self = call.args[0]
    if not self.numel():
        return
    for at in slots(call):
        operand = get(call, at)
        if at == ("args", 0) or not operand.numel():
            continue
        for name, layout in LAYOUTS.items():
            if name == "empty":
                continue
            memory = memory_for(m, operand, self)
            there = part(m, memory, 0, operand.dtype, tuple(operand.shape))
            target = layout(m, memory, self.dtype, tuple(self.shape))
            target.copy_(self)
            there.copy_(operand)
            yield f"{at} {name}", put(put(cloned(call), at, there), ("args", 0), target)
        if operand.dtype == self.dtype and operand.shape == self.shape:
            given = cloned(call)
            yield f"{at} itself", put(given, at, given.args[0])


def quiet(call: Callable[[], Any]) -> Any:
    """The result, or the exception that refuses the call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except REFUSALS as error:
            return error


def agree(got: Any, want: Any) -> bool:
    """Whether two lists of arrays are equal up to rounding."""
    with np.errstate(all="ignore"):
        return len(got) == len(want) and all(
            g.shape == w.shape
            and np.allclose(g, w, rtol=1e-4, atol=1e-5, equal_nan=True)
            for g, w in zip(got, want, strict=True)
        )
