"""Attention with several heads."""

from typing import Any

import ember
from ember import Tensor
from ember._types import DeviceLike, Dtype
from ember.nn import functional as F, init
from ember.nn.modules.linear import NonDynamicallyQuantizableLinear
from ember.nn.modules.module import Module
from ember.nn.parameter import Parameter


class MultiheadAttention(Module):
    """Attention of `num_heads` heads with learned projections (arXiv:1706.03762).

    Inputs are [L, N, E], or [N, L, E] with `batch_first`.

    Args:
        embed_dim: features of queries and of the output
        num_heads: how many heads share them
        dropout: probability that a weight is dropped
        bias: learn summands of the projections
        kdim: features of keys
        vdim: features of values
        batch_first: [batch, steps, features] instead of [steps, batch, features]

    >>> import ember
    >>> m = ember.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = ember.randn(3, 5, 8)
    >>> output, weights = m(x, x, x)
    >>> output.shape, weights.shape
    (torch.Size([3, 5, 8]), torch.Size([3, 5, 5]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        kind: dict[str, Any] = {"device": device, "dtype": dtype}
        shapes = {
            "q_proj_weight": (embed_dim, embed_dim),
            "k_proj_weight": (embed_dim, self.kdim),
            "v_proj_weight": (embed_dim, self.vdim),
            "in_proj_weight": (3 * embed_dim, embed_dim),
        }
        if self._qkv_same_embed_dim:
            joined = ember.empty(shapes["in_proj_weight"], **kind)
            self.in_proj_weight = Parameter(joined)
            for name in list(shapes)[:3]:
                self.register_parameter(name, None)
        else:
            for name in list(shapes)[:3]:
                setattr(self, name, Parameter(ember.empty(shapes[name], **kind)))
            self.register_parameter("in_proj_weight", None)
        self.register_parameter(
            "in_proj_bias",
            Parameter(ember.empty(3 * embed_dim, **kind)) if bias else None,
        )
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, **kind
        )
        for name in ("bias_k", "bias_v"):
            values = None
            if add_bias_kv:
                values = Parameter(ember.empty((1, 1, embed_dim), **kind))
            setattr(self, name, values)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            init.xavier_uniform_(self.q_proj_weight)
            init.xavier_uniform_(self.k_proj_weight)
            init.xavier_uniform_(self.v_proj_weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        if self.bias_k is not None:
            init.xavier_normal_(self.bias_k)
        if self.bias_v is not None:
            init.xavier_normal_(self.bias_v)

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.setdefault("_qkv_same_embed_dim", True)  # not there in old checkpoints
        super().__setstate__(state)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The output and, if `need_weights`, the weights [N, L, S]."""
        swapped = self.batch_first and query.dim() == 3
        if swapped:
            same = query is key and key is value
            query, key, value = (x.transpose(1, 0) for x in (query, key, value))
            if same:  # still recognised as such: one projection for all
                key = value = query
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (output.transpose(1, 0) if swapped else output), weights
