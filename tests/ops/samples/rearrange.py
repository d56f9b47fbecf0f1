"""Elements repeated and moved: core/ops/rearrange.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op

ANY = "bifhc"


def repeats(x, times=None, dim=None, output_size=None):
    if times is None:
        return np.repeat(np.arange(len(x)), x)
    return np.repeat(x, times, dim)


def tiled(x, *dims):
    return np.tile(x, dims[0] if isinstance(dims[0], tuple) else dims)


op("repeat", S(T(2, 3), 2, 1), S(T(3), (2, 2, 2)), S(T(2, 3), 0, 2), S(T(), 3),
   ref=tiled, result="same", dtypes=ANY,
   errors=[(S(T(2, 3), 2), RuntimeError, "can not be smaller"),
           (S(T(2), -1), RuntimeError, "negative")])
op("tile", S(T(2, 3), (2,)), S(T(3), (2, 2)), ref=np.tile, result="same", dtypes=ANY)
op("repeat_interleave", S(T(2, 3), 2), S(T(2, 3), 2, 1), S(T(3, 2), np.array([1, 0, 2]), 0),
   S(T(4), np.array([2])), S(T(3, 2), np.array([1, 0, 2]), dim=0, output_size=3),
   ref=repeats, result="same", dtypes=ANY, skip="meta",  # the counts are read
   errors=[(S(T(3), -1), RuntimeError, "non-negative"),
           (S(T(3), np.array([1, 2])), RuntimeError, "same size"),
           (S(T(3), np.array([1, -2, 1])), RuntimeError, "negative")])
op("flip", S(T(2, 3), (0,)), S(T(2, 3), (0, -1)), S(T(2, 3, 4), 1), ref=np.flip,
   result="same", dtypes=ANY,
   errors=[(S(T(2, 3), (0, 0)), RuntimeError, "multiple times"),
           (S(T(2), (1,)), IndexError, "out of range")])
op("fliplr", T(2, 3), ref=np.fliplr, result="same", dtypes=ANY,
   errors=[(S(T(3)), RuntimeError, "2-d")])
op("flipud", T(2, 3), T(3), ref=np.flipud, result="same", dtypes=ANY,
   errors=[(S(T()), RuntimeError, "1-d")])
op("roll", S(T(2, 3), 2), S(T(2, 3), 1, 1), S(T(2, 3), (1, -4), (0, 1)), S(T(), 3),
   ref=np.roll, result="same", dtypes=ANY,
   errors=[(S(T(2, 3), (1, 2), 0), RuntimeError, "must align"),
           (S(T(2), 1, 1), IndexError, "out of range")])
op("rot90", T(2, 3), S(T(2, 3), 2), S(T(2, 3, 4), -1, (1, 2)), S(T(2, 3), 4),
   ref=lambda x, k=1, dims=(0, 1): np.rot90(x, k, dims), result="same", dtypes=ANY,
   errors=[(S(T(2, 3), 1, (0, 0)), RuntimeError, "different"),
           (S(T(2, 3), 1, (0,)), RuntimeError, "rotation dims"),
           (S(T(3)), RuntimeError, "total dims")])
op("kron", S(T(2, 3), T(3, 2)), S(T(2), T(2, 2)), S(T(), T(3)), ref=np.kron,
   result="promote", dtypes="ifhc", tol=4)
op("trace", T(3, 3), T(2, 4), ref=np.trace, result="sum", dtypes="ifhc", tol=4,
   errors=[(S(T(3)), RuntimeError, "matrix")])
