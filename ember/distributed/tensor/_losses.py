"""Losses of distributed tensors: of each element, then their sum or mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ember
from ember.distributed.tensor._api import DTensor
from ember.distributed.tensor._dispatch import Call, Names, Rule, _run
from ember.distributed.tensor.placement_types import Shard

# Losses whose elements are functions of the elements of input and target.
_ELEMENTWISE = """mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy
    binary_cross_entropy_with_logits soft_margin_loss poisson_nll_loss""".split()


def _elementwise(func: Callable, *args: Any, **kwargs: Any) -> Any:
    import ember.distributed.tensor._rules as rules

    reduction = kwargs.pop("reduction", "mean")
    if kwargs.pop("size_average", None) is not None or kwargs.pop("reduce", None):
        raise NotImplementedError(f"{func.__name__}(): give reduction= instead")
    call = Call(func, func.__name__, args, {**kwargs, "reduction": "none"})
    names = rules._pointwise(call)
    assert names is not None
    each = _run(call, Rule(rules._pointwise), names)
    if reduction == "none":
        return each
    if reduction not in ("sum", "mean"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return each.sum() if reduction == "sum" else each.mean()


def _class_names(call: Call) -> Names:
    """Scores [N, C, ...] or [C] and targets [N, ...]: the classes must be whole."""
    scores, target = call.tensors[:2]
    at = 0 if scores.dim() == 1 else 1
    places = [None if d == at else d for d in range(scores.dim())]
    out = [d for d in places if d is not None]
    same = target.dim() == scores.dim()  # probabilities
    rest = [[None] * t.dim() for t in call.tensors[2:]]
    return Names([places, list(places) if same else out, *rest], out)


def _by_class(
    func: Callable,
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """`cross_entropy` and `nll_loss`."""
    from ember.distributed.tensor.parallel._loss import class_parallel

    if size_average is not None or reduce is not None:
        raise NotImplementedError(f"{func.__name__}(): give reduction= instead")
    kwargs: dict[str, Any] = {"ignore_index": ignore_index, "reduction": "none"}
    if func.__name__ == "cross_entropy":
        kwargs["label_smoothing"] = label_smoothing
    at = 0 if input.dim() == 1 else 1
    cut = [isinstance(p, Shard) and p.dim == at for p in _placements(input)]
    if any(cut) and class_parallel():
        if func.__name__ != "cross_entropy" or weight is not None or label_smoothing:
            raise NotImplementedError(
                "loss_parallel(): cross_entropy of scores and indices only, without "
                "weight and label_smoothing"
            )
        from ember.distributed.tensor.parallel._loss import cross_entropy

        each = cross_entropy(input, target, ignore_index)
    else:
        args = (input, target) if weight is None else (input, target, weight)
        call = Call(func, func.__name__, args, kwargs)
        each = _run(call, Rule(_class_names), _class_names(call))
    if reduction == "none":
        return each
    if reduction == "sum":
        return each.sum()
    return each.sum() / _count(input, target, weight, ignore_index)


def _placements(t: Any) -> tuple:
    return t._placements if isinstance(t, DTensor) else ()


def _count(input: Any, target: Any, weight: Any, ignore_index: int) -> Any:
    """What a mean over the targets is divided by."""
    if target.is_floating_point():  # probabilities: all count
        return target.numel() // input.size(0 if input.dim() == 1 else 1)
    counted = target != ignore_index
    if weight is None:
        return counted.to(input.dtype).sum()
    index = ember.where(counted, target, 0)
    each = ember.nn.functional.embedding(index, weight.unsqueeze(-1)).squeeze(-1)
    return (each * counted.to(weight.dtype)).sum()


TABLE: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(_ELEMENTWISE, _elementwise),
    "cross_entropy": _by_class,
    "nll_loss": _by_class,
}
