"""What the losses and lookups of PyTorch refuse: targets, lengths, sizes and dtypes."""

import math

import pytest

import ember

F = ember.nn.functional
LOGP = ember.zeros(5, 2, 4).log_softmax(2)
LABELS = ember.tensor([[1, 2], [3, 1]])
FIVE, TWO = ember.tensor([5, 5]), ember.tensor([2, 2])
X = ember.zeros(2, 3)

REFUSED = {
    "take_along_dim beyond the end": lambda: ember.take_along_dim(
        ember.ones(3, 4), ember.tensor([100])
    ),
    "take_along_dim before the start": lambda: ember.take_along_dim(
        ember.ones(3, 4), ember.tensor([-1])
    ),
    "take_along_dim, int32": lambda: ember.take_along_dim(
        ember.ones(3, 4), ember.tensor([[0]], dtype=ember.int32), 1
    ),
    "ctc, long input": lambda: F.ctc_loss(LOGP, LABELS, ember.tensor([6, 5]), TWO),
    "ctc, negative input": lambda: F.ctc_loss(LOGP, LABELS, ember.tensor([-1, 5]), TWO),
    "ctc, long target": lambda: F.ctc_loss(LOGP, LABELS, FIVE, ember.tensor([3, 2])),
    "ctc, negative target": lambda: F.ctc_loss(
        LOGP, LABELS, FIVE, ember.tensor([-1, 2])
    ),
    "ctc, float lengths": lambda: F.ctc_loss(LOGP, LABELS, FIVE.float(), TWO),
    "ctc, few labels": lambda: F.ctc_loss(LOGP, ember.tensor([1, 2, 3]), FIVE, TWO),
    "ctc, many labels": lambda: F.ctc_loss(LOGP, LABELS.new_ones(5), FIVE, TWO),
    "ctc, targets in 3-D": lambda: F.ctc_loss(LOGP, LABELS[None], FIVE, TWO),
    "ctc, batch of targets": lambda: F.ctc_loss(LOGP, LABELS[:1], FIVE, TWO),
    "ctc, no steps": lambda: F.ctc_loss(LOGP[:0], LABELS, FIVE * 0, TWO),
    "ctc, blank": lambda: F.ctc_loss(LOGP, LABELS, FIVE, TWO, blank=4),
    "ctc, label": lambda: F.ctc_loss(LOGP, LABELS + 5, FIVE, TWO),
    "ctc, half": lambda: F.ctc_loss(LOGP.half(), LABELS, FIVE, TWO),
    "multilabel, class": lambda: F.multilabel_margin_loss(
        X, ember.tensor([[0, 3, -1], [1, -1, 0]])
    ),
    "multilabel, below -1": lambda: F.multilabel_margin_loss(
        X, ember.tensor([[0, -2, -1], [1, -1, 0]])
    ),
    "multilabel, int32": lambda: F.multilabel_margin_loss(
        X, ember.zeros(2, 3, dtype=ember.int32)
    ),
    "multilabel, shape": lambda: F.multilabel_margin_loss(X, ember.tensor([0, 1, 2])),
    "multilabel of integers": lambda: F.multilabel_margin_loss(
        X.long(), ember.zeros(2, 3, dtype=ember.int64)
    ),
    "multi_margin, int32": lambda: F.multi_margin_loss(
        X, ember.tensor([0, 1], dtype=ember.int32)
    ),
    "multi_margin, class": lambda: F.multi_margin_loss(X, ember.tensor([0, 3])),
    "multi_margin, weights": lambda: F.multi_margin_loss(
        X, ember.tensor([0, 1]), weight=ember.ones(2)
    ),
    "multi_margin, float64 weights": lambda: F.multi_margin_loss(
        X, ember.tensor([0, 1]), weight=ember.ones(3).double()
    ),
    "binary_cross_entropy, dtype": lambda: F.binary_cross_entropy(
        ember.rand(3), ember.tensor([0, 1, 1])
    ),
    "huber_loss, delta": lambda: F.huber_loss(X, X, delta=float("nan")),
    "margin_ranking_loss, shape": lambda: F.margin_ranking_loss(
        ember.ones(3), ember.ones(3), ember.ones(3, 1)
    ),
    "triplet_margin_loss, shape": lambda: F.triplet_margin_loss(X, ember.ones(3), X),
    "index_copy of a number": lambda: ember.index_copy(
        ember.ones(3, 4), 0, ember.tensor([0]), ember.ones(())
    ),
    "embedding_bag, float offsets": lambda: F.embedding_bag(
        ember.tensor([0, 1]), ember.ones(3, 2), ember.tensor([0.0])
    ),
    "tensordot, one dim twice": lambda: ember.tensordot(
        ember.ones(2, 3), ember.ones(3, 2), dims=([1, 1], [0, 0])
    ),
    "affine_grid, batch": lambda: F.affine_grid(ember.ones(1, 2, 3), (2, 1, 2, 2)),
    "local_response_norm, size": lambda: F.local_response_norm(ember.ones(1, 3, 2), 0),
    "histogramdd, bins": lambda: ember.histogramdd(ember.ones(3, 2), bins=[2, 0]),
    "cosine_embedding_loss, shape": lambda: F.cosine_embedding_loss(
        ember.ones(3), ember.ones(3), ember.ones(3)
    ),
    "lerp of integers": lambda: ember.lerp(ember.tensor([1]), ember.tensor([2]), 0.5),
    "fft of -1 points": lambda: ember.fft.fft(ember.ones(3), n=-1),
    "cdist, dtypes": lambda: ember.cdist(X, X.double()),
    "binary_cross_entropy, target": lambda: F.binary_cross_entropy(
        ember.ones(3) / 2, ember.tensor([0.0, 1.0, 1.5])
    ),
    "binary_cross_entropy, NaN": lambda: F.binary_cross_entropy(
        ember.ones(1) / 2, ember.tensor([float("nan")])
    ),
    "bilinear, dtypes": lambda: F.bilinear(
        ember.ones(2, 3), ember.ones(2, 4) * 1j, ember.ones(2, 3, 4)
    ),
    "bilinear, sizes": lambda: F.bilinear(
        ember.ones(2, 6), ember.ones(2, 4), ember.ones(2, 3, 4)
    ),
    "celu, alpha": lambda: F.celu(X, 0.0),
    "celu_, alpha": lambda: ember.celu_(X.clone(), 0.0),
    "max_unpool3d, stride": lambda: F.max_unpool3d(
        ember.ones(1, 1, 1, 1, 1), ember.zeros(1, 1, 1, 1, 1).long(), 2, stride=-(2**63)
    ),
    "pdist, p": lambda: F.pdist(X, p=-1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_in_pytorch(name):
    with pytest.raises((RuntimeError, NotImplementedError)):
        REFUSED[name]()


def test_padding_is_of_ints():
    for mode in ("constant", "circular"):
        with pytest.raises(TypeError, match="must be tuple of ints"):
            F.pad(ember.ones(1, 3), (2.5, 1), mode=mode)


def test_an_infinite_variance():
    x = ember.zeros(2, requires_grad=True)
    var = ember.tensor([math.inf, 1e-9], requires_grad=True)
    loss = F.gaussian_nll_loss(x, ember.ones(2), var, reduction="none")
    assert loss[0].item() == math.inf and loss[1].item() > 1e5
    loss[1].backward()
    assert var.grad[1].item() < 0  # passes below the least variance


def test_what_is_right_still_works():
    ember.testing.assert_close(
        ember.take_along_dim(ember.arange(4.0)[None], ember.tensor([[-1, 5]]), 1),
        ember.tensor([[3.0, 1.0]]),
    )
    assert F.ctc_loss(LOGP, LABELS, FIVE, TWO).isfinite()
    assert F.ctc_loss(LOGP, LABELS.flatten(), (5, 5), (2, 2)).isfinite()
    assert F.multilabel_margin_loss(X, ember.tensor([[0, -1, 2]] * 2)).item() > 0
