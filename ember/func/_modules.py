"""Modules as functions of their parameters."""

from collections.abc import Sequence
from typing import Any

import ember
from ember import Tensor
from ember.nn import Module
from ember.nn.utils.stateless import call_with


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with given tensors in place of its parameters and buffers.

    >>> import ember
    >>> m = ember.nn.Linear(1, 1, bias=False)
    >>> x, w = ember.tensor([2.0]), ember.tensor([[3.0]])
    >>> ember.func.functional_call(m, {"weight": w}, x)
    tensor([6.])
    """
    tensors = parameter_and_buffer_dicts
    if not isinstance(tensors, dict):
        if not isinstance(tensors, Sequence):
            raise ValueError(
                "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of "
                f"dicts, but got {type(tensors)}"
            )
        if not all(isinstance(d, dict) for d in tensors):
            raise ValueError(
                "Expected all elements of parameter_and_buffer_dicts to be dictionaries"
            )
        names = [name for d in tensors for name in d]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(
                f"{repeated} appeared in multiple dictionaries; behavior of functional "
                "call is ambiguous"
            )
        tensors = {name: value for d in tensors for name, value in d.items()}
    given = (module, tensors, args, kwargs)
    return call_with(*given, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Sequence[Module]) -> tuple[dict, dict]:
    """The parameters and the buffers of like models, stacked, for `vmap`.

    >>> import ember
    >>> models = [ember.nn.Linear(2, 3) for _ in range(4)]
    >>> params, buffers = ember.func.stack_module_state(models)
    >>> params["weight"].shape
    torch.Size([4, 3, 2])
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or not any(m.training for m in models)):
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval "
            "mode."
        )
    if not all(type(m) is type(models[0]) for m in models):
        raise RuntimeError(
            "stack_module_state: Expected all models to be of the same class."
        )
    tables: list[dict] = [dict(m.named_parameters()) for m in models]
    params = {name: _stacked([t[name] for t in tables]) for name in tables[0]}
    tables = [dict(m.named_buffers()) for m in models]
    buffers = {name: _stacked([t[name] for t in tables]) for name in tables[0]}
    return params, buffers


def _stacked(tensors: list) -> Tensor:
    needed = {t.requires_grad for t in tensors}
    if len(needed) > 1:
        raise RuntimeError(
            "Expected parameters from each model to have the same .requires_grad"
        )
    made = ember.stack([t.detach() for t in tensors])
    return made.requires_grad_(needed.pop())


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let every batch norm inside use the statistics of its batch, and keep none.

    >>> import ember
    >>> m = ember.func.replace_all_batch_norm_modules_(ember.nn.BatchNorm1d(2))
    >>> m.running_mean is None
    True
    """
    from ember.nn.modules.batchnorm import _BatchNorm

    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = None
            module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root
