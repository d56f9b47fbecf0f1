"""Rows of a table (core/ops/embedding.cpp), and sums, means and maxima of them."""

import ember
from ember import Tensor
from ember._user_line import warn


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of `weight`; the row `padding_idx` gets no gradient.

    >>> import ember
    >>> ember.nn.functional.embedding(ember.tensor([1, 0]), ember.eye(2))
    tensor([[0., 1.],
            [1., 0.]])
    """
    if padding_idx is None:
        padding_idx = -1
    else:
        rows = weight.shape[0]
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    if max_norm is not None:
        _renormalize(input, weight, max_norm, norm_type)
    if not sparse or not (weight.requires_grad and ember.is_grad_enabled()):
        return ember.embedding(weight, input, padding_idx, scale_grad_by_freq)
    if scale_grad_by_freq:
        weight = _scaled_by_frequency(input, weight, sparse)
    rows = _rows_of(
        weight, input.reshape(-1), sparse, None if padding_idx < 0 else padding_idx
    )
    return rows.view(*input.shape, weight.shape[1])


def _rows_of(
    weight: Tensor, index: Tensor, sparse: bool, padding_idx: int | None = None
) -> Tensor:
    """weight[index]; `sparse`: with a sparse gradient, that has no padding."""
    if not sparse or not (weight.requires_grad and ember.is_grad_enabled()):
        return weight.index_select(0, index)
    from ember.sparse._engine import Rows

    return Rows.apply(weight, index, padding_idx)


def _scaled_by_frequency(input: Tensor, weight: Tensor, sparse: bool) -> Tensor:
    """`weight`, but a row used n times gets 1/n of the sum of its gradients."""
    if sparse:
        from ember.sparse._engine import NoSparseGradient

        return NoSparseGradient.apply(weight)
    counts = ember.bincount(input.reshape(-1), minlength=weight.shape[0])
    scale = (1.0 / counts.clamp(min=1)).to(weight.dtype).unsqueeze(1)
    return weight * scale + (weight - weight * scale).detach()


def _renormalize(input: Tensor, weight: Tensor, max_norm: float, norm_type: float):
    with ember.no_grad():
        ember.embedding_renorm_(weight, input, max_norm, norm_type)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """One vector for every bag of indices: the mean, sum or max of its rows.

    Bags are the rows of a 2-D `input`, or begin at `offsets` of a 1-D one. An empty
    bag gives zeros; `padding_idx` counts as absent.

    >>> import ember
    >>> rows = ember.tensor([[1.0], [2.0], [4.0]])
    >>> ids, offsets = ember.tensor([0, 1, 2]), ember.tensor([0, 1])
    >>> ember.nn.functional.embedding_bag(ids, rows, offsets, mode="sum")
    tensor([[1.],
            [6.]])
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if weight.dtype == ember.int64 and input.is_floating_point():
        warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage "
            "`embedding_bag(weight, input, ...)` is deprecated, and should now be "
            "`embedding_bag(input, weight, ...)`.",
        )
        input, weight = weight, input
    if mode == "max":
        if scale_grad_by_freq:
            raise ValueError(
                "max mode does not support scaling the gradient by the frequency"
            )
        if sparse:
            raise ValueError("max mode does not support sparse weights")
    _check_weights(input, per_sample_weights, mode)
    input, start = _bags(input, offsets, include_last_offset)
    if per_sample_weights is not None:
        per_sample_weights = per_sample_weights.reshape(-1)[: input.numel()]
    if padding_idx is not None:
        input, start, per_sample_weights = _without_padding(
            input, start, per_sample_weights, padding_idx, weight.shape[0]
        )
    if max_norm is not None:
        _renormalize(input, weight, max_norm, norm_type)
    if scale_grad_by_freq:
        weight = _scaled_by_frequency(input, weight, sparse)
    sizes = start.diff()
    try:
        if mode == "max" or sparse:
            rows = _rows_of(weight, input, sparse)
            total = _of_rows(rows, sizes, per_sample_weights, mode)
        else:
            if per_sample_weights is None:
                per_sample_weights = weight.new_ones(input.shape)
            parts = (start, input, per_sample_weights, weight, weight.shape[0])
            total = ember._csr_mm(*parts)
    except (IndexError, RuntimeError):
        if (sizes < 0).any():
            raise RuntimeError(
                "embedding_bag: offsets must not decrease, as each bag begins where "
                f"the one before it ends, but got {start[: sizes.numel()].tolist()}"
            ) from None
        outside = input[(input < 0) | (input >= weight.shape[0])]
        if outside.numel() == 0:
            raise
        raise RuntimeError(
            "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to "
            f"be {outside[0].item()} (num_embeddings is {weight.shape[0]})"
        ) from None
    if mode != "mean":
        return total
    return total / sizes.clamp(min=1).unsqueeze(-1).to(total.dtype)


