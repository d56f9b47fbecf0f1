"""flex_attention against attention written out: scores, masks, gradients, errors."""

import math

import pytest

import ember
from ember.nn.attention.flex_attention import (
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)

B, H, Q, K, D = 2, 3, 24, 20, 8


def tensors(heads=H, dtype=ember.float64, **options):
    ember.manual_seed(0)
    sizes = ((B, H, Q, D), (B, heads, K, D), (B, heads, K, D))
    return [
        ember.randn(size, dtype=dtype, requires_grad=True, **options) for size in sizes
    ]


def plain(q, k, v, score=None, mask=None, scale=None):
    """softmax(score(q k')) v, one element of the scores at a time."""
    repeats = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1)
    scores = q @ k.mT * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    b = ember.arange(q.shape[0]).view(-1, 1, 1, 1)
    h = ember.arange(q.shape[1]).view(-1, 1, 1)
    i, j = ember.arange(q.shape[2]).view(-1, 1), ember.arange(k.shape[2])
    if score is not None:
        scores = score(scores, b, h, i, j)
    if mask is not None:
        scores = scores.masked_fill(
            ~(mask(b, h, i, j) & ember.ones_like(scores).bool()), -math.inf
        )
    return scores.softmax(-1).nan_to_num(0.0) @ v


SCORES = {
    "none": None,
    "relative": lambda s, b, h, i, j: s + (i - j) * 0.1,
    "alibi": lambda s, b, h, i, j: s + (j - i) * ember.exp2(-(h + 1) * 1.0),
    "softcap": lambda s, b, h, i, j: 2.0 * ember.tanh(s / 2.0),
    "batch": lambda s, b, h, i, j: s * (1 + b),
}
MASKS = {
    "none": None,
    "causal": lambda b, h, i, j: i >= j,
    "window": lambda b, h, i, j: (i - j).abs() <= 4,
    "by head": lambda b, h, i, j: (i + h) % 3 != j % 3,
    "rows without keys": lambda b, h, i, j: i >= j + 5,
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("score", SCORES)
def test_values_and_gradients(score, mask):
    inputs = tensors()
    block = mask != "none" and create_block_mask(
        MASKS[mask], B, H, Q, K, device="cpu", BLOCK_SIZE=16
    )
    out = flex_attention(*inputs, score_mod=SCORES[score], block_mask=block or None)
    expected = plain(*inputs, SCORES[score], MASKS[mask])
    ember.testing.assert_close(out, expected)
    weights = ember.randn_like(out)
    ours = ember.autograd.grad((out * weights).sum(), inputs)
    theirs = ember.autograd.grad((expected * weights).sum(), inputs)
    for a, b in zip(ours, theirs, strict=True):
        ember.testing.assert_close(a, b)


def test_several_queries_of_a_head_share_keys():
    q, k, v = tensors(heads=1)
    out = flex_attention(q, k, v, enable_gqa=True)
    ember.testing.assert_close(out, plain(q, k, v))
    with pytest.raises(ValueError):
        flex_attention(q, k, v)


def test_scale():
    inputs = tensors()
    ember.testing.assert_close(
        flex_attention(*inputs, scale=0.3), plain(*inputs, scale=0.3)
    )


def test_logarithm_of_sums():
    q, k, v = tensors()
    out, lse = flex_attention(q, k, v, return_lse=True)
    ember.testing.assert_close(out, plain(q, k, v))
    ember.testing.assert_close(lse, (q @ k.mT / math.sqrt(D)).logsumexp(-1))


def test_scores_that_learn():
    inputs = tensors()
    bias = ember.randn(Q, K, dtype=ember.float64, requires_grad=True)
    out = flex_attention(*inputs, score_mod=lambda s, b, h, i, j: s + bias[i, j])
    q, k, v = inputs
    expected = (q @ k.mT / math.sqrt(D) + bias).softmax(-1) @ v
    ember.testing.assert_close(out, expected)
    (ours,) = ember.autograd.grad(out.square().sum(), bias)
    (theirs,) = ember.autograd.grad(expected.square().sum(), bias)
    ember.testing.assert_close(ours, theirs)


def test_masks_of_masks():
    causal, window = MASKS["causal"], MASKS["window"]
    both = create_mask(and_masks(causal, window), 1, 1, Q, K, device="cpu")
    either = create_mask(or_masks(causal, window), 1, 1, Q, K, device="cpu")
    a = create_mask(causal, 1, 1, Q, K, device="cpu")
    b = create_mask(window, 1, 1, Q, K, device="cpu")
    assert ember.equal(both, a & b) and ember.equal(either, a | b)
    assert create_mask(noop_mask, 1, 1, Q, K, device="cpu").all()


def test_blocks_of_a_mask():
    block = create_block_mask(MASKS["causal"], None, None, 64, 64, "cpu", BLOCK_SIZE=16)
    assert block.shape == (1, 1, 64, 64)
    assert block.sparsity() == pytest.approx(100 * 6 / 16)
    dense = block.to_dense()
    assert ember.equal(dense[0, 0].bool(), ember.ones(4, 4).tril().bool())


def test_shapes_that_do_not_fit():
    q, k, v = tensors()
    with pytest.raises(NotImplementedError, match="4D"):
        flex_attention(q[0], k[0], v[0])
    with pytest.raises((ValueError, RuntimeError)):
        flex_attention(q, k[..., :4], v)
