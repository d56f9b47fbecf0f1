"""Modules as functions of their parameters, as functorch had them, and its view of the
tensors that `vmap` passes: opacus and tensordict import them."""

from __future__ import annotations

import copy
from typing import Any

from ember import Tensor, _unavailable
from ember.func import (
    functional_call,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    vjp,
    vmap,
)
from ember.func._batched import Batched, level_of, levels, wrap
from ember.func._grad import _argnums
from ember.nn import Module
from ember.utils._pytree import broadcast_prefix

__all__ = [
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "vjp",
    "vmap",
]
_REASON = "make_functional returns functions here, not objects of this class"
FunctionalModule = _unavailable.kind("_compat.functorch.FunctionalModule", _REASON)
FunctionalModuleWithBuffers = _unavailable.kind(
    "_compat.functorch.FunctionalModuleWithBuffers", _REASON
)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple:
    """(f, parameters, buffers) with `f(parameters, buffers, *args)`."""
    template = copy.deepcopy(model)
    names = [name for name, _ in model.named_parameters()]
    buffer_names = [name for name, _ in model.named_buffers()]
    params = tuple(
        p.detach() if disable_autograd_tracking else p for p in model.parameters()
    )

    def function(params: Any, buffers: Any, *args: Any, **kwargs: Any) -> Any:
        state = dict(zip(names, params)) | dict(zip(buffer_names, buffers))
        return functional_call(template, state, args, kwargs)

    return function, params, tuple(model.buffers())


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple:
    """(f, parameters) with `f(parameters, *args)`."""
    function, params, buffers = make_functional_with_buffers(
        model, disable_autograd_tracking
    )
    if buffers:
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use "
            "make_functional_with_buffers(model) instead."
        )
    return lambda params, *a, **k: function(params, (), *a, **k), params


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