def _of_rows(
    vectors: Tensor, sizes: Tensor, weights: Tensor | None, mode: str
) -> Tensor:
    """The sum or the maximum of each bag of `vectors`, `sizes` of them at a time."""
    count = sizes.numel()
    bags = ember.arange(count, device=sizes.device).repeat_interleave(sizes)
    if weights is not None:
        vectors = vectors * weights.unsqueeze(-1)
    zeros = vectors.new_zeros((count, vectors.shape[1]))
    if mode == "max":
        places = bags.unsqueeze(-1).expand(vectors.shape)
        return zeros.scatter_reduce(0, places, vectors, "amax", include_self=False)
    return zeros.index_add(0, bags, vectors)


def _without_padding(
    input: Tensor, start: Tensor, weights: Tensor | None, padding_idx: int, rows: int
) -> tuple[Tensor, Tensor, Tensor | None]:
    if not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-rows} through "
            f"{rows - 1}, but got {padding_idx}"
        )
    keep = input != padding_idx % rows
    kept = keep.nonzero().reshape(-1)
    before = ember.nn.functional.pad(keep.to(ember.int64).cumsum(0), (1, 0))
    if weights is not None:
        weights = weights.index_select(0, kept)
    return input.index_select(0, kept), before.index_select(0, start), weights


def _check_weights(input: Tensor, weights: Tensor | None, mode: str) -> None:
    if weights is None:
        return
    if weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({list(weights.shape)}) is not "
            f"None, then it must have the same shape as the input "
            f"({list(input.shape)})"
        )
    if mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is "
            f"only supported for mode='sum' (got mode='{mode}'). Please open a feature "
            "request on GitHub."
        )


def _bags(
    input: Tensor, offsets: Tensor | None, include_last: bool
) -> tuple[Tensor, Tensor]:
    """The indices of all bags, and where each begins; the end of the last, too."""
    kind = {"dtype": ember.int64, "device": input.device}
    if input.dtype not in (ember.int64, ember.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following "
            f"scalar types: Long, Int; but got {input.dtype} instead (while checking "
            "arguments for embedding_bag)"
        )
    if offsets is not None and offsets.dtype not in (ember.int64, ember.int32):
        raise RuntimeError(
            "embedding_bag(): expected offsets to be of int64 or int32, but got "
            f"{offsets.dtype}"
        )
    if include_last and offsets is not None and offsets.numel() == 0:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    input = input.to(ember.int64)
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a "
                "mini-batch of fixed length sequences. However, found offsets of type "
                f"{type(offsets)}"
            )
        count, length = input.shape
        return input.reshape(-1), ember.arange(count + 1, **kind) * length
    if input.dim() != 1:
        raise ValueError(
            "input has to be 1D or 2D Tensor, but got Tensor of dimension "
            f"{input.dim()}"
        )
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    offsets = offsets.to(ember.int64)
    count = input.numel()
    if offsets.numel() == 0:
        return input[:0], ember.zeros(1, **kind)
    if offsets.device.type == "meta":
        first = last = 0
    else:
        first, last = int(offsets[0]), int(offsets[-1])
    if first != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to "
            f"start from position 0. However, got {first}"
        )
    if last > count:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {count} but got "
            f"offsets[-1] of {last}"
        )
    if include_last:
        return input[:last], offsets
    return input, ember.cat([offsets, ember.full((1,), count, **kind)])
