"""Running sums and their kin, softmax: core/ops/scan.cpp, softmax.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, alias, op
from tests.ops.samples.reduce import BAD_DIM

D = {"distinct": True}
ALONG = [S(T(3, 4), 1), S(T(3, 4, 2), 0), S(T(3, 4), -1)]


def running(function, index):
    """Values and places of running extremes."""

    def reference(x, dim):
        y = function.accumulate(x, dim)
        steps = np.arange(x.shape[dim]).reshape([-1 if d == dim % x.ndim else 1 for d in range(x.ndim)])
        return y, np.maximum.accumulate(np.where(x == y, steps, 0), dim)

    return reference


def softmax(x, dim, dtype=None):
    y = np.exp(x - x.max(dim, keepdims=True))
    return y / y.sum(dim, keepdims=True)


op("cumsum", *ALONG, S(T(), 0), ref=lambda x, dim: np.cumsum(x, dim) if x.ndim else x, dtypes="ifhc",
   result="sum", tol=10, errors=BAD_DIM)
op("cumprod", *ALONG, S(T(3, 3, make=lambda x: x * (np.arange(9).reshape(3, 3) != 4)), 0), dtypes="ifhc",
   ref=np.cumprod, result="sum", tol=10, errors=BAD_DIM)
op("cummax", S(T(3, 4, **D), 1), S(T(3, 4, **D), 0), ref=running(np.maximum, 0), dtypes="f", result="same",
   errors=BAD_DIM)
op("cummin", S(T(3, 4, **D), 1), S(T(3, 4, **D), 0), ref=running(np.minimum, 0), dtypes="f", result="same",
   errors=BAD_DIM)
op("logcumsumexp", *ALONG, ref=lambda x, dim: np.log(np.cumsum(np.exp(x), dim)), dtypes="f", tol=10,
   result="same", errors=BAD_DIM)
op("softmax", *ALONG, ref=softmax, dtypes="fh", result="same", tol=4, errors=BAD_DIM)
op("log_softmax", *ALONG, ref=lambda x, dim: np.log(softmax(x, dim)), dtypes="fh", result="same", tol=4,
   errors=BAD_DIM)
alias("special.softmax", "softmax")
alias("special.log_softmax", "log_softmax")
alias("special.logsumexp", "logsumexp")
op("diff", T(3, 4), S(T(3, 4), 2, 0), S(T(3), 1, 0, T(1), T(2)), dtypes="ifhc", result="promote",
   ref=lambda x, n=1, dim=-1, *ends: np.diff(x, n, dim, *ends))
op("trapezoid", T(3, 4), S(T(3, 4), T(4)), S(T(3, 4), dx=2.0, dim=0), dtypes="f", tol=10,
   ref=lambda y, x=None, dx=1, dim=-1: np.trapezoid(y, x, dx, dim))
op("trapz", T(3, 4), S(T(3, 4), T(4)), S(T(3, 4), dx=2.0, dim=0), dtypes="f", tol=10,
   ref=lambda y, x=None, dx=1, dim=-1: np.trapezoid(y, x, dx, dim))
op("cumulative_trapezoid", T(3, 4), S(T(3, 4), T(4)), S(T(3, 4), dx=2.0, dim=0), dtypes="f")
