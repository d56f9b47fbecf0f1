"""Where parts of distributed tensors lie."""

from __future__ import annotations

from collections.abc import Sequence

from ember.distributed.device_mesh import DeviceMesh
from ember.distributed.tensor.placement_types import (
    Placement,
    local_offset,
    local_shape,
    normal,
)


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int],
    mesh: DeviceMesh,
    placements: Sequence[Placement],
    skip_offset: bool = False,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of this process's part, and where it begins in the whole."""
    placed = normal(placements, len(global_shape))
    shape = tuple(local_shape(global_shape, mesh, placed))
    if skip_offset:
        return shape, ()
    return shape, tuple(local_offset(global_shape, mesh, placed))


def compute_local_shape(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[int, ...]:
    """The shape of this process's part."""
    return compute_local_shape_and_global_offset(global_shape, mesh, placements)[0]
