"""Convolutions: core/ops/conv.cpp, with kernels in core/cpu/conv*.cpp."""

# fmt: off
import itertools

import numpy as np

from tests.ops.entry import S, T, op

TOL = 20


def per_axis(value, axes):
    return (value,) * axes if isinstance(value, int) else tuple(value)


def conv(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """The sum of primitives.h, one tap at a time."""
    axes = w.ndim - 2
    if x.ndim == axes + 1:
        return conv(x[None], w, bias, stride, padding, dilation, groups)[0]
    stride, dilation = per_axis(stride, axes), per_axis(dilation, axes)
    reach = [d * (k - 1) for k, d in zip(w.shape[2:], dilation)]
    if isinstance(padding, str):
        total = reach if padding == "same" else [0] * axes
        sides = [(t // 2, t - t // 2) for t in total]
    else:
        sides = [(p, p) for p in per_axis(padding, axes)]
    x = np.pad(x, [(0, 0), (0, 0), *sides])
    size = [(n - r - 1) // s + 1 for n, r, s in zip(x.shape[2:], reach, stride)]
    y = np.zeros((len(x), len(w), *size), x.dtype)
    out, into = len(w) // groups, w.shape[1]
    for taps in itertools.product(*map(range, w.shape[2:])):
        part = x[(..., *(slice(t * d, t * d + s * (n - 1) + 1, s)
                         for t, d, s, n in zip(taps, dilation, stride, size)))]
        for g in range(groups):
            some = w[(slice(g * out, (g + 1) * out), slice(None), *taps)]
            y[:, g * out:(g + 1) * out] += np.einsum(
                "oc,nc...->no...", some, part[:, g * into:(g + 1) * into])
    return y if bias is None else y + bias.reshape(-1, *[1] * axes)


def transposed(x, w, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    axes = w.ndim - 2
    if x.ndim == axes + 1:
        return transposed(x[None], w, bias, stride, padding, output_padding, groups, dilation)[0]
    stride, padding, extra, dilation = (
        per_axis(v, axes) for v in (stride, padding, output_padding, dilation))
    size = [(n - 1) * s + d * (k - 1) + 1 + e for n, s, d, k, e in
            zip(x.shape[2:], stride, dilation, w.shape[2:], extra)]
    y = np.zeros((len(x), w.shape[1] * groups, *size), x.dtype)
    out, into = w.shape[1], len(w) // groups
    for taps in itertools.product(*map(range, w.shape[2:])):
        at = tuple(slice(t * d, t * d + s * (n - 1) + 1, s)
                   for t, d, s, n in zip(taps, dilation, stride, x.shape[2:]))
        for g in range(groups):
            some = w[(slice(g * into, (g + 1) * into), slice(None), *taps)]
            y[(slice(None), slice(g * out, (g + 1) * out), *at)] += np.einsum(
                "co,nc...->no...", some, x[:, g * into:(g + 1) * into])
    y = y[(..., *(slice(p, n - p) for p, n in zip(padding, size)))]
    return y if bias is None else y + bias.reshape(-1, *[1] * axes)


def convolution(axes, *samples, **fields):
    op(f"nn.functional.conv{axes}d", *samples, ref=conv, dtypes="ifhc", result="promote",
       tol=TOL, **fields)


def transpose(axes, *samples, **fields):
    op(f"nn.functional.conv_transpose{axes}d", *samples, ref=transposed, dtypes="ifhc",
       result="promote", tol=TOL, **fields)


convolution(
    1, S(T(2, 3, 7), T(4, 3, 3), T(4)), S(T(3, 7), T(4, 3, 2), stride=2, padding=1),
    S(T(1, 4, 6), T(2, 2, 3), padding="same", groups=2),
    S(T(1, 2, 7), T(1, 2, 2), padding="valid", dilation=3),
    errors=[(S(T(2, 3, 7), T(4, 2, 3)), RuntimeError, "to have 2 channels, but got 3"),
            (S(T(2, 3, 2), T(4, 3, 3)), RuntimeError, "Kernel size can't be greater"),
            (S(T(2, 3), T(4, 3)), RuntimeError, "3-dimensional weight"),
            (S(T(2, 3, 7), T(4, 3, 3), T(3)), RuntimeError, "bias"),
            (S(T(2, 3, 7), T(4, 3, 3), stride=0), RuntimeError, "stride"),
            (S(T(2, 3, 7), T(4, 3, 3), dilation=0), RuntimeError, "dilation"),
            (S(T(2, 3, 7), T(4, 3, 3), padding=-1), RuntimeError, "padding"),
            (S(T(2, 3, 7), T(4, 3, 3), stride=2, padding="same"), RuntimeError, "same"),
            (S(T(2, 3, 7), T(4, 3, 3), padding="full"), RuntimeError, "full"),
            (S(T(2, 3, 7), T(4, 3, 3), groups=0), RuntimeError, "groups")])
convolution(
    2, S(T(2, 3, 4, 5), T(2, 3, 2, 3), T(2), padding=(1, 0)), S(T(1, 2, 5, 4), T(3, 2, 1, 1)),
    S(T(1, 3, 6, 5), T(3, 1, 3, 3), T(3), stride=(2, 1), padding=1, groups=3),
    S(T(1, 2, 6, 6), T(2, 1, 2, 2), padding="same", dilation=(1, 2), groups=2),
    S(T(2, 4, 4), T(2, 1, 2, 2), stride=2, groups=2))
convolution(
    3, S(T(1, 2, 3, 3, 4), T(2, 2, 2, 2, 3), T(2), padding=(1, 0, 1)),
    S(T(2, 3, 3, 3), T(2, 1, 2, 1, 2), stride=(1, 2, 1), groups=2))
transpose(
    1, S(T(2, 3, 4), T(3, 2, 3), T(2)), S(T(3, 4), T(3, 2, 2), stride=3, padding=1, output_padding=2),
    S(T(1, 4, 3), T(4, 1, 3), groups=2, dilation=2),
    errors=[(S(T(2, 3, 4), T(2, 3, 3)), RuntimeError, "to have 2 channels"),
            (S(T(2, 3, 4), T(3, 2, 3), output_padding=1), RuntimeError, "output padding"),
            (S(T(2, 3, 1), T(3, 2, 1), padding=1), RuntimeError, "too small")])
transpose(
    2, S(T(2, 2, 3, 2), T(2, 2, 2, 3), T(2), stride=2, padding=1, output_padding=(0, 1)),
    S(T(1, 2, 3, 3), T(2, 1, 2, 2), groups=2), S(T(2, 2, 3), T(2, 3, 1, 1)))
transpose(3, S(T(1, 2, 2, 2, 3), T(2, 1, 2, 2, 2), T(1), stride=(1, 2, 1)))
