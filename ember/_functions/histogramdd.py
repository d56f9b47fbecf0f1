"""Histograms of points in several dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import ember
from ember._C import Tensor
from ember._overridable import overridable


class Histogram(NamedTuple):
    """Counts, and the edges of the bins along each dimension."""

    hist: Tensor
    bin_edges: tuple[Tensor, ...]


@overridable
def histogramdd(
    input: Tensor,
    bins: int | Sequence[int | Tensor],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Histogram:
    """Counts of points, the last dimension of `input`, in a grid of bins.

    `bins` is a number, a number for each dimension, or the edges for each dimension;
    `range` holds the lowest and highest edge of each dimension in turn.

    >>> import ember
    >>> ember.histogramdd(ember.tensor([[0.0, 1.0], [1.0, 0.0]]), bins=[2, 2]).hist
    tensor([[0., 1.],
            [1., 0.]])
    """
    if input.dim() < 2:
        raise RuntimeError(
            f"histogramdd(): input tensor should have at least 2 dimensions, got "
            f"{input.dim()}"
        )
    if input.dtype not in (ember.float32, ember.float64):
        raise NotImplementedError(f"histogramdd(): not implemented for {input.dtype}")
    if weight is not None:
        _check_weight(input, weight)
    points = input.detach().flatten(0, -2)
    count = points.shape[1]
    if isinstance(bins, int):
        bins = [bins] * count
    if len(bins) != count:
        raise RuntimeError(
            f"histogramdd(): expected {count} sequences of bins, got {len(bins)}"
        )
    if range is not None and len(range) != 2 * count:
        raise RuntimeError(
            f"histogramdd(): expected {2 * count} limits in range, got {len(range)}"
        )
    edges = tuple(
        _given(input, b, d)
        if isinstance(b, Tensor)
        else _edges(points[:, d], b, _limits(range, d), d)
        for d, b in enumerate(bins)
    )
    return _counted(points, edges, weight, density)


def _check_weight(x: Tensor, weight: Tensor) -> None:
    if weight.dtype != x.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight "
            f"tensor should have the same dtype, but got input {x.dtype} and weight "
            f"{weight.dtype}"
        )
    if weight.shape != x.shape[:-1]:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same "
            "shape as the input tensor excluding its innermost dimension, but got "
            f"input with shape {list(x.shape)} and weight with shape "
            f"{list(weight.shape)}"
        )


def _given(x: Tensor, edges: Tensor, d: int) -> Tensor:
    if edges.dtype != x.dtype:
        wrong = f"the dtype of input ({x.dtype}), but is of {edges.dtype}"
    elif edges.dim() != 1:
        wrong = f"one dimension, but has {edges.dim()}"
    elif edges.numel() == 0:
        wrong = "at least 1 element, but has 0 elements"
    else:
        return edges
    raise RuntimeError(
        f"torch.histogramdd: the bins tensor for dimension {d} should have {wrong}"
    )


def _limits(limits: Sequence[float] | None, d: int) -> Sequence[float] | None:
    return None if limits is None else limits[2 * d : 2 * d + 2]


def _edges(x: Tensor, bins: int, limits: Sequence[float] | None, d: int) -> Tensor:
    if bins < 1:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins}")
    if limits is not None and limits[0] > limits[1]:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {limits[0]} "
            f"max {limits[1]} for dimension {d}"
        )
    if limits is None:
        limits = (x.min().item(), x.max().item()) if x.numel() else (0.0, 1.0)
    low, high = limits
    most = ember.finfo(x.dtype).max
    if not (abs(low) <= most and abs(high) <= most):
        raise RuntimeError(
            f"torch.histogramdd: dimension {d}'s range [{low}, {high}] is not finite"
        )
    if low == high:
        low, high = low - 0.5, high + 0.5
    return ember.linspace(low, high, bins + 1, dtype=x.dtype, device=x.device)


def _counted(points, edges, weight, density) -> Histogram:
    device, n = points.device, points.shape[0]
    inside = ember.ones(n, dtype=ember.bool, device=device)
    place = ember.zeros(n, dtype=ember.int64, device=device)
    for d, edge in enumerate(edges):
        x = points[:, d].contiguous()
        inside &= (x >= edge[0]) & (x <= edge[-1])
        bins = edge.numel() - 1
        at = ember.searchsorted(edge, x, right=True) - 1
        place = place * bins + at.clamp(0, bins - 1)
    shape = [edge.numel() - 1 for edge in edges]
    total = 1
    for n in shape:
        total *= n
    weights = None if weight is None else weight.detach().reshape(-1)[inside]
    counts = ember.bincount(place[inside], weights, minlength=total)
    hist = counts.to(points.dtype).reshape(shape)
    if density:
        hist = hist / hist.sum()
        for d, edge in enumerate(edges):
            hist = hist / edge.diff().reshape([-1] + [1] * (len(shape) - d - 1))
    return Histogram(hist, edges)
