"""`DistributedDataParallel`: the same module in several processes, each with its part
of the batch, and gradients that are averaged during the backward pass.
"""

from __future__ import annotations

import dataclasses
import inspect
import typing
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import ember
import ember.distributed as dist
from ember import Tensor
from ember.distributed._reducer import FIRST_BYTES, GradBucket, Reducer
from ember.distributed.algorithms.join import Join, Joinable, JoinHook
from ember.futures import Future
from ember.nn.modules.module import Module
from ember.nn.modules.sparse import Embedding, EmbeddingBag

_BUCKET_MB = 25


class DistributedDataParallel(Module, Joinable):
    """A module whose gradients are those of the batches of all processes together.

    Every process makes the same module, wraps it, and trains with it as before: the
    backward pass averages gradients over `process_group` (the default one if None), so
    that all optimizers make the same step. Parameters and buffers start as those of
    rank 0, and each forward pass takes its buffers.

    - `find_unused_parameters`: parameters may be left out of a forward pass.
    - `static_graph`: the first pass tells which ones are, for all that follow.
    - `gradient_as_bucket_view`: gradients are the memory that is communicated, which
      saves a copy of each.
    - `bucket_cap_mb`: how much is communicated at once.
    - `forward_sync_buffers=False`: buffers are those of rank 0 only at first;
      `broadcast_buffers=False`: not even then.

    >>> import ember, ember.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = ember.nn.parallel.DistributedDataParallel(ember.nn.Linear(2, 1))
    >>> model(ember.ones(4, 2)).sum().backward()
    >>> model.module.weight.grad
    tensor([[4., 4.]])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: Any = None,
        batched_grad_copy: bool = False,  # it always is what is fastest here
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        Joinable.__init__(self)
        for name, given in (
            ("delay_all_reduce_named_params", delay_all_reduce_named_params),
            ("mixed_precision", mixed_precision),
            ("device_mesh", device_mesh),
            ("bucket_cap_mb_list", bucket_cap_mb_list),
        ):
            if given is not None:
                raise NotImplementedError(
                    f"DistributedDataParallel(): {name} is not supported; leave it out"
                )
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any "
                "parameter that requires a gradient."
            )
        if broadcast_buffers is not None and forward_sync_buffers is not None:
            warnings.warn(
                "Both `broadcast_buffers` and `forward_sync_buffers` were specified. "
                "`broadcast_buffers` is ignored.",
                stacklevel=2,
            )
            broadcast_buffers = None
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError(
                "device_ids can only be None or contain a single element, got "
                f"{device_ids}"
            )
        self.process_group = process_group or dist._get_default_group()
        self.module, self.dim = module, dim
        self.device_ids, self.output_device = device_ids, output_device
        self.device = next(module.parameters()).device
        self._buffers_at_first = broadcast_buffers is not False
        self.forward_sync_buffers = (
            self._buffers_at_first
            if forward_sync_buffers is None
            else forward_sync_buffers
        )
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self.parameters_to_ignore = ignored
        named = [
            (name, p)
            for name, p in module.named_parameters()
            if p.requires_grad and name not in ignored
        ]
        self._names = [name for name, _ in named]
        self._trained = [p for _, p in named]
        self._buffers_to_send = [
            b for name, b in module.named_buffers() if name not in ignored
        ]
        if init_sync:
            self._check_shapes()
            self._sync_state(buffers=self._buffers_at_first)
        cap = _BUCKET_MB if bucket_cap_mb is None else bucket_cap_mb
        self.bucket_bytes_cap = int(cap * 1024 * 1024)
        self._make_reducer()

    def _make_reducer(self) -> None:
        self.reducer = Reducer(
            self._trained,
            self.process_group,
            self.bucket_bytes_cap,
            self.find_unused_parameters,
            self.static_graph,
            self.gradient_as_bucket_view,
            _with_sparse_gradients(self.module, self._trained),
        )

    @property
    def broadcast_buffers(self) -> bool:
        """`forward_sync_buffers`, by its old name."""
        return self.forward_sync_buffers

    @broadcast_buffers.setter
    def broadcast_buffers(self, value: bool) -> None:
        self.forward_sync_buffers = value

    # --- the same state everywhere ---

    def _check_shapes(self) -> None:
        """All ranks must have the same parameters."""
        mine = [
            (n, tuple(p.shape), str(p.dtype))
            for n, p in zip(self._names, self._trained)
        ]
        shapes: list[Any] = [None] * self.process_group.size()
        dist.all_gather_object(shapes, mine, group=self.process_group)
        for rank, theirs in enumerate(shapes):
            if theirs != mine:
                odd = next(
                    (pair for pair in zip(mine, theirs) if pair[0] != pair[1]),
                    (f"{len(mine)} parameters", f"{len(theirs)}"),
                )
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but Rank "
                    f"{self.process_group.rank()} has {odd[0]}, while rank {rank} has "
                    f"{odd[1]}."
                )

    def _sync_state(self, source: int = 0, buffers: bool = True) -> None:
        named: list[tuple[str, Tensor]] = [*self.module.named_parameters()]
        if buffers:
            named += self.module.named_buffers()
        ignored = self.parameters_to_ignore
        self._send([t for name, t in named if name not in ignored], source)

    def _send(self, tensors: list[Tensor], source: int = 0) -> None:
        """Copy tensors of the group's rank `source` to all."""
        works = [
            self.process_group.broadcast([t.detach()], root=source) for t in tensors
        ]
        for work in works:
            work.wait()

    # --- a step ---

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        trains = ember.is_grad_enabled() and self.require_backward_grad_sync
        if self._join_config.enable:
            Join.notify_join_context(self)
            self._tell_whether_gradients_sync(trains)
        if self.forward_sync_buffers and self.require_forward_param_sync:
            self._send(self._buffers_to_send)
        output = self.module(*inputs, **kwargs)
        if trains:
            self.require_forward_param_sync = True
            self.reducer.prepare(_tensors_in(output))
        else:
            self.reducer.expecting = False
            if ember.is_grad_enabled():
                self.require_forward_param_sync = False
        return output

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Forward passes in here let gradients add up on each rank; the first one
        outside averages the sums.

        >>> with ddp.no_sync():  # doctest: +SKIP
        ...     loss(ddp(first)).backward()
        >>> loss(ddp(second)).backward()  # doctest: +SKIP
        """
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(
        self, state: object, hook: Callable[[Any, GradBucket], Any]
    ) -> None:
        """Let `hook(state, bucket)` reduce gradients: it returns a future of the
        averaged buffer. `ember.distributed.algorithms.ddp_comm_hooks` has some."""
        _check_hook(hook)
        if self.reducer.hook is not None:
            raise RuntimeError(
                "register_comm_hook or register_builtin_comm_hook can only be called "
                "once."
            )
        self.reducer.state, self.reducer.hook = state, hook

    def _register_builtin_comm_hook(self, comm_hook_type: Any) -> None:
        from ember.distributed.algorithms.ddp_comm_hooks import default_hooks

        hook = {
            "ALLREDUCE": default_hooks.allreduce_hook,
            "FP16_COMPRESS": default_hooks.fp16_compress_hook,
        }[comm_hook_type.name]
        self.register_comm_hook(self.process_group, hook)

    def _set_static_graph(self) -> None:
        warnings.warn(
            "Pass static_graph=True to DistributedDataParallel instead.", stacklevel=2
        )
        self.static_graph = True
        self.reducer.static_graph = self.reducer.learning = True

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """What is known of this module's reductions."""
        return {
            "world_size": self.process_group.size(),
            "rank": self.process_group.rank(),
            "module_name": type(self.module).__name__,
            "backend_name": self.process_group.name(),
            "bucket_cap_bytes": self.bucket_bytes_cap,
            "first_bucket_bytes": FIRST_BYTES,
            "bucket_sizes": ", ".join(
                str(b.flat.numel() * b.flat.element_size())
                for b in self.reducer.buckets
            ),
            "num_buckets_reduced": len(self.reducer.buckets),
            "find_unused_parameters": self.find_unused_parameters,
            "gradient_as_bucket_view": self.gradient_as_bucket_view,
            "static_graph": self.static_graph,
            "broadcast_buffers": self.forward_sync_buffers,
            "num_parameter_tensors": len(self._trained),
            "iteration": self.reducer.iterations,
        }

    # --- ranks that have fewer batches ---

    @contextmanager
    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Iterator[None]:
        """Train in here with different numbers of batches: a rank that is through takes
        part in the reductions of the others, with gradients of zero.

        Gradients are divided by the number of ranks, or, without
        `divide_by_initial_world_size`, by the number of those that still have batches.
        """
        with Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        ):
            yield

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a rank does that is through."""
        return _Shadow(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> ember.device:
        return self.device

    @property
    def join_process_group(self) -> Any:
        return self.process_group

    def _tell_whether_gradients_sync(self, trains: bool) -> int:
        """How many ranks will reduce gradients in this step."""
        count = ember.tensor([int(trains)])
        self.process_group.allreduce([count]).wait()
        if not self._join_config.divide_by_initial_world_size and trains:
            self.reducer.divisor = int(count)
        return int(count)

    # --- as a module ---

    def train(self, mode: bool = True) -> DistributedDataParallel:
        super().train(mode)
        return self

    def __getstate__(self) -> dict[str, Any]:
        if self.process_group is not dist._get_default_group():
            raise RuntimeError(
                "DDP Pickling/Unpickling are only supported when using DDP with the "
                "default process group."
            )
        state = dict(self.__dict__)
        for name in ("process_group", "reducer", "_trained", "_buffers_to_send"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.process_group = dist._get_default_group()
        wanted = dict(self.module.named_parameters())
        self._trained = [wanted[name] for name in self._names]
        self._buffers_to_send = [
            b
            for name, b in self.module.named_buffers()
            if name not in self.parameters_to_ignore
        ]
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._make_reducer()

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(
        module: Module, params_and_buffers_to_ignore: Any
    ) -> None:
        """Names that are neither averaged nor copied."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore  # type: ignore[assignment]


