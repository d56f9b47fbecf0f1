"""Copies and casts: core/ops/copy.cpp."""

# fmt: off
import numpy as np

import ember
from tests.ops.entry import S, T, op

ANY = "bifhc"


op("clone", T(2, 3), T(), ref=np.copy, dtypes=ANY, result="same")
op("contiguous", T(2, 3), T(), ref=np.copy, dtypes=ANY, result="same")
op("is_contiguous", T(2, 3), ref=lambda x: True, skip="noncontiguous")
op("to", S(T(2, 3), ember.float64), S(T(2, 3), "cpu"), S(T(2, 3), T(1)),
   S(T(2, 3), dtype=ember.float64, copy=True), dtypes="f",
   skip="meta empty")  # it names a device
op("copy_", S(T(2, 3, grad=False), T(2, 3)), S(T(2, 3, grad=False), T(3)),
   ref=lambda x, y: np.broadcast_to(y, x.shape), dtypes=ANY, result="same",
   errors=[(S(T(2, 3), T(4)), RuntimeError, "must match")])
op("item", T(), T(1, 1), ref=lambda x: x.reshape(())[()], dtypes=ANY, skip="meta",
   errors=[(S(T(2)), RuntimeError, "2 elements")])
op("detach", T(2, 3), ref=np.copy, dtypes=ANY, result="same", grad=False)
op("detach_copy", T(2, 3), ref=np.copy, dtypes=ANY, result="same", grad=False)
op("fill_", S(T(2, 3, grad=False), 3), S(T(2, 3, grad=False), T()), dtypes="ifhc", result="same",
   ref=lambda x, v: np.full_like(x, v), errors=[(S(T(2), T(1)), RuntimeError, "0-dim")])
op("fill", S(T(2, 3), 3), S(T(2, 3), T()), dtypes="ifhc", result="same",
   ref=lambda x, v: np.full_like(x, v))
op("zero_", T(2, 3, grad=False), ref=np.zeros_like, dtypes=ANY, result="same")
