"""Pruning of parameters of modules, by name; each method as one call."""

from collections.abc import Iterable
from typing import Any

import ember
from ember import Tensor
from ember.nn.modules.module import Module
from ember.nn.utils.prune._base import BasePruningMethod, PruningContainer
from ember.nn.utils.prune._methods import (
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    RandomStructured,
    RandomUnstructured,
)


def identity(module: Module, name: str) -> Module:
    """Give a parameter a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: int | float) -> Module:
    """Prune entries of a parameter at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module,
    name: str,
    amount: int | float,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prune the smallest entries of a parameter.

    >>> import ember
    >>> from ember.nn.utils import prune
    >>> m = prune.l1_unstructured(ember.nn.Linear(2, 3), "weight", amount=2)
    >>> int((m.weight == 0).sum())
    2
    >>> sorted(m.state_dict())
    ['bias', 'weight_mask', 'weight_orig']
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(
    module: Module, name: str, amount: int | float, dim: int
) -> Module:
    """Prune channels of a parameter at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: int | float,
    n: float | str,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prune the channels of a parameter with the smallest norm."""
    given = (module, name, amount, n, dim)
    LnStructured.apply(*given, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune a parameter by a mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters as if they were one vector."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters = list(parameters)
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores is not a dict")
    if pruning_method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
            f"Found method {pruning_method} of type {pruning_method.PRUNING_TYPE}"
        )
    vector = ember.nn.utils.parameters_to_vector(
        [scores.get((m, n), getattr(m, n)) for m, n in parameters]
    )
    default = ember.nn.utils.parameters_to_vector(
        [getattr(m, n + "_mask", ember.ones_like(getattr(m, n))) for m, n in parameters]
    )
    method = PruningContainer()
    method._tensor_name = "temp"
    own = pruning_method(**kwargs)
    own._tensor_name = "temp"
    method.add_pruning_method(own)
    mask = method.compute_mask(vector, default)
    start = 0
    for module, name in parameters:
        param = getattr(module, name)
        stop = start + param.numel()
        custom_from_mask(module, name, mask=mask[start:stop].view_as(param))
        start = stop


def remove(module: Module, name: str) -> Module:
    """Make the pruning of a parameter permanent, without mask and hook."""
    for key, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be "
        "removed"
    )


def is_pruned(module: Module) -> bool:
    """Whether a module, or one inside it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for part in module.modules()
        for hook in part._forward_pre_hooks.values()
    )
