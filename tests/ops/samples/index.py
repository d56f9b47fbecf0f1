"""Positions by tensors: core/ops/index.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op

ANY = "bifhc"
ROWS = np.array([2, 0, -1])
MASK = np.array([True, False, True])


def index_put(x, indices, values, accumulate=False):
    out = np.array(x)
    if accumulate:
        np.add.at(out, indices, values)
    else:
        out[indices] = values
    return out


def nonzero(x, as_tuple=False):
    found = np.nonzero(np.atleast_1d(x) if as_tuple else x)
    return list(found) if as_tuple else np.argwhere(x)


PUTS = [S(T(3, 4), (ROWS[:2],), T(2, 4)), S(T(3, 4), (MASK,), T(4)),
        S(T(3, 4), (ROWS, ROWS), T(), True), S(T(3, 4), (np.array([1, 1]),), T(2, 4), True)]
op("index_put", *PUTS, ref=index_put, result="same", dtypes=ANY, skip="meta",  # masks
   errors=[(S(T(3), (np.array([3]),), T(1)), IndexError, "out of bounds"),
           (S(T(3), (np.array([0]),), T(2)), RuntimeError, "shape mismatch"),
           (S(T(3), (np.array([0]),), T(1, dtype="int32")), RuntimeError, "dtypes match"),
           (S(T(3), (np.array([0.0]),), T(1)), IndexError, "must be long"),
           (S(T(3), (MASK[:2],), T(1)), IndexError, "mask"),
           (S(T(3, 4), (ROWS[:2], ROWS), T(1)), IndexError, "broadcast"),
           (S(T(3), (ROWS, ROWS), T(1)), IndexError, "too many indices")])
op("index_put_", *[S(T(*c.args[0].shape, grad=False), *c.args[1:]) for c in PUTS],
   ref=index_put, result="same", dtypes=ANY, skip="meta")
op("nonzero", T(3, 4), S(T(3, 4), as_tuple=True), S(T(), as_tuple=True),
   ref=nonzero, result="int64", dtypes="bifhc", grad=False,
   skip="meta out")  # its size depends on the data; as_tuple has no out=
op("argwhere", T(3, 4), T(), ref=np.argwhere, result="int64", dtypes="bifhc",
   skip="meta", grad=False)
op("nonzero_static", S(np.array([[1, 0], [2, 3]]), size=4), S(np.array([1, 0, 2]), size=1),
   ref=lambda x, size: np.concatenate(
       [np.argwhere(x), np.full((size, x.ndim), -1)])[:size], result="int64", grad=False,
   skip="meta", errors=[(S(T(2), size=-1), RuntimeError, "non-negative")])
op("unravel_index", S(np.array([5, 0, 7]), (2, 4)), S(np.array(3), (2, 2)), grad=False,
   ref=lambda x, shape: list(np.unravel_index(x, shape)), result="int64",
   errors=[(S(T(2), (2, 2)), TypeError, "integer"),
           (S(np.array([1]), (2, -2)), ValueError, "negative")])
