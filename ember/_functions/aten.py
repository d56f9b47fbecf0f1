"""Functions of the top level under the names and with the arguments of PyTorch's own
operators, where nn.functional says the same in other words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ember import Tensor

_REDUCTIONS = ("none", "mean", "sum")
_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def _functional() -> Any:
    from ember.nn import functional

    return functional


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """`nn.functional.pad` with a constant.

    >>> import ember
    >>> ember.constant_pad_nd(ember.ones(2), (1, 2), 5)
    tensor([5., 1., 1., 5., 5.])
    """
    from ember.nn.functional import pad as padded

    return padded(input, pad, "constant", value)


def batch_norm_update_stats(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
) -> tuple[Tensor, Tensor]:
    """The mean and the biased variance of each channel; running ones are updated.

    >>> import ember
    >>> running = ember.zeros(1)
    >>> x = ember.tensor([[1.0], [3.0]])
    >>> ember.batch_norm_update_stats(x, running, None, 0.5)
    (tensor([2.]), tensor([1.]))
    >>> running
    tensor([1.])
    """
    if input.dim() < 2:
        raise IndexError(
            "batch_norm_update_stats(): the input has no dimension of channels, its "
            f"shape is {tuple(input.shape)}"
        )
    if not input.is_floating_point():
        raise NotImplementedError(
            f"batch_norm_update_stats(): not implemented for {input.dtype}"
        )
    if not input.numel():
        raise RuntimeError(
            "input tensor must have at least one element, but got input_sizes = "
            f"{list(input.shape)}"
        )
    axes = [d for d in range(input.dim()) if d != 1]
    input = input.detach()
    var, mean = input.var(axes, unbiased=False), input.mean(axes)
    count = input.numel() // max(input.shape[1], 1)
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(mean, alpha=momentum)
    if running_var is not None:
        unbiased = var * (count / (count - 1)) if count > 1 else var / 0.0
        running_var.mul_(1 - momentum).add_(unbiased, alpha=momentum)
    return mean, var


def grid_sampler(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Tensor:
    """`nn.functional.grid_sample`, with numbers for bilinear, nearest, bicubic and for
    zeros, border, reflection.

    >>> import ember
    >>> image, point = ember.arange(4.0).view(1, 1, 2, 2), ember.zeros(1, 1, 1, 2)
    >>> ember.grid_sampler(image, point, 0, 0, True)
    tensor([[[[1.5000]]]])
    """
    from ember.nn.functional import grid_sample

    if not 0 <= interpolation_mode < 3 or not 0 <= padding_mode < 3:
        raise RuntimeError(
            "grid_sampler(): interpolation_mode and padding_mode are 0, 1 or 2, got "
            f"{interpolation_mode} and {padding_mode}"
        )
    return grid_sample(
        input, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners
    )


def grid_sampler_2d(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Tensor:
    """`grid_sampler` of images [N, C, H, W]."""
    _check_dims(input, grid, 4)
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Tensor:
    """`grid_sampler` of volumes [N, C, D, H, W]."""
    _check_dims(input, grid, 5)
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def _check_dims(input: Tensor, grid: Tensor, dims: int) -> None:
    if input.shape[:1] == grid.shape[:1] and not input.dim() == grid.dim() == dims:
        raise RuntimeError(
            f"grid_sampler(): expected {dims}D input and grid with same number of "
            f"dimensions, but got input with sizes {list(input.shape)} and grid with "
            f"sizes {list(grid.shape)}"
        )


def affine_grid_generator(
    theta: Tensor, size: Sequence[int], align_corners: bool
) -> Tensor:
    """`nn.functional.affine_grid`."""
    from ember.nn.functional import affine_grid

    return affine_grid(theta, size, align_corners)


def adaptive_max_pool1d(
    input: Tensor, output_size: int | Sequence[int]
) -> tuple[Tensor, Tensor]:
    """The maxima of `nn.functional.adaptive_max_pool1d`, and where they are."""
    return _functional().adaptive_max_pool1d(input, output_size, return_indices=True)


def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` at `indices`.

    >>> import ember
    >>> ember.embedding(ember.tensor([[1.0], [2.0]]), ember.tensor([1, 0, 1]))
    tensor([[2.],
            [1.],
            [2.]])
    """
    padding = None if padding_idx < 0 else padding_idx
    return _functional().embedding(
        indices,
        weight,
        padding,
        scale_grad_by_freq=scale_grad_by_freq,
        sparse=sparse,
    )


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """`nn.functional.batch_norm`, with its arguments in another order."""
    return _functional().batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """`nn.functional.instance_norm`, with its arguments in another order."""
    return _functional().instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norms of the slices along `dim` (all of it as one vector for -1).

    >>> import ember
    >>> ember.norm_except_dim(ember.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5.],
            [1.]])
    """
    if dim == -1:
        return v.norm(pow)
    lines = v.transpose(0, dim)
    shape = [lines.shape[0], *([1] * (v.dim() - 1))]
    return lines.flatten(1).norm(pow, 1).view(shape).transpose(0, dim)


def conv_tbc(input, weight, bias, pad: int = 0) -> Tensor:
    """A convolution of [time, batch, channels]; the weight is [time, in, out].

    >>> import ember
    >>> x, w = ember.ones(5, 1, 2), ember.ones(3, 2, 4)
    >>> ember.conv_tbc(x, w, ember.zeros(4)).shape
    torch.Size([3, 1, 4])
    """
    conv1d = _functional().conv1d
    made = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return made.permute(2, 0, 1)


def convolution(
    input,
    weight,
    bias,
    stride,
    padding,
    dilation,
    transposed: bool,
    output_padding,
    groups: int,
) -> Tensor:
    """A convolution, or a transposed one, over as many axes as the weight has."""
    axes = weight.dim() - 2
    if not 1 <= axes <= 3:
        raise RuntimeError(
            f"convolution(): the weight has {weight.dim()} dimensions; 3 to 5 expected"
        )
    from ember.nn import functional as F

    strides, pads, steps = tuple(stride), tuple(padding), tuple(dilation)
    if transposed:
        run = getattr(F, f"conv_transpose{axes}d")
        more = (tuple(output_padding), groups, steps)
        return run(input, weight, bias, strides, pads, *more)
    run = getattr(F, f"conv{axes}d")
    return run(input, weight, bias, strides, pads, steps, groups)


def embedding_renorm_(input, indices, max_norm: float, norm_type: float) -> Tensor:
    """Scale the rows that `indices` name down to a norm of `max_norm`, in place."""
    table = input.detach()
    rows = indices.unique()
    picked = table[rows]
    norms = picked.norm(norm_type, 1, keepdim=True)
    table[rows] = picked * (max_norm / (norms + 1e-7)).masked_fill(norms <= max_norm, 1)
    return input


def as_strided_(
    input: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Tensor:
    """`Tensor.as_strided_`."""
    return input.as_strided_(size, stride, storage_offset)


def detach_(input: Tensor) -> Tensor:
    """`Tensor.detach_`."""
    return input.detach_()


# --- losses, which take a number for the reduction: 0 none, 1 mean, 2 sum -------------


def _named(reduction: int) -> str:
    if reduction not in (0, 1, 2):
        raise ValueError(
            f"{reduction} is not a valid value for reduction; expected 0 (none), 1 "
            "(mean) or 2 (sum)"
        )
    return _REDUCTIONS[reduction]


def _loss(name: str, *args: object, reduction: int, **options: object) -> Tensor:
    """The loss of that name in `nn.functional`."""
    return getattr(_functional(), name)(*args, reduction=_named(reduction), **options)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 1,
) -> Tensor:
    """`nn.functional.binary_cross_entropy_with_logits`."""
    return _loss(
        "binary_cross_entropy_with_logits",
        input,
        target,
        weight,
        pos_weight=pos_weight,
        reduction=reduction,
    )


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    reduction: int = 1,
) -> Tensor:
    """`nn.functional.cosine_embedding_loss`."""
    return _loss(
        "cosine_embedding_loss", input1, input2, target, margin, reduction=reduction
    )


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> Tensor:
    """`nn.functional.ctc_loss`."""
    return _loss(
        "ctc_loss",
        log_probs,
        targets,
        input_lengths,
        target_lengths,
        blank,
        reduction=reduction,
        zero_infinity=zero_infinity,
    )


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 1
) -> Tensor:
    """`nn.functional.hinge_embedding_loss`."""
    return _loss("hinge_embedding_loss", input, target, margin, reduction=reduction)


def kl_div(
    input: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False
) -> Tensor:
    """`nn.functional.kl_div`, without its warning about the mean."""
    loss = _functional().kl_div(input, target, reduction="none", log_target=log_target)
    how = _named(reduction)
    return loss if how == "none" else loss.mean() if how == "mean" else loss.sum()


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    reduction: int = 1,
) -> Tensor:
    """`nn.functional.margin_ranking_loss`."""
    return _loss(
        "margin_ranking_loss", input1, input2, target, margin, reduction=reduction
    )


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool,
    full: bool,
    eps: float,
    reduction: int,
) -> Tensor:
    """`nn.functional.poisson_nll_loss`."""
    return _loss(
        "poisson_nll_loss", input, target, log_input, full, eps=eps, reduction=reduction
    )


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 1,
) -> Tensor:
    """`nn.functional.triplet_margin_loss`."""
    return _loss(
        "triplet_margin_loss",
        anchor,
        positive,
        negative,
        margin,
        p,
        eps,
        swap,
        reduction=reduction,
    )
