"""Attention: softmax(q k') v, and with several heads and learned projections."""

import math

import ember
from ember import _C, Tensor
from ember.nn.functional.dropout import dropout
from ember.nn.functional.padding import pad

linear = _C._ops["nn.functional.linear"]


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key' * scale + mask) @ value, for [..., L, E] and [..., S, E].

    A boolean mask is true where a query may look; another is added. A query that may
    look nowhere gets zeros. `scale` is 1 / sqrt(E) unless given. With `enable_gqa`,
    keys and values may have fewer heads (axis -3), each used by several queries.

    >>> import ember
    >>> q = ember.zeros(1, 2, 4)
    >>> v = ember.tensor([[[1.0], [3.0]]])
    >>> F = ember.nn.functional
    >>> F.scaled_dot_product_attention(q, q, v, is_causal=True)
    tensor([[[1.],
             [2.]]])
    """
    _check_attention(query, key, value, attn_mask, is_causal, enable_gqa)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    if is_causal:
        size = (query.shape[-2], key.shape[-2])
        attn_mask = ember.ones(size, dtype=ember.bool, device=query.device).tril()
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    dtype = query.dtype
    if dtype in (ember.float16, ember.bfloat16):
        query, key, value = query.float(), key.float(), value.float()
        if attn_mask is not None and attn_mask.dtype == dtype:
            attn_mask = attn_mask.float()
    scores = ember.matmul(query, key.transpose(-2, -1)) * scale
    weights = _masked_softmax(scores, attn_mask)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    return ember.matmul(weights, value).to(dtype)


def _masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    if mask is None:
        return ember.softmax(scores, -1)
    if mask.dtype == ember.bool:
        scores = ember.where(mask, scores, float("-inf"))
    else:
        scores = scores + mask
    blind = (scores == float("-inf")).all(-1, keepdim=True)
    # Both sides of the softmax, so that no nan enters its gradient.
    weights = ember.softmax(scores.masked_fill(blind, 0.0), -1)
    return weights.masked_fill(blind, 0.0)


def _check_attention(query, key, value, mask, is_causal, enable_gqa) -> None:
    name = "scaled_dot_product_attention()"
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got "
            f"query.dtype: {query.dtype} key.dtype: {key.dtype} and value.dtype: "
            f"{value.dtype} instead."
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got "
            f"query.dim(): {query.dim()}, key.dim(): {key.dim()} and value.dim(): "
            f"{value.dim()} instead."
        )
    if is_causal and mask is not None:
        raise RuntimeError(
            f"{name}: Explicit attn_mask should not be set when is_causal=True"
        )
    if mask is not None and mask.dtype not in (ember.bool, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but "
            f"got attn_mask.dtype: {mask.dtype} and  query.dtype: {query.dtype} "
            "instead."
        )
    if enable_gqa and query.shape[-3] % key.shape[-3]:
        raise RuntimeError(
            f"{name}: the number of heads of query ({query.shape[-3]}) must be a "
            f"multiple of that of key and value ({key.shape[-3]})"
        )


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads over [L, N, E] (or [L, E]); see MultiheadAttention.

    Returns the output and, if asked for, the weights [N, L, S] (or [N, heads, L, S]).
    """
    batched = _check_heads(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    if width != embed_dim_to_check:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim_to_check}, but got "
            f"{width}"
        )
    if width % num_heads:
        raise AssertionError(
            f"embed_dim {width} not divisible by num_heads {num_heads}"
        )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the "
            "Transformer module method `generate_square_subsequent_mask` to create "
            "this mask."
        )
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
    else:
        weights = in_proj_weight.chunk(3)
    biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
    inputs = (query, key, value)
    q, k, v = (linear(x, w, b) for x, w, b in zip(inputs, weights, biases))
    mask = _float_mask(attn_mask, query, "attn_mask")
    padding = _float_mask(key_padding_mask, query, "key_padding_mask")
    if mask is not None:
        mask = _check_mask_shape(mask, length, key.shape[0], batch * num_heads)
    extra = 0
    if bias_k is not None and bias_v is not None:
        k = ember.cat([k, bias_k.repeat(1, batch, 1)])
        v = ember.cat([v, bias_v.repeat(1, batch, 1)])
        extra += 1
    q = _heads(q, num_heads)
    k = _heads(k, num_heads) if static_k is None else static_k
    v = _heads(v, num_heads) if static_v is None else static_v
    if add_zero_attn:
        k, v = pad(k, (0, 0, 0, 1)), pad(v, (0, 0, 0, 1))
        extra += 1
    mask = None if mask is None else pad(mask, (0, extra))
    if padding is not None:
        padding = pad(padding, (0, extra)).view(batch, 1, 1, -1)
        padding = padding.expand(-1, num_heads, -1, -1).reshape(
            batch * num_heads, 1, -1
        )
        mask = padding if mask is None else mask + padding
    p = dropout_p if training else 0.0
    if need_weights:
        scores = (q * math.sqrt(1.0 / q.shape[-1])) @ k.transpose(-2, -1)
        probabilities = ember.softmax(scores if mask is None else scores + mask, -1)
        if p > 0.0:
            probabilities = dropout(probabilities, p)
        mixed = probabilities @ v
    else:
        four = (batch, num_heads)
        if mask is not None:
            mask = mask.expand(batch * num_heads, length, k.shape[1])
            mask = mask.reshape(*four, length, -1)
        split = (x.reshape(*four, -1, x.shape[-1]) for x in (q, k, v))
        mixed = scaled_dot_product_attention(*split, mask, p)
        mixed = mixed.reshape(batch * num_heads, length, -1)
    mixed = mixed.transpose(0, 1).reshape(length, batch, -1)
    output = linear(mixed, out_proj_weight, out_proj_bias)
    if not need_weights:
        return (output if batched else output.squeeze(1)), None
    probabilities = probabilities.view(batch, num_heads, length, -1)
    if average_attn_weights:
        probabilities = probabilities.mean(1)
    if batched:
        return output, probabilities
    return output.squeeze(1), probabilities.squeeze(0)


