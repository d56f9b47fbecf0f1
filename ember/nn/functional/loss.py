"""Loss functions. `reduction` is "none", "mean" or "sum"."""

import math

import ember
from ember import _C, Tensor
from ember._overridable import overridable
from ember._user_line import warn

logsigmoid = _C._ops["nn.functional.logsigmoid"]
_huber = _C._ops["_huber"]


def _reduction(size_average, reduce, reduction: str) -> str:
    """The reduction, also from the arguments that PyTorch deprecated."""
    if size_average is None and reduce is None:
        if reduction not in ("none", "mean", "sum"):
            raise ValueError(f"{reduction} is not a valid value for reduction")
        return reduction
    size_average = size_average is None or size_average
    reduce = reduce is None or reduce
    name = ("mean" if size_average else "sum") if reduce else "none"
    warn(
        "size_average and reduce args will be deprecated, please use "
        f"reduction='{name}' instead.",
    )
    return name


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    return loss.sum() if reduction == "sum" else loss


def _weighted(loss: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    """Weights of regression losses: the mean is over the weights."""
    if weight is None:
        return _reduced(loss, reduction)
    if weight.shape != loss.shape:
        raise ValueError("Weights and input must have the same size.")
    loss = loss * weight
    if reduction == "mean":
        return loss.sum() / weight.sum()
    return _reduced(loss, reduction)


def _warn_sizes(input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        warn(
            f"Using a target size ({target.size()}) that is different to the input "
            f"size ({input.size()}). This will likely lead to incorrect results due to "
            "broadcasting. Please ensure they have the same size.",
        )


@overridable(traits="float32")
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Squared differences.

    >>> import ember
    >>> ember.nn.functional.mse_loss(ember.ones(2), ember.zeros(2))
    tensor(1.)
    """
    reduction = _reduction(size_average, reduce, reduction)
    _warn_sizes(input, target)
    return _weighted((input - target).square(), weight, reduction)


@overridable(traits="float32")
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Absolute differences.

    Args:
        input: any shape
        target: likewise
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element
        weight: factors of the elements

    >>> F.l1_loss(ember.tensor([1.0, 2.0]), ember.tensor([1.0, 5.0]))
    tensor(1.5000)
    """
    reduction = _reduction(size_average, reduce, reduction)
    _warn_sizes(input, target)
    return _weighted((input - target).abs(), weight, reduction)


@overridable(traits="float32")
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared below `beta`, absolute above.

        d² / (2 beta) where |d| < beta, |d| - beta / 2 elsewhere, for d = input - target

    Args:
        input: any shape
        target: likewise
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element
        beta: where squares end

    >>> F.smooth_l1_loss(ember.tensor([0.5, 3.0]), ember.zeros(2), reduction="none")
    tensor([0.1250, 2.5000])
    """
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, size_average, reduce, reduction)
    reduction = _reduction(size_average, reduce, reduction)
    _warn_sizes(input, target)
    loss = _huber(input - target, beta)
    return _reduced(loss if beta == 1 else loss / beta, reduction)


@overridable(traits="float32")
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Squared below `delta`, absolute times delta above.

    Args:
        input: any shape
        target: likewise
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element
        delta: where squares end
        weight: factors of the elements

    >>> F.huber_loss(ember.tensor([0.5, 10.0]), ember.zeros(2), reduction="none")
    tensor([0.1250, 9.5000])
    """
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    reduction = _reduction(None, None, reduction)
    _warn_sizes(input, target)
    return _weighted(_huber(input - target, delta), weight, reduction)


@overridable(traits="float32")
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Cross entropy of probabilities; logarithms are limited to -100.

        -(target * log(input) + (1 - target) * log(1 - input))

    Args:
        input: probabilities
        target: likewise, in [0, 1]
        weight: factors, broadcast with the input
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    >>> F.binary_cross_entropy(ember.tensor([0.9, 0.1]), ember.tensor([1.0, 0.0]))
    tensor(0.1054)
    """
    reduction = _reduction(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input "
            f"size ({input.size()}) is deprecated. Please ensure they have the same "
            "size."
        )
    if target.dtype != input.dtype:
        raise RuntimeError(f"Found dtype {target.dtype} but expected {input.dtype}")
    if not bool(((input >= 0) & (input <= 1)).all()):
        raise RuntimeError("all elements of input should be between 0 and 1")
    if not bool(((target >= 0) & (target <= 1)).all()):
        raise RuntimeError("all elements of target should be between 0 and 1")
    yes, no = input.log().clamp(min=-100), (-input).log1p().clamp(min=-100)
    loss = (target - 1) * no - target * yes
    return _reduced(loss if weight is None else loss * weight, reduction)


@overridable(traits="float32")
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Cross entropy of the sigmoid of `input`, computed stably.

    Args:
        input: scores of any size
        target: likewise, in [0, 1]
        weight: factors, broadcast with the input
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element
        pos_weight: factors of positive targets, one for each class

    >>> F.binary_cross_entropy_with_logits(ember.tensor([100.0]), ember.tensor([0.0]))
    tensor(100.)
    """
    reduction = _reduction(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size "
            f"({input.size()})"
        )
    logp = logsigmoid(input)
    if pos_weight is None:
        loss = (1 - target) * input - logp
    else:
        loss = (1 - target) * input - ((pos_weight - 1) * target + 1) * logp
    return _reduced(loss if weight is None else loss * weight, reduction)


@overridable(traits="float32")
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Divergence of `target` from log-probabilities `input`.

        target * (log(target) - input)

    Args:
        input: log-probabilities
        target: probabilities, likewise
        reduction: `"batchmean"` divides the sum by the size of the batch
        log_target: the target are log-probabilities, too

    >>> p, q = ember.tensor([[0.5, 0.5]]), ember.tensor([[0.9, 0.1]])
    >>> F.kl_div(q.log(), p, reduction="batchmean")
    tensor(0.5108)
    """
    batch = reduction == "batchmean"
    reduction = _reduction(size_average, reduce, "sum" if batch else reduction)
    if reduction == "mean":
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the "
            "support size.'batchmean' divides only by the batch size, and aligns with "
            "the KL math definition.'mean' will be changed to behave the same as "
            "'batchmean' in the next major release.",
        )
    if log_target:
        loss = target.exp() * (target - input)
    else:
        loss = ember.xlogy(target, target) - target * input
    result = _reduced(loss, reduction)
    return result / input.shape[0] if batch and input.dim() else result


@overridable(traits="float32")
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of Poisson counts.

    Args:
        input: expected counts, or their logarithms
        target: counts, likewise
        log_input: whether the input are logarithms
        full: add Stirling's approximation of log(target!)
        eps: keeps the logarithm finite
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    >>> F.poisson_nll_loss(ember.tensor([0.0]), ember.tensor([3.0]))
    tensor(1.)
    """
    reduction = _reduction(size_average, reduce, reduction)
    if log_input:
        loss = input.exp() - target * input
    else:
        loss = input - target * (input + eps).log()
    if full:
        large = target.clamp(min=1)
        stirling = large * large.log() - large + 0.5 * (2 * math.pi * large).log()
        loss = loss + ember.where(target <= 1, 0.0, stirling)
    return _reduced(loss, reduction)


def _stretches(small: Tensor, large: Tensor) -> bool:
    pairs = list(zip(small.shape, large.shape))
    return small.dim() == large.dim() and all(s in (1, n) for s, n in pairs)


@overridable(traits="float32")
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of normal variables with mean `input`.

        (log(var) + (input - target)² / var) / 2

    Args:
        input: the means
        target: likewise
        var: the variances, likewise or one for each row
        full: add the constant log(2 π) / 2
        eps: the least variance
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    >>> F.gaussian_nll_loss(ember.zeros(1), ember.tensor([2.0]), ember.ones(1))
    tensor(2.)
    """
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * ember.ones_like(input)
    elif bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif not _stretches(var, input):
            raise ValueError("var is of incorrect size")
    reduction = _reduction(None, None, reduction)
    # The limit is applied to the value only; the gradient passes as it is.
    var = var.clone()
    with ember.no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)
