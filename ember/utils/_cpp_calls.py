"""What the headers for C++ extensions (`ember/include`) call."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import ember
from ember import _C, Tensor, ops as _ops

_PARAMETER = re.compile(r"(?:^|, )[A-Za-z]+(?:\??\[\])?\?? \*?(\w+)")
Signature = tuple[int, list[str]]  # how many are positional; names of the others


@cache
def _signatures() -> dict[str, list[Signature]]:
    """The parameters of every op's overloads."""
    table: dict[str, list[Signature]] = {}
    for text, *_ in _C._schemas:
        head, _, inner = text.rpartition(" -> ")[0].partition("(")
        positional, _, rest = f", {inner[:-1]}".partition(", *, ")
        count = len(_PARAMETER.findall(positional.removeprefix(", ")))
        names = _PARAMETER.findall(rest)
        table.setdefault(head.rpartition(".")[2], []).append((count, names))
    return table


def _find(name: str) -> Any:
    method = name.removeprefix("Tensor.")
    if method != name and hasattr(Tensor, method):
        return getattr(Tensor, method)
    for place in (ember, ember.nn.functional):
        if hasattr(place, method):
            return getattr(place, method)
    found = _ops._find(method)
    if found is None:
        raise AttributeError(f"ember has no op '{method}'")
    return found


def call(name: str) -> Callable[..., Any]:
    """An op, "add" or "Tensor.add_", whose keyword-only parameters are positional.

    >>> import ember
    >>> call("add")(ember.ones(1), ember.ones(1), 3)
    tensor([4.])
    """
    function = _find(name)
    base = name.rpartition(".")[2].removesuffix("_").removeprefix("linalg_")
    signatures = _signatures().get(base, [])
    if not any(names for _, names in signatures):
        return function

    def run(*args: Any, **kwargs: Any) -> Any:
        refused = None
        for count, names in signatures:
            if len(args) > count + len(names):
                continue
            named = dict(zip(names, args[count:]))
            try:
                return function(*args[:count], **named, **kwargs)
            except TypeError as error:  # the types are those of another overload
                refused = refused or error
        if refused:
            raise refused
        return function(*args, **kwargs)

    return run


def from_blob(
    address: int, size: list[int], stride: list[int], dtype: Any, owner: Any
) -> Tensor:
    """A tensor over memory of others, which `owner` keeps while it lives."""
    if 0 in size:
        return ember.empty(size, dtype=dtype)
    last = sum((n - 1) * step for n, step in zip(size, stride))
    memory = (ctypes.c_char * ((last + 1) * dtype.itemsize)).from_address(address)
    memory._owner = owner  # type: ignore[attr-defined]
    return ember.frombuffer(memory, dtype=dtype).as_strided(size, stride)


# --- operators that could not be registered while an extension was loaded -------------

_failures: list[str] = []


def failed(namespace: str, why: str) -> None:
    """Note it: no exception passes the system's loader."""
    _failures.append(f"TORCH_LIBRARY({namespace}): {why}")


def raise_failures() -> None:
    """Raise what went wrong since the last time."""
    found = _failures[:]
    _failures.clear()
    if found:
        raise RuntimeError("\n".join(found))
