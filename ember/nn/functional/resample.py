"""Images made larger or smaller: interpolation along one axis after the other.

An axis of the output is described by taps: for every output position a few input
positions and their weights.
"""

import math

import ember
from ember import Tensor
from ember.nn.functional.adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)

_AXES = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}


def interpolate(
    input: Tensor,
    size=None,
    scale_factor=None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """[N, C, ...] resampled to `size`, or by `scale_factor`.

    `mode` is nearest, nearest-exact, area, linear, bilinear, bicubic or trilinear.

    >>> import ember
    >>> x = ember.arange(2.0).view(1, 1, 2)
    >>> ember.nn.functional.interpolate(x, scale_factor=2, mode="linear")
    tensor([[[0.0000, 0.2500, 0.7500, 1.0000]]])
    """
    dims = input.dim() - 2
    _check_mode(input, mode, align_corners, antialias)
    size, scales = _sizes(input, size, scale_factor, recompute_scale_factor)
    if any(n <= 0 for n in size) or any(n <= 0 for n in input.shape[2:]):
        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input "
            f"{list(input.shape[2:])} output {size}"
        )
    if mode == "area":
        pools = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)
        return pools[dims - 1](input, size)
    if mode in ("nearest", "nearest-exact"):
        for axis, n in enumerate(size, 2):
            offset = 0.5 if mode == "nearest-exact" else 0.0
            step = _step(input.shape[axis], n, scales[axis - 2], False)
            source = (ember.arange(n, dtype=ember.float32) + offset) * step
            source = source.floor().long().clamp(max=input.shape[axis] - 1)
            input = input.index_select(axis, source.to(input.device))
        return input
    for axis, n in enumerate(size, 2):
        old = input.shape[axis]
        step = _step(old, n, scales[axis - 2], bool(align_corners))
        taps = _smooth_taps if antialias else _taps
        index, weights = taps(mode, input, old, n, step, bool(align_corners))
        input = _combined(input, axis, index, weights)
    return input


def _sizes(input: Tensor, size, scale_factor, recompute) -> tuple[list[int], list]:
    """The output sizes, and the scales that were given and count."""
    dims = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if isinstance(size, (list, tuple)):
            if len(size) != dims:
                raise ValueError(
                    "Input and output must have the same number of spatial dimensions, "
                    f"but got input with spatial dimensions of {list(input.shape[2:])} "
                    f"and output size of {size}. Please provide input tensor in (N, C, "
                    "d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format."
                )
            return [int(n) for n in size], [None] * dims
        if recompute:
            raise ValueError(
                "recompute_scale_factor is not meaningful with an explicit size."
            )
        return [int(size)] * dims, [None] * dims
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    scales = scale_factor
    if not isinstance(scales, (list, tuple)):
        scales = [scales] * dims
    if len(scales) != dims:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, "
            f"but got input with spatial dimensions of {list(input.shape[2:])} and "
            f"scale_factor of shape {list(scales)}."
        )
    given = input.shape[2:]
    sizes = [math.floor(float(n) * float(s)) for n, s in zip(given, scales)]
    return sizes, [None] * dims if recompute else [float(s) for s in scales]


def _check_mode(input: Tensor, mode: str, align_corners, antialias: bool) -> None:
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: "
                "linear | bilinear | bicubic | trilinear"
            )
        if input.dim() not in (3, 4, 5):
            raise NotImplementedError(
                "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
                f"{input.dim()}D) for the modes: nearest | linear | bilinear | bicubic "
                f"| trilinear | area | nearest-exact (got {mode})"
            )
    elif mode not in _AXES:
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | "
            f"trilinear | area | nearest-exact (got {mode})"
        )
    elif input.dim() - 2 != _AXES[mode]:
        raise NotImplementedError(
            f"Got {input.dim()}D input, but {mode} mode needs {_AXES[mode] + 2}D input"
        )
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and "
            "requires a 4-D tensor as input"
        )


def _step(old: int, new: int, scale: float | None, align: bool) -> float:
    """How far the source moves for one output position."""
    if align:
        return (old - 1) / (new - 1) if new > 1 else 0.0
    return 1.0 / scale if scale is not None and scale > 0 else old / new


def _taps(mode: str, input: Tensor, old: int, new: int, step: float, align: bool):
    """Two neighbours for linear, four for cubic interpolation: [new, taps]."""
    dtype = input.dtype if input.dtype == ember.float64 else ember.float32
    place = ember.arange(new, dtype=dtype, device=input.device)
    source = place * step if align else (place + 0.5) * step - 0.5
    if mode != "bicubic":
        source = source.clamp(min=0)
        low = source.floor().long().clamp(max=old - 1)
        part = (source - low.to(dtype)).clamp(min=0, max=1)
        index = ember.stack([low, (low + 1).clamp(max=old - 1)], 1)
        return index, ember.stack([1 - part, part], 1)
    low = source.floor()
    part = (source - low).unsqueeze(1)
    near = ember.tensor([-1, 0, 1, 2], device=input.device)
    index = (low.long().unsqueeze(1) + near).clamp(min=0, max=old - 1)
    return index, _cubic((part - near.to(dtype)).abs(), -0.75)


def _cubic(x: Tensor, a: float) -> Tensor:
    """Keys' convolution kernel, for distances that are not negative."""
    inner = ((a + 2) * x - (a + 3)) * x * x + 1
    outer = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return ember.where(x <= 1, inner, ember.where(x < 2, outer, 0.0))


def _smooth_taps(mode: str, input: Tensor, old, new, step: float, align: bool):
    """Taps of a filter that widens when the image shrinks."""
    dtype = input.dtype if input.dtype == ember.float64 else ember.float32
    radius = 2.0 if mode == "bicubic" else 1.0
    widen = max(step, 1.0)
    reach = radius * widen
    rows, weights, most = [], [], 0
    for i in range(new):
        centre = step * (i + 0.5)
        first = max(int(centre - reach + 0.5), 0)
        stop = min(int(centre + reach + 0.5), old)
        rows.append(list(range(first, stop)))
        weights.append([abs(j - centre + 0.5) / widen for j in rows[-1]])
        most = max(most, stop - first)
    far = radius + 1.0  # beyond the filter, so its weight is zero
    index = ember.tensor([r + [0] * (most - len(r)) for r in rows], device=input.device)
    kind = {"dtype": dtype, "device": input.device}
    x = ember.tensor([w + [far] * (most - len(w)) for w in weights], **kind)
    value = _cubic(x, -0.5) if mode == "bicubic" else (1 - x).clamp(min=0)
    return index, value / value.sum(1, keepdim=True)


def _combined(input: Tensor, axis: int, index: Tensor, weights: Tensor) -> Tensor:
    """The weighted sum of the taps along an axis."""
    small = input.dtype in (ember.float16, ember.bfloat16)
    x = input.float() if small or not input.is_floating_point() else input
    shape = [-1] + [1] * (x.dim() - axis - 1)
    total = None
    for tap in range(index.shape[1]):
        part = x.index_select(axis, index[:, tap]) * weights[:, tap].reshape(shape)
        total = part if total is None else total + part
    if not input.is_floating_point():
        total = total.round().clamp(min=0, max=255)
    return total.to(input.dtype)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """Old name of `interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """`interpolate` with mode="nearest"."""
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """`interpolate` with mode="bilinear" and aligned corners."""
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
