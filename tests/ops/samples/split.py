"""A tensor in several views: core/ops/split.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op, view_forms

ANY = "bifhc"


def by_size(x, size, dim=0):
    if not isinstance(size, int):
        return np.split(x, np.cumsum(size)[:-1], dim)
    return np.split(x, range(size, x.shape[dim], size), dim)


def tensor_split(x, where, dim=0):
    where = where if isinstance(where, (int, tuple)) else where.tolist()
    return np.array_split(x, where, dim)


def chunk(x, chunks, dim=0):
    return by_size(x, -(-x.shape[dim] // chunks), dim)


op("unbind", T(3, 4), S(T(3, 4), 1), S(T(2, 3, 4), -1), view=True, dtypes=ANY,
   ref=lambda x, dim=0: list(np.moveaxis(x, dim, 0)), result="same",
   errors=[(S(T()), IndexError, "no dimensions")])
SIZES = [(S(T(5), -1), RuntimeError, "non-negative"), (S(T(), 1), RuntimeError, "1-dim")]
op("split", S(T(5, 4), 2), S(T(5, 4), 3, 1), S(T(5, 4), (1, 4)), S(T(5, 4), [2, 2], -1),
   view=True, ref=by_size, result="same", dtypes=ANY, errors=SIZES)
op("split_copy", S(T(5, 4), 2), S(T(5, 4), 3, 1), ref=by_size, result="same",
   dtypes=ANY, errors=SIZES)
op("split_with_sizes", S(T(5, 4), (1, 4)), S(T(5, 4), (2, 0, 2), 1), view=True,
   ref=by_size, result="same", dtypes=ANY,
   errors=[(S(T(5), (1, 2)), RuntimeError, "sum exactly"),
           (S(T(5), (6, -1)), RuntimeError, "non-negative")])
op("chunk", S(T(5, 4), 2), S(T(5, 4), 3, 1), S(T(2, 2), 5), view=True, ref=chunk,
   result="same", dtypes=ANY, errors=[(S(T(5), 0), RuntimeError, "greater than 0")])
op("unsafe_split", S(T(5, 4), 2), ref=by_size, result="same", dtypes=ANY)
op("unsafe_split_with_sizes", S(T(5, 4), (1, 4)), ref=by_size, result="same",
   dtypes=ANY)
op("unsafe_chunk", S(T(5, 4), 2), ref=chunk, result="same", dtypes=ANY)
op("tensor_split", S(T(7, 3), 3), S(T(7, 3), (1, 5)), S(T(3, 7), (2, 9), -1),
   S(T(7), np.array([2, 4])), view=True, ref=tensor_split, result="same",
   dtypes=ANY, skip="meta",  # the places are read
   errors=[(S(T(5), 0), RuntimeError, "larger than 0"), (S(T(), 2), RuntimeError, "1-dim")])
for name, function, fits, small in (
    ("hsplit", np.hsplit, T(2, 6), T()),
    ("vsplit", np.vsplit, T(6, 2), T(4)),
    ("dsplit", np.dsplit, T(2, 1, 6), T(2, 2)),
):
    op(name, S(fits, 3), S(fits, (1, 4)), S(fits, indices_or_sections=2), view=True,
       ref=lambda x, where=None, indices_or_sections=None, f=function: f(
           x, where or indices_or_sections), result="same", dtypes=ANY,
       errors=[(S(fits, 4), RuntimeError, "divisible"),
               (S(small, 1), RuntimeError, "at least")])
view_forms("unbind", "copy")
view_forms("split_with_sizes", "copy")
