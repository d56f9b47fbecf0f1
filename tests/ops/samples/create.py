"""Tensors from nothing: core/ops/create.cpp."""

# fmt: off
import numpy as np

import ember
from tests.ops.entry import S, T, op


def made(function):
    return lambda *size, dtype=None, **options: function(
        size[0] if isinstance(size[0], tuple) else size
    )


SIZES = [S((2, 3)), S(2, 3), S((), dtype=ember.int64), S((0, 4)), S((2,), device="cpu")]
WRONG = [(S((-2, 3)), RuntimeError, "negative"), (S("ab"), TypeError, "")]

op("empty", *SIZES, errors=WRONG, skip="out leaks")  # nothing to compare
op("zeros", *SIZES, ref=made(np.zeros), errors=WRONG)
op("ones", *SIZES, ref=made(np.ones), errors=WRONG)
op("full", S((2, 3), 7), S((2,), 1.5), S((2,), True), S((), 2, dtype=ember.float64),
   ref=lambda size, value, dtype=None: np.full(size, value))
op("scalar_tensor", S(2.5), S(3), S(True, dtype=ember.int64),
   ref=lambda value, dtype=None: np.asarray(value))
op("empty_strided", S((2, 3), (1, 2)), S((0, 2), (2, 1)), skip="leaks",
   errors=[(S((2,), (1, 2)), RuntimeError, ""), (S((2,), (-1,)), RuntimeError, "strides")])
op("empty_permuted", S((2, 3), (1, 0)), skip="leaks",
   errors=[(S((2, 3), (0, 0)), RuntimeError, "Duplicate"),
           (S((2, 3), (0,)), RuntimeError, "dimensions")])

ANY = "bifhc"
NEW = {"dtypes": ANY, "grad": False}
op("empty_like", T(2, 3), T(), result="same", skip="leaks noncontiguous", **NEW)
op("zeros_like", T(2, 3), T(), ref=np.zeros_like, result="same", **NEW)
op("ones_like", T(2, 3), T(), ref=np.ones_like, result="same", **NEW)
op("full_like", S(T(2, 3), 1), ref=np.full_like, result="same", **NEW,
   errors=[(S(T(2, dtype="uint8"), 300), RuntimeError, "overflow")])
op("new_empty", S(T(2), (3, 1)), S(T(2), 3, 1), skip="noncontiguous", result="same", **NEW)
op("new_zeros", S(T(2), (3, 1)), S(T(2), 3), result="same", **NEW,
   ref=lambda x, *size: np.zeros(size[0] if np.ndim(size[0]) else size))
op("new_ones", S(T(2), (3, 1)), S(T(2), 3), result="same", **NEW,
   ref=lambda x, *size: np.ones(size[0] if np.ndim(size[0]) else size))
op("new_full", S(T(2), (3,), 1), ref=lambda x, size, v: np.full(size, v), result="same",
   **NEW)
op("new_empty_strided", S(T(2), (2, 3), (1, 2)), skip="noncontiguous", result="same",
   **NEW)
op("resize_", S(T(2, 3), (3, 2)), S(T(2, 3), 2, 2), grad=False, skip="empty noncontiguous",
   ref=lambda x, *size: np.resize(x, size[0] if np.ndim(size[0]) else size),
   errors=[(S(T(2), (-1,)), RuntimeError, "negative")])
op("resize_as_", S(T(2, 3), T(3, 2)), ref=lambda x, y: np.resize(x, y.shape), grad=False,
   skip="empty noncontiguous")
