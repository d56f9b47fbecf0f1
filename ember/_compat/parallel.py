"""Steps of data parallelism by PyTorch's older names; there is one device of a kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ember
from ember import Tensor
from ember.nn.parallel import gather as _gather, scatter as _scatter
from ember.utils._pytree import is_namedtuple as is_namedtuple


def broadcast(tensor: Tensor, devices: Sequence) -> tuple:
    """A copy on each device."""
    return tuple(tensor.to(device) for device in devices)


def broadcast_coalesced(
    tensors: Sequence[Tensor], devices: Sequence, *args: Any
) -> list:
    """Copies of several tensors on each device."""
    return [tuple(t.to(device) for t in tensors) for device in devices]


def reduce_add(inputs: Sequence[Tensor], destination: Any = None) -> Tensor:
    """The sum of tensors of several devices, on one."""
    where = inputs[0].device if destination is None else destination
    total = inputs[0].to(where)
    for t in inputs[1:]:
        total = total + t.to(where)
    return total


def reduce_add_coalesced(
    inputs: Sequence, destination: Any = None, *args: Any
) -> tuple:
    """Sums of several tensors of several devices."""
    return tuple(reduce_add(column, destination) for column in zip(*inputs))


def scatter(
    tensor: Tensor,
    devices: Sequence,
    chunk_sizes: Any = None,
    dim: int = 0,
    streams: Any = None,
) -> tuple:
    """Parts of a tensor, one for each device."""
    if chunk_sizes is None:
        return _scatter(tensor, devices, dim)
    return tuple(p.to(d) for p, d in zip(tensor.split(chunk_sizes, dim), devices))


def gather(tensors: Sequence[Tensor], dim: int = 0, destination: Any = "cpu") -> Tensor:
    """Parts of several devices joined on one."""
    return _gather(tensors, "cpu" if destination in (None, -1) else destination, dim)


def scatter_kwargs(
    inputs: Any, kwargs: Any, target_gpus: Sequence, dim: int = 0
) -> tuple[tuple, tuple]:
    """Positional and other arguments for each device."""
    args = _scatter(inputs, target_gpus, dim) if inputs else ()
    named = _scatter(kwargs, target_gpus, dim) if kwargs else ()
    count = max(len(args), len(named))
    return (
        tuple(args) + ((),) * (count - len(args)),
        tuple(named) + ({},) * (count - len(named)),
    )


class Scatter:
    """`scatter` as a step that gradients pass."""

    @staticmethod
    def apply(devices: Sequence, chunk_sizes: Any, dim: int, tensor: Tensor) -> tuple:
        return scatter(tensor, devices, chunk_sizes, dim)


class Gather:
    """`gather` as a step that gradients pass."""

    @staticmethod
    def apply(device: Any, dim: int, *inputs: Tensor) -> Tensor:
        return _gather(inputs, device, dim)


class Broadcast:
    """`broadcast` as a step that gradients pass."""

    @staticmethod
    def apply(devices: Sequence, *inputs: Tensor) -> tuple:
        return tuple(t.to(device) for device in devices for t in inputs)


class ReduceAddCoalesced:
    """`reduce_add_coalesced` as a step that gradients pass."""

    @staticmethod
    def apply(device: Any, count: int, *grads: Tensor) -> tuple:
        rows = [grads[i : i + count] for i in range(0, len(grads), count)]
        return reduce_add_coalesced(rows, device)


def _get_stream(device: Any) -> None:
    """None: copies to a device wait for nothing."""
    return None


Device = ember.device
