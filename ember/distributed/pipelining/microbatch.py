"""A batch in parts, and results put together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ember
from ember import Tensor
from ember.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["TensorChunkSpec", "merge_chunks", "split_args_kwargs_into_chunks"]


class TensorChunkSpec:
    """Along which dimension a tensor is cut."""

    def __init__(self, split_dim: int) -> None:
        self.split_dim = split_dim

    def __repr__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims: tuple[int, ...]) -> tuple[TensorChunkSpec, ...]:
        """A spec for each of some positional arguments."""
        return tuple(TensorChunkSpec(dim) for dim in chunk_dims)

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> dict[str, TensorChunkSpec]:
        """A spec for each of some named arguments."""
        return {name: TensorChunkSpec(dim) for name, dim in chunk_dims.items()}


class _Replicate:
    """Not cut: every microbatch gets the whole."""


class _CustomReducer:
    """How numbers of microbatches become one, beginning with `init_value`."""

    def __init__(self, init_value: Any, reduce_fn: Any) -> None:
        self.init_value, self.reduce_fn = init_value, reduce_fn


_ROWS = TensorChunkSpec(0)


def _split_tensor(tensor: Tensor, spec: TensorChunkSpec, num_chunks: int) -> Any:
    """The parts of one tensor, as even as they can be."""
    if tensor.dim() <= spec.split_dim:
        raise ValueError(
            f"a tensor of shape {tuple(tensor.shape)} cannot be cut along dimension "
            f"{spec.split_dim}"
        )
    if tensor.size(spec.split_dim) < num_chunks:
        raise RuntimeError(
            "Tensor size on chunking dimension is smaller than num_chunks: a tensor "
            f"of shape {tuple(tensor.shape)} has no {num_chunks} parts along dimension "
            f"{spec.split_dim}"
        )
    return ember.tensor_split(tensor, num_chunks, spec.split_dim)


def _specs(values: Any, given: Any) -> tuple[list[Any], Any, list[Any]]:
    """The leaves of `values`, how to put them together, and the spec of each leaf."""
    leaves, tree = tree_flatten(values)
    if given is None:
        return leaves, tree, [_ROWS if isinstance(v, Tensor) else None for v in leaves]
    specs, shape = tree_flatten(given)
    if len(specs) != len(leaves):
        raise ValueError(
            f"a chunk spec for {len(specs)} values does not fit {len(leaves)}: "
            f"{shape} against {tree}"
        )
    return leaves, tree, specs


def _chunks(values: Any, count: int, given: Any) -> list[Any]:
    leaves, tree, specs = _specs(values, given)
    rows: list[Sequence[Any]] = []
    for leaf, spec in zip(leaves, specs):
        cut = isinstance(leaf, Tensor) and isinstance(spec, TensorChunkSpec)
        rows.append(_split_tensor(leaf, spec, count) if cut else [leaf] * count)
    return [tree_unflatten([row[i] for row in rows], tree) for i in range(count)]


def split_args_kwargs_into_chunks(
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    chunks: int,
    args_chunk_spec: Any = None,
    kwargs_chunk_spec: Any = None,
) -> tuple[list[tuple], list[dict]]:
    """Arguments of each of `chunks` microbatches; tensors are cut along dimension 0.

    >>> import ember
    >>> from ember.distributed.pipelining.microbatch import *
    >>> args, kwargs = split_args_kwargs_into_chunks((ember.arange(4),), {"k": 7}, 2)
    >>> args, kwargs
    ([(tensor([0, 1]),), (tensor([2, 3]),)], [{'k': 7}, {'k': 7}])
    """
    return (
        _chunks(tuple(args), chunks, args_chunk_spec),
        _chunks(dict(kwargs or {}), chunks, kwargs_chunk_spec),
    )


def merge_chunks(chunks: Sequence[Any], chunk_spec: Any = None) -> Any:
    """One value of those of the microbatches: tensors are joined along their dimension,
    of others there is one.

    >>> import ember
    >>> from ember.distributed.pipelining.microbatch import merge_chunks
    >>> merge_chunks([ember.arange(2), ember.arange(3)])
    tensor([0, 1, 0, 1, 2])
    """
    if not chunks:
        raise ValueError("merge_chunks(): there is nothing to merge")
    _, tree, specs = _specs(chunks[0], chunk_spec)
    rows = [tree_flatten(chunk)[0] for chunk in chunks]
    merged = []
    for i, spec in enumerate(specs):
        values = [row[i] for row in rows]
        if isinstance(spec, TensorChunkSpec):
            merged.append(ember.cat(values, spec.split_dim))
        elif isinstance(spec, _CustomReducer):
            total = spec.init_value
            for value in values:
                total = spec.reduce_fn(total, value)
            merged.append(total)
        else:
            merged.append(values[0])
    return tree_unflatten(merged, tree)
