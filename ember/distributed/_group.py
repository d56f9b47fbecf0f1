"""Process groups: collectives on tensors, as methods that return a `Work`.

The functions of `ember.distributed` call these. A group of one process needs no MPI.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import ember
from ember import _C, Tensor
from ember.distributed import _world
from ember.distributed._options import (
    PremulSum,
    RedOpType,
    _Options,
    as_timedelta,
    default_pg_timeout,
)
from ember.distributed._work import Work, Works, unfinished

# As in core/distributed/engine.h.
_WHATS = """AllReduce Reduce Broadcast AllGather Gather Scatter ReduceScatter AllToAll
    Barrier Send Receive""".split()
_WHAT = {name: number for number, name in enumerate(_WHATS)}
_REDUCTION = {op: number for number, op in enumerate(list(RedOpType)[:8])}
_BITWISE = {RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR}


def _host_copy(t: Tensor) -> Tensor:
    """The tensor as MPI needs it: contiguous, on the CPU; the same one if it is."""
    t = t.detach()
    if t.is_complex():
        t = ember.view_as_real(t.resolve_conj() if t.is_conj() else t)
    return t.cpu().contiguous()


def _write_back(pairs: Sequence[tuple[Tensor, Tensor]]) -> Callable[[], None] | None:
    """Copies results to where they belong, if they were computed elsewhere."""
    apart = [
        (t, host) for t, host in pairs if t.data_ptr() != host.data_ptr() and t.numel()
    ]
    if not apart:
        return None

    def copy() -> None:
        with ember.no_grad():
            for t, host in apart:
                value = ember.view_as_complex(host) if t.is_complex() else host
                t.detach().copy_(value.reshape(t.shape))

    return copy


class ProcessGroup:
    """Processes that communicate: `ProcessGroup(store, rank, size)` in each of them."""

    class BackendType:
        UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, CUSTOM = range(7)

    class Options:
        def __init__(
            self, backend: str = "mpi", timeout: timedelta = default_pg_timeout
        ):
            self.backend, self._timeout = backend, timeout
            self.global_ranks_in_group: list[int] = []
            self.group_name = ""

    _numbers = itertools.count()

    def __init__(
        self,
        store: Any,
        rank: int,
        size: int | None = None,
        timeout: timedelta | Any = default_pg_timeout,
    ) -> None:
        apart = size is None  # (rank, size): a subclass that communicates on its own
        if size is None:
            store, rank, size = None, store, rank
        if not isinstance(timeout, timedelta):  # options, as ProcessGroupGloo takes
            timeout = getattr(timeout, "_timeout", default_pg_timeout)
        timeout = as_timedelta(timeout)
        if not 0 <= rank < size:
            raise ValueError(f"ProcessGroup(): rank {rank} is not in 0..{size - 1}")
        self._store, self._rank, self._size, self._timeout = store, rank, size, timeout
        self.group_name = f"group{next(self._numbers)}"
        self.group_desc = "undefined"
        self._ranks = list(range(size))  # of the default group
        self._comm = -1
        if size > 1 and not apart:
            self._comm = _world.communicator(store, rank, size, timeout)

    def rank(self) -> int:
        """The number of this process in the group."""
        return self._rank

    def size(self) -> int:
        """How many processes there are."""
        return self._size

    def name(self) -> str:
        """What a group of this kind is called."""
        return self.getBackendName()

    def getBackendName(self) -> str:
        """The same, for classes of programs to define."""
        return "gloo"

    def _get_backend_name(self) -> str:
        return self.name()

    bound_device_id = None
    options = property(lambda self: ProcessGroup.Options("gloo", self._timeout))
    supports_splitting = True

    def _get_backend(self, device: Any = None) -> ProcessGroup:
        return self

    get_backend = _get_backend

    def _set_default_timeout(self, timeout: timedelta) -> None:
        self._timeout = as_timedelta(timeout)

    set_timeout = _set_default_timeout

    def _get_sequence_number_for_group(self) -> int:
        return 0

    def _set_sequence_number_for_group(self) -> None:
        pass

    def abort(self) -> None:
        """Nothing to stop: works end with an error of their own."""

    shutdown = abort

    # --- beginning a collective ---

    def _start(
        self,
        what: str,
        name: str,
        into: Sequence[Tensor],
        given: Sequence[Tensor],
        result: Any,
        *,
        root: int = 0,
        tag: int = 0,
        op: Any = RedOpType.SUM,
        timeout: timedelta | None = None,
    ) -> Work:
        hosts = [_host_copy(t) for t in into]
        by_address = {(t.data_ptr(), t.numel()): h for t, h in zip(into, hosts)}
        sent = [by_address.get((t.data_ptr(), t.numel())) for t in given]
        sends = [_host_copy(t) if h is None else h for t, h in zip(given, sent)]
        seconds = as_timedelta(timeout or self._timeout).total_seconds()
        span = _C._profile_begin(f"{self.name()}:{name}")
        handle = _C._dist_start(
            _WHAT[what],
            name,
            self._comm,
            root,
            tag,
            _REDUCTION[op],
            sends,
            hosts,
            seconds,
        )
        keep = (hosts, sends, into, given)
        work = Work(handle, result, keep, _write_back(list(zip(into, hosts))))
        work.name = f"{self.name()}:{name}"
        del span
        work.comm = -1 if what in ("Send", "Receive") else self._comm
        return work

    def _done(self, pairs: Sequence[tuple[Tensor, Tensor]], result: Any) -> Work:
        """A group of one: results are what was given."""
        with ember.no_grad():
            for out, given in pairs:
                if out.data_ptr() != given.data_ptr():
                    out.detach().copy_(given.detach().reshape(out.shape))
        return Work(result=result)

    def _reduction(self, name: str, t: Tensor, op: Any) -> Any:
        """The reduction, checked; a sum for one that multiplies first."""
        if isinstance(op, PremulSum):
            return RedOpType.SUM
        if op not in _REDUCTION:
            raise ValueError(f"{name}(): unsupported reduce operation {op}")
        if op in _BITWISE and (t.is_floating_point() or t.is_complex()):
            raise RuntimeError(
                f"Cannot use {op.name} with non-integral dtype {t.dtype}"
            )
        if t.is_floating_point() and t.itemsize == 1:
            raise ValueError(f"{name} does not support {t.dtype}")
        if t.is_complex() and op not in (RedOpType.SUM, RedOpType.AVG):
            raise ValueError(f"{name} does not support {op} on complex tensors")
        return op

    # --- collectives ---

    def allreduce(self, tensors: Any, opts: Any = None, timeout: Any = None) -> Work:
        """Reduce tensors of all ranks; every rank has the result."""
        tensors = _list(tensors)
        op = _op(opts)
        timeout = timeout or getattr(opts, "timeout", None)
        _same_kind("ProcessGroupGloo::allreduce", tensors)
        if tensors[0].is_sparse:
            return self._sparse_allreduce(tensors, op)
        first = tensors[0]
        kind = self._reduction("all_reduce", first, op)
        with ember.no_grad():
            if isinstance(op, PremulSum):
                first.detach().mul_(op.factor)
            for t in tensors[1:]:  # several of one rank count as ranks of their own
                _combine(first.detach(), t.detach(), kind)
        if self._size == 1:
            work = self._done([], tensors)
        else:
            work = self._start(
                "AllReduce",
                "all_reduce",
                [first],
                [first],
                tensors,
                op=kind,
                timeout=timeout,
            )
        if len(tensors) > 1:
            work.wait()
            self._done([(t, first) for t in tensors[1:]], None)
        return work

    def _sparse_allreduce(self, tensors: list[Tensor], op: Any) -> Work:
        if op not in (RedOpType.SUM, RedOpType.AVG):
            raise RuntimeError(
                "ProcessGroupGloo::allreduce: unsupported reduction operation"
            )
        if len(tensors) != 1:
            raise RuntimeError("ProcessGroupGloo::allreduce: requires a single tensor")
        from ember.distributed._objects import exchange

        t = tensors[0].coalesce()
        parts = exchange(self, (t.indices(), t.values()))
        total = ember.sparse_coo_tensor(
            ember.cat([i for i, _ in parts], 1),
            ember.cat([v for _, v in parts]),
            t.shape,
        ).coalesce()
        with ember.no_grad():
            tensors[0].copy_(total if op == RedOpType.SUM else total / self._size)
        return Work(result=tensors)

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> Work:
        """Reduce several tensors, each with those of the other ranks."""
        tensors, op = _list(tensors), _op(opts)
        name = "ProcessGroupGloo::allreduce_coalesced"
        _not_empty(name, tensors)
        for i, t in enumerate(tensors):
            if t.layout != tensors[0].layout:
                raise RuntimeError(f"{name}: invalid tensor layout at index {i}")
            if t.dtype != tensors[0].dtype:
                raise RuntimeError(f"{name}: tensors must all have the same type")
        if tensors[0].layout != ember.strided:
            raise RuntimeError(f"{name}: unsupported layout")
        if len(tensors) == 1 or self._size == 1:
            return Works([self.allreduce([t], opts) for t in tensors], tensors)
        # One message; a tensor that stands there twice gets the sum twice, not of two.
        flat = ember.cat([_host_copy(t).reshape(-1) for t in tensors])
        if tensors[0].is_complex():
            flat = ember.view_as_complex(flat.view(-1, 2))
        kind = self._reduction("all_reduce_coalesced", flat, op)
        if isinstance(op, PremulSum):
            flat.mul_(op.factor)
        timeout = getattr(opts, "timeout", None)
        work = self._start(
            "AllReduce", "all_reduce", [flat], [flat], tensors, op=kind, timeout=timeout
        )
        inner, parts = work._finish, flat.split([t.numel() for t in tensors])

        def finish() -> None:
            if inner is not None:
                inner()
            self._done(list(zip(tensors, parts)), None)

        work._finish = finish
        return work

    def reduce(
        self,
        tensors: Any,
        opts: Any = None,
        root: int | None = None,
        op: Any = None,
        timeout: Any = None,
    ) -> Work:
        """Reduce to one rank."""
        tensors = _list(tensors)
        if isinstance(opts, int):
            root, opts = opts, None
        root = getattr(opts, "rootRank", 0) if root is None else root
        op = _op(opts) if op is None else op
        self._check_root("ProcessGroupGloo::reduce", root)
        if len(tensors) != 1:
            raise RuntimeError(
                "ProcessGroupGloo::reduce: requires a single-element tensor list"
            )
        if getattr(opts, "rootTensor", 0) != 0:
            raise RuntimeError(
                f"ProcessGroupGloo::reduce: invalid root tensor: {opts.rootTensor}"
            )
        kind = self._reduction("reduce", tensors[0], op)
        if self._size == 1:
            return self._done([], tensors)
        given = tensors[0]
        host = _host_copy(given)
        if host.data_ptr() == given.data_ptr() and self._rank != root:
            host = host.clone()  # others keep theirs
        into = [given] if self._rank == root else [host]
        return self._start(
            "Reduce", "reduce", into, into, tensors, root=root, op=kind, timeout=timeout
        )

    def broadcast(
        self,
        tensors: Any,
        opts: Any = None,
        root: int | None = None,
        timeout: Any = None,
    ) -> Work:
        """Copy one rank's tensor to all."""
        tensors = _list(tensors)
        if isinstance(opts, int):
            root, opts = opts, None
        root = getattr(opts, "rootRank", 0) if root is None else root
        self._check_root("ProcessGroupGloo::broadcast", root)
        at = getattr(opts, "rootTensor", 0)
        if not 0 <= at < len(tensors):
            raise RuntimeError(
                f"ProcessGroupGloo::broadcast: invalid root tensor: {at}"
            )
        _same_kind("ProcessGroupGloo::broadcast", tensors)
        t = tensors[at]
        work = (
            self._done([], tensors)
            if self._size == 1
            else self._start(
                "Broadcast", "broadcast", [t], [t], tensors, root=root, timeout=timeout
            )
        )
        if len(tensors) > 1:
            work.wait()
            self._done([(other, t) for other in tensors if other is not t], None)
        return work

    def allgather(
        self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None
    ) -> Work:
        """Every rank gets the tensors of all."""
        if isinstance(inputs, Tensor):
            outputs, inputs = [outputs], [inputs]
        name = "ProcessGroupGloo::allgather"
        _not_empty(name, inputs, "input ")
        result = outputs[0] if len(outputs) == 1 else outputs
        if len(outputs) != len(inputs):
            raise RuntimeError(
                f"{name}: requires input/output tensor lists to have the same length"
            )
        for row in outputs:
            if len(row) != self._size * len(inputs):
                raise RuntimeError(
                    f"{name}: invalid output tensor list (expected length "
                    f"{self._size * len(inputs)}, got {len(row)})"
                )
        for t in itertools.chain(inputs, *outputs):
            _matches(name, t, inputs[0])
        works = []
        for i, t in enumerate(inputs):
            mine = outputs[0][i :: len(inputs)]
            if self._size == 1:
                works.append(self._done([(mine[0], t)], result))
            else:
                works.append(
                    self._start(
                        "AllGather", "all_gather", mine, [t], result, timeout=timeout
                    )
                )
        if len(outputs) > 1:
            for work in works:
                work.wait()
            for row in outputs[1:]:
                self._done(list(zip(row, outputs[0])), None)
        return works[0] if len(works) == 1 else Works(works, result)

    def _allgather_base(
        self, output: Tensor, given: Tensor, opts: Any = None, timeout: Any = None
    ) -> Work:
        """Every rank gets the tensors of all, in one."""
        if output.dtype != given.dtype:
            raise RuntimeError("output tensor must have the same type as input tensor")
        if output.numel() != given.numel() * self._size:
            raise RuntimeError(
                "output tensor size must be equal to world_size times input tensor size"
            )
        if self._size == 1:
            return self._done([(output, given)], output)
        host = _host_copy(output)
        parts = (
            list(host.view(-1).chunk(self._size))
            if given.numel()
            else [host] * self._size
        )
        work = self._start(
            "AllGather",
            "all_gather_into_tensor",
            parts,
            [given],
            output,
            timeout=timeout,
        )
        work._finish = _write_back([(output, host)])
        return work

    all_gather_single = _allgather_base

    def allgather_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """`allgather` of several tensors; `outputs[rank][i]`."""
        if len(outputs) != self._size:
            raise RuntimeError("output lists should be equal to world size")
        name = "ProcessGroupGloo::allgather_coalesced"
        for row in outputs:
            if len(row) != len(inputs):
                raise RuntimeError(f"{name}: invalid output size: {len(row)}")
            for i, (t, given) in enumerate(zip(row, inputs)):
                if t.dtype != given.dtype:
                    raise RuntimeError(f"{name}: invalid tensor type at index {i}")
                if t.shape != given.shape:
                    raise RuntimeError(
                        f"{name}: invalid size of output tensor at index {i}"
                    )
        works = [
            self.allgather([[row[i] for row in outputs]], [t])
            for i, t in enumerate(inputs)
        ]
        return Works(works, outputs)

    def allgather_into_tensor_coalesced(
        self, outputs: Any, inputs: Any, opts: Any = None
    ) -> Work:
        """`_allgather_base` of several tensors."""
        return Works(
            [self._allgather_base(o, i) for o, i in zip(outputs, inputs)], outputs
        )

    def gather(
        self,
        outputs: Any,
        inputs: Any,
        opts: Any = None,
        root: int | None = None,
        timeout: Any = None,
    ) -> Work:
        """One rank gets the tensors of all."""
        if isinstance(inputs, Tensor):
            outputs, inputs = [outputs] if outputs else [], [inputs]
        root = getattr(opts, "rootRank", 0) if root is None else root
        into = self._of_root("gather", root, ("output", outputs), ("input", inputs))
        if self._size == 1:
            return self._done([(into[0], inputs[0])], into)
        return self._start(
            "Gather", "gather", into, inputs, into, root=root, timeout=timeout
        )

    def _of_root(self, op: str, root: int, many: Any, single: Any) -> list[Tensor]:
        """The tensors for all ranks, which one rank has, and a tensor of every rank's
        own; each list comes with what it is called. [] on other ranks."""
        name = f"ProcessGroupGloo::{op}"
        self._check_root(name, root)
        (what, lists), (own, one) = many, single
        if len(one) != 1:
            raise RuntimeError(f"{name}: requires a single-element {own} tensor list")
        if self._rank != root:
            if lists:
                raise RuntimeError(f"{name}: requires empty {what} on non-root")
            return []
        if len(lists) != 1:
            raise RuntimeError(f"{name}: requires a single-element {what} list")
        if len(lists[0]) != self._size:
            raise RuntimeError(
                f"{name}: Incorrect {what} list size {len(lists[0])}. "
                f"{what.capitalize()} list size "
                f"should be {self._size}, same as size of the process group."
            )
        for t in lists[0]:
            _matches(name, t, one[0])
        return lists[0]

    def scatter(
        self,
        outputs: Any,
        inputs: Any,
        opts: Any = None,
        root: int | None = None,
        timeout: Any = None,
    ) -> Work:
        """One rank's tensors, one for each rank."""
        if isinstance(outputs, Tensor):
            outputs, inputs = [outputs], [inputs] if inputs else []
        root = getattr(opts, "rootRank", 0) if root is None else root
        given = self._of_root("scatter", root, ("input", inputs), ("output", outputs))
        if self._size == 1:
            return self._done([(outputs[0], given[0])], outputs)
        return self._start(
            "Scatter", "scatter", outputs, given, outputs, root=root, timeout=timeout
        )

    def reduce_scatter(
        self,
        outputs: Any,
        inputs: Any,
        opts: Any = None,
        op: Any = None,
        timeout: Any = None,
    ) -> Work:
        """Reduce lists of tensors; every rank gets its element."""
        if isinstance(outputs, Tensor):
            outputs, inputs = [outputs], [inputs]
        op = _op(opts) if op is None else op
        if len(inputs[0]) != self._size:
            raise RuntimeError(
                f"reduce_scatter(): expected {self._size} input tensors, got "
                f"{len(inputs[0])}"
            )
        if inputs[0][self._rank].numel() != outputs[0].numel():
            raise RuntimeError(
                "reduce_scatter(): the output has another size than its input"
            )
        kind = self._reduction("reduce_scatter", outputs[0], op)
        given = inputs[0]
        if isinstance(op, PremulSum):
            given = [t.detach() * op.factor for t in given]
        if self._size == 1:
            return self._done([(outputs[0], given[0])], outputs)
        return self._start(
            "ReduceScatter",
            "reduce_scatter",
            outputs,
            given,
            outputs,
            op=kind,
            timeout=timeout,
        )

    def _reduce_scatter_base(
        self,
        output: Tensor,
        given: Tensor,
        opts: Any = None,
        op: Any = None,
        timeout: Any = None,
    ) -> Work:
        """Reduce one tensor; every rank gets its part."""
        if output.dtype != given.dtype:
            raise RuntimeError(
                "input tensor must be the same type as the output tensor."
            )
        if given.numel() != output.numel() * self._size:
            raise RuntimeError(
                "input tensor must be the same size as output size times world size"
            )
        op = _op(opts) if op is None else op
        parts = (
            list(given.detach().contiguous().view(-1).chunk(self._size))
            if given.numel()
            else [output] * self._size
        )
        work = self.reduce_scatter(output, parts, op=op, timeout=timeout)
        work._result = output
        return work

    reduce_scatter_single = _reduce_scatter_base

    def reduce_scatter_tensor_coalesced(
        self, outputs: Any, inputs: Any, opts: Any = None
    ) -> Work:
        """`_reduce_scatter_base` of several tensors."""
        works = [self._reduce_scatter_base(o, i, opts) for o, i in zip(outputs, inputs)]
        return Works(works, outputs)

    def alltoall(
        self,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
        opts: Any = None,
        timeout: Any = None,
    ) -> Work:
        """Every rank sends a tensor to every other."""
        name = "ProcessGroupGloo::alltoall"
        for what, given in (("input", inputs), ("output", outputs)):
            if len(given) != self._size:
                raise RuntimeError(
                    f"{name}: {what} tensor list size ({len(given)}) does not match "
                    f"world size ({self._size})"
                )
            for t in given:
                if t.dtype != given[0].dtype:
                    raise RuntimeError(
                        f"{name}: invalid tensor type (expected {given[0].dtype}, got "
                        f"{t.dtype})"
                    )
        if inputs[0].dtype != outputs[0].dtype:
            raise RuntimeError(
                f"{name}: input and output tensors must have the same type"
            )
        outputs, inputs = list(outputs), list(inputs)
        if self._size == 1:
            return self._done([(outputs[0], inputs[0])], outputs)
        return self._start(
            "AllToAll", "all_to_all", outputs, inputs, outputs, timeout=timeout
        )

    def alltoall_base(
        self,
        output: Tensor,
        given: Tensor,
        out_splits: Sequence[int],
        in_splits: Sequence[int],
        opts: Any = None,
        timeout: Any = None,
    ) -> Work:
        """Every rank sends a part of its tensor to every other."""

        def parts(t: Tensor, splits: Sequence[int], which: str) -> list[Tensor]:
            if not splits:
                if t.size(0) % self._size:
                    raise RuntimeError(
                        "Tensor's dim 0 does not divide equally across group size"
                    )
                splits = [t.size(0) // self._size] * self._size
            if len(splits) != self._size or sum(splits) != t.size(0):
                raise RuntimeError(
                    f"Split sizes doesn't match total dim 0 size of the {which}"
                )
            return list(t.split(list(splits)))

        if output.dtype != given.dtype:
            raise RuntimeError("Tensors are not equal in data type")
        host = _host_copy(output)
        into = parts(host, out_splits, "output")
        sent = parts(_host_copy(given), in_splits, "input")
        if self._size == 1:
            return self._done([(output, given)], output)
        work = self._start(
            "AllToAll", "all_to_all_single", into, sent, output, timeout=timeout
        )
        work._finish = _write_back([(output, host)])
        return work

    def barrier(self, opts: Any = None, timeout: Any = None) -> Work:
        """Done when all ranks have come."""
        if self._size == 1:
            return Work()
        timeout = timeout or getattr(opts, "timeout", None)
        work = self._start("Barrier", "barrier", [], [], [], timeout=timeout)
        before = unfinished(self._comm, work)

        def finish() -> None:  # what was begun before is done, results in their places
            for other in before:
                other.is_completed()

        work._finish = finish
        return work

    def send(self, tensors: Any, rank: int, tag: int = 0) -> Work:
        """Send a tensor to one rank."""
        tensors = self._one("send", tensors, rank)
        return self._start("Send", "send", [], tensors, tensors, root=rank, tag=tag)

    def recv(self, tensors: Any, rank: int, tag: int = 0) -> Work:
        """Receive a tensor from one rank."""
        tensors = self._one("recv", tensors, rank)
        return self._start("Receive", "recv", tensors, [], tensors, root=rank, tag=tag)

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Work:
        """Receive a tensor from whichever rank sends one."""
        return self._start(
            "Receive", "recv", _list(tensors), [], _list(tensors), root=-1, tag=tag
        )

    def _one(self, name: str, tensors: Any, rank: int) -> list[Tensor]:
        if not 0 <= rank < self._size or self._size == 1:
            raise ValueError(
                f"{name}(): rank {rank} is not another of {self._size} ranks"
            )
        tensors = _list(tensors)
        if len(tensors) != 1:
            raise RuntimeError(f"ProcessGroupGloo::{name} takes a single tensor")
        return tensors

    def _check_root(self, name: str, root: int) -> None:
        if not 0 <= root < self._size:
            raise RuntimeError(f"{name}: invalid root rank: {root}")

    def monitored_barrier(
        self, timeout: timedelta | None = None, wait_all_ranks: bool = False
    ) -> None:
        """`barrier` whose error names the ranks that did not come."""
        from ember.distributed._monitor import monitored_barrier

        monitored_barrier(self, timeout or self._timeout, wait_all_ranks)


class ProcessGroupGloo(ProcessGroup):
    """A process group by the name that programs know; it runs on MPI."""

    class _Options(ProcessGroup.Options):
        def __init__(self) -> None:
            super().__init__("gloo")
            self._devices: list = []
            self._threads = 2

    Options = _Options  # type: ignore[assignment]

    @staticmethod
    def create_device(
        hostname: str = "", interface: str = "", lazy_init: Any = None
    ) -> None:
        """Nothing to choose: MPI knows its devices."""

    create_default_device = create_device


class ProcessGroupMPI(ProcessGroup):
    """A process group on MPI."""

    def name(self) -> str:
        return "mpi"


def _list(tensors: Any) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _op(opts: Any) -> Any:
    if opts is None:
        return RedOpType.SUM
    return opts.reduceOp if isinstance(opts, _Options) else opts


def _not_empty(name: str, tensors: Sequence[Tensor], which: str = "") -> None:
    if not tensors:
        raise RuntimeError(f"{name}: requires non-empty {which}tensor list")


def _matches(name: str, t: Tensor, first: Tensor) -> None:
    if t.dtype != first.dtype:
        raise RuntimeError(
            f"{name}: invalid tensor type (expected {first.dtype}, got {t.dtype})"
        )
    if t.shape != first.shape:
        raise RuntimeError(
            f"{name}: invalid tensor size (expected {tuple(first.shape)}, "
            f"got {tuple(t.shape)})"
        )


def _same_kind(name: str, tensors: Sequence[Tensor], shapes: bool = True) -> None:
    _not_empty(name, tensors)
    for t in tensors:
        if t.layout != tensors[0].layout:
            raise RuntimeError(f"{name}: invalid tensor layout")
        if shapes or t.dtype != tensors[0].dtype:
            _matches(name, t, tensors[0])


def _combine(into: Tensor, other: Tensor, op: Any) -> None:
    steps: dict[Any, Callable[[Tensor, Tensor], Any]] = {
        RedOpType.SUM: Tensor.add_,
        RedOpType.AVG: Tensor.add_,
        RedOpType.PRODUCT: Tensor.mul_,
        RedOpType.MIN: lambda a, b: a.copy_(ember.minimum(a, b)),
        RedOpType.MAX: lambda a, b: a.copy_(ember.maximum(a, b)),
        RedOpType.BAND: Tensor.bitwise_and_,
        RedOpType.BOR: Tensor.bitwise_or_,
        RedOpType.BXOR: Tensor.bitwise_xor_,
    }
    steps[op](into, other)
