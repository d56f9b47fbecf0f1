"""`loss_parallel`: the cross entropy of scores whose classes lie on several ranks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ember
from ember.distributed.tensor._api import DTensor, wrap
from ember.distributed.tensor.placement_types import (
    Partial,
    Placement,
    Replicate,
    Shard,
    local_offset,
)

_entered: list[bool] = []


@contextmanager
def loss_parallel() -> Iterator[None]:
    """Within it, `cross_entropy` of scores that are cut along their classes leaves them
    where they are. The backward pass belongs inside, too.
    """
    _entered.append(True)
    try:
        yield
    finally:
        _entered.pop()


def class_parallel() -> bool:
    """Whether a `loss_parallel` is entered."""
    return bool(_entered)


def cross_entropy(scores: DTensor, target: Any, ignore_index: int) -> DTensor:
    """The loss of each target: log of the sum of exp(scores), minus its own score."""
    at = 0 if scores.dim() == 1 else 1
    mesh = scores._mesh
    cut = [isinstance(p, Shard) and p.dim == at for p in scores._placements]
    settled = [Replicate() if p.is_partial() else p for p in scores._placements]
    scores = scores.redistribute(placements=settled)

    def without_classes(of_cut: Placement) -> list[Placement]:
        return [
            of_cut if c else Shard(p.dim - (p.dim > at)) if isinstance(p, Shard) else p
            for c, p in zip(cut, scores._placements)
        ]

    def reduced(local: ember.Tensor, op: str) -> DTensor:
        shape = [n for d, n in enumerate(scores.shape) if d != at]
        terms = wrap(local, mesh, without_classes(Partial(op)), shape)
        return terms.redistribute(placements=without_classes(Replicate()))

    if not isinstance(target, DTensor):
        everywhere = [Replicate()] * mesh.ndim
        target = wrap(target, mesh, everywhere, target.shape)
    goals = target.redistribute(placements=without_classes(Replicate()))._local_tensor
    local = scores._local_tensor
    if local.size(at):
        top = local.detach().amax(at)
    else:  # this rank has no class
        top = local.new_full(goals.shape, -float("inf"))
    top = reduced(top, "max")._local_tensor
    total = reduced((local - top.unsqueeze(at)).exp().sum(at), "sum")
    only = [p if c else Replicate() for c, p in zip(cut, scores._placements)]
    begin = local_offset(scores.shape, mesh, only)[at]
    inside = (goals >= begin) & (goals < begin + local.size(at))
    if local.size(at):
        index = ember.where(inside, goals - begin, 0).unsqueeze(at)
        own = local.gather(at, index).squeeze(at) * inside.to(local.dtype)
    else:
        own = local.sum(at)
    picked = reduced(own, "sum")
    each = total._local_tensor.log() + top - picked._local_tensor
    each = ember.where(goals != ignore_index, each, 0.0)
    return wrap(each, mesh, picked._placements, picked.shape)
