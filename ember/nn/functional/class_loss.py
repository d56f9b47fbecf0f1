"""Losses over classes by margins, over several labels, and over sequences (CTC)."""

from collections.abc import Callable, Sequence
from typing import Any

import ember
from ember import _C, Tensor
from ember._overridable import overridable
from ember.nn.functional.layers import pairwise_distance
from ember.nn.functional.loss import _reduced, _reduction

cross_entropy = _C._ops["nn.functional.cross_entropy"]


@overridable(traits="float32")
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes i of max(0, margin - input[target] + input[i]) ** p.

    Args:
        input: [N, C] or [C]
        target: [N] or a number
        p: 1 or 2
        margin: by how much the target class should be ahead
        weight: factors of the classes
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    >>> F.multi_margin_loss(ember.tensor([[0.1, 0.8]]), ember.tensor([1]))
    tensor(0.1500)
    """
    reduction = _reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    _check_margins("multi_margin_loss", input, target)
    batched = input.dim() == 2
    if input.dim() > 2 or target.dim() > 1 or 0 in input.shape[-1:]:
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but "
            f"got: {list(input.shape)}"
        )
    x = input if batched else input.reshape(1, -1)
    y = target.reshape(-1)
    if x.shape[0] != y.shape[0]:
        raise RuntimeError(f"inconsistent target size, got: {list(target.shape)}")
    classes = x.shape[1]
    if y.numel() and not 0 <= int(y.min()) <= int(y.max()) < classes:
        raise RuntimeError("target out of range")
    if weight is not None and weight.shape[0] != classes:
        raise RuntimeError(f"inconsistent weight size, got: {list(weight.shape)}")
    if weight is not None and weight.dtype != input.dtype:
        raise RuntimeError(
            f"multi_margin_loss(): expected weight of {input.dtype}, but got "
            f"{weight.dtype}"
        )
    index = y.unsqueeze(1)
    short = (margin - x.gather(1, index) + x).clamp(min=0)
    if p == 2:
        short = short * short
    if weight is not None:
        short = short * weight.index_select(0, y).unsqueeze(1)
    own = ember.zeros(x.shape, dtype=ember.bool, device=x.device)
    own = own.scatter(1, index, True)
    loss = short.masked_fill(own, 0.0).sum(1) / classes
    return _reduced(loss if batched and target.dim() else loss.squeeze(0), reduction)


@overridable(traits="float32")
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Margins between every target class (up to the first -1) and every other.

    Args:
        input: [N, C] or [C]
        target: class indices, likewise, with -1 after the last one
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    >>> x, y = ember.tensor([0.1, 0.2, 0.4, 0.8]), ember.tensor([3, 0, -1, 1])
    >>> F.multilabel_margin_loss(x, y)
    tensor(0.8500)
    """
    reduction = _reduction(size_average, reduce, reduction)
    if input.dim() > 2 or 0 in input.shape[-1:]:
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but "
            f"got: {list(input.shape)}"
        )
    if target.shape != input.shape:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: "
            f"{list(input.shape)}"
        )
    _check_margins("multilabel_margin_loss", input, target)
    batched = input.dim() == 2
    x, y = input, target
    if not batched:
        x, y = x.reshape(1, -1), y.reshape(1, -1)
    classes = x.shape[1]
    if y.numel() and not -1 <= int(y.min()) <= int(y.max()) < classes:
        raise RuntimeError(
            "multilabel_margin_loss(): argument #2 'target' is out of range: classes "
            f"are 0 to {classes - 1}, and -1 ends a list, but got {int(y.min())} to "
            f"{int(y.max())}"
        )
    listed = (y < 0).to(ember.int64).cumsum(1) == 0  # before the first -1
    index = y.clamp(min=0)
    marks = ember.zeros(y.shape, dtype=ember.int64, device=y.device)
    is_target = marks.scatter_add(1, index, listed.to(ember.int64)) > 0
    short = (1 - x.gather(1, index).unsqueeze(2) + x.unsqueeze(1)).clamp(min=0)
    counted = listed.unsqueeze(2) & ~is_target.unsqueeze(1)
    loss = ember.where(counted, short, 0.0).sum((1, 2)) / classes
    return _reduced(loss if batched else loss.squeeze(0), reduction)


