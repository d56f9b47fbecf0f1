"""Helpers under PyTorch's attention and transformer layers, for libraries that have
changed copies of these: detr, fairseq, opacus, torchaudio."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import ember
from ember import Tensor
from ember.nn import Module, ModuleList
from ember.nn.functional import linear


def _get_clones(module: Module, N: int) -> ModuleList:
    """A layer several times, each with parameters of its own."""
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _generate_square_subsequent_mask(
    sz: int, device: Any = None, dtype: ember.dtype | None = None
) -> Tensor:
    """What is added to scores so that no position sees a later one."""
    full = ember.full((sz, sz), float("-inf"), dtype=dtype, device=device)
    return ember.triu(full, diagonal=1)


def _get_seq_len(src: Tensor, batch_first: bool) -> int | None:
    """The length of sequences, batched or not."""
    if src.dim() == 2:
        return src.shape[0]
    return src.shape[1 if batch_first else 0]


def _detect_is_causal_mask(
    mask: Tensor | None, is_causal: bool | None = None, size: int | None = None
) -> bool:
    """Whether a mask is that of `_generate_square_subsequent_mask`, or said to be."""
    if is_causal is not None or mask is None:
        return bool(is_causal)
    side = mask.size(-2) if size is None else size
    causal = _generate_square_subsequent_mask(side, mask.device, mask.dtype)
    return mask.size() == causal.size() and bool((mask == causal).all())


def _in_projection_packed(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None
) -> list[Tensor]:
    """Queries, keys and values by one matrix of three blocks."""
    size = q.size(-1)
    if k is v and q is k:
        return list(linear(q, w, b).unflatten(-1, (3, size)).unbind(-2))
    weights = w.chunk(3)
    biases: Sequence[Tensor | None] = (None,) * 3 if b is None else b.chunk(3)
    return [linear(*of) for of in zip((q, k, v), weights, biases)]


def _in_projection(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    b_q: Tensor | None = None,
    b_k: Tensor | None = None,
    b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values by matrices of their own."""
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _none_or_dtype(input: Tensor | None) -> ember.dtype | None:
    """The dtype of a mask, if there is one."""
    return None if input is None else input.dtype


def _canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: ember.dtype | None,
    other_name: str,
    target_type: ember.dtype,
    check_other: bool = True,
) -> Tensor | None:
    """A mask as numbers to add to scores: -inf where a mask of bools is True."""
    if mask is None:
        return None
    if mask.dtype != ember.bool and not mask.is_floating_point():
        raise AssertionError(
            f"only bool and floating types of {mask_name} are supported"
        )
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. "
            "Use same type for both instead.",
            stacklevel=2,
        )
    if mask.is_floating_point():
        return mask
    return ember.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _mha_shape_check(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    num_heads: int,
) -> bool:
    """Whether there is a batch; AssertionError where dimensions do not fit."""
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(
            "query should be unbatched 2D or batched 3D tensor but received "
            f"{dims}-D query tensor"
        )
    head = f"For {'' if dims == 3 else 'un'}batched ({dims}-D) `query`, expected"
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(
            f"{head} `key` and `value` to be {dims}-D but found {key.dim()}-D and "
            f"{value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != dims - 1:
        raise AssertionError(
            f"{head} `key_padding_mask` to be `None` or {dims - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"{head} `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{attn_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None and dims == 2 and attn_mask.dim() == 3:
        expected = (num_heads, query.shape[0], key.shape[0])
        if attn_mask.shape != expected:
            raise AssertionError(
                f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}"
            )
    return dims == 3


def _check_key_padding_mask(key_padding_mask: Tensor, src_len: int, bsz: int) -> None:
    """AssertionError unless the mask is of `bsz` sequences of `src_len`."""
    for i, size in enumerate((bsz, src_len)):
        if key_padding_mask.shape[i] != size:
            raise AssertionError(
                f"Expected key_padded_mask.shape[{i}] to be {size}, but got "
                f"{key_padding_mask.shape[i]}"
            )
