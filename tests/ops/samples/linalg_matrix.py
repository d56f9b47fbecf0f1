"""Norms, functions and products of matrices: core/ops/matrix_norms.cpp and others.

The others are matrix_functions.cpp, pinv.cpp, lstsq.cpp, vectors.cpp, distance.cpp.
"""

# fmt: off
import numpy as np

import ember
from tests.ops.entry import S, T, alias, op
from tests.ops.samples.linalg import positive, regular, triangle
from tests.ops.samples.linalg_factors import descending, symmetric

INF = float("inf")
SQUARE = (S(T(2, 3)), RuntimeError, "square")
M = T(4, 3, make=descending)
A = T(3, 3, make=regular)

# --- norms --------------------------------------------------------------------------------


def matrix_norm(x, ord="fro", dim=(-2, -1), keepdim=False):
    return np.linalg.norm(x, ord, tuple(dim), keepdim)


def norm(x, ord=None, dim=None, keepdim=False):
    if ord is None and dim is None:
        return np.linalg.norm(x.reshape(-1)).reshape((1,) * x.ndim if keepdim else ())
    return np.linalg.norm(x, ord, dim, keepdim)


op("linalg.matrix_norm", M, S(M, "nuc"), S(M, 1), S(M, -1), S(M, 2), S(M, -2), S(M, INF), S(M, -INF),
   S(T(2, 4, 3, away=(0,)), "fro", (0, 2), True), S(T(2, 4, 3, away=(0,)), 1, (2, 0)), ref=matrix_norm,
   dtypes="fc", tol=20, result="real",
   errors=[(S(T(3)), RuntimeError, "2 dim"), (S(T(2, 2), 3), RuntimeError, "Order 3"),
           (S(T(2, 2), "sup"), RuntimeError, "Order sup"), (S(T(2, 2), 1, (0, 0)), RuntimeError, "different"),
           (S(T(2, 2), 1, (0,)), RuntimeError, "2-tuple")])
op("linalg.norm", M, S(M, 2), S(M, "nuc"), S(T(5, away=(0,)), 3), S(M, 1, 0), S(M, None, None, True),
   S(T(2, 4, 3, away=(0,)), "fro", (1, 2)), ref=norm, dtypes="fc", tol=20, result="real",
   errors=[(S(T(2, 2, 2), 1), RuntimeError, "1D or 2D"), (S(T(2, 2), 1, (0, 1, 2)), RuntimeError, "length 1 or 2"),
           (S(T(3), "fro"), RuntimeError, "2 dimensions")])
op("linalg.cond", A, S(A, 1), S(A, -1), S(A, INF), S(A, -2), S(A, "fro"), S(A, "nuc"), ref=np.linalg.cond,
   dtypes="fc", tol=200, result="real",
   errors=[(S(T(2, 3), 1), RuntimeError, "square"), (S(T(2, 2), 3), RuntimeError, "invalid norm"),
           (S(T(2, 2), "x"), RuntimeError, "invalid norm")])

# --- ranks, pseudo-inverses, least squares --------------------------------------------------


def rank(a, tol=None, hermitian=False, atol=None, rtol=None):
    s = np.linalg.svd(a, compute_uv=False)
    most = s.max(-1, keepdims=True)
    bound = np.maximum(0 if atol is None and tol is None else tol if atol is None else atol,
                       (0 if tol is not None else 1e-6 if rtol is None else rtol) * most)
    return (s > bound).sum(-1)


LOW = np.outer([1.0, 2.0, 3.0], [1.0, -1.0])
op("linalg.matrix_rank", M, S(LOW), S(M, 1.5), S(M, atol=1.5), S(M, rtol=0.5), S(M, np.array(1.5)),
   S(T(3, 3, make=symmetric), hermitian=True), ref=rank, dtypes="fc", result="int64", grad=False,
   errors=[(S(T(3)), RuntimeError, "2 dim")])
op("linalg.pinv", M, T(2, 3, 4, make=descending), S(T(3, 3, make=symmetric, grad=False), hermitian=True), S(M, rtol=1e-3),
   S(M, 1e-3), S(M, atol=np.array(0.01)), S(M, np.array(0.01)), dtypes="fc", tol=100, grad=True,
   ref=lambda a, *_, **__: np.linalg.pinv(a), errors=[(S(T(3)), RuntimeError, "2 dim")])
