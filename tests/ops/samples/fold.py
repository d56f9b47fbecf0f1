"""Windows as columns: core/ops/fold.cpp."""

# fmt: off
import itertools

import numpy as np

from tests.ops.entry import S, T, op
from tests.ops.samples.conv import per_axis


def windows(size, kernel, dilation, padding, stride):
    """For each tap, the rows and columns of the padded image it reads, as slices."""
    places = [(n + 2 * p - d * (k - 1) - 1) // s + 1
              for n, k, d, p, s in zip(size, kernel, dilation, padding, stride)]
    return [tuple(slice(t * d, t * d + s * (n - 1) + 1, s)
                  for t, d, s, n in zip(tap, dilation, stride, places))
            for tap in itertools.product(*map(range, kernel))]


def unfold(x, kernel, dilation=1, padding=0, stride=1):
    if x.ndim == 3:
        return unfold(x[None], kernel, dilation, padding, stride)[0]
    sizes = [per_axis(v, 2) for v in (kernel, dilation, padding, stride)]
    p = sizes[2]
    around = np.pad(x, [(0, 0), (0, 0), (p[0], p[0]), (p[1], p[1])])
    parts = [around[(..., *at)] for at in windows(x.shape[2:], *sizes)]
    return np.stack(parts, 2).reshape(len(x), x.shape[1] * len(parts), -1)


def fold(x, size, kernel, dilation=1, padding=0, stride=1):
    if x.ndim == 2:
        return fold(x[None], size, kernel, dilation, padding, stride)[0]
    size = per_axis(size, 2)
    sizes = [per_axis(v, 2) for v in (kernel, dilation, padding, stride)]
    p = sizes[2]
    taps = windows(size, *sizes)
    total = np.zeros((len(x), x.shape[1] // len(taps), *(n + 2 * q for n, q in zip(size, p))),
                     x.dtype)
    for i, at in enumerate(taps):
        part = x[:, i::len(taps)]
        total[(..., *at)] += part.reshape(total[(..., *at)].shape)
    return total[:, :, p[0]:p[0] + size[0], p[1]:p[1] + size[1]]


op("nn.functional.unfold", S(T(2, 3, 4, 5), 2), S(T(2, 5, 6), (2, 3), 2, 1, (1, 2)),
   S(T(1, 2, 3, 3), 1), S(T(1, 2, 4, 4), 3, stride=3, padding=1),
   ref=unfold, dtypes="bifhc",
   errors=[(S(T(2, 3), 1), RuntimeError, "3D or 4D"), (S(T(1, 1, 2, 2), 3), RuntimeError, "at least one"),
           (S(T(1, 1, 2, 2), 0), RuntimeError, "kernel_size"),
           (S(T(1, 1, 2, 2), 1, stride=0), RuntimeError, "stride"),
           (S(T(1, 1, 2, 2), 1, padding=-1), RuntimeError, "padding")])
op("nn.functional.fold", S(T(2, 8, 6), (3, 4), 2), S(T(6, 6), (5, 6), (2, 3), 2, 1, (2, 2)),
   S(T(1, 4, 1), 3, 2, 1, 0, 2), S(T(1, 9, 4), 4, 3, stride=3, padding=1),
   ref=fold, dtypes="ifhc", result="promote", tol=4,
   errors=[(S(T(3), 1, 1), RuntimeError, "2D or 3D"), (S(T(1, 3, 4), 2, 2), RuntimeError, "divis"),
           (S(T(1, 4, 3), (3, 3), 2), RuntimeError, "sliding blocks")])
