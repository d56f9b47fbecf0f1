"""Sums and their kin: core/ops/reduce.cpp."""

# fmt: off
import numpy as np

import ember
from tests.ops.entry import S, T, op


def over(function):
    """A NumPy reduction with torch's argument names; a scalar has dimensions 0 and -1."""

    def reference(x, dim=None, keepdim=False, dtype=None, **options):
        axis = tuple(dim) if isinstance(dim, (tuple, list)) else dim
        return function(x, axis=axis if x.ndim else None, keepdims=keepdim, **options)

    return reference


def spread(function):
    """The same for var and std, which divide by n - correction."""

    def reference(x, dim=None, unbiased=None, keepdim=False, correction=1):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        ddof = correction if unbiased is None else int(unbiased)
        return over(function)(x, dim, keepdim, ddof=ddof)

    return reference


def with_nans(x):
    x = np.array(x)
    x.reshape(-1)[::5] = np.nan
    return x


BAD_DIM = [(S(T(2, 3), 2), IndexError, "out of range")]
TWICE = [(S(T(2, 3), (0, 0)), RuntimeError, "multiple times")]
DIMS = [T(3, 4), S(T(3, 4, 2), 1), S(T(3, 4, 2), (0, -1), True), S(T(), -1), T(300)]

op("sum", *DIMS, S(T(3, 4), 0, dtype=ember.float64), dtypes="bifh", tol=10,
   ref=over(np.sum), errors=BAD_DIM + TWICE)
op("mean", *DIMS, ref=over(np.mean), dtypes="fhc", result="same", tol=10,
   errors=BAD_DIM + [(S(T(3, dtype="int64")), RuntimeError, "floating")])
op("nansum", T(3, 4, make=with_nans), S(T(3, 4, make=with_nans), 1, True), dtypes="fh",
   ref=over(np.nansum), tol=10, grad=False)
op("nanmean", T(3, 4, make=with_nans), S(T(3, 4, make=with_nans), 0), dtypes="fh",
   ref=over(np.nanmean), tol=10, grad=False)
op("prod", T(3, 4), S(T(3, 4, 2), 1), S(T(3, 4), -1, True), T(),
   S(T(3, 3, make=lambda x: x * (np.arange(9).reshape(3, 3) != 4)), 0),
   ref=over(np.prod), dtypes="ifhc", result="sum", tol=10, errors=BAD_DIM)
op("any", *DIMS, ref=over(np.any), dtypes="bifc", errors=BAD_DIM)
op("all", *DIMS, ref=over(np.all), dtypes="bifc", errors=BAD_DIM)
op("count_nonzero", T(3, 4), S(T(3, 4), 1), S(T(3, 4, 2), (0, 2)), dtypes="bif",
   ref=lambda x, dim=None: np.count_nonzero(x, axis=dim), result="int64")
SPREAD = [T(3, 4), S(T(3, 4), False), S(T(3, 4, 2), 1), S(T(3, 4, 2), (0, -1), keepdim=True),
          S(T(3, 4), 1, correction=0), S(T(3, 4), 1, False, True)]
op("var", *SPREAD, ref=spread(np.var), dtypes="fhc", result="real", tol=10, errors=BAD_DIM)
op("std", *SPREAD, ref=spread(np.std), dtypes="fhc", result="real", tol=10, errors=BAD_DIM)
op("var_mean", *SPREAD, dtypes="fhc", result="real", tol=10)
op("std_mean", *SPREAD, dtypes="fhc", result="real", tol=10)
