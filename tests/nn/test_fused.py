"""Fused layers against the same thing in steps, or in another layout."""

import numpy as np
import pytest

import ember
from ember import nn
from ember.nn import functional as F


def close(a, b, tol=1e-5):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), tol, tol)


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_is_the_same_with_channels_last(training):
    ember.manual_seed(0)
    found = []
    x, g = ember.randn(3, 5, 4, 6) + 2, ember.randn(3, 5, 4, 6)
    for layout in (ember.contiguous_format, ember.channels_last):
        layer = nn.BatchNorm2d(5).train(training)
        inputs = x.clone(memory_format=layout).requires_grad_()
        y = layer(inputs)
        y.backward(g)
        assert y.is_contiguous(memory_format=layout)
        grads = (inputs.grad, layer.weight.grad, layer.bias.grad)
        found.append((y, *grads, layer.running_mean, layer.running_var))
    for a, b in zip(*found):
        close(a, b)


def test_batch_norm_keeps_running_statistics():
    x = ember.tensor([[1.0, 10.0], [3.0, 30.0]])
    mean, var = ember.zeros(2), ember.ones(2)
    F.batch_norm(x, mean, var, training=True, momentum=0.5)
    assert mean.tolist() == [1.0, 10.0]
    assert var.tolist() == [1.5, 100.5]  # unbiased: 2 and 200
    y = F.batch_norm(x, mean, var, eps=0.0)
    close(y, (x - mean) / var.sqrt())


def test_norms_of_large_means_stay_accurate():
    ember.manual_seed(0)
    x = ember.randn(4, 600, dtype=ember.float64) + 1e3
    exact = F.layer_norm(x, (600,))
    close(F.layer_norm(x.float(), (600,)), exact.float(), 1e-3)


@pytest.mark.parametrize("causal", [True, False])
def test_attention_over_several_blocks(causal):
    ember.manual_seed(0)
    shape = (1, 2, 450, 8)
    q, k, v = (ember.randn(shape, dtype=ember.float64) for _ in range(3))
    for x in (q, k, v):
        x.requires_grad_()
    g = ember.randn(shape, dtype=ember.float64)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    scores = q @ k.transpose(-2, -1) / 8**0.5
    if causal:
        ahead = ember.ones(450, 450, dtype=ember.bool).triu(1)
        scores = scores.masked_fill(ahead, float("-inf"))
    z = scores.softmax(-1) @ v
    close(y, z, 1e-10)
    fused, steps = (ember.autograd.grad(out, (q, k, v), g) for out in (y, z))
    for a, b in zip(fused, steps):
        close(a, b, 1e-9)


def test_heads_with_and_without_weights_agree():
    ember.manual_seed(0)
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    x = ember.randn(3, 5, 8)
    mask = ember.ones(5, 5, dtype=ember.bool).triu(1)
    padding = ember.zeros(3, 5, dtype=ember.bool)
    padding[0, 4] = True
    for options in ({}, {"attn_mask": mask}, {"key_padding_mask": padding}):
        with_weights, weights = layer(x, x, x, **options)
        without, none = layer(x, x, x, need_weights=False, **options)
        assert none is None and weights.shape == (3, 5, 5)
        close(with_weights, without)


def test_embedding_gradients():
    table = ember.zeros(4, 2, requires_grad=True)
    ids = ember.tensor([1, 1, 3, 0])
    F.embedding(ids, table, padding_idx=3).sum().backward()
    assert table.grad.tolist() == [[1, 1], [2, 2], [0, 0], [0, 0]]
    table.grad = None
    F.embedding(ids, table, scale_grad_by_freq=True).sum().backward()
    assert table.grad.tolist() == [[1, 1], [1, 1], [0, 0], [1, 1]]


def test_bags_weighted_and_with_the_last_offset():
    rows = ember.tensor([[1.0], [2.0], [4.0]], requires_grad=True)
    ids, starts = ember.tensor([2, 1, 0, 0]), ember.tensor([0, 1, 3])
    weights = ember.tensor([0.5, 1.0, 3.0, 9.0])
    y = F.embedding_bag(
        ids, rows, starts, mode="sum", per_sample_weights=weights,
        include_last_offset=True,
    )  # fmt: skip
    assert y.tolist() == [[2.0], [5.0]]
    y.sum().backward()
    assert rows.grad.tolist() == [[3.0], [1.0], [0.5]]


def test_ignored_targets_count_for_nothing():
    x = ember.randn(3, 4, requires_grad=True)
    target = ember.tensor([1, -100, 2])
    loss = F.cross_entropy(x, target, label_smoothing=0.1)
    close(loss, F.cross_entropy(x[[0, 2]], target[[0, 2]], label_smoothing=0.1))
    loss.backward()
    assert x.grad[1].tolist() == [0.0] * 4
