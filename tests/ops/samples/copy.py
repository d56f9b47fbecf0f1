"""Copies and casts: core/ops/copy.cpp."""

import numpy as np

import ember
from tests.ops.entry import S, T, op

ANY = "bifhc"


def cast(x, to, *rest, **options):
    return x.astype(np.float64) if to is ember.float64 else x


op("clone", T(2, 3), T(), ref=np.copy, dtypes=ANY, result="promote")
op("contiguous", T(2, 3), T(), ref=np.copy, dtypes=ANY, result="promote")
op("is_contiguous", T(2, 3), ref=lambda x: True, skip="noncontiguous")
op("to", S(T(2, 3), ember.float64), S(T(2, 3), "cpu"), S(T(2, 3), T(1)),
   S(T(2, 3), dtype=ember.float64, copy=True), dtypes="f",
   skip="meta empty")  # fmt: skip  # it names a device
op("copy_", S(T(2, 3, grad=False), T(2, 3)), S(T(2, 3, grad=False), T(3)),
   ref=lambda x, y: np.broadcast_to(y, x.shape), dtypes=ANY, result="promote",
   errors=[(S(T(2, 3), T(4)), RuntimeError, "must match")])  # fmt: skip
op("item", T(), T(1, 1), ref=lambda x: x.reshape(())[()], dtypes=ANY, skip="meta",
   errors=[(S(T(2)), RuntimeError, "2 elements")])  # fmt: skip
op("detach", T(2, 3), ref=np.copy, dtypes=ANY, result="promote", grad=False)
