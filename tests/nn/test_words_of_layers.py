"""What functions of layers say of wrong arguments: the words that programs look for."""

import pytest

import ember
from ember import nn
from ember.nn import functional as F

E = ember.empty
WRONG = {
    "fold": (
        lambda: F.fold(ember.ones(1, 12, 12), (4, 5), 2, dilation=8),
        RuntimeError,
        r"sliding blocks as \(.*\), but its components must be at least one",
    ),
    "grid: last axis": (
        lambda: F.grid_sample(E(1, 2, 2), E(1, 1, 1, 2), align_corners=False),
        RuntimeError,
        "expected grid to have size 1 in last dimension",
    ),
    "grid: batch": (
        lambda: F.grid_sample(E(1, 1, 2, 2), E(2, 1, 1, 2), align_corners=False),
        RuntimeError,
        "expected grid and input to have same batch size",
    ),
    "grid: dimensions": (
        lambda: F.grid_sample(E(1, 1, 2, 2), E(1, 1, 1, 1, 2), align_corners=False),
        RuntimeError,
        "same number of dimensions",
    ),
    "instance_norm": (
        lambda: F.instance_norm(ember.ones(2, 3, 4).double(), weight=ember.ones(3)),
        RuntimeError,
        "mixed dtype",
    ),
    "linear_cross_entropy": (
        lambda: F.linear_cross_entropy(
            E(4, 6), E(5, 6), ember.zeros(4).long(), linear_bias=E(3)
        ),
        RuntimeError,
        r"linear_bias shape \(3,\) must be \(5,\)",
    ),
    "lstm_cell": (
        lambda: ember.lstm_cell(E(4, 8), (E(4, 16),) * 2, E(65, 8), E(64, 16)),
        RuntimeError,
        "weight_ih",
    ),
    "lanczos": (
        lambda: F.interpolate(E(1, 3, 8), 4, mode="lanczos", antialias=True),
        ValueError,
        "4-D tensor",
    ),
    "interpolate": (
        lambda: F.interpolate(E(1, 1, 8, 8), scale_factor=1e20, mode="bilinear"),
        RuntimeError,
        "too large",
    ),
    "pixel_shuffle": (
        lambda: nn.PixelShuffle(545460846592)(E(2, 16, 9, 3)),
        ValueError,
        "too large",
    ),
    "reflect": (
        lambda: nn.ReflectionPad1d(2)(E(3, 3, 10, 10)),
        NotImplementedError,
        "Padding size 2 is not supported for 4D input tensor",
    ),
}


@pytest.mark.parametrize(("call", "kind", "words"), WRONG.values(), ids=WRONG)
def test_words(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize(
    ("shape", "last"),
    [((1, 2, 5, 3), ember.channels_last), ((1, 2, 5, 3, 2), ember.channels_last_3d)],
)
def test_padding_keeps_the_format(shape, last):
    x = ember.rand(shape)
    padded = F.pad(x.contiguous(memory_format=last), (1, 2), value=0.5)
    assert padded.is_contiguous(memory_format=last)
    assert F.pad(x, (1, 2)).is_contiguous()
    assert ember.equal(padded, F.pad(x, (1, 2), value=0.5))
