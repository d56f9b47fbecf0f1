"""What attention refuses, in PyTorch's words."""

import pytest

import ember
from ember import nn
from ember.nn import functional as F


def test_bias_and_static_keys_exclude_each_other():
    m = nn.MultiheadAttention(8, 2, add_bias_kv=True)
    q, kept = ember.randn(1, 3, 8), ember.randn(6, 4, 4)
    with pytest.raises(AssertionError, match="bias cannot be added to static key"):
        F.multi_head_attention_forward(
            q,
            q,
            q,
            8,
            2,
            m.in_proj_weight,
            m.in_proj_bias,
            m.bias_k,
            m.bias_v,
            False,
            0.0,
            m.out_proj.weight,
            m.out_proj.bias,
            static_k=kept,
            static_v=kept,
        )


def test_the_mask_of_one_sequence_has_a_row_of_heads():
    m, x = nn.MultiheadAttention(4, 4), ember.randn(4, 4)
    with pytest.raises(AssertionError, match="Expected `attn_mask` shape to be"):
        m(x, x, x, attn_mask=ember.zeros(5, 4, 4))
