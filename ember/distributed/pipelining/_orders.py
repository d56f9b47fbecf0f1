"""In which order a process computes: lists of actions.

A schedule is only this. Messages follow from it: an activation is sent as soon as it is
there and waited for where it is used, so that any order works in which every process
comes to what others wait for.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class _ComputationType(Enum):
    FORWARD = "F"
    FULL_BACKWARD = "B"

    def __str__(self) -> str:
        return self.value


FORWARD, FULL_BACKWARD = _ComputationType
F, B = FORWARD, FULL_BACKWARD


class _Action(NamedTuple):
    """One pass of one microbatch through one stage; "2F0" in short."""

    stage_index: int
    computation_type: _ComputationType
    microbatch_index: int

    def __repr__(self) -> str:
        return f"{self.stage_index}{self.computation_type}{self.microbatch_index}"


def gpipe(stages: list[int], count: int) -> list[_Action]:
    """All forward passes, stage by stage, then all backward passes."""
    there = [_Action(s, F, m) for s in stages for m in range(count)]
    back = [_Action(s, B, m) for s in reversed(stages) for m in range(count)]
    return there + back


def one_forward_one_backward(stage: int, stages: int, count: int) -> list[_Action]:
    """As many forward passes as there are stages behind, then a backward pass after
    each forward pass: no more activations are kept than there are stages."""
    ahead = min(count, stages - stage)
    order = [_Action(stage, F, m) for m in range(ahead)]
    for m in range(count):
        order.append(_Action(stage, B, m))
        if m + ahead < count:
            order.append(_Action(stage, F, m + ahead))
    return order


def interleaved(
    rank: int, ranks: int, stages_per_rank: int, count: int
) -> list[_Action]:
    """1F1B for processes with several stages each, `rank`, `rank + ranks` ...: rounds
    of microbatches go through the first of them, then the next."""
    rounds = max(1, count // ranks)
    if count % rounds:
        raise ValueError(
            "Interleaved 1F1B requires the number of microbatches to be a multiple of "
            f"the number of rounds ({rounds}), but got {count}."
        )
    per_round = count // rounds
    total = stages_per_rank * count
    ahead = min(total, (stages_per_rank - 1) * per_round + 2 * (ranks - 1 - rank))

    def action(kind: _ComputationType, step: int) -> _Action:
        turn, within = divmod(step, per_round)
        done, local = divmod(turn, stages_per_rank)
        if kind is B:
            local = stages_per_rank - 1 - local
        return _Action(rank + local * ranks, kind, done * per_round + within)

    order = [action(F, step) for step in range(ahead)]
    for step in range(total):
        if step + ahead < total:
            order.append(action(F, step + ahead))
        order.append(action(B, step))
    return order
