"""A short run of random programs against NumPy; docs/testing.md has the long one."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

import ember
from tests.fuzz import draw
from tests.fuzz.compare import agree, both, load, materialise

short = settings(max_examples=150, deadline=None, derandomize=True)
seeds = st.integers(0, 9999)


def normal(key: tuple) -> tuple:
    """The index without what NumPy and torch read differently.

    These are bools, and ints beside arrays, which torch applies before them.
    """
    items = [np.asarray(i) if isinstance(i, list) else i for i in key]
    arrays = any(isinstance(i, np.ndarray) for i in items)
    return tuple(
        slice(i, i + 1 or None) if type(i) is int and arrays else i
        for i in items
        if not isinstance(i, bool)
    )


@short
@given(st.data(), draw.shapes, st.sampled_from(draw.DTYPES), seeds)
def test_an_index_gives_what_numpy_gives(
    data: Any, shape: tuple, dtype: str, seed: int
) -> None:
    array, key = draw.values(shape, dtype, seed), normal(data.draw(draw.index(shape)))

    def run(library: Any) -> Any:
        return np.asarray(array[key]) if library is np else load(library, array)[
            materialise(library, key)
        ]  # fmt: skip

    what = f"x{list(shape)}[{key}]"
    if result := both(ember, np, run, what):
        agree(*result, what)


@short
@given(st.data(), draw.full_shapes, st.sampled_from(draw.DTYPES), seeds)
def test_an_assignment_changes_what_numpy_changes(
    data: Any, shape: tuple, dtype: str, seed: int
) -> None:
    array, key = draw.values(shape, dtype, seed), normal(data.draw(draw.index(shape)))

    def run(library: Any) -> Any:
        x = load(library, array)
        x[materialise(library, key)] = 1
        return x

    what = f"x{list(shape)}[{key}] = 1"
    if result := both(ember, np, run, what):
        agree(*result, what)


@short
@given(st.data(), draw.shapes, seeds)
def test_chains_of_views_follow_numpy(data: Any, shape: tuple, seed: int) -> None:
    x = draw.values(shape, "float32", seed)
    y = load(ember, x)
    for _ in range(data.draw(st.integers(1, 5))):
        name = data.draw(
            st.sampled_from(["index", "T", "flip", "reshape", "unsqueeze"])
        )
        if name == "index":
            key = data.draw(draw.index(x.shape, views_only=True))
            x, y = np.asarray(x[key]), y[key]
        elif name == "T" and x.ndim > 1:
            a, b = (data.draw(st.integers(-x.ndim, x.ndim - 1)) for _ in range(2))
            x, y = x.swapaxes(a, b), y.transpose(a, b)
        elif name == "reshape":
            x, y = x.reshape(-1), y.reshape(-1)
        elif name == "unsqueeze":
            axis = data.draw(st.integers(-x.ndim - 1, x.ndim))
            x, y = np.expand_dims(x, axis), y.unsqueeze(axis)
        agree(y, x, f"after {name}")


@short
@given(st.data(), st.sampled_from(["add", "divide", "maximum", "hypot"]), seeds)
def test_operands_broadcast_as_in_numpy(data: Any, name: str, seed: int) -> None:
    full = data.draw(draw.shapes)
    shapes = []
    for _ in range(2):
        kept = full[data.draw(st.integers(0, len(full))) :]
        shapes.append(tuple(1 if data.draw(st.booleans()) else n for n in kept))
    a, b = (draw.values(s, "float64", seed + i) for i, s in enumerate(shapes))
    with np.errstate(all="ignore"):
        want = np.asarray(getattr(np, name)(a, b))
    function = getattr(ember, {"divide": "div"}.get(name, name))
    got = function(load(ember, a), load(ember, b))
    agree(got, want, f"{name} {shapes}", rtol=1e-12)


def test_a_tensor_without_elements_can_be_assigned_to() -> None:
    x = ember.zeros(2, 0, 3)
    x[ember.zeros(2, 0, dtype=ember.bool), ::2] = 1.0
    x.expand(4, 2, 0, 3).mul_(2)
    assert x.shape == (2, 0, 3)
