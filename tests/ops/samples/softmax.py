"""softmax, log_softmax and logsumexp: core/ops/softmax.cpp."""

# fmt: off
import numpy as np

import ember
from tests.ops.entry import S, T, alias, op


def logsumexp(x, dim, keepdim=False):
    axis = tuple(dim) if isinstance(dim, (list, tuple)) else dim if x.ndim else None
    top = x.max(axis, keepdims=True) if x.size else np.zeros(())
    out = np.log(np.exp(x - top).sum(axis, keepdims=True)) + top
    return out if keepdim else out.squeeze(axis)


def log_softmax(x, dim, dtype=None):
    return x - logsumexp(x, dim, True)


LINES = [S(T(5), 0), S(T(3, 4), 1), S(T(3, 4, 2), 1), S(T(2, 40), -1), S(T(), -1),
         S(T(2, 3), 0, ember.float64)]
ERRORS = [(S(T(2, 3), 2), IndexError, "out of range"),
          (S(T(3, dtype="int64"), 0), NotImplementedError, "int64")]
op("softmax", *LINES, ref=lambda x, dim, dtype=None: np.exp(log_softmax(x, dim)), dtypes="fh",
   tol=10, errors=ERRORS)
op("log_softmax", *LINES, ref=log_softmax, dtypes="fh", tol=10, errors=ERRORS)
op("special.softmax", *LINES[:2], ref=lambda x, dim: np.exp(log_softmax(x, dim)), dtypes="fh", tol=10)
op("special.log_softmax", *LINES[:2], ref=log_softmax, dtypes="fh", tol=10)
op("logsumexp", S(T(5), 0), S(T(3, 4), 1), S(T(3, 4, 2), 0, True), S(T(3, 4, 2), (0, 2)),
   S(T(), 0), ref=logsumexp, dtypes="fh", tol=10, errors=ERRORS[:1])
alias("special.logsumexp", "logsumexp")
