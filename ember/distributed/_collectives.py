"""Collectives and messages as functions; ranks are those of the default group."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import ember
from ember import Tensor
from ember.distributed import _objects
from ember.distributed._options import (
    AllreduceCoalescedOptions,
    AllreduceOptions,
    BroadcastOptions,
    GatherOptions,
    ReduceOp,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
)
from ember.distributed._work import Work

__all__ = """all_gather all_gather_coalesced all_gather_into_tensor all_gather_object
    all_gather_single all_reduce all_reduce_coalesced all_to_all all_to_all_single
    barrier batch_isend_irecv broadcast broadcast_object_list gather gather_object irecv
    isend monitored_barrier recv recv_object_list reduce reduce_scatter
    reduce_scatter_single reduce_scatter_tensor scatter scatter_object_list send
    send_object_list""".split()


def _c10d() -> Any:
    from ember.distributed import distributed_c10d

    return distributed_c10d


def _group(group: Any, name: str) -> Any:
    """The group; None, with a warning, where this process is not in it."""
    if _c10d()._rank_not_in_group(group):
        import warnings

        warnings.warn(
            f"Running {name} on global rank {_c10d().get_rank()} which "
            "does not belong to "
            "the given group.",
            stacklevel=3,
        )
        return None
    return _c10d()._group_or_default(group)


def _root(group: Any, rank: int | None, group_rank: int | None, what: str) -> int:
    if group_rank is not None:
        if rank is not None:
            raise ValueError(f"Can't specify both group_{what} and {what}")
        return group_rank
    if rank is None:
        raise ValueError(f"Must specify {what} or group_{what}")
    return _c10d().get_group_rank(group, rank)


def _tensor(value: Any, name: str) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of "
            "type torch.Tensor, "
            f"but got {type(value)} instead."
        )


def _tensors(values: Any, name: str) -> None:
    if not isinstance(values, (list, tuple)) or not all(
        isinstance(t, Tensor) for t in values
    ):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type "
            f"List[torch.Tensor], but got {type(values)} instead."
        )


def _same_dtype(*tensors: Any) -> None:
    kinds = {
        t.dtype
        for each in tensors
        for t in (each if isinstance(each, (list, tuple)) else [each])
    }
    if len(kinds) > 1:
        raise ValueError(
            "Invalid usage of tensors with different dtypes: "
            + ", ".join(sorted(map(str, kinds)))
        )


_collecting: list[list[Work]] = []


def _end(work: Work, async_op: bool) -> Work | None:
    if _collecting:
        _collecting[-1].append(work)
        return work if async_op else None
    if async_op:
        return work
    work.wait()
    return None


def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce a tensor over all ranks, in place, so that all have the result.

    >>> import ember, ember.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> x = ember.ones(2)
    >>> dist.all_reduce(x)
    >>> dist.destroy_process_group()
    """
    _tensor(tensor, "tensor")
    pg = _group(group, "all_reduce")
    return (
        None
        if pg is None
        else _end(pg.allreduce([tensor], AllreduceOptions(reduceOp=op)), async_op)
    )


