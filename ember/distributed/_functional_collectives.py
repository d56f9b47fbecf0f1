"""Collectives that return new tensors, and those of them that have gradients.

What they return can be used at once: an `AsyncCollectiveTensor` waits for its
collective when an op first needs its values. `wait_tensor` waits by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ember
from ember import _C, Tensor
from ember.autograd import Function
from ember.distributed import distributed_c10d as c10d
from ember.distributed._group import ProcessGroup
from ember.distributed._options import RedOpType
from ember.distributed._work import Work

_REDUCTIONS = {name.lower(): kind for name, kind in RedOpType.__members__.items()} | {
    "mean": RedOpType.AVG
}


class AsyncCollectiveTensor(Tensor):
    """What a collective that runs will have written."""

    elem: Tensor
    _work: Work | None

    def __new__(cls, elem: Tensor, work: Work | None = None) -> AsyncCollectiveTensor:
        made = Tensor._make_subclass(cls, elem.detach(), False)
        made.elem, made._work = elem, work
        return made

    def wait(self) -> Tensor:
        """The plain tensor, when its values are there."""
        if self._work is not None:
            self._work.wait()
            self._work = None
        return self.elem

    trigger_wait = wait

    @property
    def completed(self) -> bool:
        """Whether somebody waited for it."""
        return self._work is None

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):  # type: ignore
        args, kwargs = _waited(args), _waited(kwargs or {})
        return func(*args, **kwargs)

    def __repr__(self) -> str:
        return f"AsyncCollectiveTensor({self.wait()})"

    def __deepcopy__(self, memo: dict) -> Tensor:
        return self.wait().clone()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.wait().__reduce_ex__(protocol)

    def tolist(self) -> Any:
        """The values as nested lists."""
        return self.wait().tolist()

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        """The values as an array."""
        return self.wait().numpy(*args, **kwargs)


def _waited(value: Any) -> Any:
    if isinstance(value, AsyncCollectiveTensor):
        return value.wait()
    if isinstance(value, (list, tuple)) and not isinstance(value, _C.Size):
        made = [_waited(v) for v in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    if isinstance(value, dict):
        return {key: _waited(v) for key, v in value.items()}
    return value


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor, when its values are there."""
    return tensor.wait() if isinstance(tensor, AsyncCollectiveTensor) else tensor


def find_group(group: Any) -> ProcessGroup:
    """The group that is meant: itself, its name, ranks, a mesh or a dimension of it."""
    from ember.distributed.device_mesh import DeviceMesh

    if group is None:
        return c10d._get_default_group()
    if isinstance(group, ProcessGroup):
        return group
    if isinstance(group, str):
        return c10d._resolve_process_group(group)
    if isinstance(group, DeviceMesh):
        if group.ndim != 1:
            raise AssertionError(
                "Only 1D mesh is supported, pass in (DeviceMesh, int) together if mesh "
                "> 1D"
            )
        return group.get_group()
    if isinstance(group, tuple) and group and isinstance(group[0], DeviceMesh):
        return group[0].get_group(group[1])
    if isinstance(group, (list, tuple)):
        return _group_of_ranks(group)
    raise ValueError(
        "Invalid type for group, must be one of List, Processgroup, DeviceMesh or "
        "(DeviceMesh, int)."
    )


def _group_of_ranks(ranks: Sequence[Any]) -> ProcessGroup:
    """The group of these ranks, or of that list of them which has this process."""
    own = c10d.get_rank()
    rows = ranks if ranks and isinstance(ranks[0], (list, tuple)) else [ranks]
    row = next((sorted(r) for r in rows if own in r), None)
    if row is None:
        raise ValueError(f"rank {own} is not among {list(ranks)}")
    for group in c10d._world.groups:
        if group._ranks == row:
            return group
    return c10d.new_group(row, use_local_synchronization=True)


def _reduction(reduce_op: Any) -> Any:
    if not isinstance(reduce_op, str):
        return reduce_op
    found = _REDUCTIONS.get(reduce_op.lower())
    if found is None:
        raise ValueError(f"unsupported reduce operation {reduce_op!r}")
    return found


def _plain(tensor: Tensor) -> Tensor:
    return wait_tensor(tensor).detach().contiguous()


# --- collectives ---


def all_reduce(self: Tensor, reduceOp: Any, group: Any = None, tag: str = "") -> Tensor:
    """A reduction over all ranks."""
    out = _plain(self).clone()
    return AsyncCollectiveTensor(
        out, find_group(group).allreduce([out], _reduction(reduceOp))
    )


def broadcast(self: Tensor, src: int, group: Any = None, tag: str = "") -> Tensor:
    """The tensor of rank `src` of the group."""
    out = _plain(self).clone()
    return AsyncCollectiveTensor(out, find_group(group).broadcast([out], root=src))


def all_gather_tensor(
    self: Tensor, gather_dim: int, group: Any = None, tag: str = ""
) -> Tensor:
    """The tensors of all ranks, one after the other along a dimension."""
    pg, given = find_group(group), _plain(self)
    parts = given.new_empty((pg.size(), *given.shape))
    work = pg._allgather_base(parts, given)
    dim = gather_dim % given.dim() if given.dim() else 0
    if dim == 0:
        return AsyncCollectiveTensor(parts.flatten(0, min(1, given.dim())), work)
    work.wait()
    return ember.cat(parts.unbind(), dim)


