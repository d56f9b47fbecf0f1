"""Resampling: core/ops/resample.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op


def weights(mode, old, new, scale, align):
    """[new, old]: what each position of the input adds to each of the output."""
    step = 1 / scale if scale else old / new
    if align:
        step = (old - 1) / (new - 1) if new > 1 else 0.0
    matrix = np.zeros((new, old))
    for i in range(new):
        source = i * step if align else (i + 0.5) * step - 0.5
        if mode.startswith("nearest"):
            at = int((i + 0.5 * (mode == "nearest-exact")) * step)
            taps = [(at, 1.0)]
        elif mode == "bicubic":
            low = int(np.floor(source))
            taps = [(low + k, cubic(abs(source - low - k))) for k in (-1, 0, 1, 2)]
        else:
            source = max(source, 0.0)
            low = min(int(source), old - 1)
            taps = [(low, 1 - (source - low)), (low + 1, source - low)]
        for at, share in taps:
            matrix[i, min(max(at, 0), old - 1)] += share
    return matrix


def cubic(x, a=-0.75):
    if x <= 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


def interpolate(x, size, scales, mode, align, antialias):
    y = x.astype(np.float64)
    for axis, (n, scale) in enumerate(zip(size, scales), 2):
        matrix = weights(mode, x.shape[axis], n, scale, align)
        y = np.moveaxis(np.tensordot(matrix, y, (1, axis)), 0, axis)
    return y.astype(x.dtype)


NONE = [0.0, 0.0]
op("_interpolate",
   S(T(2, 2, 4), (7,), [0.0], "linear", False, False),
   S(T(1, 2, 3, 4), (5, 6), NONE, "bilinear", False, False),
   S(T(1, 2, 5, 4), (3, 7), NONE, "bilinear", True, False),
   S(T(1, 2, 3, 4), (6, 9), [2.0, 2.3], "bilinear", False, False),
   S(T(1, 1, 4, 5), (7, 3), NONE, "bicubic", False, False),
   S(T(1, 2, 3, 4), (6, 8), NONE, "nearest", False, False),
   S(T(1, 2, 5, 4), (3, 7), NONE, "nearest-exact", False, False),
   S(T(1, 1, 2, 3, 2), (3, 4, 5), [0.0, 0.0, 0.0], "trilinear", False, False),
   ref=interpolate, dtypes="fh", tol=20, result="promote",
   errors=[(S(T(1, 2, 3, 4), (5, 0), NONE, "bilinear", False, False), RuntimeError, "than 0"),
           (S(T(1, 2, 3, 4), (5,), [0.0], "linear", False, False), RuntimeError, "last axes")])
