"""functorch's view of the tensors that `vmap` passes, for opacus and tensordict."""

from __future__ import annotations

from typing import Any

from ember import Tensor
from ember.func._batched import Batched, level_of, levels, wrap
from ember.func._grad import _argnums
from ember.utils._pytree import broadcast_prefix


def _slice_argnums(args: tuple, argnums: Any, as_tuple: bool = True) -> Any:
    """The arguments that a derivative is taken by."""
    chosen = tuple(args[i] for i in _argnums(argnums, len(args)))
    return chosen[0] if isinstance(argnums, int) and not as_tuple else chosen


# --- tensors inside vmap --------------------------------------------------------------


def are_transforms_active() -> bool:
    """Whether a `vmap` is running."""
    return bool(levels)


def is_batchedtensor(tensor: Any) -> bool:
    """Whether it stands for one sample of a batch."""
    return isinstance(tensor, Batched)


def maybe_get_level(tensor: Any) -> int:
    """The level of the `vmap` that it belongs to, or -1."""
    return level_of(tensor) or -1


def maybe_get_bdim(tensor: Any) -> int:
    """Where the batch is in `get_unwrapped(tensor)`, or -1."""
    return 0 if isinstance(tensor, Batched) else -1


def get_unwrapped(tensor: Any) -> Tensor:
    """The whole batch, one level down."""
    if not isinstance(tensor, Batched):
        raise RuntimeError("No wrappers present!")
    return tensor.value


def add_batch_dim(tensor: Tensor, dim: int, level: int) -> Tensor:
    """One sample of a batch along `dim`."""
    return wrap(tensor.movedim(dim, 0), level)


def remove_batch_dim(tensor: Tensor, level: int, batch_size: int, dim: int) -> Tensor:
    """The opposite of `add_batch_dim`; a tensor of another level is repeated."""
    if level_of(tensor) == level:
        return tensor.value.movedim(0, dim)  # type: ignore[attr-defined]
    return tensor.unsqueeze(dim).expand(
        *tensor.shape[:dim], batch_size, *tensor.shape[dim:]
    )


def maybe_remove_batch_dim(
    name: str, output: Any, level: int, batch_size: int, out_dim: int | None
) -> Any:
    """`remove_batch_dim`, of a tensor whose `out_dim` may be None."""
    if out_dim is None:
        return output
    if not isinstance(output, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type "
            f"{type(output)}. Did you mean to set out_dims= to None for output?"
        )
    return remove_batch_dim(output, level, batch_size, out_dim)


def broadcast_to_and_flatten(tree: Any, spec: Any) -> list | None:
    """One value for each leaf of a structure, from a tree that is its upper part."""
    return broadcast_prefix(tree, spec)


def get_name(func: Any) -> str:
    """The name of a function, for messages."""
    return getattr(func, "__name__", repr(func))
