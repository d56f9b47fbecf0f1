"""Which dimension of a view is which dimension of the tensor it is a view of."""

from __future__ import annotations

from typing import Any

import ember
from ember import _C, Tensor
from ember.distributed.tensor._api import DTensor
from ember.distributed.tensor._dispatch import Call, Names
from ember.distributed.tensor.placement_types import Shard, local_shape
from ember.utils._pytree import tree_flatten

_RESHAPES = set("view reshape flatten unflatten ravel view_as reshape_as".split())


def viewed(call: Call) -> Names | None:
    """Labels of a view; None where indices are tensors."""
    x = call.tensors[0]
    if call.in_place:
        raise NotImplementedError(
            f"{call.name}(): a DTensor cannot change its shape in place; use "
            f"{call.name[:-1]}()"
        )
    if call.name in _RESHAPES:
        return _reshape_names(call, x)
    rest = [[None] * t.dim() for t in call.tensors[1:]]
    if call.name == "__getitem__" and not _basic(call.args[1]):
        return None
    outs = [_labels_of_view(x, v) for v in tree_flatten(_traced(call, x))[0]]
    # What every output has whole may be cut.
    kept = [d if all(d in out for out in outs) else None for d in range(x.dim())]
    outs = [[d if d is not None and kept[d] == d else None for d in out]
            for out in outs]  # fmt: skip
    several = not isinstance(call.whole, Tensor)
    return Names([kept, *rest], outs if several else outs[0], linear=True)


def _basic(index: Any) -> bool:
    items = index if isinstance(index, tuple) else (index,)
    kinds = (int, slice, type(None), type(Ellipsis))
    return all(isinstance(i, kinds) and not isinstance(i, bool) for i in items)


def _mark(dim: int) -> int:
    """A stride that no computation leads to, to know the dimension by."""
    return 1_000_003 + 7919 * dim


def _traced(call: Call, x: DTensor) -> Any:
    """The op on a tensor whose strides tell its dimensions apart."""
    marks = tuple(_mark(d) for d in range(x.dim()))
    before = _C._switch_overrides(True, True)
    try:
        marked = ember.empty_strided(tuple(x.shape), marks, device="meta")
        rest = call.args[1:]
        return call.func(marked, *rest, **call.kwargs)
    finally:
        _C._switch_overrides(*before)


def _labels_of_view(x: DTensor, view: Tensor) -> list[Any]:
    """The dimensions of `x` that a view has in full."""
    dims = {_mark(d): d for d in range(x.dim())}
    found = []
    for stride, size in zip(view.stride(), view.shape):
        dim = dims.get(stride)
        found.append(dim if dim is not None and x.size(dim) == size else None)
    return found


def _reshape_names(call: Call, x: DTensor) -> Names | None:
    if isinstance(call.arg(1, "dtype"), ember.dtype):
        return None
    rest = [[None] * t.dim() for t in call.tensors[1:]]
    ways = {
        call.mesh.size(at) for at, p in enumerate(x._placements) if isinstance(p, Shard)
    }
    whole = tuple(call.whole.shape)
    inputs, output = match_dims(tuple(x.shape), whole, max(ways, default=1))
    return Names([inputs, *rest], output, linear=True)


def match_dims(
    old: tuple[int, ...], new: tuple[int, ...], ways: int
) -> tuple[list[Any], list[Any]]:
    """Labels for a reshape, of dimensions that can be cut `ways` ways in both shapes.

    Dimensions fall into groups of equal products. In a group the first dimension that
    is not 1 can be cut, if the parts are even or it is alone.
    """
    inputs: list[Any] = [None] * len(old)
    output: list[Any] = [None] * len(new)
    i = j = 0
    while i < len(old) and j < len(new):
        first, second = i, j
        a, b = old[i], new[j]
        i, j = i + 1, j + 1
        while a != b:
            if a < b and i < len(old):
                a, i = a * old[i], i + 1
            elif j < len(new):
                b, j = b * new[j], j + 1
            else:
                return inputs, output  # a tensor without elements
        while first < i - 1 and old[first] == 1:
            first += 1
        while second < j - 1 and new[second] == 1:
            second += 1
        same = old[first] == new[second]
        if same or not (old[first] % ways or new[second] % ways):
            inputs[first] = output[second] = first
    return inputs, output


def reshaped(call: Call, args: tuple, kwargs: dict, out: list) -> Any:
    """The part in the shape that it has of the result."""
    return args[0].reshape(local_shape(call.whole.shape, call.mesh, out[0]))
