"""torchvision's operators on boxes and regions, which its extension for libtorch would
bring: `nms`, the pooling of regions and deformable convolution, written in ops, so that
gradients come by themselves. Pillow reads and writes images, in `torchvision_images`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ember
from ember import Tensor
from ember.library import _custom_op
from ember.nn import functional as F


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Boxes that overlap no better one by more than a part, best first."""
    if dets.dim() != 2:
        raise RuntimeError(f"boxes should be a 2d tensor, got {dets.dim()}D")
    if dets.shape[1] != 4:
        raise RuntimeError(
            f"boxes should have 4 elements in dimension 1, got {dets.shape[1]}"
        )
    if scores.dim() != 1:
        raise RuntimeError(f"scores should be a 1d tensor, got {scores.dim()}D")
    if len(scores) != len(dets):
        raise RuntimeError(
            "boxes and scores should have same number of elements in dimension 0, got "
            f"{len(dets)} and {len(scores)}"
        )
    boxes = dets.detach()
    order = scores.detach().sort(stable=True, descending=True).indices
    x1, y1, x2, y2 = boxes.unbind(1)
    areas = (x2 - x1) * (y2 - y1)
    keep = []
    while order.numel():
        best, rest = order[0], order[1:]
        keep.append(best)
        wide = ember.minimum(x2[best], x2[rest]) - ember.maximum(x1[best], x1[rest])
        high = ember.minimum(y2[best], y2[rest]) - ember.maximum(y1[best], y1[rest])
        inter = wide.clamp(min=0) * high.clamp(min=0)
        overlap = inter / (areas[best] + areas[rest] - inter)
        order = rest[~(overlap > iou_threshold)]
    if not keep:
        return ember.empty(0, dtype=ember.int64, device=dets.device)
    return ember.stack(keep)


def _sampling(
    start: Tensor, size: Tensor, bins: int, ratio: int, extent: int
) -> Tensor:
    """For each region and bin, how much of each row (or column) its samples take.

    Samples lie evenly in a bin, `ratio` of them, or one for each row if that is 0.
    """
    rows = []
    for begin, length in zip(start.tolist(), size.tolist()):
        step = length / bins
        count = ratio if ratio > 0 else max(math.ceil(length / bins), 0)
        if count == 0:
            rows.append(ember.zeros(bins, extent, dtype=start.dtype))
            continue
        at = begin + step * (
            ember.arange(bins, dtype=start.dtype)[:, None]
            + (ember.arange(count, dtype=start.dtype) + 0.5) / count
        )
        inside = ((at >= -1) & (at <= extent)).to(start.dtype)
        low = at.clamp(0, extent - 1)
        first = low.floor()
        part = low - first
        places = ember.arange(extent, dtype=start.dtype)
        weights = (places == first[..., None]) * (1 - part)[..., None]
        weights = weights + (places == first[..., None] + 1) * part[..., None]
        rows.append((weights * inside[..., None]).sum(1) / count)
    if not rows:
        return ember.zeros(0, bins, extent, dtype=start.dtype)
    return ember.stack(rows).to(start.device)


def _regions(input: Tensor, rois: Tensor) -> tuple[Tensor, Tensor]:
    """The image of each region, and its corners."""
    if rois.dim() != 2 or rois.shape[1] != 5:
        raise RuntimeError(f"rois must have shape as Tensor[K, 5], got {rois.shape}")
    if rois.dtype != input.dtype:
        raise RuntimeError(
            f"Expected tensor for input to have the same type as tensor for rois; but "
            f"type {input.dtype} does not equal {rois.dtype}"
        )
    rois = rois.detach()
    return input[rois[:, 0].long()], rois[:, 1:]


def roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """Means of interpolated samples in the bins of regions."""
    images, corners = _regions(input, rois)
    x1, y1, x2, y2 = (corners * spatial_scale - (0.5 if aligned else 0.0)).unbind(1)
    width, height = x2 - x1, y2 - y1
    if not aligned:
        width, height = width.clamp(min=1), height.clamp(min=1)
    rows = _sampling(y1, height, pooled_height, sampling_ratio, input.shape[2])
    columns = _sampling(x1, width, pooled_width, sampling_ratio, input.shape[3])
    return ember.einsum("kph,kchw,kqw->kcpq", rows, images, columns)


