"""Tensors from nothing: core/ops/create.cpp."""

# fmt: off
import numpy as np

import ember
from tests.ops.entry import S, op


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
