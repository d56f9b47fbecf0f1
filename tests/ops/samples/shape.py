"""as_strided: core/ops/shape.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op

ANY = "bifhc"


def as_strided(x, size, strides, offset=0):
    return np.lib.stride_tricks.as_strided(
        x[offset:], size, [s * x.itemsize for s in strides])


CALLS = [S(T(12), (3, 2), (4, 1)), S(T(12), (4, 4), (2, 1), 1)]

op("as_strided", *CALLS, view=True, ref=as_strided, result="same",
   errors=[(S(T(4), (3, 3), (3, 1)), RuntimeError, "out of bounds|storage")],
   skip="noncontiguous")  # it reads the memory itself
op("as_strided_copy", *CALLS, ref=as_strided, result="same", skip="noncontiguous")
op("as_strided_", *CALLS, ref=as_strided, result="same", skip="noncontiguous",
   grad=False)
