"""Losses over classes by margins, over several labels, and over sequences (CTC)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ember import Tensor
from ember._types import DeviceLike, Dtype
from ember.nn import functional as F
from ember.nn.modules.linear import Linear
from ember.nn.modules.loss import NLLLoss, _Loss, _WeightedLoss
from ember.nn.modules.module import Layer


class NLLLoss2d(NLLLoss):
    """Old name of NLLLoss.

    >>> nn.NLLLoss2d()(ember.zeros(1, 2, 3, 3), ember.zeros(1, 3, 3, dtype=ember.int64))
    tensor(0.)
    """


class MultiMarginLoss(_WeightedLoss):
    """Margins between the target class and every other.

        sum over i != target of max(0, margin - x[target] + x[i])^p / C

    Args:
        p: 1 or 2
        margin: by how much the target class should be ahead
        weight: factors of the classes
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    Shape:
        input [N, C], target [N]

    >>> nn.MultiMarginLoss()(ember.tensor([[0.1, 0.2, 0.4, 0.8]]), ember.tensor([3]))
    tensor(0.3250)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"weight must be None or 1-D, got {weight.dim()}-D")
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        options = {"p": self.p, "margin": self.margin, "weight": self.weight}
        return F.multi_margin_loss(input, target, **options, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """Margins between every target class and every other.

        sum over i, j of max(0, 1 - (x[target[j]] - x[i])) / C

    Targets are class indices, with -1 after the last one.

    Args:
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    Shape:
        input and target [N, C] or [C]

    >>> x = ember.tensor([0.1, 0.2, 0.4, 0.8])
    >>> nn.MultiLabelMarginLoss()(x, ember.tensor([3, 0, -1, 1]))
    tensor(0.8500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Binary cross entropy of every class, averaged over classes.

    Args:
        weight: factors of the classes
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    Shape:
        input and target (zeros and ones) [N, C]

    >>> x, y = ember.tensor([[2.0, -1.0]]), ember.tensor([[1.0, 0.0]])
    >>> nn.MultiLabelSoftMarginLoss()(x, y)
    tensor(0.2201)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(
            input, target, weight=self.weight, reduction=self.reduction
        )


class TripletMarginWithDistanceLoss(_Loss):
    """max(0, margin + d(anchor, positive) - d(anchor, negative)) with any distance.

    Args:
        distance_function: of two tensors; the Euclidean one if it is None
        margin: by how much the negative should be farther
        swap: take the positive as anchor where that is nearer to the negative
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    >>> def cosine(x, y):
    ...     return 1 - F.cosine_similarity(x, y)
    >>> loss = nn.TripletMarginWithDistanceLoss(distance_function=cosine, margin=0.5)
    >>> a, p, n = ember.eye(2), ember.eye(2), ember.eye(2).flip(0)
    >>> loss(a, p, n)
    tensor(0.)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(
                "TripletMarginWithDistanceLoss: expected margin to be greater than 0, "
                f"got {margin} instead"
            )
        if distance_function is None:
            distance_function = F.pairwise_distance
        self.distance_function = distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class CTCLoss(_Loss):
    """Minus the log-probability of label sequences, over all alignments.

    >>> import ember
    >>> logp = ember.zeros(2, 1, 3).log_softmax(2)
    >>> loss = ember.nn.CTCLoss(reduction="sum")
    >>> loss(logp, ember.tensor([[1]]), [2], [1])  # of 9, "1-", "-1" and "11"
    tensor(1.0986)
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self,
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Tensor | Sequence[int],
        target_lengths: Tensor | Sequence[int],
    ) -> Tensor:
        options = (self.blank, self.reduction, self.zero_infinity)
        lengths = (input_lengths, target_lengths)
        return F.ctc_loss(log_probs, targets, *lengths, *options)


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How PyTorch cuts a LinearCrossEntropyLoss into pieces.

    The result does not depend on it; here the logits are computed in one piece.

    >>> nn.LinearCrossEntropyOptions(batch_chunk_size=64).batch_chunk_size
    64
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: object = None


class LinearCrossEntropyLoss(Layer):
    """Cross entropy of logits that a Linear makes of the input.

    `cross_entropy(x @ weight.T + bias, target)` with a weight of its own.

    Args:
        in_features: size of the last axis of the input
        num_classes: number of classes
        bias: learn a summand for each class
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element
        weight: factors of the classes
        ignore_index: targets of this value count for nothing
        label_smoothing: share of the target that is spread over all classes

    >>> loss = nn.LinearCrossEntropyLoss(4, 10)
    >>> loss(ember.randn(3, 4), ember.tensor([1, 7, 0])).shape
    torch.Size([])
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        super().__init__()
        self.reduction = reduction
        self.register_buffer("weight", weight)
        self.in_features = in_features
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        size = num_classes * math.prod(self.out_features)
        self.linear = Linear(in_features, size, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, self.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
