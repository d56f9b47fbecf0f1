"""A stage: a module, what it keeps of each microbatch, and what it sends to its
neighbours."""

from __future__ import annotations

import contextlib
from typing import Any

import ember
import ember.distributed as dist
from ember import Tensor, nn
from ember.distributed.pipelining._backward import stage_backward
from ember.nn.parallel import DistributedDataParallel

__all__ = ["PipelineStage", "build_stage"]

_LONGEST = 128  # numbers of a header
_KINDS: list[ember.dtype] = []


def _kinds() -> list[ember.dtype]:
    """All dtypes, in an order that is the same in every process."""
    if not _KINDS:
        found = {v for v in vars(ember).values() if isinstance(v, ember.dtype)}
        _KINDS.extend(sorted(found, key=str))
    return _KINDS


def _header(values: tuple[Tensor, ...]) -> Tensor:
    """Dtypes, shapes and which of the tensors want a gradient."""
    numbers = [len(values)]
    for t in values:
        kind = _kinds().index(t.dtype)
        numbers += [kind, int(t.requires_grad), t.dim(), *t.shape]
    if len(numbers) > _LONGEST:
        raise ValueError(f"a stage has too many outputs to describe: {len(values)}")
    return ember.tensor(numbers + [0] * (_LONGEST - len(numbers)))


def _described(header: Tensor) -> list[Tensor]:
    numbers = iter(header.tolist())
    values = []
    for _ in range(next(numbers)):
        kind, wants, dim = next(numbers), next(numbers), next(numbers)
        shape = [next(numbers) for _ in range(dim)]
        value = ember.empty(shape, dtype=_kinds()[kind])
        values.append(value.requires_grad_() if wants else value)
    return values


class PipelineStage:
    """Stage `stage_index` of `num_stages`, on this process of `group`.

    Stages lie on the processes in turn: with 2 of them, process 0 has stages 0, 2 ...
    What `submodule` returns, a tensor or a tuple of tensors, are the positional
    arguments of the next stage; shapes need not be told, and may change from one
    microbatch to the next. `input_args` and `output_args` are checked if given.
    """

    def __init__(
        self,
        submodule: nn.Module,
        stage_index: int,
        num_stages: int,
        device: Any,
        input_args: Any = None,
        output_args: Any = None,
        output_grads: Any = None,
        input_grads: Any = None,
        group: Any = None,
        dw_builder: Any = None,
        get_mesh: Any = None,
    ) -> None:
        if dw_builder is not None:
            raise NotImplementedError("PipelineStage(): dw_builder is not supported")
        if not 0 <= stage_index < num_stages:
            raise ValueError(
                f"Stage index {stage_index} is out of range of {num_stages}"
            )
        self.submod, self.device = submodule, ember.device(device)
        self.stage_index, self.num_stages = stage_index, num_stages
        self.group: Any = group if group is not None else dist.group.WORLD
        if self.group is None:
            raise ValueError("PipelineStage(): there is no process group")
        self.group_rank, self.group_size = self.group.rank(), self.group.size()
        if self.group_size > num_stages:
            raise ValueError(
                f"Pipeline group size {self.group_size} cannot be larger than "
                f"number of stages {num_stages}"
            )
        if num_stages % self.group_size:
            raise ValueError(
                f"{num_stages} stages cannot be shared out evenly to "
                f"{self.group_size} processes"
            )
        self.stage_index_to_group_rank = {
            i: i % self.group_size for i in range(num_stages)
        }
        if self.stage_index_to_group_rank[stage_index] != self.group_rank:
            raise ValueError(
                f"stage {stage_index} belongs to process "
                f"{self.stage_index_to_group_rank[stage_index]} of the group, not to "
                f"{self.group_rank}"
            )
        self.inputs_meta = _metas(input_args)
        self._outputs_meta = _metas(output_args)
        self.has_backward = False
        self.clear_runtime_states()

    is_first = property(lambda self: self.stage_index == 0, doc="Whether it begins.")
    is_last = property(
        lambda self: self.stage_index == self.num_stages - 1, doc="Whether it ends."
    )

    def __repr__(self) -> str:
        return f"PipelineStage({self.stage_index} of {self.num_stages})"

    def get_outputs_meta(self) -> tuple[Tensor, ...] | None:
        """Tensors of the meta device, like the outputs; None before the first pass."""
        return self._outputs_meta

    def clear_runtime_states(self) -> None:
        """Forget all microbatches."""
        self.fwd_cache: dict[int, tuple[Any, tuple]] = {}
        self.output_chunks: list[Any] = []
        self._arrived: dict[tuple[str, int], tuple] = {}
        self._sending: list[tuple[Any, Any]] = []

    # --- messages ---

    def _tag(self, what: str, microbatch: int) -> int:
        """Of messages into this stage: activations "F" or gradients "B"."""
        return ((self.stage_index << 1 | (what == "B")) << 10 | microbatch % 1024) + 1

    def _send(
        self, to: PipelineStage | int, what: str, microbatch: int, values: tuple
    ) -> None:
        """To a neighbour: a stage of this process, or the number of one elsewhere."""
        if isinstance(to, PipelineStage):
            to._arrived[what, microbatch] = values
            return
        tag = ((to << 1 | (what == "B")) << 10 | microbatch % 1024) + 1
        peer = self.stage_index_to_group_rank[to]
        for value in (_header(values), *values):
            value = value.detach().contiguous()
            self._sending.append((self.group.send([value], peer, tag), value))

    def _receive(self, what: str, microbatch: int) -> tuple:
        if (what, microbatch) in self._arrived:
            return self._arrived.pop((what, microbatch))
        beside = self.stage_index + (1 if what == "B" else -1)
        peer = self.stage_index_to_group_rank[beside]
        tag = self._tag(what, microbatch)
        header = ember.zeros(_LONGEST, dtype=ember.int64)
        self.group.recv([header], peer, tag).wait()
        values = _described(header)
        works = [self.group.recv([value], peer, tag) for value in values]
        for work in works:
            work.wait()
        if self.device.type == "cpu":
            return tuple(values)
        return tuple(
            v.detach().to(self.device).requires_grad_(v.requires_grad) for v in values
        )

    def wait_for_sends(self) -> None:
        """Until all that was sent has left."""
        while self._sending:
            self._sending.pop()[0].wait()

    # --- passes ---

    def forward_one_chunk(
        self,
        fwd_chunk_id: int,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        next_stage: PipelineStage | None = None,
        save_forward_output: bool = True,
    ) -> Any:
        """The forward pass of a microbatch; `args` are those of the first stage."""
        inputs: tuple[Any, ...] = args
        if not self.is_first:
            inputs = tuple(
                value.detach().requires_grad_(value.requires_grad)
                for value in self._receive("F", fwd_chunk_id)
            )
        _check(self, "input", self.inputs_meta, inputs)
        try:
            with _no_sync(self.submod):
                output = self.submod(*inputs, **(kwargs or {}))
        except Exception as error:
            error.add_note(f"in the forward pass of {self}, microbatch {fwd_chunk_id}")
            raise
        outputs = _as_tuple(self, output)
        if fwd_chunk_id == 0:
            if self._outputs_meta is not None:
                _check(self, "output", self._outputs_meta, outputs)
            self._outputs_meta = _metas(outputs)
        if self.has_backward:
            self.fwd_cache[fwd_chunk_id] = (outputs, inputs)
        if self.is_last:
            if save_forward_output:
                self.output_chunks.append(output)
        else:
            beside = self.stage_index + 1 if next_stage is None else next_stage
            self._send(beside, "F", fwd_chunk_id, outputs)
        return output

    def backward_one_chunk(
        self,
        bwd_chunk_id: int,
        loss: Tensor | None = None,
        scale: float = 1.0,
        last_backward: bool = False,
        previous_stage: PipelineStage | None = None,
    ) -> None:
        """The backward pass of a microbatch; of the last stage, from its `loss`."""
        outputs, inputs = self.fwd_cache.pop(bwd_chunk_id)
        with _no_sync(self.submod, last=last_backward):
            if self.is_last:
                assert loss is not None, "the last stage begins with a loss"
                grads = stage_backward(loss, [ember.full_like(loss, scale)], inputs)
            else:
                received = iter(self._receive("B", bwd_chunk_id))
                given = [next(received) if t.requires_grad else None for t in outputs]
                grads = stage_backward(outputs, given, inputs)
        if self.is_first:
            return
        wanted = tuple(
            ember.zeros_like(value) if grad is None else grad
            for value, grad in zip(inputs, grads)
            if value.requires_grad
        )
        beside = self.stage_index - 1 if previous_stage is None else previous_stage
        self._send(beside, "B", bwd_chunk_id, wanted)

    def scale_grads(self, grad_scale_factor: int) -> None:
        """Divide the gradients of the parameters."""
        if grad_scale_factor != 1:
            for p in self.submod.parameters():
                if p.grad is not None:
                    p.grad.div_(grad_scale_factor)


