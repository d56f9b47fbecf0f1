"""core/ops/int8.cpp."""

import numpy as np

from ..entry import S, T, op


def _int8(*shape):
    return T(*shape, low=-100, high=100, dtype="int8", grad=False)


op(
    "_int_mm",
    S(_int8(3, 4), _int8(4, 5)),
    ref=lambda a, b: a.astype(np.int32) @ b.astype(np.int32),
    dtypes="f",
    grad=False,
    errors=[
        (S(_int8(3, 4), _int8(3, 4)), RuntimeError, "needs to match"),
        (S(_int8(3), _int8(3, 4)), RuntimeError, "dimension 2"),
        (S(T(3, 4), _int8(4, 3)), RuntimeError, "int8 or uint8"),
        (S(_int8(3, 4), T(4, 3)), RuntimeError, "type int8"),
    ],
)
