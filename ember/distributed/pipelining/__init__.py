"""Pipelines: the layers of a model in *stages* on different processes, through which a
batch goes in parts (*microbatches*), so that all stages have something to do.

A stage is a module of one's own, or a part of one that `pipeline` cuts. A schedule says
in which order a process computes its forward and backward passes:

    stage = PipelineStage(layers, rank, world_size, device)
    schedule = Schedule1F1B(stage, n_microbatches=8, loss_fn=loss)
    schedule.step(x) if rank == 0 else schedule.step(target=y, losses=losses)

How a model is cut is in `_cut.py`, what a stage keeps and sends in `stage.py`, orders
in `_orders.py`, and the loop over them in `schedules.py`.
"""

from ember.distributed.pipelining._cut import Pipe, SplitPoint, pipe_split, pipeline
from ember.distributed.pipelining.schedules import (
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleLoopedBFS,
)
from ember.distributed.pipelining.stage import PipelineStage, build_stage

__all__ = [
    "Pipe",
    "PipelineStage",
    "Schedule1F1B",
    "ScheduleGPipe",
    "ScheduleInterleaved1F1B",
    "ScheduleLoopedBFS",
    "SplitPoint",
    "build_stage",
    "pipe_split",
    "pipeline",
]
