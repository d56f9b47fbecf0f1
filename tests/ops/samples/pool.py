"""Pooling: core/ops/pool.cpp."""

# fmt: off
import itertools

import numpy as np

from tests.ops.entry import S, T, op


def per_axis(value, axes):
    return (value,) * axes if isinstance(value, int) else tuple(value)


def sliding(n, k, s, p, d, ceil_mode):
    """For each window its positions, and how many more the padding adds."""
    reach = d * (k - 1) + 1
    room = n + 2 * p - reach
    out = (-(-room // s) if ceil_mode else room // s) + 1
    out -= ceil_mode and (out - 1) * s >= n + p
    starts = [i * s - p for i in range(out)]
    windows = [[i for i in range(a, a + reach, d) if 0 <= i < n] for a in starts]
    return windows, [min(a + k, n + p) - a for a in starts]


def adaptive(n, out):
    return [list(range(i * n // out, -(-(i + 1) * n // out))) for i in range(out)]


def over(x, axes, windows, f):
    """f(elements, their flat positions) of every window, for each line of the first axes."""
    size, out = x.shape[-axes:], tuple(len(w) for w in windows)
    lines = x.reshape(-1, *size)
    found = [[f(np.array([line[p] for p in places]),
                [int(np.ravel_multi_index(p, size)) for p in places], at)
              for at, places in ((at, list(itertools.product(*window))) for at, window in
                                 zip(np.ndindex(out), itertools.product(*windows)))]
             for line in lines]
    return np.array(found, object).reshape(*x.shape[:-axes], *out, -1)


def largest(x, axes, windows):
    best = over(x, axes, windows, lambda v, places, at: (v.max(), places[int(v.argmax())]))
    return best[..., 0].astype(x.dtype), best[..., 1].astype(np.int64)


def max_pool(axes):
    def ref(x, kernel, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        kernel, stride, padding, dilation = (
            per_axis(v, axes) for v in (kernel, stride or kernel, padding, dilation))
        sizes = zip(x.shape[-axes:], kernel, stride, padding, dilation)
        values, places = largest(x, axes, [sliding(*s, ceil_mode)[0] for s in sizes])
        return [values, places] if return_indices else values
    return ref


def with_indices(axes):
    return lambda *args, **options: max_pool(axes)(*args, return_indices=True, **options)


def avg_pool(axes):
    def ref(x, kernel, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
            divisor_override=None):
        kernel, stride, padding = (per_axis(v, axes) for v in (kernel, stride or kernel, padding))
        both = [sliding(*s, 1, ceil_mode) for s in zip(x.shape[-axes:], kernel, stride, padding)]

        def mean(values, _, at):
            count = np.prod([counts[i] for i, (_, counts) in zip(at, both)])
            return values.sum() / (divisor_override or (count if count_include_pad else len(values)))

        return over(x, axes, [w for w, _ in both], mean)[..., 0].astype(x.dtype)
    return ref


def adaptive_avg(x, size):
    windows = [adaptive(n, o) for n, o in zip(x.shape[-len(size):], size)]
    return over(x, len(size), windows, lambda v, *_: v.mean())[..., 0].astype(x.dtype)


def adaptive_max(x, size):
    return list(largest(x, len(size), [adaptive(n, o) for n, o in
                                       zip(x.shape[-len(size):], size)]))


def D(*shape):
    return T(*shape, distinct=True)


F = "nn.functional."
MAX = {
    1: [S(D(2, 2, 7), 3), S(D(2, 8), 3, 2, 1, 2), S(D(1, 2, 7), 2, 3, ceil_mode=True)],
    2: [S(D(2, 2, 5, 6), 2), S(D(1, 5, 6), (3, 2), (2, 1), 1), S(D(1, 2, 5, 7), 3, 2, 1, 1, True),
        S(D(1, 1, 6, 7), 2, 1, 0, (2, 3))],
    3: [S(D(1, 2, 3, 4, 5), 2), S(D(1, 4, 4, 5), (2, 3, 2), 2, 1, ceil_mode=True)],
}
ERRORS = [
    (S(T(2, 3), 0), RuntimeError, "kernel size"), (S(T(2, 3), 2, -1), RuntimeError, "stride"),
    (S(T(2, 3), 2, 1, 2), RuntimeError, "half"), (S(T(2, 3), 2, 1, -1), RuntimeError, "negative"),
    (S(T(2, 3), 4), RuntimeError, "too small"), (S(T(2), 1), RuntimeError, "2D or 3D"),
    (S(T(2, 3), (1, 2)), RuntimeError, "kernel_size")]
for axes, samples in MAX.items():
    errors = {"errors": ERRORS} if axes == 1 else {}
    op(f"{F}max_pool{axes}d", *samples, ref=max_pool(axes), dtypes="ifh", **errors)
    op(f"{F}max_pool{axes}d_with_indices", *samples, ref=with_indices(axes), dtypes="ifh")

AVG = {
    1: [S(T(2, 2, 7), 3), S(T(2, 8), 3, 2, 1), S(T(1, 2, 7), 3, 2, 1, True, False)],
    2: [S(T(2, 2, 5, 6), 2), S(T(1, 5, 6), (3, 2), (2, 1), 1), S(T(1, 2, 5, 7), 3, 2, 1, True),
        S(T(1, 2, 5, 7), 3, 2, 1, True, False), S(T(1, 1, 4, 4), 2, divisor_override=3),
        S(T(2, 3, 4, 3), (4, 3)), S(T(1, 2, 9, 8), 3, 3)],
    3: [S(T(1, 2, 3, 4, 5), 2), S(T(1, 4, 4, 5), (2, 3, 2), 2, 1, count_include_pad=False)],
}
for axes, samples in AVG.items():
    errors = {"errors": ERRORS} if axes == 1 else {}
    op(f"{F}avg_pool{axes}d", *samples, ref=avg_pool(axes), dtypes="fh", tol=4, **errors)

ADAPTIVE = [((2, 2, 7), (3,)), ((2, 5), (5,)), ((2, 2, 5, 6), (2, 4)), ((2, 3, 4, 4), (1, 1)),
            ((1, 7, 3), (3, 2)), ((1, 2, 3, 4, 5), (2, 3, 2))]
WRONG = [(S(T(2, 3), (2, 2)), RuntimeError, "3D or 4D"), (S(T(2, 3), (-1,)), RuntimeError, "-1"),
         (S(T(2, 0), (1,)), RuntimeError, "non-zero")]
op("_adaptive_avg_pool", *(S(T(*x), size) for x, size in ADAPTIVE), ref=adaptive_avg, dtypes="fh",
   tol=4, errors=WRONG)
op("_adaptive_max_pool", *(S(D(*x), size) for x, size in ADAPTIVE), ref=adaptive_max, dtypes="fh",
   errors=WRONG)
