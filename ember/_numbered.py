"""Functions of the top level whose choices are numbers: what `nn.functional` has by
the names "none", "mean" and "sum" is called 0, 1 and 2 here, as in PyTorch.
"""

import ember
import ember.nn.functional as F
from ember import Tensor

_REDUCTIONS = ("none", "mean", "sum")
_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")
_BAGS = ("sum", "mean", "max")


def _named(names: tuple, number: int, op: str) -> str:
    if isinstance(number, str) or not 0 <= number < len(names):
        raise ValueError(f"{op}(): {number!r} is not one of 0 to {len(names) - 1}")
    return names[number]


def binary_cross_entropy_with_logits(
    input, target, weight=None, pos_weight=None, reduction: int = 1
) -> Tensor:
    """`nn.functional.binary_cross_entropy_with_logits`."""
    how = _named(_REDUCTIONS, reduction, "binary_cross_entropy_with_logits")
    options = {"pos_weight": pos_weight, "reduction": how}
    return F.binary_cross_entropy_with_logits(input, target, weight, **options)


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=1) -> Tensor:
    """`nn.functional.cosine_embedding_loss`."""
    how = _named(_REDUCTIONS, reduction, "cosine_embedding_loss")
    given = (input1, input2, target, margin)
    return F.cosine_embedding_loss(*given, reduction=how)


def ctc_loss(
    log_probs,
    targets,
    input_lengths,
    target_lengths,
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> Tensor:
    """`nn.functional.ctc_loss`."""
    how = _named(_REDUCTIONS, reduction, "ctc_loss")
    lengths = (input_lengths, target_lengths)
    return F.ctc_loss(log_probs, targets, *lengths, blank, how, zero_infinity)


def hinge_embedding_loss(input, target, margin=1.0, reduction: int = 1) -> Tensor:
    """`nn.functional.hinge_embedding_loss`."""
    how = _named(_REDUCTIONS, reduction, "hinge_embedding_loss")
    return F.hinge_embedding_loss(input, target, margin, reduction=how)


def kl_div(input, target, reduction: int = 1, *, log_target: bool = False) -> Tensor:
    """`nn.functional.kl_div`.

    >>> import ember
    >>> p = ember.tensor([0.5, 0.5])
    >>> ember.kl_div(p.log(), p, reduction=2)
    tensor(0.)
    """
    how = _named(_REDUCTIONS, reduction, "kl_div")
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about "mean", which was asked for here
        return F.kl_div(input, target, reduction=how, log_target=log_target)


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=1) -> Tensor:
    """`nn.functional.margin_ranking_loss`."""
    how = _named(_REDUCTIONS, reduction, "margin_ranking_loss")
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=how)


def poisson_nll_loss(input, target, log_input, full, eps, reduction) -> Tensor:
    """`nn.functional.poisson_nll_loss`."""
    how = _named(_REDUCTIONS, reduction, "poisson_nll_loss")
    options = {"full": full, "eps": eps, "reduction": how}
    return F.poisson_nll_loss(input, target, log_input, **options)


def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 1,
) -> Tensor:
    """`nn.functional.triplet_margin_loss`."""
    how = _named(_REDUCTIONS, reduction, "triplet_margin_loss")
    options = {"margin": margin, "p": p, "eps": eps, "swap": swap, "reduction": how}
    return F.triplet_margin_loss(anchor, positive, negative, **options)


def embedding(
    weight, indices, padding_idx: int = -1, scale_grad_by_freq=False, sparse=False
) -> Tensor:
    """Rows of `weight`: `nn.functional.embedding` with its arguments turned around.

    >>> import ember
    >>> ember.embedding(ember.eye(2), ember.tensor([1]))
    tensor([[0., 1.]])
    """
    skipped = None if padding_idx < 0 else padding_idx
    options = {"scale_grad_by_freq": scale_grad_by_freq, "sparse": sparse}
    return F.embedding(indices, weight, skipped, **options)


def embedding_renorm_(input, indices, max_norm: float, norm_type: float) -> Tensor:
    """Scale the rows that `indices` name down to a norm of `max_norm`, in place."""
    with ember.no_grad():
        rows = indices.unique()
        picked = input[rows]
        norms = picked.norm(norm_type, 1, keepdim=True)
        factors = ember.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0)
        input[rows] = picked * factors
    return input


def grid_sampler(
    input, grid, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`nn.functional.grid_sample`."""
    mode = _named(_MODES, interpolation_mode, "grid_sampler")
    padding = _named(_PADDINGS, padding_mode, "grid_sampler")
    return F.grid_sample(input, grid, mode, padding, align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def affine_grid_generator(theta, size, align_corners: bool) -> Tensor:
    """`nn.functional.affine_grid`."""
    return F.affine_grid(theta, size, align_corners)


def adaptive_max_pool1d(input, output_size) -> tuple[Tensor, Tensor]:
    """The largest values, and where they are."""
    return F.adaptive_max_pool1d_with_indices(input, output_size)


def constant_pad_nd(input, pad, value=0) -> Tensor:
    """`nn.functional.pad` with a constant.

    >>> import ember
    >>> ember.constant_pad_nd(ember.ones(2), (1, 0), 5)
    tensor([5., 1., 1.])
    """
    return F.pad(input, tuple(pad), "constant", value)


def conv_tbc(input, weight, bias, pad: int = 0) -> Tensor:
    """A convolution of [time, batch, channels]; the weight is [time, in, out].

    >>> import ember
    >>> x, w = ember.ones(5, 1, 2), ember.ones(3, 2, 4)
    >>> ember.conv_tbc(x, w, ember.zeros(4)).shape
    torch.Size([3, 1, 4])
    """
    made = F.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
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
    strides, pads, steps = tuple(stride), tuple(padding), tuple(dilation)
    if transposed:
        run = getattr(F, f"conv_transpose{axes}d")
        more = (tuple(output_padding), groups, steps)
        return run(input, weight, bias, strides, pads, *more)
    run = getattr(F, f"conv{axes}d")
    return run(input, weight, bias, strides, pads, steps, groups)


def frobenius_norm(input, dim=(), keepdim: bool = False) -> Tensor:
    """The root of the sum of squares over `dim`, or over everything."""
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    return ember.linalg.vector_norm(input, 2, dims or None, keepdim)


def nuclear_norm(input, dim=None, keepdim: bool = False) -> Tensor:
    """The sum of the singular values of matrices."""
    rows, columns = (-2, -1) if dim is None else dim
    rank = input.dim()
    if dim is None and rank != 2:
        raise RuntimeError(
            f"nuclear_norm(): expected a matrix, got {rank} dimensions; give dim"
        )
    moved = input.movedim((rows, columns), (-2, -1))
    total = ember.linalg.svdvals(moved).sum(-1)
    if keepdim:
        for d in sorted((rows % rank, columns % rank)):
            total = total.unsqueeze(d)
    return total
