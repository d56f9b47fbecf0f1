"""From one placement to another, with gradients.

Note [Gradients of placements]
A local tensor carries its own history, so gradients reach it by the local ops alone.
They mean the right thing because of one invariant: the gradient of a part is the same
part of the gradient of the whole; of a copy, the whole gradient; of a term of a sum,
the whole gradient as well. Every step below keeps it: its backward pass takes the
gradient of the new placement to that of the old one. Where ranks use a copy for
different things, so that each computes a term of its gradient, `Share` adds the terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ember
from ember import Tensor
from ember.autograd import Function
from ember.distributed._functional_collectives import _reduction
from ember.distributed._group import ProcessGroup
from ember.distributed.device_mesh import DeviceMesh
from ember.distributed.tensor.placement_types import (
    Partial,
    Placement,
    Replicate,
    Shard,
    cut,
    padded,
    sizes_by_dim,
    span,
)


def _grad_of_reduction(grad: Tensor, op: str, group: ProcessGroup) -> Tensor:
    if op == "avg":
        return grad / group.size()
    if op != "sum":
        raise RuntimeError(f"the gradient of a {op} over ranks is not defined")
    return grad


def gather(local: Tensor, dim: int, size: int, group: ProcessGroup) -> Tensor:
    """The whole, of `size` along `dim`, from the parts of all ranks."""
    full = -(-size // group.size())
    mine = padded(local.detach(), dim, full).contiguous()
    parts = mine.new_empty((group.size(), *mine.shape))
    group._allgather_base(parts, mine).wait()
    if dim == 0:
        return parts.flatten(0, 1).narrow(0, 0, size)
    return ember.cat(parts.unbind(), dim).narrow(dim, 0, size)


class Gather(Function):
    """Shard to Replicate."""

    @staticmethod
    def forward(
        ctx: Any, local: Tensor, dim: int, size: int, group: ProcessGroup
    ) -> Tensor:
        ctx.dim, ctx.group = dim, group
        return gather(local, dim, size, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        return Cut.apply(grad, ctx.dim, ctx.group), None, None, None


class Cut(Function):
    """Replicate to Shard."""

    @staticmethod
    def forward(ctx: Any, local: Tensor, dim: int, group: ProcessGroup) -> Tensor:
        ctx.dim, ctx.group, ctx.size = dim, group, local.size(dim)
        return cut(local, dim, group.size(), group.rank()).clone(
            memory_format=ember.contiguous_format
        )

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        return Gather.apply(grad, ctx.dim, ctx.size, ctx.group), None, None


class Reduce(Function):
    """Partial to Replicate."""

    @staticmethod
    def forward(ctx: Any, local: Tensor, op: str, group: ProcessGroup) -> Tensor:
        ctx.op, ctx.group = op, group
        out = local.detach().clone(memory_format=ember.contiguous_format)
        group.allreduce([out], _reduction(op)).wait()
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        return _grad_of_reduction(grad, ctx.op, ctx.group), None, None


class ReduceScatter(Function):
    """Partial to Shard."""

    @staticmethod
    def forward(
        ctx: Any, local: Tensor, op: str, dim: int, group: ProcessGroup
    ) -> Tensor:
        ctx.op, ctx.dim, ctx.size, ctx.group = op, dim, local.size(dim), group
        parts, _ = Shard(dim)._split_tensor(local.detach(), group.size())
        out = ember.empty_like(parts[0])
        group.reduce_scatter(out, parts, op=_reduction(op)).wait()
        begin, end = span(ctx.size, group.size(), group.rank())
        return out.narrow(dim, 0, end - begin)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        whole = Gather.apply(grad, ctx.dim, ctx.size, ctx.group)
        return _grad_of_reduction(whole, ctx.op, ctx.group), None, None, None


class Exchange(Function):
    """Shard(old) to Shard(new); `size` is that of the whole along `old`."""

    @staticmethod
    def forward(
        ctx: Any, local: Tensor, old: int, new: int, size: int, group: ProcessGroup
    ) -> Tensor:
        ctx.args = new, old, local.size(new), group
        ranks, own = range(group.size()), group.rank()
        sent = [cut(local.detach(), new, len(ranks), r).contiguous() for r in ranks]
        shape, got = list(sent[own].shape), []
        for r in ranks:
            begin, end = span(size, len(ranks), r)
            shape[old] = end - begin
            got.append(local.new_empty(shape))
        group.alltoall(got, sent).wait()
        return ember.cat(got, old)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        return Exchange.apply(grad, *ctx.args), None, None, None, None


class Divide(Function):
    """Replicate to Partial: one rank has it all, so that no rounding is added."""

    @staticmethod
    def forward(ctx: Any, local: Tensor, group: ProcessGroup) -> Tensor:
        return local.clone() if group.rank() == 0 else ember.zeros_like(local)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        return grad, None


class Share(Function):
    """A copy of which each rank computes a term of the gradient."""

    @staticmethod
    def forward(ctx: Any, local: Tensor, group: ProcessGroup) -> Tensor:
        ctx.group = group
        return local.view_as(local)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        return Reduce.apply(grad, "sum", ctx.group), None


def _step(
    local: Tensor, old: Placement, new: Placement, size: int, group: ProcessGroup
) -> Tensor:
    """The local tensor in a new placement along one mesh dimension.

    `size` is that of the whole along the old placement's dimension.
    """
    if old == new or (old.is_replicate() and new.is_replicate()):
        return local
    if isinstance(old, Shard):
        if isinstance(new, Shard):
            return Exchange.apply(local, old.dim, new.dim, size, group)
        local = Gather.apply(local, old.dim, size, group)
    elif isinstance(old, Partial):
        if isinstance(new, Shard):
            return ReduceScatter.apply(local, old.reduce_op, new.dim, group)
        local = Reduce.apply(local, old.reduce_op, group)
    if isinstance(new, Shard):
        return Cut.apply(local, new.dim, group)
    return Divide.apply(local, group) if isinstance(new, Partial) else local


def _nested(placements: Sequence[Placement]) -> set[int]:
    """Mesh dimensions that cut the same dimension of the tensor as another one."""
    dims = [p.dim if isinstance(p, Shard) else None for p in placements]
    return {at for at, d in enumerate(dims) if d is not None and dims.count(d) > 1}


def redistribute(
    local: Tensor,
    shape: Sequence[int],
    mesh: DeviceMesh,
    old: Sequence[Placement],
    new: Sequence[Placement],
) -> Tensor:
    """The local tensor of a whole of `shape` in new placements."""
    if tuple(old) == tuple(new):
        return local
    now = list(old)

    def move(at: int, to: Placement) -> None:
        nonlocal local
        before = now[at]
        sizes = sizes_by_dim(shape, mesh, now)[at]
        size = sizes[before.dim] if isinstance(before, Shard) else 0
        local = _step(local, before, to, size, mesh.get_group(at))
        now[at] = to

    changed = {at for at, (a, b) in enumerate(zip(old, new)) if a != b}
    # Parts of parts are put together from the inside out, and cut from the outside in.
    tangled = _nested(old) | _nested(new) | _nested([*old, *new])
    tangled = {at % len(now) for at in tangled}
    if changed & tangled and len(now) > 1:
        for at in sorted(changed | tangled, reverse=True):
            if isinstance(now[at], Shard):
                move(at, Replicate())
    for at in range(len(now)):
        if now[at] != new[at]:
            move(at, new[at])
    return local
