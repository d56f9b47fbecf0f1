"""Dropout: checks and warnings around the ops in core/ops/dropout.cpp."""

import ember
from ember import Tensor
from ember._user_line import warn


def _check_p(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero elements with probability `p` and scale the others by 1 / (1 - p).

    >>> import ember
    >>> ember.nn.functional.dropout(ember.ones(2), p=0.5, training=False)
    tensor([1., 1.])
    """
    _check_p(p)
    drop = ember.dropout_ if inplace else ember.dropout
    return drop(input, p, training)


def _feature_dropout(name, dims, input, p, training, inplace) -> Tensor:
    """Drop whole channels of [N, C, ...] or [C, ...] with `dims` axes beyond C."""
    _check_p(p)
    if input.dim() not in (dims + 1, dims + 2):
        warn(
            f"{name}: Received a {input.dim()}-D input to {name}, which is deprecated "
            f"and will result in an error in a future release. It is recommended to "
            f"pass a {dims + 1}-D or {dims + 2}-D input.",
        )
    if not training or p == 0 or input.numel() == 0:
        return input
    if input.dim() == dims + 1 and dims != 0:
        batched = input.unsqueeze(0)
        result = _channels(batched, p, inplace).squeeze(0)
        return input if inplace else result
    return _channels(input, p, inplace)


def _channels(input: Tensor, p: float, inplace: bool) -> Tensor:
    drop = ember.feature_dropout_ if inplace else ember.feature_dropout
    return drop(input, p, True)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero whole channels of [N, C, L].

    Args:
        input: [N, C, L] or [C, L]
        p: probability that a channel is dropped
        training: whether to drop at all
        inplace: change the input instead of making a new tensor

    >>> F.dropout1d(ember.ones(1, 4, 3), 0.5).shape
    torch.Size([1, 4, 3])
    """
    _check_p(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. "
            "Note that dropout1d exists to provide channel-wise dropout on inputs with "
            "1 spatial dimension, a channel dimension, and an optional batch dimension "
            "(i.e. 2D or 3D inputs)."
        )
    return _feature_dropout("dropout1d", 1, input, p, training, inplace)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero whole channels of [N, C, H, W].

    Args:
        input: [N, C, H, W] or [C, H, W]
        p: probability that a channel is dropped
        training: whether to drop at all
        inplace: change the input instead of making a new tensor

    >>> y = F.dropout2d(ember.ones(1, 100, 2, 2), 0.5)
    >>> y.unique()  # what stays is divided by 1 - p
    tensor([0., 2.])
    """
    _check_p(p)
    if input.dim() == 3:  # PyTorch takes this for [N, C, L]
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that "
            "channel-wise 1D dropout behavior is desired - input is interpreted as "
            "shape (N, C, L), where C is the channel dim.",
        )
        if not training or p == 0:
            return input
        return _channels(input, p, inplace)
    return _feature_dropout("dropout2d", 2, input, p, training, inplace)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero whole channels of [N, C, D, H, W].

    Args:
        input: [N, C, D, H, W] or [C, D, H, W]
        p: probability that a channel is dropped
        training: whether to drop at all
        inplace: change the input instead of making a new tensor

    >>> F.dropout3d(ember.ones(1, 2, 2, 2, 2), training=False).sum()
    tensor(16.)
    """
    return _feature_dropout("dropout3d", 3, input, p, training, inplace)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps mean and variance (arXiv:1706.02515).

    Args:
        input: any shape
        p: probability that an element is dropped
        training: whether to drop at all
        inplace: change the input instead of making a new tensor

    >>> F.alpha_dropout(ember.ones(3), 0.5, training=False)
    tensor([1., 1., 1.])
    """
    _check_p(p)
    drop = ember.alpha_dropout_ if inplace else ember.alpha_dropout
    return drop(input, p, training)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels.

    Args:
        input: [N, C, ...]
        p: probability that a channel is dropped
        training: whether to drop at all
        inplace: change the input instead of making a new tensor

    >>> F.feature_alpha_dropout(ember.ones(1, 2, 3), training=False).sum()
    tensor(6.)
    """
    _check_p(p)
    drop = ember.feature_alpha_dropout_ if inplace else ember.feature_alpha_dropout
    return drop(input, p, training)