_PipelineStageBase = PipelineStage


def build_stage(
    stage_module: nn.Module,
    stage_index: int,
    pipe_info: Any,
    device: Any,
    group: Any = None,
) -> PipelineStage:
    """The stage of a module that `pipeline` cut, perhaps wrapped since."""
    return PipelineStage(
        stage_module, stage_index, pipe_info.num_stages, device, group=group
    )


def _metas(values: Any) -> tuple[Tensor, ...] | None:
    if values is None:
        return None
    values = (values,) if isinstance(values, Tensor) else tuple(values)
    return tuple(v.detach().to("meta") for v in values if isinstance(v, Tensor))


def _check(stage: Any, what: str, expected: Any, values: tuple) -> None:
    if expected is None:
        return
    found = [v for v in values if isinstance(v, Tensor)]
    if len(found) != len(expected):
        raise ValueError(
            f"{stage}: {len(found)} {what} tensors, expected {len(expected)}"
        )
    for i, (value, like) in enumerate(zip(found, expected)):
        for name in ("shape", "dtype"):
            if getattr(value, name) != getattr(like, name):
                raise ValueError(
                    f"{stage}: {what} {i} has {name} {getattr(value, name)}, expected "
                    f"{getattr(like, name)}"
                )


def _as_tuple(stage: PipelineStage, output: Any) -> tuple:
    values = tuple(output) if isinstance(output, (tuple, list)) else (output,)
    if not stage.is_last:
        for value in values:
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"{stage} must return a tensor or a tuple of tensors, not "
                    f"{type(value).__name__}"
                )
    return values


@contextlib.contextmanager
def _no_sync(module: nn.Module, last: bool = False) -> Any:
    """Gradients of microbatches add up; only the last pass reduces them, if the stage
    is itself data parallel."""
    if isinstance(module, DistributedDataParallel) and not last:
        with module.no_sync():
            yield
        return
    sharded = hasattr(module, "set_requires_gradient_sync")
    if sharded:
        module.set_is_last_backward(last)
        module.set_requires_gradient_sync(last)
    yield
    if sharded:
        module.set_requires_gradient_sync(True)
        module.set_is_last_backward(True)