def all_reduce_coalesced(
    tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    """`all_reduce` of several tensors; a future of them, if `async_op`."""
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    _tensors(tensors, "tensors")
    _same_dtype(tensors)
    pg = _group(group, "all_reduce_coalesced")
    if pg is None:
        return None
    how = AllreduceCoalescedOptions(reduceOp=op)
    work = _end(pg.allreduce_coalesced(tensors, how), async_op)
    return work.get_future() if async_op and work is not None else None


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copy the tensor of `src` to all ranks."""
    _tensor(tensor, "tensor")
    pg = _group(group, "broadcast")
    if pg is None:
        return None
    how = BroadcastOptions(rootRank=_root(pg, src, group_src, "src"))
    return _end(pg.broadcast([tensor], how), async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Reduce a tensor over all ranks, to `dst`."""
    _tensor(tensor, "tensor")
    pg = _group(group, "reduce")
    if pg is None:
        return None
    root = _root(pg, dst, group_dst, "dst")
    return _end(
        pg.reduce([tensor], ReduceOptions(rootRank=root, reduceOp=op)), async_op
    )


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """The tensors of all ranks, in a list."""
    _tensors(tensor_list, "tensor_list")
    _tensor(tensor, "tensor")
    _same_dtype(tensor_list, tensor)
    pg = _group(group, "all_gather")
    if pg is None:
        return None
    if len({t.shape for t in tensor_list}) > 1 and len(tensor_list) == pg.size():
        work = pg._start("AllGather", "all_gather", tensor_list, [tensor], tensor_list)
        return _end(work, async_op)
    return _end(pg.allgather([tensor_list], [tensor]), async_op)


def all_gather_coalesced(
    output_tensor_lists: Any,
    input_tensor_list: Any,
    group: Any = None,
    async_op: bool = False,
) -> Any:
    """`all_gather` of several tensors, `output_tensor_lists[rank][i]`; a future of
    them, if `async_op`."""
    _tensors(input_tensor_list, "input_tensor_list")
    if not isinstance(output_tensor_lists, list):
        raise TypeError(
            "Invalid function argument: output_tensor_lists should be a list"
        )
    for row in output_tensor_lists:
        _tensors(row, "output_tensor_lists")
    pg = _group(group, "all_gather_coalesced")
    if pg is None:
        return None
    work = _end(
        pg.allgather_coalesced(output_tensor_lists, input_tensor_list), async_op
    )
    return work.get_future() if async_op and work is not None else None


def all_gather_into_tensor(
    output_tensor: Tensor,
    input_tensor: Tensor,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """The tensors of all ranks, one behind the other or stacked."""
    _tensor(output_tensor, "output_tensor")
    _tensor(input_tensor, "input_tensor")
    pg = _group(group, "all_gather_into_tensor")
    return (
        None
        if pg is None
        else _end(pg._allgather_base(output_tensor, input_tensor), async_op)
    )


_all_gather_base = all_gather_single = all_gather_into_tensor


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The tensors of all ranks, in a list of rank `dst`."""
    _tensor(tensor, "tensor")
    pg = _group(group, "gather")
    if pg is None:
        return None
    if dst is None and group_dst is None:
        group_dst = 0
    root = _root(pg, dst, group_dst, "dst")
    if pg.rank() == root:
        if not gather_list:
            raise ValueError(
                "Argument ``gather_list`` must be specified on destination rank."
            )
        _tensors(gather_list, "gather_list")
        _same_dtype(tensor, gather_list)
    elif gather_list:
        raise ValueError(
            "Argument ``gather_list`` must NOT be specified on non-destination ranks."
        )
    lists = [gather_list] if gather_list else []
    return _end(pg.gather(lists, [tensor], GatherOptions(rootRank=root)), async_op)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """The tensors of a list of rank `src`, one for each rank."""
    _tensor(tensor, "tensor")
    pg = _group(group, "scatter")
    if pg is None:
        return None
    if src is None and group_src is None:
        group_src = 0
    root = _root(pg, src, group_src, "src")
    if pg.rank() == root:
        if not scatter_list:
            raise ValueError(
                "Argument ``scatter_list`` must be specified on source rank."
            )
        _tensors(scatter_list, "scatter_list")
        _same_dtype(tensor, scatter_list)
    elif scatter_list:
        raise ValueError(
            "Argument ``scatter_list`` must NOT be specified on non-source ranks."
        )
    lists = [scatter_list] if scatter_list else []
    return _end(pg.scatter([tensor], lists, ScatterOptions(rootRank=root)), async_op)


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Reduce lists of tensors over all ranks; each rank gets its element."""
    _tensor(output, "output")
    _tensors(input_list, "input_list")
    _same_dtype(output, input_list)
    pg = _group(group, "reduce_scatter")
    return (
        None
        if pg is None
        else _end(
            pg.reduce_scatter(
                [output], [input_list], ReduceScatterOptions(reduceOp=op)
            ),
            async_op,
        )
    )


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Reduce a tensor over all ranks; each rank gets its part."""
    _tensor(output, "output")
    _tensor(input, "input")
    pg = _group(group, "reduce_scatter_tensor")
    return (
        None
        if pg is None
        else _end(
            pg._reduce_scatter_base(output, input, ReduceScatterOptions(reduceOp=op)),
            async_op,
        )
    )


_reduce_scatter_base = reduce_scatter_single = reduce_scatter_tensor


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Every rank sends a tensor to every other."""
    _tensors(output_tensor_list, "output_tensor_list")
    _tensors(input_tensor_list, "input_tensor_list")
    _same_dtype(output_tensor_list, input_tensor_list)
    pg = _group(group, "all_to_all")
    return (
        None
        if pg is None
        else _end(pg.alltoall(output_tensor_list, input_tensor_list), async_op)
    )


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Every rank sends a part of its tensor to every other."""
    _tensor(output, "output")
    _tensor(input, "input")
    pg = _group(group, "all_to_all_single")
    if pg is None:
        return None
    work = pg.alltoall_base(
        output, input, output_split_sizes or [], input_split_sizes or []
    )
    return _end(work, async_op)


def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None
) -> Work | None:
    """Wait until all ranks have come."""
    if device_ids is not None and not isinstance(device_ids, list):
        raise TypeError(
            "Invalid function argument: device_ids type should be List[int]"
        )
    pg = _group(group, "barrier")
    return None if pg is None else _end(pg.barrier(), async_op)


def monitored_barrier(
    group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """`barrier` whose error names the ranks that did not come."""
    pg = _group(group, "monitored_barrier")
    if pg is not None:
        pg.monitored_barrier(timeout, wait_all_ranks)


# --- messages ---


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Begin to send a tensor to one rank."""
    _tensor(tensor, "tensor")
    pg = _group(group, "isend")
    if pg is None:
        return None
    rank = _root(pg, dst, group_dst, "dst")
    if rank == pg.rank():
        raise ValueError(
            "Invalid destination rank: destination rank should not be "
            "the same as the rank of the current process."
        )
    return pg.send([tensor], rank, tag)


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Begin to receive a tensor, from one rank or any."""
    _tensor(tensor, "tensor")
    pg = _group(group, "irecv")
    if pg is None:
        return None
    if src is None and group_src is None:
        return pg.recv_anysource([tensor], tag)
    return pg.recv([tensor], _root(pg, src, group_src, "src"), tag)


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to one rank."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive a tensor, from one rank or any; the rank that sent it."""
    pg = _group(group, "recv")
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return _c10d().get_global_rank(pg, work.source_rank())


class P2POp:
    """A message for `batch_isend_irecv`: `P2POp(isend, tensor, peer)`."""

    def __init__(
        self,
        op: Any,
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type "
                "``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        _tensor(tensor, "tensor")
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        self.peer, self.group_peer = peer, group_peer


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Begin several messages."""
    if not isinstance(p2p_op_list, list) or not all(
        isinstance(p, P2POp) for p in p2p_op_list
    ):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of "
            "type ``torch.distributed.P2POp``."
        )
    return [p.op(p.tensor, p.peer, p.group, p.tag, p.group_peer) for p in p2p_op_list]


@contextlib.contextmanager
def _coalescing_manager(
    group: Any = None, device: Any = None, async_ops: bool = False
) -> Iterator[Any]:
    """Collectives of the block are begun one by one and waited for together."""

    class Manager:
        works: list[Work] = []

        def wait(self) -> None:
            for work in self.works:
                work.wait()

        def append(self, work: Work) -> None:
            self.works.append(work)

    manager = Manager()
    manager.works = []
    _collecting.append(manager.works)
    try:
        yield manager
    finally:
        _collecting.pop()
    if not async_ops:
        manager.wait()


# --- objects ---


def _object_to_tensor(
    value: Any, device: Any = None, group: Any = None
) -> tuple[Tensor, Tensor]:
    data = _objects.to_tensor(value)
    return data, ember.tensor([data.numel()])


def _tensor_to_object(data: Tensor, size: int, group: Any = None) -> Any:
    return _objects.from_tensor(data[: int(size)])


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """The objects of all ranks, in a list."""
    pg = _group(group, "all_gather_object")
    if pg is not None:
        object_list[:] = _objects.exchange(pg, obj)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """The objects of all ranks, in a list of rank `dst`."""
    pg = _group(group, "gather_object")
    if pg is None:
        return
    if dst is None and group_dst is None:
        group_dst = 0
    root = _root(pg, dst, group_dst, "dst")
    if pg.rank() == root and not object_gather_list:
        raise ValueError(
            "Argument ``gather_list`` must be specified on destination rank."
        )
    if pg.rank() != root and object_gather_list:
        raise ValueError(
            "Argument ``gather_list`` must NOT be specified on non-destination ranks."
        )
    found = _objects.exchange(pg, obj)
    if pg.rank() == root:
        assert object_gather_list is not None
        object_gather_list[:] = found


def _share(pg: Any, value: Any, root: int) -> Any:
    """An object of rank `root`, on all."""
    data = _objects.to_tensor(value) if pg.rank() == root else None
    size = ember.tensor([0 if data is None else data.numel()])
    pg.broadcast([size], root=root).wait()
    data = ember.empty(int(size), dtype=ember.uint8) if data is None else data
    pg.broadcast([data], root=root).wait()
    return value if pg.rank() == root else _objects.from_tensor(data)


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Copy the objects of rank `src` to all."""
    pg = _group(group, "broadcast_object_list")
    if pg is None:
        return
    if src is None and group_src is None:
        group_src = 0
    object_list[:] = _share(pg, list(object_list), _root(pg, src, group_src, "src"))


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """The objects of a list of rank `src`, one for each rank."""
    pg = _group(group, "scatter_object_list")
    if pg is None:
        return
    if (
        not isinstance(scatter_object_output_list, list)
        or not scatter_object_output_list
    ):
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list "
            "of size at least 1."
        )
    if src is None and group_src is None:
        group_src = 0
    root = _root(pg, src, group_src, "src")
    if pg.rank() == root and len(scatter_object_input_list or []) != pg.size():
        raise ValueError(
            f"scatter_object_list(): expected a list of {pg.size()} objects"
        )
    scatter_object_output_list[0] = _share(pg, scatter_object_input_list, root)[
        pg.rank()
    ]


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send objects to one rank."""
    data = _objects.to_tensor(list(object_list))
    send(ember.tensor([data.numel()]), dst, group, 0, group_dst)
    send(data, dst, group, 0, group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive objects; the rank that sent them."""
    size = ember.zeros(1, dtype=ember.int64)
    rank = recv(size, src, group, 0, group_src)
    data = ember.empty(int(size), dtype=ember.uint8)
    recv(data, rank, group)
    object_list[:] = _objects.from_tensor(data)
    return rank
