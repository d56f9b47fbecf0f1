"""Averages of parameters over the ranks of a group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import ember
import ember.distributed as dist
from ember import Tensor


def average_parameters(params: Iterable[Tensor], process_group: Any) -> None:
    """Replace parameters by their average over the ranks, which travel as one tensor
    for each dtype. A rank that is not in the group does nothing."""
    group = process_group if process_group is not None else dist.group.WORLD
    if dist.distributed_c10d._rank_not_in_group(group):
        return
    kinds: dict[Any, list[Tensor]] = {}
    for p in params:
        kinds.setdefault((p.dtype, p.device), []).append(p)
    with ember.no_grad():
        for same in kinds.values():
            flat = ember.cat([p.detach().reshape(-1) for p in same])
            dist.all_reduce(flat, dist.ReduceOp.AVG, group=group)
            for p, part in zip(same, flat.split([p.numel() for p in same])):
                p.detach().copy_(part.view(p.shape))


def get_params_to_average(params: Iterable[Tensor | dict]) -> list[Tensor]:
    """Of parameters or groups of an optimizer, those that have gradients."""
    return [p for p in _each(params) if p.grad is not None]


def average_parameters_or_parameter_groups(
    params: Iterable[Tensor | dict], process_group: Any
) -> None:
    """`average_parameters` of those that have gradients."""
    average_parameters(get_params_to_average(params), process_group)


def _each(params: Iterable[Tensor | dict]) -> Iterator[Tensor]:
    for given in params:
        if isinstance(given, Tensor):
            yield given
        elif isinstance(given, dict):
            yield from given["params"]
        else:
            raise NotImplementedError(
                f"Parameter input of type {type(given)} is not supported"
            )
