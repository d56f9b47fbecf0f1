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


KINDS = ["RNN", "LSTM", "GRU"]


def in_steps(cell, x, state):
    """A layer as a loop over its cell."""
    outputs = []
    for step in x:
        state = cell(step, state)
        outputs.append(state[0] if isinstance(state, tuple) else state)
    return ember.stack(outputs), state


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_sequence_is_its_steps(kind):
    """More steps and rows than one product, and gradients of everything."""
    ember.manual_seed(0)
    layer = getattr(ember.nn, kind)(7, 33, dtype=ember.float64)
    cell = getattr(ember.nn, kind + "Cell")(7, 33, dtype=ember.float64)
    names = [name.removesuffix("_l0") for name in layer.state_dict()]
    cell.load_state_dict(dict(zip(names, layer.state_dict().values())))
    x = ember.randn(150, 6, 7, dtype=ember.float64)
    output, _ = layer(x)
    expected, _ = in_steps(cell, x, None)
    assert ember.allclose(output, expected, rtol=1e-12, atol=1e-12)
    output.sin().sum().backward()
    expected.sin().sum().backward()
    for name, p in cell.named_parameters():
        grad = getattr(layer, name + "_l0").grad
        assert ember.allclose(grad, p.grad, rtol=1e-10, atol=1e-10), name


@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_that_is_kept_gives_the_same_twice(kind):
    """The last pass may write over what the layer saved, one before it may not."""
    ember.manual_seed(0)
    layer = getattr(ember.nn, kind)(5, 8)
    x = ember.randn(9, 6, 5, requires_grad=True)
    loss = layer(x)[0].sin().sum()
    inputs = [x, *layer.parameters()]
    once = ember.autograd.grad(loss, inputs, retain_graph=True)
    twice = ember.autograd.grad(loss, inputs)
    assert all(bool((a == b).all()) for a, b in zip(once, twice))
    with pytest.raises(RuntimeError, match="second time"):
        ember.autograd.grad(loss, inputs)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_an_output_may_be_changed_in_place(kind):
    """Its gradient does not need the output, which would be an error."""
    ember.manual_seed(0)
    layer, x = getattr(ember.nn, kind)(3, 4), ember.randn(5, 2, 3)
    (expected,) = ember.autograd.grad((layer(x)[0] * 2).sum(), [layer.weight_hh_l0])
    (grad,) = ember.autograd.grad(layer(x)[0].mul_(2).sum(), [layer.weight_hh_l0])
    assert ember.allclose(grad, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_half_precision_layers(kind):
    ember.manual_seed(0)
    layer = getattr(ember.nn, kind)(3, 5, num_layers=2, bidirectional=True)
    x = ember.randn(4, 2, 3)
    exact = layer(x)[0].detach()
    layer.bfloat16()
    rounded, _ = layer(x.bfloat16())
    assert rounded.dtype == ember.bfloat16
    assert ember.allclose(rounded.float(), exact, rtol=0.05, atol=0.05)
    rounded.float().sum().backward()
    assert layer.weight_hh_l0.grad.dtype == ember.bfloat16


@pytest.mark.parametrize("kind", KINDS)
def test_layers_on_the_meta_device(kind):
    layer = getattr(ember.nn, kind)(3, 5, num_layers=2, device="meta")
    output, _ = layer(ember.empty(4, 2, 3, device="meta"))
    assert output.shape == (4, 2, 5)
    assert output.device.type == "meta"


@pytest.mark.parametrize("kind", KINDS)
def test_packed_sequences_do_not_see_padding(kind):
    ember.manual_seed(0)
    layer = getattr(ember.nn, kind)(3, 4, num_layers=2, bidirectional=True)
    x = ember.randn(6, 3, 3)
    lengths = [2, 6, 4]
    pack = ember.nn.utils.rnn.pack_padded_sequence
    packed, final = layer(pack(x, lengths, enforce_sorted=False))
    output, _ = ember.nn.utils.rnn.pad_packed_sequence(packed)
    for i, n in enumerate(lengths):
        alone, last = layer(x[:n, i : i + 1])
        assert ember.allclose(output[:n, i], alone[:, 0], atol=1e-6)
        got, want = (final, last) if kind != "LSTM" else (final[1], last[1])
        assert ember.allclose(got[:, i], want[:, 0], atol=1e-6)


def test_dropout_between_layers_only():
    layer = ember.nn.LSTM(3, 4, num_layers=2, dropout=1.0)
    x = ember.randn(5, 2, 3)
    trained, _ = layer(x)
    second = ember.nn.LSTM(4, 4)
    names = [name for name in layer.state_dict() if name.endswith("_l1")]
    values = layer.state_dict()
    second.load_state_dict({name[:-1] + "0": values[name] for name in names})
    assert ember.allclose(trained, second(ember.zeros(5, 2, 4))[0])
    assert not ember.allclose(layer.eval()(x)[0], trained)


def test_gradients_where_only_the_state_is_used():
    layer = ember.nn.LSTM(3, 4)
    x = ember.randn(5, 2, 3, requires_grad=True)
    _, (_, c) = layer(x)
    c.sum().backward()
    assert bool((x.grad != 0).all())


def test_gradient_penalty_through_a_layer():
    """The norm of a gradient has a gradient, with weights that depend on the input."""
    gradcheck = ember.autograd.gradgradcheck
    kind = {"dtype": ember.float64, "requires_grad": True}
    x, w = ember.randn(4, 2, 3, **kind), ember.randn(8, 3, **kind)

    def run(x, w):
        h = [ember.zeros(1, 2, 2, dtype=x.dtype)] * 2
        own = [w * x.mean(), w[:, :2]]  # the input also comes in through the weights
        return ember.lstm(x, h, own, False, 1, 0.0, True, False, False)

    assert gradcheck(run, (x, w))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("offsets", [[0, 2, 1], [0, -1]])
def test_bags_begin_where_the_one_before_ends(mode, offsets):
    args = ember.tensor([0, 1, 2]), ember.ones(3, 2), ember.tensor(offsets)
    with pytest.raises(RuntimeError, match="offsets must not decrease"):
        ember.nn.functional.embedding_bag(*args, mode=mode)
