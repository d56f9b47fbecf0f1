"""Batch rules of searches, quantiles and histograms.

See Note [Batched tensors] in `_batched.py`.
"""

from typing import Any

import ember
from ember import Tensor
from ember.func._batched import Batched, Call, Loop, Refused, rule
from ember.func._rules import pointwise, shifted

# --- searches -------------------------------------------------------------------------


@rule("searchsorted")
def searchsorted(call: Call):
    rows, x, narrow, right, side, sorter = call.values()
    options: dict[str, Any] = {"out_int32": narrow, "right": right, "side": side}
    if not call.batched(rows) and not call.batched(sorter) and rows.dim() == 1:
        return call.func(rows, x.value, sorter=sorter, **options)
    if not isinstance(x, Tensor):
        x = ember.tensor(x)
    flat = x.reshape(-1) if rows.dim() == 1 else x
    if sorter is not None:
        options["sorter"] = call.full(sorter)
    rows, flat = (call.full(t).contiguous() for t in (rows, flat))
    made = call.func(rows, flat, **options)
    return made.reshape(call.size, *x.shape)


@rule("bucketize")
def bucketize(call: Call):
    x, edges, narrow, right = call.values()
    if not call.batched(edges):
        return pointwise(call)
    return ember.searchsorted(edges, x, out_int32=narrow, right=right)


@rule("isin")
def isin(call: Call):
    x, among, unique, invert = call.values()
    if not call.batched(among):
        return call.func(x.value, among, assume_unique=unique, invert=invert)
    if not isinstance(x, Tensor):
        x = ember.tensor(x)
    found = (x.unsqueeze(-1) == among.reshape(-1)).any(-1)
    return found.logical_not() if invert else found


# --- histograms -----------------------------------------------------------------------


def _counted(x: Tensor, at: Tensor, inside: Tensor, weight, bins: int) -> Tensor:
    """How many elements, or how much weight, is in each bin."""
    one = inside.to(x.dtype) if weight is None else weight.reshape(-1) * inside
    at = ember.where(inside, at, 0).clamp(0, bins - 1)
    return ember.zeros(bins, dtype=x.dtype).scatter_add(0, at, one)


def _ends(x: Tensor, ends, margin: float) -> tuple:
    """The first and the last edge: those given, or those of the sample's elements."""
    low, high = ends
    if low != high:
        return low, high
    if x.numel():
        below = x
        while isinstance(below, Batched):
            below = below.value
        if not below.isfinite().all():
            raise Refused("histogram: the range of the elements is not finite")
        low, high = x.amin(), x.amax()
        alike = low == high
        return ember.where(alike, low - margin, low), ember.where(
            alike, high + margin, high
        )
    return low - margin, high + margin


@rule("histc")
def histc(call: Call):
    x, bins, *ends = call.values()
    if bins <= 0 or ends[0] > ends[1] or not x.is_floating_point():
        raise Loop  # for the error of the op itself
    flat = call.lift(x).reshape(-1)
    low, high = _ends(flat, ends, 1.0)
    at = ((flat - low) * bins / (high - low)).to(ember.int64).clamp(max=bins - 1)
    return _counted(flat, at, (flat >= low) & (flat <= high), None, bins)


@rule("histogram")
def histogram(call: Call):
    given = call.bound()
    x, bins, weight = (given.get(n) for n in ("self", "bins", "weight"))
    if isinstance(bins, Tensor):
        edges = call.lift(bins)
        if edges.dim() != 1 or edges.numel() < 2:
            raise Loop
    else:
        edges = _edges(call, x, 100 if bins is None else bins, given.get("range"))
    x, n = call.lift(x).reshape(-1), edges.numel() - 1
    if weight is not None and weight.numel() != x.numel():
        raise Loop
    at = ember.searchsorted(edges, x, right=True) - 1
    hist = _counted(x, at, (x >= edges[0]) & (x <= edges[-1]), weight, n)
    if given.get("density"):
        hist = hist / hist.sum() / edges.diff()
    return hist, edges


def _edges(call: Call, x: Tensor, bins: int, ends) -> Tensor:
    """Counted from both ends, so that both are edges."""
    if bins <= 0 or (ends is not None and (len(ends) != 2 or ends[0] > ends[1])):
        raise Loop
    low, high = _ends(call.lift(x).reshape(-1), ends or (0, 0), 0.5)
    low, high = (ember.as_tensor(end).to(x.dtype) for end in (low, high))
    step, i = (high - low) / bins, ember.arange(bins + 1)
    up, down = i.to(x.dtype) * step + low, (i - bins).to(x.dtype) * step + high
    return call.lift(ember.where(i < (bins + 1) // 2, up, down))


# --- quantiles ------------------------------------------------------------------------


@rule("quantile", "nanquantile")
def quantile(call: Call):
    """One or more quantiles: those of samples that differ are a sorted row's."""
    x, q, dim, keepdim, how = call.bind(
        "self", "q", dim=None, keepdim=False, interpolation="linear"
    )
    if call.batched(q):
        raise Loop
    value = call.full(x) if x.dim() else call.full(x).unsqueeze(1)
    rank = max(x.dim(), 1)
    if dim is None:
        made = call.func(value.flatten(1), q, 1, interpolation=how)
        if keepdim:
            made = made.reshape(*made.shape, *[1] * x.dim())
    else:
        made = call.func(value, q, shifted(dim, rank), keepdim, interpolation=how)
    several = isinstance(q, Tensor) and q.dim() == 1
    made = made.movedim(1, 0) if several else made
    return made.flatten(1) if x.dim() == 0 and keepdim and not several else made
