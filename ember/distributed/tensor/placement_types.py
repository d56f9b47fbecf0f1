"""How a tensor lies on the processes of a mesh dimension, and what each of them has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ember import Tensor

if TYPE_CHECKING:
    from ember.distributed.device_mesh import DeviceMesh

__all__ = ["DTensorSpec", "Partial", "Placement", "Replicate", "Shard", "TensorMeta"]


class Placement:
    """How a tensor lies on the devices of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is cut, along `dim` if given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether every device has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether every device has a term of it."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Cut along a dimension: parts of ceil(size / processes), the last ones smaller."""

    dim: int

    def _split_tensor(
        self, tensor: Tensor, num_chunks: int, *, with_padding: bool = True, **_: Any
    ) -> tuple[list[Tensor], list[int]]:
        """The parts of all processes, padded to one size if asked for."""
        parts = [
            cut(tensor, self.dim, num_chunks, rank).contiguous()
            for rank in range(num_chunks)
        ]
        full = parts[0].size(self.dim)
        missing = [full - part.size(self.dim) for part in parts]
        if with_padding:
            parts = [padded(part, self.dim, full) for part in parts]
        return parts, missing

    @staticmethod
    def local_shard_size_and_offset(
        curr_local_size: int, num_chunks: int, rank: int
    ) -> tuple[int, int]:
        """How many of `curr_local_size` a rank has, and where they begin."""
        begin, end = span(curr_local_size, num_chunks, rank)
        return end - begin, begin

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True)
class Replicate(Placement):
    """The same on every device."""

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """Terms that still have to be added, or reduced otherwise."""

    reduce_op: str = "sum"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


@dataclass(frozen=True)
class TensorMeta:
    """What a whole tensor is like."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True)
class DTensorSpec:
    """Where a tensor lies, and what it is like."""

    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    tensor_meta: TensorMeta | None = None

    shape = property(lambda self: self.tensor_meta.shape)
    device_mesh = property(lambda self: self.mesh)


def span(size: int, parts: int, rank: int) -> tuple[int, int]:
    """Where the part of a rank begins and ends."""
    full = -(-size // parts)
    return min(rank * full, size), min((rank + 1) * full, size)


def cut(t: Tensor, dim: int, parts: int, rank: int) -> Tensor:
    """The part of a rank; it may be empty."""
    begin, end = span(t.size(dim), parts, rank)
    return t.narrow(dim, begin, end - begin)


def padded(t: Tensor, dim: int, size: int) -> Tensor:
    """`t` with zeros after it, up to `size` along `dim`."""
    missing = size - t.size(dim)
    if not missing:
        return t
    shape = list(t.shape)
    shape[dim] = missing
    from ember import cat

    return cat([t, t.new_zeros(shape)], dim)


def normal(placements: Sequence[Placement], ndim: int) -> tuple[Placement, ...]:
    """Placements with dimensions counted from the front."""

    def one(p: Placement) -> Placement:
        if not isinstance(p, Placement):
            raise RuntimeError(f"expected a placement, got {p!r}")
        if not isinstance(p, Shard):
            return p
        if not -ndim <= p.dim < ndim:
            raise ValueError(
                f"Shard({p.dim}): a tensor of {ndim} dimensions has no such dimension"
            )
        return p if p.dim >= 0 else Shard(p.dim + ndim)

    return tuple(one(p) for p in placements)


def sizes_by_dim(
    shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> list[list[int]]:
    """The shape that this process has before each mesh dimension cuts it, and after
    the last."""
    sizes, found = list(shape), []
    for at, placement in enumerate(placements):
        found.append(list(sizes))
        if isinstance(placement, Shard):
            begin, end = span(
                sizes[placement.dim], mesh.size(at), mesh.get_local_rank(at)
            )
            sizes[placement.dim] = end - begin
    return [*found, sizes]


def local_shape(
    shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> list[int]:
    """The shape of this process's part."""
    return sizes_by_dim(shape, mesh, placements)[-1]


def local_offset(
    shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> list[int]:
    """Where this process's part begins in the whole."""
    steps = sizes_by_dim(shape, mesh, placements)
    offset = [0] * len(shape)
    for at, placement in enumerate(placements):
        if isinstance(placement, Shard):
            size = steps[at][placement.dim]
            rank = mesh.get_local_rank(at)
            offset[placement.dim] += span(size, mesh.size(at), rank)[0]
    return offset
