"""Losses as modules; the functions are in `functional/loss.py`."""

from ember import Tensor, _lazy
from ember.nn import functional as F
from ember.nn.functional.loss import _reduction
from ember.nn.modules.module import Layer


class _Loss(Layer):
    """Base of losses: how the elements' losses are reduced."""

    reduction: str

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        old = size_average is not None or reduce is not None
        self.reduction = (
            _reduction(size_average, reduce, reduction) if old else reduction
        )


class _WeightedLoss(_Loss):
    """Base of losses with a weight for each class."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """Absolute differences.

        |input - target|

    Args:
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    Shape:
        input and target alike

    >>> nn.L1Loss()(ember.tensor([1.0, 2.0]), ember.tensor([1.0, 5.0]))
    tensor(1.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """Squared differences.

    >>> import ember
    >>> ember.nn.MSELoss()(ember.ones(2), ember.zeros(2))
    tensor(1.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Squared below `beta`, absolute above.

        d² / (2 beta) where |d| < beta, |d| - beta / 2 elsewhere; d = input - target

    Args:
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element
        beta: where squares end

    Shape:
        input and target alike

    >>> loss = nn.SmoothL1Loss(reduction="none")
    >>> loss(ember.tensor([0.5, 3.0]), ember.zeros(2))
    tensor([0.1250, 2.5000])
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Squared below `delta`, absolute times delta above.

        d² / 2 where |d| < delta, delta * (|d| - delta / 2) elsewhere, for d = x - y

    Outliers pull less than with squares.

    Args:
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element
        delta: where squares end

    Shape:
        input and target alike

    >>> loss = nn.HuberLoss(reduction="none")
    >>> loss(ember.tensor([0.5, 10.0]), ember.tensor([0.0, 0.0]))
    tensor([0.1250, 9.5000])
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (int, float)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, self.reduction, self.delta)


class NLLLoss(_WeightedLoss):
    """Minus the log-probability of the target class.

    The input are log-probabilities, as `LogSoftmax` gives them; `CrossEntropyLoss` does
    both in one step.

    Args:
        weight: factors of the classes
        ignore_index: targets of this value count for nothing
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    Shape:
        input [N, C] or [N, C, ...], target [N] or [N, ...]

    >>> log_p = ember.tensor([[0.2, 0.8], [0.5, 0.5]]).log()
    >>> nn.NLLLoss(reduction="none")(log_p, ember.tensor([1, 0]))
    tensor([0.2231, 0.6931])
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class CrossEntropyLoss(_WeightedLoss):
    """Cross entropy of logits with class indices or probabilities.

    >>> import ember
    >>> ember.nn.CrossEntropyLoss()(ember.zeros(1, 2), ember.tensor([1]))
    tensor(0.6931)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class BCELoss(_WeightedLoss):
    """Cross entropy of probabilities with targets in [0, 1].

        -(target * log(input) + (1 - target) * log(1 - input))

    The input must lie in [0, 1]; for scores of any size take `BCEWithLogitsLoss`, which
    does not overflow.

    Args:
        weight: factors of the elements, broadcast with the input
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    Shape:
        input and target alike; a number, or that shape with `reduction="none"`

    >>> loss = nn.BCELoss(reduction="none")
    >>> loss(ember.tensor([0.5, 0.9]), ember.tensor([1.0, 0.0]))
    tensor([0.6931, 2.3026])
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(
            input, target, weight=self.weight, reduction=self.reduction
        )


class BCEWithLogitsLoss(_Loss):
    """Cross entropy of the sigmoid of the input.

    The same as `BCELoss` of `sigmoid(input)`, but exact where the sigmoid rounds to 0
    or 1.

    Args:
        weight: factors of the elements, broadcast with the input
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element
        pos_weight: factor of the positive targets, one for each class, against classes
            that are rare

    Shape:
        input and target alike; a number, or that shape with `reduction="none"`

    >>> loss = nn.BCEWithLogitsLoss()
    >>> loss(ember.tensor([0.0, 100.0]), ember.tensor([1.0, 1.0]))
    tensor(0.3466)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input,
            target,
            self.weight,
            pos_weight=self.pos_weight,
            reduction=self.reduction,
        )


class KLDivLoss(_Loss):
    """Divergence of the target from log-probabilities.

        target * (log(target) - input)

    The input are log-probabilities, as `LogSoftmax` gives them. `reduction="batchmean"`
    divides the sum by the size of the batch, which is what the mathematics says;
    `"mean"` divides by the number of elements.

    Args:
        reduction: `"batchmean"`, `"mean"`, `"sum"` or `"none"`
        log_target: the target are log-probabilities, too

    Shape:
        input and target alike, the batch first

    >>> p = ember.tensor([[0.5, 0.5]])
    >>> q = ember.tensor([[0.9, 0.1]])
    >>> nn.KLDivLoss(reduction="batchmean")(q.log(), p)
    tensor(0.5108)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        batch = reduction == "batchmean"
        super().__init__(size_average, reduce, "mean" if batch else reduction)
        if batch:
            self.reduction = reduction
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(
            input, target, reduction=self.reduction, log_target=self.log_target
        )


class PoissonNLLLoss(_Loss):
    """Negative log-likelihood of Poisson counts.

        exp(input) - target * input, or input - target * log(input + eps)

    Args:
        log_input: the input is the logarithm of the expected count
        full: add Stirling's approximation of log(target!)
        eps: keeps the logarithm finite
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    Shape:
        input and target alike

    >>> nn.PoissonNLLLoss()(ember.tensor([0.0]), ember.tensor([3.0]))
    tensor(1.)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(_Loss):
    """Negative log-likelihood of normal variables.

        (log(var) + (input - target)² / var) / 2

    A network that gives a mean and a variance learns with it how sure it is.

    Args:
        full: add the constant log(2 π) / 2
        eps: the least variance
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    Shape:
        input (the mean), target and var alike, or var with a last axis of size 1

    >>> mean, target = ember.tensor([0.0]), ember.tensor([2.0])
    >>> nn.GaussianNLLLoss()(mean, target, ember.tensor([1.0]))
    tensor(2.)
    >>> nn.GaussianNLLLoss()(mean, target, ember.tensor([4.0]))  # less sure, better
    tensor(1.1931)
    """

    def __init__(
        self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:
        return F.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


class _MarginLoss(_Loss):
    """Base of losses with a margin."""

    default_margin = 0.0

    def __init__(
        self,
        margin: float | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = self.default_margin if margin is None else margin


class HingeEmbeddingLoss(_MarginLoss):
    """The input for targets 1, max(0, margin - input) for targets -1.

    The input is a distance of a pair: pairs with target 1 are pulled together, those
    with -1 pushed beyond the margin.

    Args:
        margin: 1 if it is None
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    Shape:
        input and target alike

    >>> loss = nn.HingeEmbeddingLoss(reduction="none")
    >>> loss(ember.tensor([0.3, 0.3]), ember.tensor([1.0, -1.0]))
    tensor([0.3000, 0.7000])
    """

    default_margin = 1.0

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(
            input, target, margin=self.margin, reduction=self.reduction
        )


class MarginRankingLoss(_MarginLoss):
    """max(0, -target * (input1 - input2) + margin).

    Target 1 says that the first input should be the larger one, -1 the second.

    Args:
        margin: by how much; 0 if it is None
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    Shape:
        three tensors alike

    >>> loss = nn.MarginRankingLoss(margin=0.5, reduction="none")
    >>> loss(ember.tensor([2.0, 1.0]), ember.tensor([1.0, 2.0]), ember.ones(2))
    tensor([0.0000, 1.5000])
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class CosineEmbeddingLoss(_MarginLoss):
    """1 - cosine for targets 1, max(0, cosine - margin) for targets -1.

    Pulls vectors of pairs with target 1 together, and pushes those with target -1 apart
    until their cosine is below `margin`.

    Args:
        margin: 0 if it is None
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    Shape:
        two inputs [N, D] and targets [N]

    >>> a, b = ember.tensor([[1.0, 0.0]]), ember.tensor([[0.0, 1.0]])
    >>> nn.CosineEmbeddingLoss()(a, b, ember.tensor([1]))
    tensor(1.)
    >>> nn.CosineEmbeddingLoss()(a, b, ember.tensor([-1]))
    tensor(0.)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)).

    Targets are 1 and -1.

    Args:
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    Shape:
        input and target alike

    >>> nn.SoftMarginLoss()(ember.tensor([0.0, 5.0]), ember.tensor([1.0, 1.0]))
    tensor(0.3499)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """max(0, margin + d(anchor, positive) - d(anchor, negative)).

    The anchor should be nearer to the positive than to the negative, by a margin.

    Args:
        margin: by how much
        p: exponent of the distance
        eps: added to the differences
        swap: take the positive as anchor where that is nearer to the negative
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    Shape:
        three tensors [N, D]

    >>> a, p, n = ember.zeros(1, 2), ember.ones(1, 2), ember.tensor([[0.0, 1.5]])
    >>> nn.TripletMarginLoss()(a, p, n)
    tensor(0.9142)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginLoss: expected margin to be greater than 0, got {margin}"
                " instead"
            )
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


__getattr__ = _lazy.missing(__name__)