def _check_margins(op: str, input: Tensor, target: Tensor) -> None:
    if target.dtype != ember.int64:
        raise RuntimeError(
            f"{op}(): expected a target of int64, but got {target.dtype}"
        )
    if not input.is_floating_point():
        raise NotImplementedError(f"{op}(): not implemented for {input.dtype}")


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Binary cross entropy of every class, averaged over classes.

    Args:
        input: [N, C]
        target: likewise, zeros and ones
        weight: factors of the classes
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    >>> x, y = ember.tensor([[2.0, -1.0]]), ember.tensor([[1.0, 0.0]])
    >>> F.multilabel_soft_margin_loss(x, y)
    tensor(0.2201)
    """
    reduction = _reduction(size_average, reduce, reduction)
    logsigmoid = _C._ops["nn.functional.logsigmoid"]
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return _reduced(loss.sum(-1) / input.shape[-1], reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin + d(anchor, positive) - d(anchor, negative)) with any distance.

    Args:
        anchor: [N, ...]
        positive: what should be near
        negative: what should be farther, by `margin`
        distance_function: of two tensors; the Euclidean one if it is None
        swap: take the positive as anchor where that is nearer to the negative
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element

    >>> a, p, n = ember.zeros(1, 2), ember.ones(1, 2), ember.tensor([[0.0, 1.5]])
    >>> F.triplet_margin_with_distance_loss(a, p, n, margin=0.5)
    tensor(0.4142)
    """
    reduction = _reduction(None, None, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same "
            f"number of dimensions, but got: anchor {anchor.dim()}D, positive "
            f"{positive.dim()}D, and negative {negative.dim()}D inputs"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ember.minimum(far, distance(positive, negative))
    return _reduced((margin + near - far).clamp(min=0), reduction)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """Cross entropy of logits that are a linear function of `input`.

    The weight is [classes, ..., in_features]; axes in between make a loss of several
    dimensions.

    Args:
        input: [N, in_features]
        linear_weight: [classes, in_features]
        target: [N]
        linear_bias: [classes]
        weight: factors of the classes
        reduction: `"mean"`, `"sum"` or `"none"`, which gives the loss of each element
        ignore_index: targets of this value count for nothing
        label_smoothing: share of the target that is spread over all classes

    >>> x, w, y = ember.ones(2, 3), ember.zeros(4, 3), ember.tensor([0, 1])
    >>> F.linear_cross_entropy(x, w, y)  # log(4): nothing is known
    tensor(1.3863)
    """
    if input.dim() not in (1, 2):
        raise RuntimeError(
            f"expected input with dimensionality 1 or 2, got {input.dim()}"
        )
    shape = linear_weight.shape[:-1]
    if input.dim() == 1 and len(shape) > 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape "
            f"{tuple(linear_weight.shape)} requires batched input, (N, "
            f"{linear_weight.shape[-1]}), got unbatched input with shape "
            f"{tuple(input.shape)}"
        )
    logits = ember.matmul(input, linear_weight.reshape(-1, input.shape[-1]).t())
    logits = logits.reshape(*input.shape[:-1], *shape)
    if linear_bias is not None:
        if linear_bias.shape != shape:
            raise RuntimeError(
                f"linear_bias shape {tuple(linear_bias.shape)} must be {tuple(shape)}, "
                "the shape of linear_weight without its last axis"
            )
        logits = logits + linear_bias
    return cross_entropy(
        logits,
        target,
        weight=weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


_NEVER = -1e30  # log of a probability that is zero; finite, so gradients are too


@overridable(traits="float32")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log-probability of label sequences, over all alignments.

    `log_probs` is [T, N, C] or [T, C]; targets are [N, S] or one after the other. As
    in PyTorch the gradient takes `log_probs` for the result of a log_softmax.
    (Graves et al. 2006, doi:10.1145/1143844.1143891)

    >>> log_probs = ember.zeros(4, 1, 3).log_softmax(2)  # 4 steps, 3 labels
    >>> F.ctc_loss(log_probs, ember.tensor([[1, 2]]), (4,), (2,), reduction="sum")
    tensor(1.6864)
    """
    reduction = _reduction(None, None, reduction)
    batched = log_probs.dim() == 3
    _check_ctc_inputs(log_probs, targets)
    logp = log_probs if batched else log_probs.unsqueeze(1)
    steps, batch, classes = logp.shape
    device = logp.device

    def lengths(values) -> list[int]:
        if isinstance(values, Tensor):
            if values.is_floating_point() or values.is_complex():
                raise RuntimeError(
                    f"ctc_loss(): lengths must be integral, but got {values.dtype}"
                )
            values = values.flatten().tolist()
        return list(values) if isinstance(values, (list, tuple)) else [values]

    long, wide = lengths(input_lengths), lengths(target_lengths)
    _check_ctc(steps, batch, classes, long, wide, blank)
    _check_ctc_targets(targets, wide, batch)
    states = _ctc_states(targets, wide, batch, blank, device)
    # A label may be reached from two states before unless it repeats the last one.
    skips = ember.zeros(states.shape, dtype=ember.bool, device=device)
    skips[:, 2:] = (states[:, 2:] != states[:, :-2]) & (states[:, 2:] != blank)
    emitted = logp.gather(2, states.unsqueeze(0).expand(steps, -1, -1))
    long_t = ember.tensor(long, dtype=ember.int64, device=device).unsqueeze(1)
    never = logp.new_full((batch, 2), _NEVER)
    first = ember.arange(states.shape[1], device=device) < 2
    alpha = logp.new_full(states.shape, _NEVER)
    start = ember.where(first, 0.0, alpha)
    for t in range(steps):
        if t == 0:
            moved = start + emitted[0]
        else:
            padded = ember.cat([never, alpha], 1)
            one, two = padded[:, 1:-1], ember.where(skips, padded[:, :-2], _NEVER)
            moved = ember.logsumexp(ember.stack([alpha, one, two]), 0) + emitted[t]
        alpha = ember.where(long_t > t, moved, alpha)
    last = ember.tensor(wide, dtype=ember.int64, device=device).unsqueeze(1) * 2
    ends = alpha.gather(1, last)
    before = alpha.gather(1, (last - 1).clamp(min=0))
    before = ember.where(last > 0, before, _NEVER)
    empty = (long_t == 0) & (last == 0)  # nothing to emit in no time: certain
    total = ember.where(empty, 0.0, ember.logaddexp(ends, before)).squeeze(1)
    # No value, but the gradient of the normalization by log_softmax.
    inside = ember.arange(steps, device=device).unsqueeze(1) < long_t.t()
    weight = ember.where(inside.unsqueeze(2), logp.detach().exp(), 0.0)
    loss = (weight * (logp - logp.detach())).sum((0, 2)) - total
    impossible = total < _NEVER / 2
    loss = ember.where(impossible, 0.0 if zero_infinity else float("inf"), loss)
    if reduction == "mean":
        return (loss / (last.squeeze(1) // 2).clamp(min=1).to(loss.dtype)).mean()
    return _reduced(loss if batched else loss.squeeze(0), reduction)


def _ctc_states(targets: Tensor, wide, batch: int, blank: int, device) -> Tensor:
    """[N, 2 S + 1]: labels with a blank before, between and after them."""
    longest = max(wide, default=0)
    states = ember.full((batch, 2 * longest + 1), blank, dtype=ember.int64)
    flat, at = targets.reshape(-1).to(ember.int64), 0
    for n, length in enumerate(wide):
        if targets.dim() == 2:
            row = targets[n, :length].to(ember.int64)
        else:
            row, at = flat[at : at + length], at + length
        if length:
            states[n, 1 : 2 * length : 2] = row
    return states.to(device)


def _check_ctc_inputs(log_probs: Tensor, targets: Tensor) -> None:
    if log_probs.dim() not in (2, 3):
        raise RuntimeError(
            "ctc_loss(): Expected 2 or 3 dimensions of log_probs, but got "
            f"{log_probs.dim()}"
        )
    if log_probs.dtype not in (ember.float32, ember.float64):
        raise NotImplementedError(
            f"ctc_loss(): not implemented for {log_probs.dtype}, but for float32 and "
            "float64"
        )
    if log_probs.numel() == 0:
        raise RuntimeError("log_probs tensor must not be empty")
    if targets.dim() not in (1, 2):
        raise RuntimeError(
            "ctc_loss(): Expected 1 to 2 dimensions, but got "
            f"{targets.dim()}-dimensional tensor for argument #2 'targets'"
        )


def _check_ctc_targets(targets: Tensor, wide, batch: int) -> None:
    if targets.dim() == 1 and targets.shape[0] != sum(wide):
        raise RuntimeError(
            f"ctc_loss(): Expected tensor to have size {sum(wide)} at dimension 0, but "
            f"got size {targets.shape[0]} for argument #2 'targets'"
        )
    if targets.dim() == 2 and targets.shape[0] != batch:
        raise RuntimeError(
            f"ctc_loss(): Expected tensor to have size {batch} at dimension 0, but got "
            f"size {targets.shape[0]} for argument #2 'targets'"
        )
    if targets.dim() == 2 and targets.shape[1] < max(wide, default=0):
        raise RuntimeError(
            f"ctc_loss(): Expected tensor to have size at least {max(wide)} at "
            f"dimension 1, but got size {targets.shape[1]} for argument #2 'targets'"
        )


def _check_ctc(steps, batch, classes, long, wide, blank) -> None:
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    if len(long) != batch:
        raise RuntimeError("input_lengths must be of size batch_size")
    if len(wide) != batch:
        raise RuntimeError("target_lengths must be of size batch_size")
    if any(not 0 <= n <= steps for n in long):
        raise RuntimeError(
            f"Expected input_lengths to have value at most {steps}, but got "
            f"{max(long)} (while checking arguments for ctc_loss_cpu)"
        )
    if any(n < 0 for n in wide):
        raise RuntimeError("Expected target_lengths to have value at least 0")
