"""Strategies: shapes, values, indices and view operations, as plain data.

What is drawn names no library, so that one description runs on ember, torch and NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

DTYPES = ["float32", "float64", "int64", "int32", "uint8", "bool", "complex64"]

shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)
full_shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def values(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Small numbers that every dtype can hold exactly."""
    rng = np.random.default_rng(seed)
    made = np.asarray(rng.integers(0 if dtype == "uint8" else -4, 5, shape))
    if dtype == "bool":
        made = made > 0
    if dtype.startswith("complex"):
        made = made + 1j * rng.integers(-4, 5, shape)
    return np.asarray(made).astype(dtype)


@st.composite
def slices(draw: Any, size: int) -> slice:
    edge = st.none() | st.integers(-size - 1, size + 1)
    return slice(draw(edge), draw(edge), draw(st.none() | st.integers(1, 3)))


@st.composite
def index(draw: Any, shape: tuple[int, ...], views_only: bool = False) -> tuple:
    """An index of any kind, in bounds most of the time; arrays stand for tensors."""
    items: list[Any] = []
    dim, ellipsis = 0, False
    advanced = draw(st.integers(1, 4))  # tensors of one call broadcast together
    while dim < len(shape) and draw(st.integers(0, 5)):
        size = shape[dim]
        kinds = ["int", "slice", "slice", "none", "ellipsis"]
        if not views_only:
            kinds += ["array", "array", "list", "mask", "scalar", "bool"]
        kind = draw(st.sampled_from(kinds))
        if kind == "none":
            items.append(None)
        elif kind == "ellipsis":
            if not ellipsis:
                items.append(Ellipsis)
                ellipsis = True
                dim = draw(st.integers(dim, len(shape)))
        elif kind == "slice":
            items.append(draw(slices(size)))
            dim += 1
        elif kind == "bool":
            items.append(draw(st.booleans()))
        elif kind == "mask":
            rank = draw(st.integers(1, min(2, len(shape) - dim)))
            masked = shape[dim : dim + rank]
            items.append(values(masked, "bool", draw(st.integers(0, 99))))
            dim += rank
        else:
            places = st.integers(-size, size - 1) if size else st.just(0)
            if kind == "int":
                items.append(draw(places))
            elif kind == "list":
                items.append(draw(st.lists(places, min_size=1, max_size=advanced)))
            elif kind == "scalar":
                items.append(np.asarray(draw(places)))
            else:
                count = draw(st.sampled_from([1, advanced]))
                rows = draw(st.lists(places, min_size=count, max_size=count))
                made = np.array(rows, np.int64)
                items.append(made[:, None] if draw(st.integers(0, 3)) == 0 else made)
            dim += 1
    return tuple(items)


@st.composite
def view_step(draw: Any, shape: tuple[int, ...]) -> tuple[str, tuple]:
    """One view operation: the name of a method and its arguments."""
    rank = len(shape)
    dims = st.integers(-rank, rank - 1) if rank else st.just(0)
    names = ["index", "index", "unsqueeze", "squeeze", "expand", "reshape", "flatten"]
    if rank:
        names += ["transpose", "permute", "narrow", "select", "unfold", "movedim"]
    name = draw(st.sampled_from(names))
    if name == "index":
        return "__getitem__", (draw(index(shape, views_only=True)),)
    if name == "unsqueeze":
        return name, (draw(st.integers(-rank - 1, rank)),)
    if name == "squeeze":
        return name, draw(st.just(()) | st.tuples(dims))
    if name == "expand":
        front = draw(st.lists(st.integers(1, 3), max_size=1))
        return name, ([*front, *(3 if n == 1 and draw(st.booleans()) else -1
                                 for n in shape)],)  # fmt: skip
    if name == "reshape":
        count = int(np.prod(shape))
        sizes = [n for n in range(1, count + 1) if count % n == 0] or [1]
        first = draw(st.sampled_from(sizes))
        return name, ((first, -1) if count else (0,),)
    if name == "flatten":
        return name, ()
    if name in ("transpose", "movedim"):
        return name, (draw(dims), draw(dims))
    if name == "permute":
        return name, (draw(st.permutations(range(rank))),)
    if name == "select":
        dim = draw(dims)
        return name, (dim, draw(st.integers(-shape[dim], max(shape[dim] - 1, 0))))
    if name == "narrow":
        dim = draw(dims)
        start = draw(st.integers(0, shape[dim]))
        return name, (dim, start, draw(st.integers(0, shape[dim] - start)))
    dim = draw(dims)
    size = draw(st.integers(1, max(shape[dim], 1)))
    return name, (dim, size, draw(st.integers(1, 3)))