op("pinverse", M, ref=np.linalg.pinv, dtypes="fc", tol=100)
F = T(4, 3, make=descending, grad=False)  # singular values have no gradient there
op("linalg.lstsq", S(M, T(4, 2)), S(M, T(4)), S(M, T(4, 2), driver="gels"), S(F, T(4, 2, grad=False), driver="gelsd"),
   S(F, T(4, 2, grad=False), driver="gelss"), S(T(2, 3, 4, make=descending), T(2, 3, 2)), dtypes="fc",
   errors=[(S(T(3), T(3)), RuntimeError, "2 dim"), (S(M, T(3, 2)), RuntimeError, "size"),
           (S(M, T(4, 1), driver="x"), RuntimeError, "driver"), (S(T(2, 4, 3), T(4)), RuntimeError, "dim")])
H = T(3, 3, make=symmetric)
op("linalg.ldl_factor", H, S(H, hermitian=True), T(2, 3, 3, make=symmetric), dtypes="fc", grad=False,
   errors=[SQUARE, (S(np.zeros((2, 2))), ember.linalg.LinAlgError, r"D\[1,1\]")])
op("linalg.ldl_factor_ex", H, S(H, hermitian=True), dtypes="fc", grad=False, errors=[SQUARE])
op("linalg.ldl_solve", S(T(3, 3, make=triangle), np.array([1, 2, 3], "int32"), T(3, 2)), dtypes="fc", grad=False,
   ref=lambda ld, pivots, b: np.linalg.solve(unit(ld) @ np.diag(np.diag(ld)) @ unit(ld).T, b), tol=50,
   errors=[(S(T(3, 3), np.array([1, 2, 3]), T(3, 2)), RuntimeError, "int32"),
           (S(T(3, 3), np.array([1, 2, 3], "int32"), T(2, 2)), RuntimeError, "Incompatible"),
           (S(T(3, 3), np.array([1, 2, -3], "int32"), T(3, 2)), RuntimeError, "got -3 alone")])


def unit(ld):
    return np.tril(ld, -1) + np.eye(len(ld))


# --- Cholesky under older names ---------------------------------------------------------------

L = T(3, 3, make=triangle)
op("cholesky", T(3, 3, make=positive), S(T(2, 3, 3, make=positive), True), dtypes="fc", grad=False, tol=20,
   ref=lambda x, upper=False: np.conj(np.swapaxes(np.linalg.cholesky(x), -1, -2)) if upper else
   np.linalg.cholesky(x), errors=[SQUARE, (S(-np.eye(2)), ember.linalg.LinAlgError, "order 1")])
op("cholesky_solve", S(T(3, 2), L), S(T(2, 3, 2), L), S(T(3, 2), T(3, 3, make=lambda x: triangle(x).T), True),
   dtypes="fc", tol=100, ref=lambda b, f, upper=False: np.linalg.solve(
       np.conj(f.T) @ f if upper else f @ np.conj(f.T), b))
op("cholesky_inverse", L, dtypes="fc", tol=100, ref=lambda f: np.linalg.inv(f @ np.conj(f.T)), errors=[SQUARE])
op("triangular_solve", S(T(3, 2), L, False), S(T(3, 2), L, False, True), S(T(2, 3, 2), L, False), dtypes="fc", tol=50,
   ref=lambda b, a, upper, transpose=False: (
       np.linalg.solve(a.T if transpose else a, b), np.broadcast_to(a, b.shape[:-2] + a.shape)))

# --- functions ------------------------------------------------------------------------------


def exponential(a):
    """By the series, of a matrix made small enough for it."""
    a = np.asarray(a, np.result_type(a.dtype, "float64"))
    small, term = a / 64, np.eye(a.shape[-1])
    total = term + 0 * small
    for i in range(1, 20):
        term = term @ small / i
        total = total + term
    return np.linalg.matrix_power(total, 64)


op("linalg.matrix_exp", T(3, 3), T(2, 3, 3, make=lambda x: x * np.array([0.01, 9])[:, None, None]), dtypes="fc",
   ref=exponential, tol=100, errors=[SQUARE, (S(np.ones((2, 2), "int64")), RuntimeError, "floating")])
op("matrix_exp", T(3, 3), T(3, 3, low=-0.1, high=0.1), dtypes="fc", ref=exponential, tol=100, errors=[SQUARE])
op("linalg.matrix_power", S(A, 3), S(A, 0), S(A, 1), S(A, -2), S(T(2, 3, 3), 6), ref=np.linalg.matrix_power,
   dtypes="fc", tol=200, errors=[(S(T(2, 3), 2), RuntimeError, "square")])
alias("matrix_power", "linalg.matrix_power")
op("linalg.multi_dot", S([T(3, 2), T(2, 4)]), S([T(3, 2), T(2, 4), T(4, 1), T(1, 5)]), S([T(2), T(2, 4), T(4)]),
   ref=np.linalg.multi_dot, dtypes="fc", tol=20,
   errors=[(S([T(2, 2)]), RuntimeError, "at least 2"), (S([T(2, 3), T(2, 3)]), RuntimeError, "cannot be")])
