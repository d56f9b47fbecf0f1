"""`vmap` of every registered op gives what one sample after the other gives."""

from __future__ import annotations

import numpy as np
import pytest

import ember
from ember.func._batched import _FORBIDDEN
from ember.utils._pytree import tree_flatten, tree_unflatten
from tests.ops import bridge
from tests.ops.checks import Case
from tests.ops.entry import S, load
from tools.schemas import registered

OPS = registered()
ENTRIES = load()
SIZE = 3
# They return memory that nobody has written to, or are refused.
LEFT_OUT = set(
    "empty_like new_empty new_empty_strided resize_ resize_as_ set_ as_strided_".split()
)
NAMES = sorted(
    name
    for name in OPS
    if name in ENTRIES
    and not ENTRIES[name].random
    and name not in LEFT_OUT | _FORBIDDEN
)


@pytest.mark.parametrize("name", NAMES)
def test_vmap_is_the_loop(name: str) -> None:
    case = Case(ENTRIES[name], OPS[name])
    for sample in case.entry.samples:
        for first_only in (False, True):
            check(case, sample, first_only)


def check(case: Case, sample: S, first_only: bool) -> None:
    """Maps every tensor of a call, or only the first, and compares with a loop."""
    dtype = case.entry.names[0]
    rows, spec = [], None
    for seed in range(SIZE):
        call = bridge.tensors(sample, dtype, seed=seed)
        leaves, spec = tree_flatten((call.args, call.kwargs))
        rows.append(leaves)
    places = [i for i, x in enumerate(rows[0]) if isinstance(x, ember.Tensor)]
    if not places:
        return
    mapped = places[:1] if first_only else places
    for row in rows:
        for i in range(len(row)):
            row[i] = row[i] if i in mapped else rows[0][i]

    def run(*values):
        leaves = list(rows[0])
        for i, value in zip(mapped, values, strict=True):
            leaves[i] = value
        args, kwargs = tree_unflatten(leaves, spec)
        return case.call(S(*args, **kwargs))

    def cloned(row):
        return [row[i].clone() for i in mapped]

    try:
        wanted = [bridge.outputs(run(*cloned(row))) for row in rows]
    except (RuntimeError, ValueError, IndexError, TypeError):
        return  # other values make the call an error of the op's own
    shapes = [[t.shape for t in row] for row in wanted]
    if not wanted[0] or any(s != shapes[0] for s in shapes):
        return  # nothing to stack
    stacked = [ember.stack(column) for column in zip(*map(cloned, rows), strict=True)]
    got = bridge.outputs(ember.vmap(lambda *v: bridge.outputs(run(*v)))(*stacked))
    for i, column in enumerate(zip(*wanted, strict=True)):
        want = ember.stack(column)
        assert got[i].dtype == want.dtype, f"{sample}: output {i}"
        np.testing.assert_allclose(
            bridge.array(got[i]),
            bridge.array(want),
            rtol=3e-6 if dtype != "float64" else 1e-12,
            atol=1e-5,
            err_msg=f"{sample}, output {i}",
        )
