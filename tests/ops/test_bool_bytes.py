"""A byte other than 0 is true: bool memory that others filled, as view(bool) shows it.

Every op that takes bool tensors is run on bytes of 0 and 1, and on 0, 2, 128 and 255 in
their place; the results must be the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ember

from .bridge import outputs, tensors
from .checks import Case, _map_tensors
from .entry import S
from .test_ops import CASES

TRUE = np.array([2, 255, 128, 1, 254], np.uint8)
BOOL = ember.bool
RNG = np.random.default_rng(0)


def strange(t: Any) -> Any:
    """`t` with other bytes for true; tensors of other dtypes as they are."""
    if not isinstance(t, ember.Tensor) or t.dtype != BOOL:
        return t
    bytes_ = np.asarray(t.to(ember.uint8).numpy() * RNG.choice(TRUE, tuple(t.shape)))
    return ember.from_numpy(bytes_.astype(np.uint8)).view(BOOL)


def calls(case: Case) -> list[tuple[S, str]]:
    found = []
    for sample in case.entry.samples:
        takes = "b" in case.entry.dtypes and any(
            not isinstance(t, np.ndarray) and t.dtype is None for t in sample.tensors()
        )
        fixed = any(str(t.dtype) == "bool" for t in sample.tensors())
        if takes:
            found.append((sample, "bool"))
        if fixed:
            found.append((sample, case.entry.names[0]))
    return found


def plain(t: Any) -> Any:
    """What `t` holds, read through bytes: a copy may keep the bytes it is given."""
    return t.view(ember.uint8) != 0 if t.dtype == BOOL else t


# What reads bytes as another dtype, and what is not filled.
LEFT_OUT = {"view", "view_copy", "empty_like", "new_empty", "new_empty_strided"}
NAMES = sorted(
    name
    for name, case in CASES.items()
    if not case.entry.random and name not in LEFT_OUT and calls(case)
)


@pytest.mark.parametrize("name", NAMES)
def test_bytes_above_one_are_true(name: str) -> None:
    case = CASES[name]
    for sample, dtype in calls(case):
        given = tensors(sample, dtype)
        ember.manual_seed(0)
        want = case.call(given)
        ember.manual_seed(0)
        got = case.call(_map_tensors(tensors(sample, dtype), strange))
        for a, b in zip(outputs(got), outputs(want), strict=True):
            assert a.dtype == b.dtype
            equal = ember.equal(plain(a), plain(b)) or ember.allclose(
                a.to(ember.complex128), b.to(ember.complex128), equal_nan=True
            )
            assert equal, (name, dtype, a, b)
        if not outputs(want):
            assert got == want
