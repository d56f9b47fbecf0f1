"""Boxes: the part of a tensor that a rank has, and what two boxes have in common.

A sharded tensor is known by its interface (`to_local`, `placements`, `device_mesh`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import ember
from ember import Size, Tensor
from ember.distributed.checkpoint.metadata import ChunkStorageMetadata


class Overlap(NamedTuple):
    """A box that lies in two others: where it begins in each, and its size."""

    in_first: Size
    in_second: Size
    lengths: Size


def overlap(
    first: ChunkStorageMetadata, second: ChunkStorageMetadata
) -> Overlap | None:
    """What two boxes of one tensor have in common; None if nothing."""
    in_first, in_second, lengths = [], [], []
    for a, n, b, m in zip(first.offsets, first.sizes, second.offsets, second.sizes):
        start, end = max(a, b), min(a + n, b + m)
        if end <= start:
            return None
        in_first.append(start - a)
        in_second.append(start - b)
        lengths.append(end - start)
    return Overlap(Size(in_first), Size(in_second), Size(lengths))


def narrowed(t: Tensor, offsets: Size, lengths: Size) -> Tensor:
    """A box of a tensor, as a view."""
    for dim, (offset, length) in enumerate(zip(offsets, lengths)):
        if length != t.shape[dim]:
            t = t.narrow(dim, offset, length)
    return t


def is_sharded(value: Any) -> bool:
    """Whether it is a tensor that lies on several ranks."""
    return isinstance(value, Tensor) and all(
        hasattr(value, name) for name in ("to_local", "placements", "device_mesh")
    )


def local_part(value: Tensor) -> Tensor:
    """What this rank has of a tensor."""
    return (value.to_local() if is_sharded(value) else value).detach()  # type: ignore[attr-defined]


def box_of(value: Tensor) -> ChunkStorageMetadata | None:
    """The box that this rank has; None if it has none."""
    sizes, offsets = list(value.shape), [0] * len(value.shape)
    if not is_sharded(value):
        return ChunkStorageMetadata(Size(offsets), Size(sizes))
    mesh: Any = value.device_mesh  # type: ignore[attr-defined]
    place = mesh.get_coordinate()
    if place is None:
        return None
    for axis, placement in enumerate(value.placements):  # type: ignore[attr-defined]
        if placement.is_partial() or hasattr(placement, "split_factor"):
            raise NotImplementedError(
                f"distributed.checkpoint: a tensor that lies as {placement} can't be "
                "saved or loaded; redistribute it to Shard or Replicate"
            )
        if placement.is_shard():
            dim = placement.dim % len(sizes)
            # Ranks have as much as torch.chunk gives them; the last may have less.
            share = -(-sizes[dim] // mesh.size(axis))
            start = min(place[axis] * share, sizes[dim])
            offsets[dim] += start
            sizes[dim] = min(share, sizes[dim] - start)
    if 0 in sizes and 0 not in value.shape:
        return None
    local = tuple(local_part(value).shape)
    if local != tuple(sizes):
        raise ValueError(
            f"distributed.checkpoint: a tensor of shape {tuple(value.shape)} that lies "
            f"as {value.placements} has {local} on this rank, expected {tuple(sizes)}"  # type: ignore[attr-defined]
        )
    return ChunkStorageMetadata(Size(offsets), Size(sizes))


def copy_for_later(value: Any) -> Any:
    """A tensor that further training does not change, in host memory."""
    if is_sharded(value):
        return value.detach().clone()
    with ember.no_grad():
        return value.detach().to("cpu", copy=True)
