"""Schedules: one step of training through all stages of this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ember
from ember.distributed.pipelining import _orders
from ember.distributed.pipelining._orders import FORWARD, _Action
from ember.distributed.pipelining.microbatch import (
    merge_chunks,
    split_args_kwargs_into_chunks,
)
from ember.distributed.pipelining.stage import PipelineStage

__all__ = [
    "PipelineScheduleMulti",
    "PipelineScheduleSingle",
    "Schedule1F1B",
    "ScheduleGPipe",
    "ScheduleInterleaved1F1B",
    "ScheduleLoopedBFS",
    "get_schedule_class",
]


class _PipelineSchedule:
    """What all schedules do; `_order` is what distinguishes them."""

    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None,
        args_chunk_spec: Any,
        kwargs_chunk_spec: Any,
        output_merge_spec: Any,
        scale_grads: bool,
    ) -> None:
        if n_microbatches < 1:
            raise ValueError(
                f"{type(self).__name__}: n_microbatches must be positive, "
                f"got {n_microbatches}"
            )
        self._stages = {stage.stage_index: stage for stage in stages}
        first = stages[0]
        self._rank, self._ranks = first.group_rank, first.group_size
        self._num_stages = first.num_stages
        expected = list(range(self._rank, self._num_stages, self._ranks))
        if sorted(self._stages) != expected or len(stages) != len(expected):
            raise ValueError(
                f"{type(self).__name__}: process {self._rank} has stages "
                f"{[s.stage_index for s in stages]}, expected {expected}"
            )
        self._n_microbatches, self._loss_fn = n_microbatches, loss_fn
        self._args_chunk_spec = args_chunk_spec
        self._kwargs_chunk_spec = kwargs_chunk_spec
        self._output_merge_spec = output_merge_spec
        self.scale_grads = scale_grads
        self._has_backward = loss_fn is not None
        self.pipeline_order = {r: self._order(r) for r in range(self._ranks)}

    def _order(self, rank: int) -> list[_Action]:
        raise NotImplementedError

    def step(
        self,
        *args: Any,
        target: Any = None,
        losses: list[Any] | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """One batch: forward passes and, with a loss, backward passes of all of its
        microbatches. The process of the first stage gives the arguments, that of the
        last the `target`, and gets `losses` (of each microbatch) and the outputs."""
        return self._run(
            args,
            kwargs,
            target,
            losses,
            return_outputs,
            loss_kwargs,
            not ember.is_grad_enabled(),
        )

    def eval(
        self,
        *args: Any,
        target: Any = None,
        losses: list[Any] | None = None,
        return_outputs: bool = True,
        **kwargs: Any,
    ) -> Any:
        """Forward passes only."""
        with ember.no_grad():
            return self._run(args, kwargs, target, losses, return_outputs, None, True)

    def _run(
        self,
        args: tuple,
        kwargs: dict,
        target: Any,
        losses: list[Any] | None,
        return_outputs: bool,
        loss_kwargs: dict[str, Any] | None,
        forward_only: bool,
    ) -> Any:
        count = self._n_microbatches
        args_of, kwargs_of = split_args_kwargs_into_chunks(
            args, kwargs, count, self._args_chunk_spec, self._kwargs_chunk_spec
        )
        backward = self._has_backward and not forward_only
        last = self._stages.get(self._num_stages - 1)
        targets: Any = None
        if last is not None and self._loss_fn is not None and target is not None:
            targets = split_args_kwargs_into_chunks((target,), None, count)[0]
        if last is not None and backward and targets is None:
            raise RuntimeError(
                "step(): the process of the last stage needs a target for its loss"
            )
        for stage in self._stages.values():
            stage.clear_runtime_states()
            stage.has_backward = backward
        found: dict[int, Any] = {}
        outputs: dict[int, Any] = {}
        left = dict.fromkeys(self._stages, count)
        scale = 1.0 / count if self.scale_grads else 1.0
        for action in self.pipeline_order[self._rank]:
            index, kind, m = action
            stage = self._stages[index]
            if kind is FORWARD:
                output = stage.forward_one_chunk(
                    m,
                    args_of[m],
                    kwargs_of[m],
                    self._stages.get(index + 1),
                    save_forward_output=False,
                )
                if stage.is_last:
                    if return_outputs:
                        outputs[m] = _detached(output) if backward else output
                    if targets is not None:
                        assert self._loss_fn is not None
                        found[m] = self._loss_fn(
                            output, *targets[m], **(loss_kwargs or {})
                        )
            elif backward:
                left[index] -= 1
                loss = found[m] if stage.is_last else None
                stage.backward_one_chunk(
                    m, loss, scale, left[index] == 0, self._stages.get(index - 1)
                )
                if loss is not None:
                    found[m] = loss.detach()
        for stage in self._stages.values():
            stage.wait_for_sends()
        if losses is not None:
            if last is not None and targets is None:
                raise RuntimeError("step(): losses were asked for without a target")
            losses[:] = [found[m] for m in sorted(found)]
        if last is None or not return_outputs:
            return None
        return merge_chunks([outputs[m] for m in range(count)], self._output_merge_spec)


def _detached(output: Any) -> Any:
    from ember.utils._pytree import tree_map

    return tree_map(lambda v: v.detach() if isinstance(v, ember.Tensor) else v, output)


class PipelineScheduleSingle(_PipelineSchedule):
    """Schedules with one stage on each process."""

    def __init__(
        self,
        stage: PipelineStage,
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        if stage.num_stages != stage.group_size:
            raise ValueError(
                f"{type(self).__name__} takes one stage for each process, and there "
                f"are {stage.num_stages} stages on {stage.group_size} processes"
            )
        self._stage = stage
        super().__init__(
            [stage],
            n_microbatches,
            loss_fn,
            args_chunk_spec,
            kwargs_chunk_spec,
            output_merge_spec,
            scale_grads,
        )


class ScheduleGPipe(PipelineScheduleSingle):
    """All forward passes, then all backward passes."""

    def _order(self, rank: int) -> list[_Action]:
        return _orders.gpipe([rank], self._n_microbatches)


class Schedule1F1B(PipelineScheduleSingle):
    """A backward pass after each forward pass, as soon as the pipeline is full, which
    keeps the activations of as many microbatches as there are stages behind."""

    def _order(self, rank: int) -> list[_Action]:
        return _orders.one_forward_one_backward(
            rank, self._num_stages, self._n_microbatches
        )


class PipelineScheduleMulti(_PipelineSchedule):
    """Schedules with several stages on each process."""

    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ) -> None:
        super().__init__(
            stages,
            n_microbatches,
            loss_fn,
            args_chunk_spec,
            kwargs_chunk_spec,
            output_merge_spec,
            scale_grads,
        )

    def _own(self, rank: int) -> list[int]:
        return list(range(rank, self._num_stages, self._ranks))


class ScheduleLoopedBFS(PipelineScheduleMulti):
    """GPipe with several stages on each process."""

    def _order(self, rank: int) -> list[_Action]:
        return _orders.gpipe(self._own(rank), self._n_microbatches)


class ScheduleInterleaved1F1B(PipelineScheduleMulti):
    """1F1B with several stages on each process: shorter waits at the beginning and the
    end of a step, for more messages."""

    def _order(self, rank: int) -> list[_Action]:
        return _orders.interleaved(
            rank, self._ranks, len(self._own(rank)), self._n_microbatches
        )


def get_schedule_class(schedule_name: str) -> type[_PipelineSchedule]:
    """A schedule by its name.

    >>> from ember.distributed.pipelining.schedules import get_schedule_class
    >>> get_schedule_class("1f1b").__name__
    'Schedule1F1B'
    """
    table: dict[str, type[_PipelineSchedule]] = {
        "1F1B": Schedule1F1B,
        "GPipe": ScheduleGPipe,
        "Interleaved1F1B": ScheduleInterleaved1F1B,
        "LoopedBFS": ScheduleLoopedBFS,
        "PipelineScheduleMulti": PipelineScheduleMulti,
        "PipelineScheduleSingle": PipelineScheduleSingle,
    }
    for name, kind in table.items():
        if name.lower() == schedule_name.lower():
            return kind
    raise ValueError(
        f"Unknown schedule name: {schedule_name}. The valid options are {list(table)}"
    )
