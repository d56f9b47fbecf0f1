"""Collectives and messages as functions; ranks are those of the default group."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
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


def _root(
    group: Any,
    rank: int | None,
    group_rank: int | None,
    what: str,
    default: int | None = None,
) -> int:
    """The rank in the group; `default` where none is given."""
    if rank is None and group_rank is None:
        group_rank = default
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
_CHECKS = {"Tensor": _tensor, "list[Tensor]": _tensors}  # by annotation


def _in_group(same_dtype: bool = False) -> Callable[[Callable], Callable]:
    """Of a function with a parameter `group`: tensors are checked, and it runs with the
    group itself; it is None where this process is not in it."""

    def made(func: Callable) -> Callable:
        params = inspect.signature(func).parameters
        names = list(params)
        checks = [
            (name, _CHECKS[p.annotation])
            for name, p in params.items()
            if p.annotation in _CHECKS
        ]

        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            given = {**dict(zip(names, args)), **kwargs}
            if len(given) != len(args) + len(kwargs):
                return func(*args, **kwargs)  # says what is given twice, or too much
            for name, check in checks:
                if name in given:
                    check(given[name], name)
            if same_dtype:
                _same_dtype(*(given[name] for name, _ in checks if name in given))
            group = _group(given.get("group"), func.__name__)
            return None if group is None else func(**{**given, "group": group})

        return call

    return made


def _collective(
    same_dtype: bool = False, future: bool = False
) -> Callable[[Callable], Callable]:
    """The same, of one that returns work: waited for, unless `async_op` is set. Then it
    is returned, or if `future`, that of its results."""

    def made(func: Callable) -> Callable:
        @functools.wraps(func)
        def ended(*args: Any, async_op: bool = False, **kwargs: Any) -> Any:
            work = func(*args, async_op=async_op, **kwargs)
            if _collecting:
                _collecting[-1].append(work)
            elif not async_op:
                work.wait()
            if not async_op:
                return None
            return work.get_future() if future else work

        return _in_group(same_dtype)(ended)

    return made


@_collective()
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
    return group.allreduce([tensor], AllreduceOptions(reduceOp=op))


@_collective(future=True)
def all_reduce_coalesced(
    tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    """`all_reduce` of several tensors; a future of them, if `async_op`."""
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    _tensors(tensors, "tensors")
    _same_dtype(tensors)
    return group.allreduce_coalesced(tensors, AllreduceCoalescedOptions(reduceOp=op))


@_collective()
def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copy the tensor of `src` to all ranks."""
    how = BroadcastOptions(rootRank=_root(group, src, group_src, "src"))
    return group.broadcast([tensor], how)


@_collective()
def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Reduce a tensor over all ranks, to `dst`."""
    root = _root(group, dst, group_dst, "dst")
    return group.reduce([tensor], ReduceOptions(rootRank=root, reduceOp=op))


@_collective(same_dtype=True)
def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """The tensors of all ranks, in a list."""
    if len({t.shape for t in tensor_list}) > 1 and len(tensor_list) == group.size():
        return group._start(
            "AllGather", "all_gather", tensor_list, [tensor], tensor_list
        )
    return group.allgather([tensor_list], [tensor])


@_collective(future=True)
def all_gather_coalesced(
    output_tensor_lists: Any,
    input_tensor_list: list[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Any:
    """`all_gather` of several tensors, `output_tensor_lists[rank][i]`; a future of
    them, if `async_op`."""
    if not isinstance(output_tensor_lists, list):
        raise TypeError(
            "Invalid function argument: output_tensor_lists should be a list"
        )
    for row in output_tensor_lists:
        _tensors(row, "output_tensor_lists")
    return group.allgather_coalesced(output_tensor_lists, input_tensor_list)


@_collective()
def all_gather_into_tensor(
    output_tensor: Tensor,
    input_tensor: Tensor,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """The tensors of all ranks, one behind the other or stacked."""
    return group._allgather_base(output_tensor, input_tensor)


_all_gather_base = all_gather_single = all_gather_into_tensor


def _list_of_root(group: Any, root: int, name: str, values: Any) -> list:
    """What the root alone gives, in a list; [] on the others."""
    side = "destination" if name == "gather_list" else "source"
    if group.rank() != root:
        if values:
            raise ValueError(
                f"Argument ``{name}`` must NOT be specified on non-{side} ranks."
            )
        return []
    if not values:
        raise ValueError(f"Argument ``{name}`` must be specified on {side} rank.")
    return [values]


@_collective()
def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The tensors of all ranks, in a list of rank `dst`."""
    root = _root(group, dst, group_dst, "dst", 0)
    lists = _list_of_root(group, root, "gather_list", gather_list)
    for given in lists:
        _tensors(given, "gather_list")
        _same_dtype(tensor, given)
    return group.gather(lists, [tensor], GatherOptions(rootRank=root))