def _by_position(images: Tensor, height: int, width: int) -> Tensor:
    """Channels in groups: one for each bin, in which it is read."""
    k, channels = images.shape[:2]
    if channels % (height * width):
        raise RuntimeError(
            f"input channels must be a multiple of pooling height * pooling width, got "
            f"{channels} and {height} * {width}"
        )
    return images.reshape(k, -1, height, width, *images.shape[2:])


def _mapping(out: Tensor) -> Tensor:
    """Which channel each number of a result came from."""
    count = out[0].numel() if out.shape[0] else 0
    return ember.arange(count, dtype=ember.int32).reshape(out.shape[1:]).expand_as(out)


def ps_roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
) -> tuple[Tensor, Tensor]:
    """`roi_align` in which each bin reads channels of its own."""
    images, corners = _regions(input, rois)
    x1, y1, x2, y2 = (corners * spatial_scale - 0.5).unbind(1)
    rows = _sampling(y1, y2 - y1, pooled_height, sampling_ratio, input.shape[2])
    columns = _sampling(x1, x2 - x1, pooled_width, sampling_ratio, input.shape[3])
    images = _by_position(images, pooled_height, pooled_width)
    out = ember.einsum("kph,kcpqhw,kqw->kcpq", rows, images, columns)
    if sampling_ratio <= 0:  # the mean of no samples
        empty = (x2 <= x1) | (y2 <= y1)
        out = out.masked_fill(empty[:, None, None, None], math.nan)
    return out, _mapping(out)


def _bins(start: int, size: int, bins: int, extent: int) -> list[tuple[int, int]]:
    """First and last-but-one row of each bin of a region, cut off at `extent`."""
    step = size / bins
    clip = lambda at: min(max(at + start, 0), extent)  # noqa: E731
    return [
        (clip(math.floor(i * step)), clip(math.ceil((i + 1) * step)))
        for i in range(bins)
    ]


def _half_away(x: float) -> int:
    """C's round: halves go away from zero."""
    return int(math.copysign(math.floor(abs(x) + 0.5), x))


