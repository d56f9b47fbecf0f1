"""Modules as functions of their parameters, as functorch had them: opacus imports
them."""

from __future__ import annotations

import copy
from typing import Any

from ember.func import functional_call
from ember.func._grad import _argnums
from ember.nn import Module


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
