"""core/ops/weights.cpp."""

import numpy as np

from ..entry import S, T, op
from .int8 import _int8


def _bytes(*shape):
    return T(*shape, low=0, high=255, dtype="uint8", grad=False)


def _float(*shape):
    return T(*shape, dtype="float32", grad=False)


def _wide(weight, scales, offsets=None):
    q = weight
    if weight.dtype == np.uint8:
        pairs = weight.reshape(len(weight), -1, 1, 16)
        q = np.concatenate([pairs % 16, pairs // 16], 2).reshape(len(weight), -1)
    grouped = q.reshape(*scales.shape, -1) * scales[:, :, None]
    grouped = grouped if offsets is None else grouped + offsets[:, :, None]
    return grouped.reshape(q.shape).astype(np.float32)


op(
    "_weight_int8pack_mm",
    S(T(3, 4), _int8(5, 4), T(5)),
    ref=lambda x, w, s: (x @ w.T) * s,
    dtypes="h",
    grad=False,
    errors=[
        (S(T(3, 4), T(5, 4), T(5)), RuntimeError, "int8"),
        (S(T(3, 4), _int8(5, 4), T(4)), RuntimeError, "size 5"),
        (S(T(3, 4), _int8(5, 3), T(5)), RuntimeError, "4 columns"),
        (S(T(3), _int8(5, 3), T(5)), RuntimeError, "matrices"),
    ],
)
op(
    "_weights_mm",
    S(T(3, 4), _int8(5, 4), _float(5, 1)),
    S(T(2, 64), _int8(3, 64), _float(3, 2), _float(3, 2)),
    S(T(2, 64), _bytes(3, 32), _float(3, 1), _float(3, 1)),
    ref=lambda x, *w: x @ _wide(*w).T,
    dtypes="h",
    grad=False,
    tol=8,
    errors=[
        (S(T(3, 4), T(5, 4), _float(5, 1)), RuntimeError, "int8, or uint8"),
        (S(T(3, 4), _int8(5, 3), _float(5, 1)), RuntimeError, "4 columns"),
        (S(T(3, 4), _int8(5, 4), _float(4, 1)), RuntimeError, "float32, of shape"),
        (S(T(3, 4), _int8(5, 4), _float(5, 2)), RuntimeError, "no 2 groups"),
        (S(T(3, 8), _bytes(5, 4), _float(5, 1)), RuntimeError, "no 1 groups"),
        (S(T(4), _int8(5, 4), _float(5, 1)), RuntimeError, "matrices"),
    ],
)
op(
    "_widened_weights",
    S(_int8(5, 4), _float(5, 1)),
    S(_bytes(3, 32), _float(3, 2), _float(3, 2)),
    ref=_wide,
    grad=False,
    errors=[(S(_int8(4), _float(4, 1)), RuntimeError, "a matrix")],
)
