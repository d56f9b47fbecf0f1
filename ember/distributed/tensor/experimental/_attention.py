"""Attention over a sequence that is cut across processes.

Each process has a part of the sequence, so that activations of long sequences fit: all
layers but attention work on one position alone. Attention gathers keys and values;
their gradients are added up and sent back to where they belong.

With a causal mask, later positions see more keys. So the sequence is cut into twice as
many pieces as there are processes, and each gets one from the front and one from the
back: process 0 of 2 has the first and the last quarter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import ember
from ember import Tensor
from ember.distributed._functional_collectives import all_gather_tensor_autograd
from ember.overrides import TorchFunctionMode

__all__ = ["context_parallel", "context_parallel_unshard", "set_rotate_method"]

_method = "allgather"


def set_rotate_method(rotate_method: str) -> None:
    """How keys and values come together: "allgather", or "alltoall", which is taken for
    the same: results do not depend on it."""
    global _method
    if rotate_method not in ("allgather", "alltoall"):
        raise NotImplementedError(
            f"Context Parallel does not support using {rotate_method} for kv shards "
            "rotation"
        )
    _method = rotate_method


def _positions(local: int, rank: int, ranks: int) -> list[range]:
    """The positions of `local` elements of one process, as one or two ranges."""
    if ranks == 1 or local % 2:
        return [range(rank * local, (rank + 1) * local)]
    half = local // 2
    back = 2 * ranks - 1 - rank
    return [range(at * half, (at + 1) * half) for at in (rank, back)]


def _order(local: int, ranks: int) -> Tensor:
    """The positions of all processes' elements, one process after the other."""
    numbers = [i for r in range(ranks) for p in _positions(local, r, ranks) for i in p]
    return ember.tensor(numbers)


def _part(buffer: Tensor, dim: int, mesh: Any) -> Tensor:
    rank, ranks = mesh.get_local_rank(), mesh.size()
    if buffer.size(dim) % ranks:
        raise ValueError(
            f"context_parallel(): a sequence of {buffer.size(dim)} cannot be cut into "
            f"{ranks} equal parts"
        )
    local = buffer.size(dim) // ranks
    parts = [
        buffer.narrow(dim, p.start, len(p)) for p in _positions(local, rank, ranks)
    ]
    return ember.cat(parts, dim)


class _Attention(TorchFunctionMode):
    """Has `scaled_dot_product_attention` see the whole sequence."""

    def __init__(self, mesh: Any) -> None:
        super().__init__()
        self._mesh = mesh

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if getattr(func, "__name__", "") == "scaled_dot_product_attention":
            return _attention(self._mesh, func, *args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _attention(
    mesh: Any,
    attend: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    **options: Any,
) -> Tensor:
    if attn_mask is not None or dropout_p:
        raise NotImplementedError(
            "context_parallel(): attention with a mask or dropout is not supported"
        )
    group, rank, ranks = mesh.get_group(), mesh.get_local_rank(), mesh.size()
    local = key.size(-2)
    both = [all_gather_tensor_autograd(t, t.dim() - 2, group) for t in (key, value)]
    if not is_causal:  # in any order
        return attend(query, *both, **options)
    if query.size(-2) != local:
        raise ValueError("context_parallel(): causal attention of unequal lengths")
    place = ember.argsort(_order(local, ranks)).to(key.device)
    keys, values = (t.index_select(-2, place) for t in both)
    parts, done = [], 0
    for own in _positions(local, rank, ranks):
        seen = own.stop
        rows = ember.arange(own.start, own.stop, device=query.device)
        mask = ember.arange(seen, device=query.device) <= rows[:, None]
        part = query.narrow(-2, done, len(own))
        k, v = keys.narrow(-2, 0, seen), values.narrow(-2, 0, seen)
        parts.append(attend(part, k, v, attn_mask=mask, **options))
        done += len(own)
    return ember.cat(parts, -2)


@contextmanager
def context_parallel(
    mesh: Any,
    *,
    buffers: Sequence[Tensor] | None = None,
    buffer_seq_dims: Sequence[int] | None = None,
    no_restore_buffers: set[Tensor] | None = None,
) -> Iterator[None]:
    """Within it, `buffers` (inputs, targets, tables of positions ...) are this
    process's part of their sequences, and attention is that of whole sequences.
    `buffer_seq_dims` tells the dimension of the sequence of each. They are whole again
    afterwards, but those in `no_restore_buffers`.

    Gradients of parameters are those of this process's part: add them up over the mesh,
    as data parallel training does. See docs/distributed.md.
    """
    buffers, dims = list(buffers or ()), list(buffer_seq_dims or ())
    if len(buffers) != len(dims):
        raise ValueError(
            "`seq_dims` must have the same number of elements as `buffers`."
        )
    left = {id(b) for b in no_restore_buffers or ()}
    if not left <= {id(b) for b in buffers}:
        raise ValueError("`no_restore_buffers` must be a subset of `buffers`.")
    for buffer in buffers:
        if buffer.requires_grad:
            raise ValueError("context_parallel(): a buffer must not require gradients")
    parts = [_part(buffer, dim, mesh) for buffer, dim in zip(buffers, dims)]
    whole = [None if id(b) in left else b.clone() for b in buffers]
    with ember.no_grad():
        for buffer, part in zip(buffers, parts):
            buffer.resize_(part.shape).copy_(part)
    try:
        with _Attention(mesh):
            yield
    finally:
        with ember.no_grad():
            for buffer, before in zip(buffers, whole):
                if before is not None:
                    buffer.resize_(before.shape).copy_(before)


def context_parallel_unshard(
    mesh: Any,
    buffers: Sequence[Tensor],
    seq_dims: Sequence[int],
    load_balancer: Any = None,
) -> list[Tensor]:
    """Whole sequences of the processes' parts, for example of outputs."""
    if load_balancer is not None:
        raise NotImplementedError("context_parallel_unshard(): load_balancer")
    found = []
    for buffer, dim in zip(buffers, seq_dims):
        with ember.no_grad():
            whole = all_gather_tensor_autograd(buffer.detach(), dim, mesh.get_group())
            place = ember.argsort(_order(buffer.size(dim), mesh.size()))
            found.append(whole.index_select(dim, place.to(whole.device)))
    return found
