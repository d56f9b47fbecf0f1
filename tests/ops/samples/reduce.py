"""Reductions: core/ops/reduce.cpp."""

import numpy as np

from tests.ops.entry import S, T, op


def over(function):
    """A NumPy reduction with torch's argument names."""
    return lambda x, dim=None, keepdim=False: function(
        x, axis=tuple(dim) if isinstance(dim, (tuple, list)) else dim, keepdims=keepdim
    )


BAD_DIM = [(S(T(2, 3), 2), IndexError, "out of range"),
           (S(T(2, 3), (0, 0)), RuntimeError, "multiple times")]  # fmt: skip

op("sum", T(3, 4), S(T(3, 4, 2), 1), S(T(3, 4, 2), (0, -1), True), S(T(), 0), T(300),
   ref=over(np.sum), dtypes="bifhc", result="sum", tol=10, errors=BAD_DIM)  # fmt: skip