@_collective()
def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """The tensors of a list of rank `src`, one for each rank."""
    root = _root(group, src, group_src, "src", 0)
    lists = _list_of_root(group, root, "scatter_list", scatter_list)
    for given in lists:
        _tensors(given, "scatter_list")
        _same_dtype(tensor, given)
    return group.scatter([tensor], lists, ScatterOptions(rootRank=root))


@_collective(same_dtype=True)
def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Reduce lists of tensors over all ranks; each rank gets its element."""
    return group.reduce_scatter(
        [output], [input_list], ReduceScatterOptions(reduceOp=op)
    )


@_collective()
def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Reduce a tensor over all ranks; each rank gets its part."""
    return group._reduce_scatter_base(output, input, ReduceScatterOptions(reduceOp=op))


_reduce_scatter_base = reduce_scatter_single = reduce_scatter_tensor


@_collective(same_dtype=True)
def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Every rank sends a tensor to every other."""
    return group.alltoall(output_tensor_list, input_tensor_list)


@_collective()
def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Every rank sends a part of its tensor to every other."""
    splits = (output_split_sizes or [], input_split_sizes or [])
    return group.alltoall_base(output, input, *splits)


@_collective()
def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None
) -> Work | None:
    """Wait until all ranks have come."""
    if device_ids is not None and not isinstance(device_ids, list):
        raise TypeError(
            "Invalid function argument: device_ids type should be List[int]"
        )
    return group.barrier()


@_in_group()
def monitored_barrier(
    group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """`barrier` whose error names the ranks that did not come."""
    group.monitored_barrier(timeout, wait_all_ranks)


# --- messages ---


@_in_group()
def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Begin to send a tensor to one rank."""
    rank = _root(group, dst, group_dst, "dst")
    if rank == group.rank():
        raise ValueError(
            "Invalid destination rank: destination rank should not be "
            "the same as the rank of the current process."
        )
    return group.send([tensor], rank, tag)


@_in_group()
def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Begin to receive a tensor, from one rank or any."""
    if src is None and group_src is None:
        return group.recv_anysource([tensor], tag)
    return group.recv([tensor], _root(group, src, group_src, "src"), tag)


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


@_in_group()
def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """The objects of all ranks, in a list."""
    object_list[:] = _objects.exchange(group, obj)


@_in_group()
def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """The objects of all ranks, in a list of rank `dst`."""
    root = _root(group, dst, group_dst, "dst", 0)
    lists = _list_of_root(group, root, "gather_list", object_gather_list)
    found = _objects.exchange(group, obj)
    for given in lists:
        given[:] = found


def _share(pg: Any, value: Any, root: int) -> Any:
    """An object of rank `root`, on all."""
    data = _objects.to_tensor(value) if pg.rank() == root else None
    size = ember.tensor([0 if data is None else data.numel()])
    pg.broadcast([size], root=root).wait()
    data = ember.empty(int(size), dtype=ember.uint8) if data is None else data
    pg.broadcast([data], root=root).wait()
    return value if pg.rank() == root else _objects.from_tensor(data)


@_in_group()
def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Copy the objects of rank `src` to all."""
    root = _root(group, src, group_src, "src", 0)
    object_list[:] = _share(group, list(object_list), root)


@_in_group()
def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """The objects of a list of rank `src`, one for each rank."""
    if (
        not isinstance(scatter_object_output_list, list)
        or not scatter_object_output_list
    ):
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list "
            "of size at least 1."
        )
    root, given = _root(group, src, group_src, "src", 0), scatter_object_input_list
    if group.rank() == root and len(given or []) != group.size():
        raise ValueError(
            f"scatter_object_list(): expected a list of {group.size()} objects"
        )
    scatter_object_output_list[0] = _share(group, given, root)[group.rank()]


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