class _Shadow(JoinHook):
    """A rank that is through: it takes part in what the others do."""

    def __init__(self, ddp: DistributedDataParallel, by_all: bool) -> None:
        self.ddp, self.by_all = ddp, by_all

    def main_hook(self) -> None:
        """One step of the others."""
        ddp = self.ddp
        syncing = ddp._tell_whether_gradients_sync(False)
        if ddp.forward_sync_buffers and ddp.require_forward_param_sync:
            ddp._send(ddp._buffers_to_send)
        ddp.require_forward_param_sync = bool(syncing)
        if syncing:
            if not self.by_all:
                ddp.reducer.divisor = syncing
            ddp.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        """All are through: take over the state of a rank that trained to the end."""
        ddp = self.ddp
        group = ddp.process_group
        last = ember.tensor([group.rank() if is_last_joiner else -1])
        group.allreduce([last], dist.ReduceOp.MAX).wait()
        ddp._sync_state(int(last))
        ddp.reducer.divisor = group.size()


def _tensors_in(output: Any) -> list[Tensor]:
    """The tensors in lists, dictionaries and dataclasses."""
    if isinstance(output, Tensor):
        return [output]
    if isinstance(output, (list, tuple)):
        inside: Any = output
    elif isinstance(output, Mapping):
        inside = output.values()
    elif dataclasses.is_dataclass(output):
        inside = [getattr(output, f.name) for f in dataclasses.fields(output)]
    else:
        return []
    return [t for part in inside for t in _tensors_in(part)]


def _with_sparse_gradients(module: Module, params: Sequence[Tensor]) -> set[int]:
    """Numbers of the parameters that are tables with sparse gradients."""
    tables = {
        id(m.weight)
        for m in module.modules()
        if isinstance(m, (Embedding, EmbeddingBag)) and m.sparse
    }
    return {number for number, p in enumerate(params) if id(p) in tables}


def _check_hook(hook: Any) -> None:
    """What annotations of a communication hook say has to be right."""
    if not callable(hook):
        raise TypeError("Communication hook must be callable.")
    signature = inspect.signature(hook)
    bucket = signature.parameters.get("bucket")
    if bucket is not None and not _may_be(bucket.annotation, GradBucket):
        raise ValueError(
            "Communication hook: bucket annotation should be dist.GradBucket."
        )
    if not _may_be(signature.return_annotation, Future):
        raise ValueError(
            "Communication hook: return annotation should be "
            "torch.futures.Future[torch.Tensor]."
        )


def _may_be(annotation: Any, kind: type) -> bool:
    if annotation is inspect.Parameter.empty or isinstance(annotation, str):
        return True
    return (typing.get_origin(annotation) or annotation) is kind


DistributedDataParallelCPU = DistributedDataParallel
