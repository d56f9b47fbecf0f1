"""Operators that torchaudio's extension would bring, against their definitions."""

import itertools

import pytest

import ember
from ember._compat import torchaudio_ops as ops


@pytest.fixture(autouse=True)
def _seed():
    ember.manual_seed(0)


def test_load_library_registers_ours_in_place_of_torchaudios():
    for name in ("_torchaudio.abi3.so", "libtorchaudio.so"):
        ember.ops.load_library(f"somewhere/torchaudio/lib/{name}")
    assert ember.ops._torchaudio.is_align_available()
    assert ember.ops._torchaudio.cuda_version() is None
    out = ember.zeros(1, 1, 5)
    x, a = ember.ones(1, 1, 4), ember.tensor([[-0.5, 1.0]])
    assert ember.ops.torchaudio._lfilter_core_loop(x, a, out) is None
    assert out.flatten().tolist() == [0, 1, 1.5, 1.75, 1.875]


@pytest.mark.parametrize("time", [1, 2, 255, 256, 257, 600])
@pytest.mark.parametrize("order", [0, 1, 3])
def test_filter_follows_its_recursion(time, order):
    x = ember.randn(2, 3, time, dtype=ember.float64)
    a = ember.rand(3, order + 1, dtype=ember.float64) * 0.5 - 0.25
    a[:, -1] = 1
    out = ember.zeros(2, 3, order + time, dtype=ember.float64)
    out[..., :order] = ember.randn(order)
    expected = out.clone()
    for t in range(time):
        before = expected[..., t : t + order]
        expected[..., t + order] = x[..., t] - (before * a[:, :order]).sum(-1)
    ops._lfilter_core_loop(x, a, out)
    ember.testing.assert_close(out, expected, rtol=1e-9, atol=1e-9)


def test_filter_without_samples_leaves_the_output():
    out = ember.ones(1, 2, 2)
    ops._lfilter_core_loop(ember.empty(1, 2, 0), ember.ones(2, 3), out)
    assert out.tolist() == [[[1, 1], [1, 1]]]


def test_overdrive_follows_its_recursion():
    wave, temp = ember.randn(2, 300), ember.randn(2, 300)
    last_in, last_out, out = ember.randn(2), ember.randn(2), ember.empty(2, 300)
    y, before, expected = last_out.clone(), last_in, []
    for t in range(300):
        y, before = temp[:, t] - before + 0.995 * y, temp[:, t]
        expected.append(wave[:, t] * 0.5 + y * 0.75)
    ops._overdrive_core_loop(wave, temp, last_in, last_out, out)
    ember.testing.assert_close(out, ember.stack(expected, 1), rtol=1e-4, atol=1e-4)
    ember.testing.assert_close(last_in, temp[:, -1])
    ember.testing.assert_close(last_out, y, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("labels", [[1], [1, 2], [2, 2], [1, 1, 3]])
def test_alignment_is_the_best_of_all_paths(labels):
    time, classes = 5, 4
    scores = ember.randn(1, time, classes).log_softmax(-1)
    targets = ember.tensor([labels], dtype=ember.int32)
    lengths = ember.tensor([time]), ember.tensor([len(labels)])
    path, same = ops.forced_align(scores, targets, *lengths, 0)
    rows = scores[0].tolist()

    def total(p):
        return sum(row[c] for row, c in zip(rows, p, strict=True))

    def spells(p):
        return [c for c, _ in itertools.groupby(p) if c] == labels

    best = max(
        filter(spells, itertools.product(range(classes), repeat=time)), key=total
    )
    assert path.tolist() == [list(best)]
    assert path.dtype == targets.dtype
    assert same is scores


def test_alignment_refuses_what_cannot_be():
    scores = ember.zeros(1, 2, 3)
    lengths = ember.tensor([2]), ember.tensor([2])
    twice = ember.tensor([[1, 1]])
    with pytest.raises(RuntimeError, match="number of repeats: 1"):
        ops.forced_align(scores, twice, *lengths, 0)
    with pytest.raises(RuntimeError, match=r"within \[0, 3\), got 3"):
        ops.forced_align(scores, twice, *lengths, 3)
    with pytest.raises(RuntimeError, match="batch size must be 1"):
        ops.forced_align(scores.repeat(2, 1, 1), twice, *lengths, 0)


def _cost(scores, labels, blank):
    """Minus the logarithm of the sum over all paths, one by one."""
    time, width, _ = scores.shape
    paths = []
    for moves in itertools.product((0, 1), repeat=time + width - 2):
        if sum(moves) != width - 1:
            continue
        t, u, path = 0, 0, 0.0
        for emits in moves:
            path = path + scores[t, u, labels[u] if emits else blank]
            t, u = t + (not emits), u + emits
        paths.append(path + scores[t, u, blank])
    return -ember.stack(paths).logsumexp(0)


@pytest.mark.parametrize("fused", [True, False])
def test_transducers_loss_sums_over_all_paths(fused):
    logits = ember.randn(2, 4, 3, 5)
    targets = ember.tensor([[1, 2], [4, 0]], dtype=ember.int32)
    lengths = (
        ember.tensor([4, 3], dtype=ember.int32),
        ember.tensor([2, 1], dtype=ember.int32),
    )
    costs, gradient = ops.rnnt_loss_forward(logits, targets, *lengths, 3, -1.0, fused)
    x = logits.double().requires_grad_()
    scores = x.log_softmax(-1) if fused else x
    expected = ember.stack(
        [_cost(scores[0], [1, 2], 3), _cost(scores[1, :3, :2], [4], 3)]
    )
    ember.testing.assert_close(costs, expected.detach().float())
    expected.sum().backward()
    ember.testing.assert_close(gradient, x.grad.float())
    clamped = ops.rnnt_loss_forward(logits, targets, *lengths, 3, 0.01, fused)[1]
    ember.testing.assert_close(clamped, x.grad.float().clamp(-0.01, 0.01))


def test_transducers_loss_refuses_lengths_of_other_tensors():
    logits, targets = ember.zeros(1, 4, 3, 5), ember.ones(1, 2, dtype=ember.int32)
    four, two = ember.tensor([[4], [2]], dtype=ember.int32)
    for lengths, words in (
        ((two, two), "input length mismatch: 4"),
        ((four, two - 1), "output length mismatch: 3"),
        ((four, two.long()), "target_lengths must be int32"),
    ):
        with pytest.raises(RuntimeError, match=words):
            ops.rnnt_loss_forward(logits, targets, *lengths, 0, -1.0)
    with pytest.raises(RuntimeError, match="logits must be float32 or float16"):
        ops.rnnt_loss_forward(logits.double(), targets, four, two, 0, -1.0)