def reduce_scatter_tensor(
    self: Tensor, reduceOp: Any, scatter_dim: int, group: Any = None, tag: str = ""
) -> Tensor:
    """This rank's part, along a dimension, of a reduction over all ranks."""
    pg, given = find_group(group), wait_tensor(self).detach()
    if given.size(scatter_dim) % pg.size():
        raise AssertionError(
            f"input dimension 0 ({given.size(scatter_dim)} must be a multiple of "
            f"group_size {pg.size()})"
        )
    parts = [part.contiguous() for part in given.chunk(pg.size(), scatter_dim)]
    out = ember.empty_like(parts[0])
    return AsyncCollectiveTensor(
        out, pg.reduce_scatter(out, parts, op=_reduction(reduceOp))
    )


def all_to_all_single(
    self: Tensor,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any = None,
    tag: str = "",
) -> Tensor:
    """Rows that every rank sends to every other: `split_sizes` of them, or as many."""
    pg, given = find_group(group), _plain(self)
    rows = given.size(0) if output_split_sizes is None else sum(output_split_sizes)
    out = given.new_empty((rows, *given.shape[1:]))
    work = pg.alltoall_base(
        out, given, output_split_sizes or [], input_split_sizes or []
    )
    return AsyncCollectiveTensor(out, work)


def permute_tensor(
    self: Tensor, src_dst: Sequence[int], group: Any = None, tag: str = ""
) -> Tensor:
    """The tensor of the rank that sends to this one; rank i sends to src_dst[i]."""
    pg, given = find_group(group), _plain(self)
    if sorted(src_dst) != list(range(pg.size())):
        raise AssertionError(f"{list(src_dst)} is not a permutation of the ranks")
    flat = given.flatten()
    sent, got = [0] * pg.size(), [0] * pg.size()
    sent[src_dst[pg.rank()]] = flat.numel()
    got[list(src_dst).index(pg.rank())] = flat.numel()
    out = ember.empty_like(flat)
    return AsyncCollectiveTensor(
        out.view(given.shape), pg.alltoall_base(out, flat, got, sent)
    )


def all_reduce_coalesced(
    self: list[Tensor], reduceOp: Any, group: Any = None, tag: str = ""
) -> list[Tensor]:
    """`all_reduce` of several tensors."""
    return [all_reduce(t, reduceOp, group) for t in self]


def all_gather_into_tensor_coalesced(
    self: list[Tensor], group: Any = None, tag: str = ""
) -> list[Tensor]:
    """`all_gather_tensor` of several tensors, along the first dimension."""
    return [all_gather_tensor(t, 0, group) for t in self]


def reduce_scatter_tensor_coalesced(
    inputs: list[Tensor],
    reduceOp: Any,
    scatter_dim: Sequence[int],
    group: Any = None,
    tag: str = "",
) -> list[Tensor]:
    """`reduce_scatter_tensor` of several tensors."""
    return [
        reduce_scatter_tensor(t, reduceOp, dim, group)
        for t, dim in zip(inputs, scatter_dim)
    ]


# --- with gradients: each is the transpose of what the forward pass does ---


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, given: Tensor, dim: int, group: ProcessGroup) -> Tensor:
        ctx.dim, ctx.group = dim, group
        return wait_tensor(all_gather_tensor(given, dim, group))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        return _Scatter.apply(grad, "sum", ctx.dim, ctx.group), None, None


class _Scatter(Function):
    @staticmethod
    def forward(
        ctx: Any, given: Tensor, op: Any, dim: int, group: ProcessGroup
    ) -> Tensor:
        ctx.dim, ctx.group, ctx.mean = dim, group, _reduction(op) == RedOpType.AVG
        return wait_tensor(reduce_scatter_tensor(given, op, dim, group))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        if ctx.mean:
            grad = grad / ctx.group.size()
        return _Gather.apply(grad, ctx.dim, ctx.group), None, None, None


class _Exchange(Function):
    @staticmethod
    def forward(
        ctx: Any, given: Tensor, got: Any, sent: Any, group: ProcessGroup
    ) -> Tensor:
        ctx.args = sent, got, group
        return wait_tensor(all_to_all_single(given, got, sent, group))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        return _Exchange.apply(grad, *ctx.args), None, None, None


class _Reduce(Function):
    """A sum over the ranks, of which each goes on to compute a term of the loss."""

    @staticmethod
    def forward(ctx: Any, given: Tensor, op: Any, group: ProcessGroup) -> Tensor:
        ctx.op, ctx.group = op, group
        return wait_tensor(all_reduce(given, op, group))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        return _Reduce.apply(grad, ctx.op, ctx.group), None, None


def all_gather_tensor_autograd(
    self: Tensor, gather_dim: int, group: Any = None, tag: str = ""
) -> Tensor:
    """`all_gather_tensor`; the gradients of all ranks are added and scattered."""
    return _Gather.apply(wait_tensor(self), gather_dim, find_group(group))


def reduce_scatter_tensor_autograd(
    self: Tensor, reduceOp: Any, scatter_dim: int, group: Any = None, tag: str = ""
) -> Tensor:
    """`reduce_scatter_tensor` of a sum or mean; gradients are gathered."""
    plain = _reduction(reduceOp) in (RedOpType.SUM, RedOpType.AVG)
    if not plain and self.requires_grad:
        raise ValueError(f"the gradient of a {reduceOp} over ranks is not defined")
    group = find_group(group)
    return _Scatter.apply(wait_tensor(self), reduceOp, scatter_dim, group)


def all_to_all_single_autograd(
    self: Tensor,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any = None,
    tag: str = "",
) -> Tensor:
    """`all_to_all_single`; gradients go back the way that the rows came."""
    splits = output_split_sizes, input_split_sizes
    return _Exchange.apply(wait_tensor(self), *splits, find_group(group))
