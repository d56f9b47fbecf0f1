"""Running totals and differences: core/ops/scan.cpp, gradient.cpp."""

# fmt: off
import numpy as np

import ember
from tests.ops.entry import S, T, op

BAD_DIM = [(S(T(2, 3), 2), IndexError, "out of range")]


def along(function):
    """A NumPy scan with torch's argument names; a scalar stands for a line of one."""

    def reference(x, dim, dtype=None):
        return function(x, axis=dim) if x.ndim else x

    return reference


def with_zeros(x):
    return x * (np.arange(x.size).reshape(x.shape) % 4 != 1)


LINES = [S(T(5), 0), S(T(3, 4), 1), S(T(3, 4, 2), -2), S(T(), 0)]
op("cumsum", *LINES, S(T(300), 0), S(T(3, dtype="float32", grad=False), 0, dtype=ember.float64), ref=along(np.cumsum),
   dtypes="bifhc", tol=20, errors=BAD_DIM)
op("cumprod", *LINES, S(T(5, make=with_zeros), 0), S(T(3, 4, make=with_zeros), 0),
   ref=along(np.cumprod), dtypes="ifhc", tol=20, errors=BAD_DIM)


def running(function, best):
    def reference(x, dim):
        if not x.ndim:
            return x, np.zeros((), np.int64)
        values = function.accumulate(x, axis=dim)
        places = np.indices(x.shape)[dim]
        return values, np.maximum.accumulate(np.where(x == values, places, 0), axis=dim)

    return reference


op("cummax", S(T(6, distinct=True), 0), S(T(3, 4, distinct=True), 0), S(T(), 0),
   ref=running(np.maximum, np.argmax), dtypes="fih", errors=BAD_DIM)
op("cummin", S(T(6, distinct=True), 0), S(T(3, 4, distinct=True), 1), S(T(), 0),
   ref=running(np.minimum, np.argmin), dtypes="fih", errors=BAD_DIM)
op("logcumsumexp", *LINES, ref=along(np.logaddexp.accumulate), dtypes="fh", tol=20,
   errors=BAD_DIM)


def difference(x, n=1, dim=-1, prepend=np._NoValue, append=np._NoValue):
    return np.diff(x, n, dim, prepend, append)


op("diff", T(5), S(T(3, 4), 1, 0), S(T(3, 4), 2), S(T(3, 4), prepend=T(3, 1), append=T(3, 2)),
   S(T(4), 0), S(T(3), 5), ref=difference, dtypes="ifhc", tol=4,
   errors=BAD_DIM[:0] + [(S(T()), RuntimeError, "one-dimensional"),
                         (S(T(3), -1), RuntimeError, "non-negative")])


def area(y, x=None, dx=1.0, dim=-1):
    return np.trapezoid(y, x, dx, dim)


def areas(y, x=None, dx=1.0, dim=-1):
    h = dx if x is None else np.diff(x, axis=dim)
    y = np.moveaxis(y, dim, -1)
    h = h if np.ndim(h) < 2 else np.moveaxis(h, dim, -1)
    return np.moveaxis(np.cumsum(h * (y[..., 1:] + y[..., :-1]), -1) / 2, -1, dim)


SAMPLES = [T(5), S(T(3, 4), dx=0.5), S(T(3, 4), dim=0), S(T(3, 4), T(4)), S(T(3, 4), T(3, 4), dim=0)]
if not hasattr(np, "trapezoid"):
    np.trapezoid = np.trapz  # noqa: NPY201 (NumPy 1)
op("trapezoid", *SAMPLES, ref=area, tol=10)
op("trapz", *SAMPLES, ref=area, tol=10)
op("cumulative_trapezoid", *SAMPLES, ref=areas, tol=10)


def slopes(x, spacing=1.0, dim=None, edge_order=1):
    dims = tuple(range(x.ndim)) if dim is None else (dim,) if isinstance(dim, int) else dim
    steps = spacing if isinstance(spacing, list) else [spacing] * len(dims)
    return [np.gradient(x, h, axis=d, edge_order=edge_order) for h, d in zip(steps, dims)]


op("gradient", T(5), S(T(3, 4), spacing=0.5), S(T(3, 4), dim=1, edge_order=2),
   S(T(3, 4), spacing=[2.0, 0.5]), S(T(4, 3, dtype="float64"), spacing=[np.array([0.0, 1, 3, 4])], dim=0),
   S(T(4, 3, dtype="float64"), spacing=[np.array([0.0, 1, 3, 4])], dim=[0], edge_order=2), ref=slopes, tol=10,
   errors=[(S(T(3), edge_order=3), RuntimeError, "edge_order"),
           (S(T(1)), RuntimeError, "edge_order")])
