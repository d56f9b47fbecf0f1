"""Losses that compare distances and margins."""

import ember
from ember import Tensor
from ember._overridable import overridable
from ember.nn.functional.layers import pairwise_distance
from ember.nn.functional.loss import _reduced, _reduction


@overridable(traits="float32")
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`input` where the target is 1, max(0, margin - input) where it is -1.

    Args:
        input: distances
        target: likewise, 1 or -1
        margin: distances above it cost nothing for targets -1
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    >>> F.hinge_embedding_loss(ember.tensor([0.3, 0.3]), ember.tensor([1.0, -1.0]))
    tensor(0.5000)
    """
    reduction = _reduction(size_average, reduce, reduction)
    apart = ember.where(target != 1, (margin - input).clamp(min=0), 0.0)
    near = ember.where(target != -1, input, 0.0)
    return _reduced(apart + near, reduction)


@overridable(traits="float32")
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin).

    Args:
        input1: any shape
        input2: likewise
        target: 1 where the first should be larger, -1 where the second
        margin: by how much
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    >>> F.margin_ranking_loss(ember.ones(1), ember.zeros(1), ember.ones(1), margin=3.0)
    tensor(2.)
    """
    reduction = _reduction(size_average, reduce, reduction)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but "
            f"got sizes: input1: {input1.size()}, input2: {input2.size()}, target: "
            f"{target.size()} "
        )
    loss = (-target * (input1 - input2) + margin).clamp(min=0)
    return _reduced(loss, reduction)


@overridable(traits="float32")
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target * input)).

    Args:
        input: any shape
        target: likewise, 1 and -1
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    >>> F.soft_margin_loss(ember.tensor([0.0, 5.0]), ember.ones(2))
    tensor(0.3499)
    """
    reduction = _reduction(size_average, reduce, reduction)
    return _reduced((-target * input).exp().log1p(), reduction)


@overridable(traits="float32")
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cosine for targets 1, max(0, cosine - margin) for targets -1.

    Args:
        input1: [N, D] or [D]
        input2: likewise
        target: 1 for pairs that belong together, -1 for others
        margin: cosines below it cost nothing for targets -1
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    >>> a, b = ember.tensor([[1.0, 0.0]]), ember.tensor([[1.0, 0.0]])
    >>> F.cosine_embedding_loss(a, b, ember.tensor([-1]))
    tensor(1.)
    """
    reduction = _reduction(size_average, reduce, reduction)
    dim = target.dim()
    if dim > 1:
        raise RuntimeError(
            "0D or 1D target tensor expected, multi-target not supported, but got "
            f"{list(target.shape)}"
        )
    if not input1.dim() == input2.dim() == dim + 1:
        raise RuntimeError(
            f"{dim}D target tensor expects {dim + 1}D input tensors, but found inputs "
            f"with sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    tiny = 1e-12
    dot = (input1 * input2).sum(dim)
    size = (input1 * input1).sum(dim) + tiny
    cosine = dot / (size * ((input2 * input2).sum(dim) + tiny)).sqrt()
    same = ember.where(target == 1, 1 - cosine, 0.0)
    other = ember.where(target == -1, (cosine - margin).clamp(min=0), 0.0)
    return _reduced(same + other, reduction)


@overridable(traits="float32")
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin + d(anchor, positive) - d(anchor, negative)).

    Args:
        anchor: [N, D]
        positive: what should be near
        negative: what should be farther, by `margin`
        p: exponent of the distance
        swap: take the positive as anchor where that is nearer to the negative
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    >>> a, p, n = ember.zeros(1, 2), ember.ones(1, 2), ember.tensor([[0.0, 1.5]])
    >>> F.triplet_margin_loss(a, p, n)
    tensor(0.9142)
    """
    reduction = _reduction(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same "
            f"number of dimensions, but got: anchor {anchor.dim()}D, positive "
            f"{positive.dim()}D, and negative {negative.dim()}D inputs"
        )
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = ember.minimum(far, pairwise_distance(positive, negative, p, eps))
    near = pairwise_distance(anchor, positive, p, eps)
    return _reduced((margin + near - far).clamp(min=0), reduction)