def _heads(x: Tensor, heads: int) -> Tensor:
    """[T, N, E] -> [N * heads, T, E / heads]."""
    length, batch, width = x.shape
    return x.reshape(length, batch * heads, width // heads).transpose(0, 1)


def _float_mask(mask: Tensor | None, query: Tensor, name: str) -> Tensor | None:
    """A boolean mask (true: not allowed) as numbers to add."""
    if mask is None or mask.is_floating_point():
        return mask
    if mask.dtype != ember.bool:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    zeros = ember.zeros(mask.shape, dtype=query.dtype, device=mask.device)
    return zeros.masked_fill(mask, float("-inf"))


def _check_mask_shape(mask: Tensor, length: int, source: int, heads: int) -> Tensor:
    if mask.dim() == 2:
        mask = mask.unsqueeze(0)
        expected = (1, length, source)
    elif mask.dim() == 3:
        expected = (heads, length, source)
    else:
        raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")
    if tuple(mask.shape) != expected:
        shown = expected if expected[0] != 1 or heads == 1 else expected[1:]
        raise RuntimeError(
            f"The shape of the attn_mask is {tuple(mask.shape)}, but should be {shown}."
        )
    return mask


def _check_heads(query, key, value, key_padding_mask, attn_mask, heads) -> bool:
    """Whether there is a batch; the other inputs must agree about it."""
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(
            "query should be unbatched 2D or batched 3D tensor but received "
            f"{dims}-D query tensor"
        )
    kind = "batched (3-D)" if dims == 3 else "unbatched (2-D)"
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {dims}-D but found "
            f"{key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != dims - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or "
            f"{dims - 1}-D but found {key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but "
            f"found {attn_mask.dim()}-D tensor instead"
        )
    return dims == 3
