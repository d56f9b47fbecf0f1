"""Tensors sent together: which of them, and how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ember
from ember import Tensor


def _compute_bucket_assignment_by_size(
    tensors: Sequence[Tensor],
    bucket_size: Sequence[int],
    expect_sparse_gradient: Sequence[bool] = (),
    tensor_indices: Sequence[int] = (),
    logger: Any = None,
) -> tuple[list[list[int]], list[int]]:
    """Numbers of tensors by bucket, and the limit of each bucket. A bucket has one
    dtype and ends when it reaches its limit; those of a dtype have one limit after
    another of `bucket_size`, the last for all that follow."""
    open_: dict[Any, tuple[list[int], int]] = {}
    used: dict[Any, int] = {}
    done: list[tuple[list[int], int]] = []
    for i, t in enumerate(tensors):
        number = tensor_indices[i] if tensor_indices else i
        kind = t.dtype, t.device
        limit = bucket_size[min(used.get(kind, 0), len(bucket_size) - 1)]
        if expect_sparse_gradient and expect_sparse_gradient[number]:
            done.append(([number], 0))
            continue
        numbers, size = open_.pop(kind, ([], 0))
        numbers, size = [*numbers, number], size + t.numel() * t.element_size()
        if size >= limit:
            done.append((numbers, limit))
            used[kind] = used.get(kind, 0) + 1
        else:
            open_[kind] = numbers, size
    for kind, (numbers, _) in open_.items():
        limit = bucket_size[min(used.get(kind, 0), len(bucket_size) - 1)]
        done.append((numbers, limit))
    if not tensor_indices:  # in the order of the model, not of their ends
        done.sort(key=lambda bucket: bucket[0][0])
    return [numbers for numbers, _ in done], [limit for _, limit in done]


def _broadcast_coalesced(
    process_group: Any, tensors: Sequence[Tensor], buffer_size: int, src: int = 0
) -> None:
    """Copy tensors of rank `src` to all, about `buffer_size` bytes at a time."""
    rows, _ = _compute_bucket_assignment_by_size(tensors, [buffer_size])
    sent = []
    for numbers in rows:
        flat = ember.cat([tensors[n].detach().reshape(-1) for n in numbers])
        sent.append((numbers, flat, process_group.broadcast([flat], src)))
    with ember.no_grad():
        for numbers, flat, work in sent:
            work.wait()
            parts = flat.split([tensors[n].numel() for n in numbers])
            for n, part in zip(numbers, parts):
                tensors[n].detach().copy_(part.view(tensors[n].shape))
