"""Losses. `sizeAverage` means the mean over elements, or over samples where classes are
chosen; without it, the sum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ember import Tensor
from ember.legacy.nn.module import Criterion, Table
from ember.nn import functional as F


def criterion(name: str, function: Callable[..., Tensor], **defaults: Any) -> type:
    """A class that computes `function(input, target, reduction=..., **arguments)`."""
    names = list(defaults)

    def __init__(self: Criterion, *args: Any, **kwargs: Any) -> None:
        Criterion.__init__(self)
        order = [*names, "sizeAverage"]
        given = dict(zip(order, args, strict=False)) | kwargs
        unknown = set(given) - set(order)
        if unknown or len(args) > len(order):
            raise TypeError(f"nn.{name} takes {', '.join(order)}, got {args} {kwargs}")
        for key, value in ({"sizeAverage": True} | defaults | given).items():
            setattr(self, key, value)

    def compute(self: Criterion, input: Table, target: Table) -> Tensor:
        values = {key: getattr(self, key) for key in names}
        reduction = "mean" if self.sizeAverage else "sum"
        return function(input, target, reduction=reduction, **values)

    body = {
        "__init__": __init__,
        "compute": compute,
        "__doc__": f"{name}: see ember.nn.functional.",
        "__module__": __name__,
    }
    return type(name, (Criterion,), body)


def _nll(x: Tensor, target: Any, reduction: str, weights: Tensor | None) -> Tensor:
    if x.dim() == 1:
        x, target = x.unsqueeze(0), _as_classes(target, x)
    return F.nll_loss(x, target.long(), weights, reduction=reduction)


def _cross_entropy(
    x: Tensor, target: Any, reduction: str, weights: Tensor | None
) -> Tensor:
    if x.dim() == 1:
        x, target = x.unsqueeze(0), _as_classes(target, x)
    return F.cross_entropy(x, target.long(), weights, reduction=reduction)


def _as_classes(target: Any, x: Tensor) -> Tensor:
    import ember

    return ember.as_tensor(target, device=x.device).reshape(1)


AbsCriterion = criterion("AbsCriterion", F.l1_loss)
BCECriterion = criterion(
    "BCECriterion",
    lambda x, t, reduction, weights: F.binary_cross_entropy(
        x, t, weights, reduction=reduction
    ),
    weights=None,
)
ClassNLLCriterion = criterion("ClassNLLCriterion", _nll, weights=None)
CrossEntropyCriterion = criterion("CrossEntropyCriterion", _cross_entropy, weights=None)
SpatialClassNLLCriterion = criterion("SpatialClassNLLCriterion", _nll, weights=None)
DistKLDivCriterion = criterion("DistKLDivCriterion", F.kl_div)
MSECriterion = criterion("MSECriterion", F.mse_loss)
SmoothL1Criterion = criterion("SmoothL1Criterion", F.smooth_l1_loss)
SoftMarginCriterion = criterion("SoftMarginCriterion", F.soft_margin_loss)
MultiLabelMarginCriterion = criterion(
    "MultiLabelMarginCriterion", F.multilabel_margin_loss
)
MultiLabelSoftMarginCriterion = criterion(
    "MultiLabelSoftMarginCriterion",
    lambda x, t, reduction, weights: F.multilabel_soft_margin_loss(
        x, t, weights, reduction=reduction
    ),
    weights=None,
)
MultiMarginCriterion = criterion(
    "MultiMarginCriterion",
    lambda x, t, reduction, p, weights, margin: F.multi_margin_loss(
        x, t, p, margin, weights, reduction=reduction
    ),
    p=1,
    weights=None,
    margin=1.0,
)
HingeEmbeddingCriterion = criterion(
    "HingeEmbeddingCriterion",
    lambda x, t, reduction, margin: F.hinge_embedding_loss(
        x, t, margin, reduction=reduction
    ),
    margin=1.0,
)
MarginCriterion = criterion(
    "MarginCriterion",
    lambda x, t, reduction, margin: _reduced((margin - x * t).clamp_min(0), reduction),
    margin=1.0,
)
CosineEmbeddingCriterion = criterion(
    "CosineEmbeddingCriterion",
    lambda xs, t, reduction, margin: F.cosine_embedding_loss(
        xs[0], xs[1], t, margin, reduction=reduction
    ),
    margin=0.0,
)
MarginRankingCriterion = criterion(
    "MarginRankingCriterion",
    lambda xs, t, reduction, margin: F.margin_ranking_loss(
        xs[0], xs[1], t, margin, reduction=reduction
    ),
    margin=1.0,
)
L1HingeEmbeddingCriterion = criterion(
    "L1HingeEmbeddingCriterion",
    lambda xs, t, reduction, margin: F.hinge_embedding_loss(
        (xs[0] - xs[1]).abs().sum().reshape(1), t, margin, reduction="sum"
    ),
    margin=1.0,
)
L1Cost = criterion("L1Cost", lambda x, t, reduction: x.abs().sum())


def _reduced(x: Tensor, reduction: str) -> Tensor:
    return x.mean() if reduction == "mean" else x.sum()


class MultiCriterion(Criterion):
    """A weighted sum of losses of the same input and target."""

    def __init__(self) -> None:
        super().__init__()
        self.criterions: list[Criterion] = []
        self.weights: list[float] = []

    def add(self, criterion: Criterion, weight: float = 1.0) -> MultiCriterion:
        self.criterions.append(criterion)
        self.weights.append(weight)
        return self

    def _pairs(self, input: Table, target: Table) -> Any:
        return [(input, target)] * len(self.criterions)

    def compute(self, input: Table, target: Table) -> Tensor:
        pairs = self._pairs(input, target)
        losses = [
            weight * criterion.compute(x, t)
            for criterion, weight, (x, t) in zip(
                self.criterions, self.weights, pairs, strict=True
            )
        ]
        return sum(losses[1:], losses[0])


class ParallelCriterion(MultiCriterion):
    """One loss for each entry of the input and target tables."""

    def __init__(self, repeatTarget: bool = False) -> None:
        super().__init__()
        self.repeatTarget = repeatTarget

    def _pairs(self, input: Table, target: Table) -> Any:
        targets = [target] * len(input) if self.repeatTarget else target
        return list(zip(input, targets, strict=True))
