"""Gathering, scattering, masks, sorting and searching: core/ops/index*.cpp, sort.cpp, search.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op

M = T(3, 4)
ROWS = np.array([2, 0])
PLACES = np.array([[0, 2, 1, 0], [1, 0, 0, 2]])
MASK = np.array([[True, False, True, False], [False] * 4, [True] * 4])
OUTSIDE = (IndexError, RuntimeError)


def put(x, at, values, function=None):
    """x with values put, or added by `function`, at an index."""
    x, values = np.array(x), np.asarray(values)
    if function is None:
        x[at] = values
    else:
        function.at(x, at, values)
    return x


def rows_of(x, dim, index):
    return (slice(None),) * (dim % x.ndim) + (index,)


def along(x, dim, index):
    at = list(np.indices(index.shape))
    at[dim] = index
    return tuple(at)


def two(name, *samples, **fields):
    op(name, *samples, dtypes="fc", result="same", **fields)


two("index_select", S(M, 0, ROWS), S(M, -1, ROWS), ref=lambda x, d, i: x.take(i, d))
two("gather", S(M, 0, PLACES), S(M, 1, np.array([[3], [0], [1]])),
    ref=lambda x, d, i: x[along(x, d, i)])
two("take", S(M, np.array([[0, 11], [5, -1]])), ref=np.take)
two("take_along_dim", S(M, PLACES, 0), S(M, np.array([3, 7])), ref=lambda x, i, d=None: np.take_along_axis(x, i, d))
two("index_add", S(M, 0, np.array([2, 0, 2]), T(3, 4)), S(M, 1, ROWS, T(3, 2), alpha=2),
    ref=lambda x, d, i, v, alpha=1: put(x, rows_of(x, d, i), alpha * v, np.add), tol=2)
two("index_copy", S(M, 0, ROWS, T(2, 4)), ref=lambda x, d, i, v: put(x, rows_of(x, d, i), v))
two("index_fill", S(M, 1, ROWS, 2.5), ref=lambda x, d, i, v: put(x, rows_of(x, d, i), v))
op("index_reduce", S(M, 0, ROWS, T(2, 4), "prod"), S(M, 0, ROWS, T(2, 4), "amax"),
   ref=lambda x, d, i, v, how: put(x, rows_of(x, d, i), v, {"prod": np.multiply, "amax": np.maximum}[how]))
two("index_put", S(M, [ROWS, np.array([1, 3])], T(2)), S(M, [ROWS], T(1, 4), True), skip="empty",
    ref=lambda x, i, v, add=False: put(x, tuple(i), v, np.add if add else None))
two("index_put_", S(T(3, 4, grad=False), [ROWS], T(2, 4)), ref=lambda x, i, v: put(x, tuple(i), v),
    skip="empty noncontiguous")
two("put", S(M, np.array([0, 11, 5]), T(3)), S(M, np.array([0, 0, 5]), T(3), True),
    ref=lambda x, i, v, add=False: put(x.reshape(-1), i, v, np.add if add else None).reshape(x.shape))
two("scatter", S(M, 0, PLACES, T(2, 4)), S(M, 1, ROWS[:, None], 1.5), skip="gradient gradient2 inplace",
    ref=lambda x, d, i, v: put(x, along(x, d, i), v))
two("scatter_add", S(M, 0, PLACES, T(2, 4)), ref=lambda x, d, i, v: put(x, along(x, d, i), v, np.add), tol=2)
op("scatter_reduce", S(M, 0, PLACES, T(2, 4), "sum"), S(M, 0, PLACES, T(2, 4), "amin"), tol=2,
   ref=lambda x, d, i, v, how: put(x, along(x, d, i), v, {"sum": np.add, "amin": np.minimum}[how]))
two("masked_fill", S(M, MASK, 1.5), S(M, np.array([True, False, False, True]), T()),
    ref=lambda x, m, v: np.where(m, v, x), skip="noncontiguous")
two("masked_select", S(M, MASK), ref=lambda x, m: x[m], skip="meta")
two("masked_scatter", S(M, MASK, T(12)), ref=lambda x, m, v: put(x, m, v[:6]), skip="meta empty")
for name, ref, sample in (
    ("select_scatter", lambda x, v, d, i: put(x, rows_of(x, d, i), v), S(M, T(3), 1, 2)),
    ("slice_scatter", lambda x, v, d, a, b: put(x, rows_of(x, d, slice(a, b)), v), S(M, T(3, 2), 1, 1, 3)),
    ("diagonal_scatter", lambda x, v: put(x, (range(3), range(3)), v), S(M, T(3))),
    ("as_strided_scatter", lambda x, v, *a: put(x, [0, 1, 3, 4], v.reshape(-1)), S(T(6), T(2, 2), (2, 2), (3, 1))),
):
    two(name, sample, ref=ref, skip="empty noncontiguous")

# --- where things are -----------------------------------------------------------------------
op("nonzero", M, T(2, 3, dtype="bool"), ref=lambda x: np.argwhere(x), dtypes="bif", result="int64", skip="meta")
op("argwhere", M, ref=np.argwhere, dtypes="bif", result="int64", skip="meta")
op("nonzero_static", S(T(3, dtype="bool"), size=4), dtypes="f", result="int64", skip="meta")
op("unravel_index", S(np.array([5, 11]), (3, 4)), ref=np.unravel_index, skip="meta")
