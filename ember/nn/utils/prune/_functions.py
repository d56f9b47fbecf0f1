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
    """Give a parameter a mask of ones.

    >>> layer = nn.utils.prune.identity(nn.Linear(2, 1), "weight")
    >>> nn.utils.prune.is_pruned(layer), layer.weight_mask
    (True, tensor([[1., 1.]]))
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: int | float) -> Module:
    """Prune entries of a parameter at random.

    Args:
        module: whose parameter
        name: the name of the parameter
        amount: how many entries, or which share

    >>> layer = nn.utils.prune.random_unstructured(nn.Linear(3, 4), "weight", 5)
    >>> layer.weight_mask.sum()
    tensor(7.)
    """
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
    """Prune channels of a parameter at random.

    Args:
        module: whose parameter
        name: the name of the parameter
        amount: how many channels, or which share
        dim: the axis of the channels

    >>> layer = nn.utils.prune.random_structured(nn.Linear(3, 4), "weight", 1, dim=1)
    >>> layer.weight_mask.sum(0).count_nonzero()
    tensor(2)
    """
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
    """Prune the channels of a parameter with the smallest norm.

    Args:
        module: whose parameter
        name: the name of the parameter
        amount: how many channels, or which share
        n: exponent of the norm
        dim: the axis of the channels
        importance_scores: what to judge by instead of the parameter

    >>> layer = nn.utils.prune.ln_structured(nn.Linear(3, 4), "weight", 0.5, n=2, dim=0)
    >>> layer.weight_mask.sum(1).count_nonzero()
    tensor(2)
    """
    given = (module, name, amount, n, dim)
    LnStructured.apply(*given, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune a parameter by a mask.

    Args:
        module: whose parameter
        name: the name of the parameter
        mask: 1 where an entry is kept

    >>> layer = nn.Linear(2, 1)
    >>> _ = nn.utils.prune.custom_from_mask(layer, "weight", ember.tensor([[1.0, 0.0]]))
    >>> layer.weight[0, 1].item()
    0.0
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters as if they were one vector.

    Args:
        parameters: pairs of module and name
        pruning_method: a class such as `L1Unstructured`
        importance_scores: what to judge by instead of the parameters

    >>> a, b = nn.Linear(4, 1), nn.Linear(4, 1)
    >>> nn.utils.prune.global_unstructured(
    ...     [(a, "weight"), (b, "weight")], nn.utils.prune.L1Unstructured, amount=5
    ... )
    >>> int(a.weight_mask.sum() + b.weight_mask.sum())
    3
    """
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
    """Make the pruning of a parameter permanent, without mask and hook.

    >>> layer = nn.utils.prune.l1_unstructured(nn.Linear(4, 1), "weight", 2)
    >>> layer = nn.utils.prune.remove(layer, "weight")
    >>> layer.weight.count_nonzero(), nn.utils.prune.is_pruned(layer)
    (tensor(2), False)
    """
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
    """Whether a module, or one inside it, is pruned.

    >>> nn.utils.prune.is_pruned(nn.Linear(2, 1))
    False
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for part in module.modules()
        for hook in part._forward_pre_hooks.values()
    )
