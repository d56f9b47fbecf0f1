"""Factorisations: core/ops/svd.cpp, eigen.cpp, qr.cpp.

Vectors are unique up to a sign or phase only. Where a loss that does not depend on it
is needed, gradients are left to tests/test_linalg.py.
"""

# fmt: off
import numpy as np

import ember
from tests.ops.entry import S, T, alias, op


def apart(x):
    """A matrix with singular values, and a symmetric part with eigenvalues, apart."""
    m, n = x.shape[-2:]
    return x / 4 + np.eye(m, n) * np.arange(1, m + 1)[:, None]


def descending(x):
    return x / 4 + np.eye(*x.shape[-2:]) * np.arange(x.shape[-2], 0, -1)[:, None]


def symmetric(x):
    return apart(x + np.conj(np.swapaxes(x, -1, -2)))


H = T(3, 3, make=symmetric)
MATRICES = (T(3, 3, make=descending), T(2, 4, 3, make=descending), T(3, 4, make=descending))
NARROW = (S(T(3)), RuntimeError, "2 dim")
SQUARE = (S(T(2, 3)), RuntimeError, "square")

op("linalg.svdvals", *MATRICES, ref=lambda a: np.linalg.svd(a, compute_uv=False), dtypes="fc", tol=20,
   result="real", errors=[NARROW, (S(T(2, 2), driver="gesvd"), RuntimeError, "CUDA"),
                          (S(np.full((2, 2), np.nan)), ember.linalg.LinAlgError, "non-finite")])
# real vectors have a sign, which a small step does not change
op("linalg.svd", *[S(t, False) for t in MATRICES], S(T(3, 3, make=descending)), errors=[NARROW])
op("svd", *MATRICES, S(T(4, 3), compute_uv=False), errors=[NARROW])
op("linalg.eigvalsh", H, S(H, "U"), ref=lambda a, uplo="L": np.linalg.eigvalsh(a, uplo), dtypes="fc",
   tol=20, result="real", errors=[SQUARE, (S(T(2, 2), "X"), RuntimeError, "UPLO")], grad=False)
op("linalg.eigh", H, S(H, "U"), T(2, 3, 3, make=symmetric), errors=[SQUARE], grad=False)
op("linalg.eigvals", T(3, 3, make=apart), ref=lambda a: np.linalg.eigvals(a).astype(complex), dtypes="f",
   tol=50, errors=[SQUARE, (S(np.full((2, 2), np.inf)), RuntimeError, "infs")])
op("linalg.eig", T(3, 3, make=apart), T(2, 3, 3, make=apart), errors=[SQUARE], grad=False)


def qr(a, mode="reduced"):
    """NumPy's, which calls the same LAPACK."""
    q, r = np.linalg.qr(a, "reduced" if mode == "r" else mode)
    return q, r


op("linalg.qr", *MATRICES, S(T(3, 4), "complete"), ref=qr, dtypes="fc", tol=50,
   errors=[NARROW, (S(T(2, 2), "full"), RuntimeError, "unrecognized mode")])
op("qr", *MATRICES, S(T(3, 4), False), dtypes="fc", tol=50,
   ref=lambda a, some=True: qr(a, "reduced" if some else "complete"), errors=[NARROW])
op("geqrf", *MATRICES, dtypes="fc", grad=False, errors=[NARROW])


def reflected(a, tau, columns=None):
    """The product of reflectors, column by column."""
    q = np.eye(a.shape[-2], dtype=a.dtype)
    for i in range(tau.shape[-1]):
        v = np.where(np.arange(len(a)) > i, a[:, i], np.arange(len(a)) == i)
        q = q @ (np.eye(len(a)) - tau[i] * np.outer(v, np.conj(v)))
    return q[:, :a.shape[-1]] if columns is None else q


def multiplied(a, tau, c, left=True, transpose=False):
    q = reflected(a, tau, "all")
    q = np.conj(q.T) if transpose else q
    return q @ c if left else c @ q


V = T(4, 3, low=-0.7, high=0.7)
TAU = T(2, low=0.2, high=0.7)
op("linalg.householder_product", S(V, TAU), S(V, T(3, low=0.2, high=0.7)), ref=reflected, dtypes="fc", tol=20,
   errors=[(S(T(2, 3), T(2)), RuntimeError, "greater"), (S(T(3, 3), T(4)), RuntimeError, "greater"),
           (S(T(2, 3, 3), T(3)), RuntimeError, "one dimension less")])
alias("orgqr", "linalg.householder_product")
op("ormqr", S(V, TAU, T(4, 2)), S(V, TAU, T(2, 4), False), S(V, TAU, T(4, 2), True, True),
   S(V, TAU, T(2, 4), False, True), ref=multiplied, dtypes="fc", tol=20,
   errors=[(S(V, TAU, T(3, 2)), RuntimeError, "equal to")])
