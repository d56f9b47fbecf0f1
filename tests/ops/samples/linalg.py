"""Linear algebra: core/ops/linalg.cpp."""

# fmt: off
import numpy as np

import ember
from tests.ops.entry import S, T, op


def positive(x):
    """A positive definite matrix from any matrix."""
    return x @ np.conj(np.swapaxes(x, -1, -2)) + 2 * np.eye(x.shape[-1], dtype=x.dtype)


def triangle(x):
    return np.tril(x) + 2 * np.eye(x.shape[-1], dtype=x.dtype)


P = T(3, 3, make=positive)
op("linalg.cholesky", P, T(2, 3, 3, make=positive), dtypes="fc", result="same", tol=20,
   ref=np.linalg.cholesky, grad=False,
   errors=[(S(T(2, 3)), RuntimeError, "square"), (S(-np.eye(2)), ember.linalg.LinAlgError, "order 1")])
op("linalg.cholesky_ex", P, T(2, 3, 3, make=positive), dtypes="fc", grad=False)
op("linalg.solve_triangular", S(T(3, 3, make=triangle), T(3, 2), upper=False),
   S(T(2, 3, 3, make=triangle), T(2, 4, 3), upper=False, left=False), tol=50, dtypes="fc",
   ref=lambda a, b, upper, left=True: np.linalg.solve(a, b) if left else
   np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2),
   errors=[(S(T(2, 3), T(3, 1), upper=True), RuntimeError, "square")])
