"""One index for whole rows: core/ops/index_rows.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op

ANY = "bifhc"
I = np.array([2, 0, 2])
UNIQUE = np.array([2, 0])


def rows(x, dim, index):
    """A view in which dimension `dim` comes first, of a copy of x."""
    out = np.array(x)
    return out, np.moveaxis(out, dim, 0), index


def index_add(x, dim, index, source, alpha=1):
    out, first, index = rows(x, dim, index)
    np.add.at(first, index, (np.moveaxis(source, dim, 0) * alpha).astype(x.dtype))
    return out


def index_copy(x, dim, index, source):
    out, first, index = rows(x, dim, index)
    first[index] = np.moveaxis(source, dim, 0)
    return out


def index_fill(x, dim, index, value):
    out, first, index = rows(x, dim, index)
    first[index] = value
    return out


def put(x, index, source, accumulate=False):
    out = np.array(x)
    if accumulate:
        np.add.at(out.reshape(-1), index.reshape(-1), source.reshape(-1))
    else:
        np.put(out, index, source)
    return out


OUTSIDE = (S(T(3), 0, np.array([3])), IndexError, "out of bounds")
op("index_select", S(T(3, 4), 0, I), S(T(2, 4), 1, np.array([3, 3, 0], "int32")),
   S(T(), 0, np.array([0])), S(T(3), 0, np.array(1)), result="same", dtypes=ANY,
   ref=lambda x, dim, index: x.take(np.atleast_1d(index), dim) if x.ndim else x,
   errors=[OUTSIDE, (S(T(3), 0, np.array([-1])), IndexError, "out of bounds"),
           (S(T(3), 0, np.array([[0]])), IndexError, "vector"),
           (S(T(3), 0, np.array([0.0])), RuntimeError, "int32 or int64")])
op("index_add", S(T(3, 4), 0, I, T(3, 4)), S(T(2, 3), 1, UNIQUE, T(2, 2), alpha=2),
   ref=index_add, result="same", dtypes="ifhc", tol=4,
   errors=[(S(T(3), 0, np.array([3]), T(1)), IndexError, "out of bounds"),
           (S(T(3), 0, I, T(2)), RuntimeError, "Number of indices"),
           (S(T(3), 0, np.array([0]), T(1, dtype="int32")), RuntimeError, "same dtype")])
op("index_copy", S(T(3, 4), 0, UNIQUE, T(2, 4)), S(T(2, 3), -1, UNIQUE, T(2, 2)),
   ref=index_copy, result="same", dtypes=ANY,
   errors=[(S(T(3), 0, np.array([3]), T(1)), IndexError, "out of bounds"),
           (S(T(3), 0, UNIQUE, T(3)), IndexError, "Number of indices")])
op("index_fill", S(T(3, 4), 0, I, 2), S(T(2, 3), 1, np.array([-1]), 1), S(T(3), 0, I, T()),
   ref=index_fill, result="same", dtypes=ANY,
   errors=[(S(T(3), 0, np.array([3]), 1), IndexError, "out of bounds"),
           (S(T(3), 0, UNIQUE, T(1)), RuntimeError, "0-dimensional")])
op("take", S(T(3, 4), np.array([[0, 11], [-1, 5]])), S(T(3), np.array(1)), ref=np.take,
   result="same", dtypes=ANY,
   errors=[(S(T(2), np.array([2])), IndexError, "out of bounds"),
           (S(T(2), np.array([0.0])), RuntimeError, "long")])
op("put", S(T(3, 4), np.array([0, 11, -3]), T(3)), S(T(3), np.array([[1], [1]]), T(2, 1), True),
   ref=put, result="same", dtypes=ANY,
   errors=[(S(T(2), np.array([2]), T(1)), IndexError, "out of bounds"),
           (S(T(2), np.array([0]), T(2)), RuntimeError, "same number")])
