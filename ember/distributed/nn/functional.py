"""Collectives with gradients: the loss is the sum of what the ranks compute.

>>> import ember, ember.distributed as dist
>>> from ember.distributed.nn import functional
>>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
>>> x = ember.ones(2, requires_grad=True)
>>> functional.all_reduce(x).sum().backward()
>>> x.grad
tensor([1., 1.])
>>> dist.destroy_process_group()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ember
from ember import Tensor
from ember.autograd import Function
from ember.distributed import _functional_collectives as plain, distributed_c10d as c10d
from ember.distributed._functional_collectives import find_group
from ember.distributed._group import ProcessGroup
from ember.distributed._options import ReduceOp

__all__ = """all_gather all_reduce all_to_all all_to_all_single broadcast gather reduce
    reduce_scatter scatter""".split()


def _root(group: ProcessGroup, rank: int) -> int:
    """A rank of the default group, as the group numbers it."""
    return c10d.get_group_rank(group, rank)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, given: Tensor, root: int, group: ProcessGroup) -> Tensor:
        ctx.root, ctx.group = root, group
        return plain.wait_tensor(plain.broadcast(given, root, group))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        return _ReduceTo.apply(grad, ReduceOp.SUM, ctx.root, ctx.group), None, None


class _ReduceTo(Function):
    """A sum that one rank has; the others have zeros."""

    @staticmethod
    def forward(
        ctx: Any, given: Tensor, op: Any, root: int, group: ProcessGroup
    ) -> Tensor:
        ctx.root, ctx.group = root, group
        out = given.detach().clone(memory_format=ember.contiguous_format)
        group.reduce([out], root=root, op=op).wait()
        return out if group.rank() == root else ember.zeros_like(out)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        return _Broadcast.apply(grad, ctx.root, ctx.group), None, None, None


class _GatherTo(Function):
    """The tensors of all ranks, stacked, on one; the others have zeros."""

    @staticmethod
    def forward(ctx: Any, given: Tensor, root: int, group: ProcessGroup) -> Tensor:
        ctx.root, ctx.group = root, group
        given = given.detach().contiguous()
        out = given.new_zeros((group.size(), *given.shape))
        into = [list(out.unbind())] if group.rank() == root else []
        group.gather(into, [given], root=root).wait()
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        return _ScatterFrom.apply(grad, ctx.root, ctx.group), None, None


class _ScatterFrom(Function):
    """Rows of one rank's tensor, one for each rank."""

    @staticmethod
    def forward(ctx: Any, given: Tensor, root: int, group: ProcessGroup) -> Tensor:
        ctx.root, ctx.group = root, group
        rows = [row.contiguous() for row in given.detach().unbind()]
        out = ember.empty_like(rows[0])
        group.scatter([out], [rows] if group.rank() == root else [], root=root).wait()
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        return _GatherTo.apply(grad, ctx.root, ctx.group), None, None


def _sum_only(name: str, op: Any, given: Tensor) -> None:
    if op not in (ReduceOp.SUM, ReduceOp.AVG) and given.requires_grad:
        raise ValueError(f"{name}(): only sums and means over ranks have a gradient")


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of rank `src`."""
    pg = find_group(group)
    return _Broadcast.apply(tensor, _root(pg, src), pg)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks, on rank `dst`; zeros on the others."""
    pg = find_group(group)
    return tuple(_GatherTo.apply(tensor, _root(pg, dst), pg).unbind())


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """This rank's tensor of the list of rank `src`; all ranks give a list."""
    pg = find_group(group)
    return _ScatterFrom.apply(ember.stack(list(tensors)), _root(pg, src), pg)


def reduce(
    tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None
) -> Tensor:
    """The sum over the ranks, on rank `dst`; zeros on the others."""
    _sum_only("reduce", op, tensor)
    pg = find_group(group)
    if op == ReduceOp.AVG:
        tensor, op = tensor / pg.size(), ReduceOp.SUM
    return _ReduceTo.apply(tensor, op, _root(pg, dst), pg)


def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: Any = ReduceOp.SUM,
    group: Any = None,
) -> Tensor:
    """The sum of the tensors that the ranks have for this one; `output` gives its
    shape."""
    rows = ember.stack(list(input_list))
    _sum_only("reduce_scatter", op, rows)
    made = plain.reduce_scatter_tensor_autograd(rows, op, 0, group)
    return made.view(output.shape)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks."""
    rows = plain.all_gather_tensor_autograd(tensor.unsqueeze(0), 0, group)
    return tuple(rows.unbind())


def _all_gather_base(output: Tensor, input: Tensor, group: Any = None) -> Tensor:
    return plain.all_gather_tensor_autograd(input, 0, group).view(output.shape)


def all_to_all(
    output_tensor_list: Sequence[Tensor],
    input_tensor_list: Sequence[Tensor],
    group: Any = None,
) -> tuple[Tensor, ...]:
    """The tensors that the ranks have for this one, in the shapes of the outputs."""
    sent = ember.cat([t.reshape(-1) for t in input_tensor_list])
    got = [t.numel() for t in output_tensor_list]
    flat = plain.all_to_all_single_autograd(
        sent, got, [t.numel() for t in input_tensor_list], group
    )
    parts = zip(flat.split(got), output_tensor_list)
    return tuple(part.view(t.shape) for part, t in parts)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
) -> Tensor:
    """The rows that the ranks have for this one."""
    splits = output_split_sizes, input_split_sizes
    return plain.all_to_all_single_autograd(input, *splits, group).view(output.shape)


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The sum over the ranks."""
    _sum_only("all_reduce", op, tensor)
    return plain._Reduce.apply(tensor, op, find_group(group))
