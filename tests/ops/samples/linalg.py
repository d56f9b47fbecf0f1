"""Linear algebra: core/ops/linalg.cpp."""

# fmt: off
import numpy as np

import ember
from tests.ops.entry import S, T, alias, op


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


# --- LU: core/ops/lu.cpp, solve.cpp, determinant.cpp ----------------------------------

def regular(x):
    """A matrix with a strong diagonal, which no pivot changes, from any square one."""
    return x + 6 * np.eye(x.shape[-2], x.shape[-1], dtype=x.dtype)


def packed(x):
    """LU factors of a regular matrix, in one."""
    return regular(x) / 2


def solved(a, b, left=True):
    if not left:
        return np.swapaxes(solved(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)
    vector = b.ndim == 1 or b.shape == a.shape[:-1]
    x = np.linalg.solve(a, b[..., None] if vector else b)
    return x[..., 0] if vector else x


A = T(3, 3, make=regular)
Batch = T(2, 3, 3, make=regular)
SINGULAR = np.zeros((2, 2))
LinAlgError = ember.linalg.LinAlgError
SQUARE = (S(T(2, 3)), RuntimeError, "square")
PIVOTS = np.array([2, 2, 3], "int32")


def from_packed(lu, pivots, b=None, left=True, adjoint=False):
    """What solving with LU factors is: the matrix itself, or a solution."""
    a = (np.tril(lu, -1) + np.eye(3)) @ np.triu(lu)
    for i in reversed(range(3)):
        a[[i, pivots[i] - 1]] = a[[pivots[i] - 1, i]]
    return solved(np.conj(a.T) if adjoint else a, b, left)


op("linalg.lu_factor", A, Batch, T(3, 2, make=regular), T(2, 4, make=regular), dtypes="fc",
   errors=[(S(SINGULAR), LinAlgError, r"U\[1,1\] is zero"), (S(T(3)), RuntimeError, "2 dim"),
           (S(T(2, 2), pivot=False), RuntimeError, "pivoting")])
op("linalg.lu_factor_ex", A, Batch, SINGULAR, dtypes="fc",
   errors=[(S(SINGULAR, check_errors=True), LinAlgError, "zero")])
op("linalg.lu", A, Batch, T(3, 2, make=regular), T(2, 4, make=regular), dtypes="fc", tol=20,
   ref=lambda a: (np.broadcast_to(np.eye(a.shape[-2]), a.shape[:-1] + a.shape[-2:-1]).astype(a.dtype),
                  *[np.stack(part).reshape(a.shape[:-2] + part[0].shape)
                    for part in zip(*[eliminated(m) for m in a.reshape(-1, *a.shape[-2:])])]))
op("lu_unpack", S(T(3, 3, make=packed), PIVOTS), S(T(2, 4), PIVOTS[:2], True, False), dtypes="fc",
   errors=[(S(T(3, 3), PIVOTS[:2]), ValueError, "pivots"),
           (S(T(3, 3), np.array([1, 2, 3])), RuntimeError, "int32"),
           (S(T(3, 3), PIVOTS + 9), RuntimeError, "That is 3, got 11")])
op("_lu_with_info", A, dtypes="fc")
op("linalg.lu_solve", S(T(3, 3, make=packed), PIVOTS, T(3, 2)), S(T(3, 3, make=packed), PIVOTS, T(2, 3), left=False),
   S(T(3, 3, make=packed), PIVOTS, T(3, 2), adjoint=True),
   S(T(3, 3, make=packed), PIVOTS, T(2, 3), left=False, adjoint=True), ref=from_packed, dtypes="fc", tol=50,
   errors=[(S(T(3, 3), PIVOTS, T(2, 3)), RuntimeError, "Incompatible"),
           (S(T(3, 3), PIVOTS[:2], T(3, 1)), RuntimeError, "pivots"),
           (S(T(3, 3), PIVOTS + 1, T(3, 1)), RuntimeError, "which is 3, got 4")])
op("lu_solve", S(T(3, 2), T(3, 3, make=packed), PIVOTS), dtypes="fc", tol=50,
   ref=lambda b, lu, pivots: from_packed(lu, pivots, b))


def eliminated(a):
    """L and U of one matrix without pivots."""
    m, n = a.shape
    lower, upper = np.eye(m, dtype=a.dtype), a.copy()
    for j in range(min(m, n)):
        for i in range(j + 1, m):
            lower[i, j] = upper[i, j] / upper[j, j]
            upper[i] -= lower[i, j] * upper[j]
    k = min(m, n)
    return lower[:, :k], np.triu(upper[:k])


SOLVE = dict(dtypes="fc", tol=50, errors=[
    (S(T(2, 3), T(3)), RuntimeError, "square"), (S(T(2, 2), T(3, 1)), RuntimeError, "Incompatible")])
op("linalg.solve", S(A, T(3)), S(A, T(3, 2)), S(Batch, T(2, 3)), S(Batch, T(3, 2)), S(A, T(2, 3), left=False),
   S(A, T(2, 3, 4)), ref=solved, **SOLVE)
op("linalg.solve_ex", S(A, T(3)), S(A, T(2, 3), left=False), **SOLVE)
op("linalg.inv", A, Batch, ref=np.linalg.inv, dtypes="fc", tol=50,
   errors=[SQUARE, (S(SINGULAR), LinAlgError, "element 1 is zero")])
alias("inverse", "linalg.inv")
op("linalg.inv_ex", A, Batch, dtypes="fc", errors=[SQUARE])
op("linalg.det", A, Batch, np.ones((3, 3)), ref=np.linalg.det, dtypes="fc", tol=50, errors=[SQUARE])
op("det", A, Batch, ref=np.linalg.det, dtypes="fc", tol=50, errors=[SQUARE])
op("linalg.slogdet", A, Batch, ref=np.linalg.slogdet, dtypes="fc", tol=50, errors=[SQUARE])
alias("slogdet", "linalg.slogdet")
op("logdet", A, Batch, ref=lambda a: np.log(np.linalg.det(a)), dtypes="fc", tol=50, errors=[SQUARE])
op("linalg.tensorinv", S(T(2, 3, 6, make=lambda x: regular(x.reshape(6, 6)).reshape(2, 3, 6))),
   S(T(6, 2, 3, make=lambda x: regular(x.reshape(6, 6)).reshape(6, 2, 3)), ind=1),
   ref=lambda a, ind=2: np.linalg.tensorinv(a, ind), tol=50, errors=[(S(T(2, 3, 4)), RuntimeError, "prod")])
op("linalg.tensorsolve", S(T(2, 3, 6, make=lambda x: regular(x.reshape(6, 6)).reshape(2, 3, 6)), T(2, 3)),
   ref=np.linalg.tensorsolve, tol=50, errors=[(S(T(2, 3, 4), T(2, 3)), RuntimeError, "prod")])
