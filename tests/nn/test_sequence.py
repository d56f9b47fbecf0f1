"""Recurrent layers, attention, transformers, normalization, bags and CTC."""

import math

import numpy as np
import pytest

import ember
from ember import nn
from ember.nn import functional as F
from ember.nn.utils import rnn


def close(a, b, tolerance=1e-5):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=tolerance)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_layers_repeat_their_cell(kind):
    ember.manual_seed(0)
    layer = getattr(nn, kind)(3, 4)
    cell = getattr(nn, f"{kind}Cell")(3, 4)
    cell.load_state_dict({k[: -len("_l0")]: v for k, v in layer.state_dict().items()})
    x = ember.randn(5, 2, 3)
    output, _ = layer(x)
    state = None
    for t in range(5):
        state = cell(x[t], state)
        close(output[t], state[0] if kind == "LSTM" else state)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_packed_sequences_end_where_they_end(kind):
    """Each sequence of a packed batch gives what it gives alone."""
    ember.manual_seed(0)
    layer = getattr(nn, kind)(3, 4, num_layers=2, bidirectional=True)
    sequences = [ember.randn(n, 3) for n in (2, 5, 1, 3)]
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    output, state = layer(packed)
    outputs = rnn.unpack_sequence(output)
    final = state[0] if kind == "LSTM" else state
    for i, sequence in enumerate(sequences):
        alone, last = layer(sequence)
        close(outputs[i], alone)
        close(final[:, i], last[0] if kind == "LSTM" else last)


def test_lstm_projection_and_batch_first():
    layer = nn.LSTM(3, 6, proj_size=2, batch_first=True)
    output, (h, c) = layer(ember.randn(4, 5, 3))
    assert (output.shape, h.shape, c.shape) == ((4, 5, 2), (1, 4, 2), (1, 4, 6))
    with pytest.raises(RuntimeError, match=r"Expected hidden\[0\] size"):
        layer(ember.randn(4, 5, 3), (ember.zeros(1, 3, 2), c))


def test_padding_of_sequences_goes_both_ways():
    rows = [ember.tensor([1, 2, 3]), ember.tensor([4])]
    padded = rnn.pad_sequence(rows, batch_first=True, padding_value=-1)
    assert padded.tolist() == [[1, 2, 3], [4, -1, -1]]
    packed = rnn.pack_padded_sequence(padded, [3, 1], batch_first=True)
    assert packed.data.tolist() == [1, 4, 2, 3]
    again, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1)
    assert again.tolist() == padded.tolist() and lengths.tolist() == [3, 1]
    with pytest.raises(RuntimeError, match="sorted in decreasing order"):
        rnn.pack_padded_sequence(padded, [1, 3], batch_first=True)


def test_attention_sees_no_future_and_survives_blindness():
    ember.manual_seed(0)
    q, k, v = (ember.randn(2, 3, 4, requires_grad=True) for _ in range(3))
    causal = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    close(causal[:, 0], v[:, 0])
    mask = ember.tensor([[True, True, False], [False] * 3, [True] * 3])
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    assert out[:, 1].abs().max().item() == 0
    out.sum().backward()
    assert bool(q.grad.isfinite().all()) and bool(k.grad.isfinite().all())


def test_attention_weights_agree_with_the_fast_path():
    ember.manual_seed(0)
    m = nn.MultiheadAttention(8, 2, batch_first=True)
    x = ember.randn(3, 5, 8)
    padding = ember.zeros(3, 5, dtype=ember.bool)
    padding[1, 3:] = True
    slow, weights = m(x, x, x, key_padding_mask=padding)
    fast, nothing = m(x, x, x, key_padding_mask=padding, need_weights=False)
    assert nothing is None
    close(slow, fast)
    assert weights[1, :, 3:].abs().max().item() == 0
    close(weights.sum(-1), ember.ones(3, 5))


def test_a_causal_decoder_does_not_look_ahead():
    ember.manual_seed(0)
    model = nn.Transformer(8, 2, 1, 2, 16, batch_first=True).eval()
    source, target = ember.randn(2, 4, 8), ember.randn(2, 5, 8)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    before = model(source, target, tgt_mask=mask)
    changed = target.clone()
    changed[:, 3:] = 7.0
    after = model(source, changed, tgt_mask=mask)
    close(before[:, :3], after[:, :3])


def test_batch_norm_follows_its_statistics():
    ember.manual_seed(0)
    m = nn.BatchNorm2d(3, momentum=None)
    x = ember.randn(4, 3, 5, 5) * 3 + 1
    y = m(x)
    close(y.mean((0, 2, 3)), ember.zeros(3))
    close(m.running_mean, x.mean((0, 2, 3)))
    close(m.running_var, x.transpose(0, 1).flatten(1).var(1), 1e-4)
    assert m.num_batches_tracked.item() == 1
    m.eval()(x + 1)
    assert m.num_batches_tracked.item() == 1
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        nn.BatchNorm1d(3)(ember.ones(1, 3))


def test_group_norm_between_layer_and_instance_norm():
    ember.manual_seed(0)
    x = ember.randn(2, 4, 6)
    close(F.group_norm(x, 1), F.layer_norm(x, (4, 6)))
    close(F.group_norm(x, 4), F.instance_norm(x))


def test_embedding_bags():
    table = ember.tensor([[1.0], [2.0], [4.0]], requires_grad=True)
    ids, offsets = ember.tensor([0, 2, 1, 2]), ember.tensor([0, 2, 2])
    for mode, expected in (
        ("sum", [5, 0, 6]),
        ("mean", [2.5, 0, 3]),
        ("max", [4, 0, 4]),
    ):
        bags = F.embedding_bag(ids, table, offsets, mode=mode)
        assert bags.reshape(-1).tolist() == expected
    F.embedding_bag(ids, table, offsets, mode="sum", padding_idx=2).sum().backward()
    assert table.grad.reshape(-1).tolist() == [1, 1, 0]


def test_ctc_adds_up_all_alignments():
    """Two steps, label 1 of three equal classes: 11, -1 and 1- of nine."""
    logp = ember.zeros(2, 1, 3).log_softmax(2)
    loss = F.ctc_loss(logp, ember.tensor([[1]]), [2], [1], reduction="sum")
    assert loss.item() == pytest.approx(-math.log(3 / 9), abs=1e-6)
    twice = ember.tensor([[1, 1]])  # needs a blank in between: three steps
    assert F.ctc_loss(logp, twice, [2], [2], reduction="sum").item() == math.inf
    assert F.ctc_loss(logp, twice, [2], [2], zero_infinity=True).item() == 0


def test_adaptive_softmax_is_a_distribution():
    ember.manual_seed(0)
    m = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0)
    x = ember.randn(6, 8)
    every = m.log_prob(x)
    close(every.exp().sum(1), ember.ones(6))
    target = ember.tensor([0, 4, 5, 9, 10, 19])
    output, loss = m(x, target)
    close(output, every.gather(1, target.unsqueeze(1)).squeeze(1))
    close(loss, -output.mean())
    assert m.predict(x).tolist() == every.argmax(1).tolist()
