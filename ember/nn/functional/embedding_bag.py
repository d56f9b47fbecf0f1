"""Sums, means and maxima of embedding vectors."""

import ember
from ember import Tensor
from ember.nn.functional.layers import _renormalize, _rows_of, _scaled_by_frequency


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
    if sparse and mode == "max":
        raise ValueError("max mode does not support sparse weights")
    _check_weights(input, per_sample_weights, mode)
    input, bags, count = _bags(input, offsets, include_last_offset)
    if per_sample_weights is not None:
        per_sample_weights = per_sample_weights.reshape(-1)
    rows = weight.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise RuntimeError(
                f"padding_idx must be within the number of embeddings, {-rows} through "
                f"{rows - 1}, but got {padding_idx}"
            )
        kept = (input != padding_idx % rows).nonzero().reshape(-1)
        input, bags = input.index_select(0, kept), bags.index_select(0, kept)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.index_select(0, kept)
    if max_norm is not None:
        _renormalize(input, weight, max_norm, norm_type)
    if scale_grad_by_freq:
        weight = _scaled_by_frequency(input, weight, sparse)
    vectors = _rows_of(weight, input, sparse)
    if per_sample_weights is not None:
        vectors = vectors * per_sample_weights.unsqueeze(-1)
    zeros = weight.new_zeros((count, weight.shape[1]))
    if mode == "max":
        places = bags.unsqueeze(-1).expand(vectors.shape)
        return zeros.scatter_reduce(0, places, vectors, "amax", include_self=False)
    total = zeros.index_add(0, bags, vectors)
    if mode == "sum":
        return total
    ones = ember.ones(input.shape, dtype=weight.dtype, device=weight.device)
    sizes = weight.new_zeros((count,)).index_add(0, bags, ones)
    return total / sizes.clamp(min=1).unsqueeze(-1)


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
) -> tuple[Tensor, Tensor, int]:
    """The indices, the bag of each, and how many bags there are."""
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a "
                "mini-batch of fixed length sequences. However, found offsets of type "
                f"{type(offsets)}"
            )
        count, length = input.shape
        places = ember.arange(count, device=input.device)
        return input.reshape(-1), places.repeat_interleave(length), count
    if input.dim() != 1:
        raise ValueError(
            "input has to be 1D or 2D Tensor, but got Tensor of dimension "
            f"{input.dim()}"
        )
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    starts = offsets.tolist()
    if starts and starts[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to "
            f"start from position 0. However, got {starts[0]}"
        )
    stops = starts[1:] if include_last else [*starts[1:], input.numel()]
    if starts and starts[-1] > input.numel():
        raise RuntimeError(
            "offsets[-1] can not be greater than input's length "
            f"({input.numel()}), got {starts[-1]}"
        )
    lengths = [stop - start for start, stop in zip(starts, stops)]
    if any(n < 0 for n in lengths):
        raise RuntimeError("embedding_bag(): offsets must not decrease")
    count = len(lengths)
    kind = {"dtype": ember.int64, "device": input.device}
    bags = ember.arange(count, **kind).repeat_interleave(ember.tensor(lengths, **kind))
    return input[: sum(lengths)], bags, count