def roi_pool(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
) -> tuple[Tensor, Tensor]:
    """Largest values in the bins of regions, and where they are."""
    images, corners = _regions(input, rois)
    high, wide = input.shape[2:]
    out, places = [], []
    for image, corner in zip(images, corners.tolist()):
        x1, y1, x2, y2 = (_half_away(c * spatial_scale) for c in corner)
        rows = _bins(y1, max(y2 - y1 + 1, 1), pooled_height, high)
        columns = _bins(x1, max(x2 - x1 + 1, 1), pooled_width, wide)
        for t, b in rows:
            for l, r in columns:
                if b <= t or r <= l:
                    out.append(image.new_zeros(image.shape[0]))
                    places.append(ember.full((image.shape[0],), -1, dtype=ember.int32))
                    continue
                best = image[:, t:b, l:r].flatten(1).max(1)
                out.append(best.values)
                at = best.indices
                where = (t + at // (r - l)) * wide + l + at % (r - l)
                places.append(where.to(ember.int32))
    shape = (images.shape[0], pooled_height, pooled_width, input.shape[1])
    if not out:
        made = input.new_zeros((0, shape[3], *shape[1:3]))
        return made, made.to(ember.int32)
    order = (0, 3, 1, 2)
    return (
        ember.stack(out).reshape(shape).permute(order).contiguous(),
        ember.stack(places).reshape(shape).permute(order).contiguous(),
    )


def _masks(regions: list[tuple[int, int]], bins: int, extent: int) -> Tensor:
    """1 where a row is in a bin of a region; the last row is in none."""
    places = ember.arange(extent)
    rows = [
        ember.stack(
            [
                (places >= first) & (places < end)
                for first, end in _bins(start, max(stop - start, 1), bins, extent - 1)
            ]
        )
        for start, stop in regions
    ]
    if not rows:
        return ember.zeros(0, bins, extent)
    return ember.stack(rows)


def ps_roi_pool(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
) -> tuple[Tensor, Tensor]:
    """Means in the bins of regions, each bin of channels of its own."""
    images, corners = _regions(input, rois)
    x1, y1, x2, y2 = (
        [_half_away(c * spatial_scale) for c in column] for column in corners.T.tolist()
    )
    rows = _masks(list(zip(y1, y2)), pooled_height, input.shape[2]).to(input.dtype)
    columns = _masks(list(zip(x1, x2)), pooled_width, input.shape[3]).to(input.dtype)
    images = _by_position(images, pooled_height, pooled_width)
    total = ember.einsum("kph,kcpqhw,kqw->kcpq", rows, images, columns)
    area = (rows.sum(2)[:, :, None] * columns.sum(2)[:, None, :]).clamp(min=1)
    out = total / area[:, None]
    return out, _mapping(out)


def deform_conv2d(
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor,
    bias: Tensor,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> Tensor:
    """A convolution whose samples are moved by `offset` and weighted by `mask`."""
    batch, channels, high, wide = input.shape
    out_channels, _, kh, kw = weight.shape
    oh, ow = offset.shape[2:]
    taps, g = kh * kw, offset_groups
    moved = offset.reshape(batch * g, taps, 2, oh, ow)
    options: dict[str, Any] = {"dtype": input.dtype, "device": input.device}
    rows = ember.arange(kh, **options).repeat_interleave(kw) * dilation_h - pad_h
    columns = ember.arange(kw, **options).repeat(kh) * dilation_w - pad_w
    y = moved[:, :, 0] + rows[:, None, None]
    y = y + (ember.arange(oh, **options) * stride_h)[:, None]
    x = moved[:, :, 1] + columns[:, None, None] + ember.arange(ow, **options) * stride_w
    grid = ember.stack([(2 * x + 1) / wide - 1, (2 * y + 1) / high - 1], -1)
    samples = F.grid_sample(
        input.reshape(batch * g, channels // g, high, wide),
        grid.reshape(batch * g, taps * oh, ow, 2),
        align_corners=False,
    ).reshape(batch, g, channels // g, taps, oh, ow)
    if use_mask:
        samples = samples * mask.reshape(batch, g, 1, taps, oh, ow)
    parts = samples.reshape(batch, groups, channels // groups * taps, oh * ow)
    kernel = weight.reshape(groups, out_channels // groups, -1)
    out = ember.matmul(kernel, parts).reshape(batch, out_channels, oh, ow)
    return out + bias[None, :, None, None]


def _cuda_version() -> int:
    """-1: there is no CUDA."""
    return -1


_POOL = (
    "Tensor input, Tensor rois, float spatial_scale, int pooled_height, "
    "int pooled_width"
)
_GRAD = "Tensor grad, Tensor rois"
_TABLE: list[tuple[str, str, Callable | None]] = [
    ("nms", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor", nms),
    ("roi_align", f"({_POOL}, int sampling_ratio, bool aligned) -> Tensor", roi_align),
    (
        "ps_roi_align",
        f"({_POOL}, int sampling_ratio) -> (Tensor, Tensor)",
        ps_roi_align,
    ),
    ("roi_pool", f"({_POOL}) -> (Tensor, Tensor)", roi_pool),
    ("ps_roi_pool", f"({_POOL}) -> (Tensor, Tensor)", ps_roi_pool),
    (
        "deform_conv2d",
        "(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
        "int stride_h, int stride_w, int pad_h, int pad_w, int dilation_h, "
        "int dilation_w, int groups, int offset_groups, bool use_mask) -> Tensor",
        deform_conv2d,
    ),
    ("_cuda_version", "() -> int", _cuda_version),
    # Gradients come by themselves; torchvision gives these ops rules nevertheless.
    ("_roi_align_backward", f"({_GRAD}) -> Tensor", None),
    ("_roi_pool_backward", f"({_GRAD}) -> Tensor", None),
    ("_ps_roi_align_backward", f"({_GRAD}) -> Tensor", None),
    ("_ps_roi_pool_backward", f"({_GRAD}) -> Tensor", None),
    ("_deform_conv2d_backward", f"({_GRAD}) -> Tensor", None),
    ("qnms", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor", None),
    ("qroi_align", f"({_POOL}) -> Tensor", None),
]


def register() -> None:
    """Enter the operators as `ember.ops.torchvision`."""
    for name, schema, function in _TABLE:
        op = _custom_op.CustomOpDef(f"torchvision::{name}", schema)
        op._composite = function
        _custom_op.register(op, replace=True)
