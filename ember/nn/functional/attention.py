"""Attention with several heads and learned projections."""

import math

import ember
from ember import _C, Tensor
from ember.nn.functional.dropout import dropout
from ember.nn.functional.padding import pad

linear = _C._ops["nn.functional.linear"]
scaled_dot_product_attention = _C._ops["nn.functional.scaled_dot_product_attention"]


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

    >>> x, w = ember.rand(5, 1, 4), ember.eye(4)
    >>> y, weights = F.multi_head_attention_forward(
    ...     x, x, x, 4, 2, ember.cat([w, w, w]), None, None, None, False, 0.0, w, None
    ... )
    >>> y.shape, weights.shape
    (torch.Size([5, 1, 4]), torch.Size([1, 5, 5]))
    """
    batched = _check_heads(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same = query is key and key is value
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        if same:
            key = value = query
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    if width != embed_dim_to_check:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim_to_check}, but got "
            f"{width}"
        )
    if key_padding_mask is not None:
        wanted = (batch, key.shape[0])
        if tuple(key_padding_mask.shape) != wanted:
            raise AssertionError(
                f"expecting key_padding_mask shape of {wanted}, but got "
                f"{tuple(key_padding_mask.shape)}"
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
    pairs = 2 if use_separate_proj_weight else 3  # the width may differ
    if key.shape[:pairs] != value.shape[:pairs]:
        raise AssertionError(
            f"key shape {key.shape} does not match value shape {value.shape}"
        )
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
    else:
        weights = in_proj_weight
    q, k, v = _projections(query, key, value, weights, in_proj_bias)
    mask = _float_mask(attn_mask, query, "attn_mask")
    padding = _float_mask(key_padding_mask, query, "key_padding_mask")
    if mask is not None:
        mask = _check_mask_shape(mask, length, key.shape[0], batch, num_heads)
    causal = is_causal and padding is None and not need_weights
    extra = 0
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            which = "key" if static_k is not None else "value"
            raise AssertionError(f"bias cannot be added to static {which}.")
        k = ember.cat([k, bias_k.repeat(1, batch, 1)])
        v = ember.cat([v, bias_v.repeat(1, batch, 1)])
        extra += 1
    four = (batch, num_heads)
    q = _heads(q, num_heads)
    k = _heads(k, num_heads) if static_k is None else static_k.unflatten(0, four)
    v = _heads(v, num_heads) if static_v is None else static_v.unflatten(0, four)
    if add_zero_attn:
        k, v = pad(k, (0, 0, 0, 1)), pad(v, (0, 0, 0, 1))
        extra += 1
    mask = None if mask is None or causal else pad(mask, (0, extra))
    if padding is not None:
        padding = pad(padding, (0, extra)).view(batch, 1, 1, -1)
        mask = padding if mask is None else mask + padding
    p = dropout_p if training else 0.0
    if need_weights:
        scores = (q * math.sqrt(1.0 / q.shape[-1])) @ k.transpose(-2, -1)
        probabilities = ember.softmax(scores if mask is None else scores + mask, -1)
        if p > 0.0:
            probabilities = dropout(probabilities, p)
        mixed = probabilities @ v
    else:
        mixed = scaled_dot_product_attention(q, k, v, mask, p, causal)
    mixed = mixed.permute(2, 0, 1, 3).flatten(2)
    output = linear(mixed, out_proj_weight, out_proj_bias)
    if not need_weights:
        return (output if batched else output.squeeze(1)), None
    if average_attn_weights:
        probabilities = probabilities.mean(1)
    if batched:
        return output, probabilities
    return output.squeeze(1), probabilities.squeeze(0)


def _projections(query, key, value, weights, bias) -> tuple[Tensor, Tensor, Tensor]:
    """The inputs of all heads; one product where they come from one tensor."""
    if query is key and key is value and isinstance(weights, Tensor):
        return linear(query, weights, bias).chunk(3, -1)
    if isinstance(weights, Tensor):
        weights = weights.chunk(3)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    inputs = (query, key, value)
    q, k, v = (linear(x, w, b) for x, w, b in zip(inputs, weights, biases))
    return q, k, v


def _heads(x: Tensor, heads: int) -> Tensor:
    """[T, N, E] -> [N, heads, T, E / heads]."""
    return x.unflatten(-1, (heads, -1)).permute(1, 2, 0, 3)


def _float_mask(mask: Tensor | None, query: Tensor, name: str) -> Tensor | None:
    """A boolean mask (true: not allowed) as numbers to add."""
    if mask is None or mask.is_floating_point():
        return mask
    if mask.dtype != ember.bool:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    zeros = ember.zeros(mask.shape, dtype=query.dtype, device=mask.device)
    return zeros.masked_fill(mask, float("-inf"))


def _check_mask_shape(
    mask: Tensor, length: int, source: int, batch: int, heads: int
) -> Tensor:
    """The mask as [N, heads, L, S], with ones where it is repeated."""
    if mask.dim() == 2:
        expected = (length, source)
    elif mask.dim() == 3:
        expected = (batch * heads, length, source)
    else:
        raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")
    if tuple(mask.shape) != expected:
        raise RuntimeError(
            f"The shape of the {mask.dim()}D attn_mask is {tuple(mask.shape)}, but "
            f"should be {expected}."
        )
    return mask if mask.dim() == 2 else mask.unflatten(0, (batch, heads))


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
    if attn_mask is not None and dims == 2 and attn_mask.dim() == 3:
        expected = (heads, query.shape[0], key.shape[0])
        if tuple(attn_mask.shape) != expected:
            raise AssertionError(
                f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}"
            )
    return dims == 3