op("chain_matmul", S(T(3, 2), T(2, 4), T(4, 1)), S(T(3, 2)), dtypes="fc", tol=20,
   ref=lambda *m: np.linalg.multi_dot(m) if len(m) > 1 else m[0], errors=[(S(T(2)), RuntimeError, "expected 2 instead")])

# --- vectors --------------------------------------------------------------------------------

op("linalg.cross", S(T(4, 3), T(4, 3)), S(T(3, 2), T(3, 2), dim=0), S(T(1, 3), T(4, 3)), dtypes="ifc", tol=5,
   ref=lambda a, b, dim=-1: np.cross(a, b, axis=dim),
   errors=[(S(T(2, 4), T(2, 4)), RuntimeError, "length 3"), (S(T(3), T(2, 3)), RuntimeError, "number of dim")])
op("cross", S(T(3, 4), T(3, 4)), S(T(4, 3), T(4, 3), 1), dtypes="ifc", tol=5,
   ref=lambda a, b, dim=0: np.cross(a, b, axis=dim), errors=[(S(T(2), T(2)), RuntimeError, "size 3")])
op("linalg.vecdot", S(T(2, 3), T(2, 3)), S(T(2, 3), T(2, 3), dim=0), S(T(3), T(2, 3)), dtypes="fc", tol=10,
   ref=lambda a, b, dim=-1: (np.conj(a) * b).sum(dim), errors=[(S(np.ones(2, "int64"), np.ones(2, "int64")),
                                                              RuntimeError, "floating")])
op("linalg.diagonal", T(3, 4), S(T(2, 3, 4), offset=1, dim1=0, dim2=2), dtypes="ifc", view=True,
   ref=lambda a, offset=0, dim1=-2, dim2=-1: np.diagonal(a, offset, dim1, dim2))
op("linalg.matmul", S(T(3, 2), T(2, 4)), S(T(2, 3, 2), T(2)), ref=np.matmul, dtypes="fc", tol=10)
op("linalg.vander", T(3), S(T(2, 3), N=5), dtypes="ifc", tol=20,
   ref=lambda x, N=None: x[..., None] ** np.arange(N or x.shape[-1]),
   errors=[(S(T(3), N=1), RuntimeError, "greater than 1"), (S(T()), RuntimeError, "N must")])
op("cov", T(3, 5), T(4), S(T(3, 5), correction=0), S(T(3, 5), fweights=np.array([1, 2, 1, 3, 1])),
   S(T(3, 5), aweights=np.array([1.0, 2, 1, 3, 1]), fweights=np.array([1, 2, 1, 3, 1])), dtypes="f", tol=50,
   ref=lambda x, correction=1, fweights=None, aweights=None: np.cov(
       x, ddof=correction, fweights=fweights, aweights=aweights),
   errors=[(S(T(2, 2, 2)), RuntimeError, "two or fewer"),
           (S(T(2, 3), fweights=np.array([1, -1, 2])), RuntimeError, "negative")])
op("corrcoef", T(3, 5), ref=np.corrcoef, dtypes="f", tol=50, skip="gradient gradient2",  # clamped at its border, 1
   errors=[(S(T(2, 2, 2)), RuntimeError, "two or fewer")])

# --- distances ------------------------------------------------------------------------------


def distances(x, y, p=2, mode=None):
    return np.linalg.norm(x[..., :, None, :] - y[..., None, :, :], p, -1)


op("cdist", S(T(3, 2), T(4, 2)), S(T(2, 3, 2), T(4, 2), 1.0), S(T(3, 2), T(4, 2), 3.0), S(T(3, 2), T(4, 2), INF),
   S(T(3, 2), T(2, 2), 2.0, "use_mm_for_euclid_dist"), S(T(30, 2), T(2, 2)), ref=distances, tol=100, grad="first",
   errors=[(S(T(3, 2), T(3, 3)), RuntimeError, "columns"), (S(T(3), T(3)), RuntimeError, "2D"),
           (S(T(2, 2), T(2, 2), -1.0), RuntimeError, "non-negative"),
           (S(T(2, 2), T(2, 2), 2.0, "fast"), ValueError, "compute_mode")])
op("pdist", T(4, 3), S(T(4, 3), 1.0), S(T(1, 3)), tol=10, grad="first",
   ref=lambda x, p=2: distances(x, x, p)[np.triu_indices(len(x), 1)],
   errors=[(S(T(3)), RuntimeError, "2D"), (S(T(2, 2), -1.0), RuntimeError, "non-negative")])
