"""Smallest and largest elements, and where they are: core/ops/extremes.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op
from tests.ops.samples.reduce import BAD_DIM, over

D = {"distinct": True}


def with_index(values, index):
    """min and max: of all elements, along a dimension, or of two tensors."""

    def reference(x, dim=None, keepdim=False):
        if isinstance(dim, np.ndarray):
            return {np.min: np.minimum, np.max: np.maximum}[values](x, dim)
        if dim is None:
            return values(x)
        return values(x, dim, keepdims=keepdim), index(x, dim, keepdims=keepdim)

    return reference


EMPTY = [(S(T(0)), RuntimeError, "")]

for name, values, index in (
    ("min", np.min, np.argmin),
    ("max", np.max, np.argmax),
):
    op(name, T(3, 4, **D), S(T(3, 4, **D), 1), S(T(3, 4, **D), 0, True),
       S(T(3, 4, **D), T(3, 4)), ref=with_index(values, index), dtypes="fh",
       result="same", errors=BAD_DIM + EMPTY, skip="out")  # out= by overload
    op("a" + name, T(3, 4, **D), S(T(3, 4, 2, **D), (0, 2)), S(T(3, 4, **D), 1, True),
       ref=over(values), dtypes="fh", result="same", errors=BAD_DIM)
    op("arg" + name, T(3, 4, **D), S(T(3, 4, **D), 1), S(T(3, 4, **D), 0, True),
       ref=lambda x, dim=None, keepdim=False, index=index: index(x, dim, keepdims=keepdim),
       dtypes="fh", result="int64", errors=BAD_DIM + [(S(T(0)), IndexError, "")])
op("aminmax", T(3, 4, **D), S(T(3, 4, **D), dim=1), S(T(3, 4, **D), dim=0, keepdim=True),
   ref=lambda x, dim=None, keepdim=False: (
       np.min(x, dim, keepdims=keepdim), np.max(x, dim, keepdims=keepdim)),
   dtypes="fh", result="same")
