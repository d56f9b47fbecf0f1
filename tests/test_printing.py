"""What tensors print as: layout, number formats, suffixes and options."""

import pytest

import ember
from ember._tensor_str import get_printoptions

inf, nan = float("inf"), float("nan")


@pytest.fixture(autouse=True)
def default_options():
    yield
    ember.set_printoptions(profile="default")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (1.5, "tensor(1.5000)"),
        (3, "tensor(3)"),
        ([True, False], "tensor([ True, False])"),
        ([1.0, 2.0, -3.0], "tensor([ 1.,  2., -3.])"),
        ([1.0, inf, nan], "tensor([1., inf, nan])"),
        ([0.5, -inf], "tensor([0.5000,   -inf])"),
        ([1e-5, 1.0], "tensor([1.0000e-05, 1.0000e+00])"),
        ([1.0, 1001.0], "tensor([1.0000e+00, 1.0010e+03])"),
        ([1.0, 1000.0], "tensor([   1., 1000.])"),
        ([0.0, 2e-4], "tensor([0.0000, 0.0002])"),
        ([1 + 2j, -1.5 - 0.25j], "tensor([ 1.0000+2.0000j, -1.5000-0.2500j])"),
        ([], "tensor([])"),
        ([[1, 20], [300, 4]], "tensor([[  1,  20],\n        [300,   4]])"),
        (
            [[[1], [2]], [[3], [4]]],
            "tensor([[[1],\n         [2]],\n\n        [[3],\n         [4]]])",
        ),
    ],
)
def test_elements(data, text):
    assert repr(ember.tensor(data)) == text
    assert str(ember.tensor(data)) == text


def test_suffixes():
    x = ember.tensor([1.0], requires_grad=True)
    assert repr(x) == "tensor([1.], requires_grad=True)"
    assert repr(x + 1) == "tensor([2.], grad_fn=<AddBackward0>)"
    assert repr(ember.zeros(0, 3)) == "tensor([], size=(0, 3))"
    assert repr(ember.zeros(1, dtype=ember.int32)) == (
        f"tensor([0], dtype={ember.int32})"
    )
    assert repr(ember.zeros(0, dtype=ember.int64)) == f"tensor([], dtype={ember.int64})"
    assert repr(ember.zeros(2, 3, device="meta")) == (
        "tensor(..., device='meta', size=(2, 3))"
    )


def test_a_suffix_that_does_not_fit_starts_a_line():
    text = repr(ember.arange(8).to(ember.float64) / 7)
    assert text.endswith(f"0.8571, 1.0000],\n       dtype={ember.float64})")


def test_long_tensors_are_summarized():
    assert repr(ember.arange(1001)) == (
        "tensor([   0,    1,    2,  ...,  998,  999, 1000])"
    )
    ember.set_printoptions(edgeitems=1, threshold=5)
    assert repr(ember.arange(30).reshape(5, 6)) == (
        "tensor([[ 0,  ...,  5],\n        ...,\n        [24,  ..., 29]])"
    )


def test_lines_break_at_the_width():
    ember.set_printoptions(linewidth=20)
    assert (
        repr(ember.arange(10))
        == "tensor([0, 1, 2, 3,\n        4, 5, 6, 7,\n        8, 9])"
    )


def test_options():
    ember.set_printoptions(precision=2, sci_mode=True)
    assert repr(ember.tensor([1.0])) == "tensor([1.00e+00])"
    ember.set_printoptions(sci_mode=False)
    assert repr(ember.tensor([1e-7, 1.0])) == "tensor([0.00, 1.00])"
    ember.set_printoptions(profile="full")
    assert get_printoptions()["threshold"] == inf
    with pytest.raises(ValueError, match="profile"):
        ember.set_printoptions(profile="wide")


def test_parameter():
    p = ember.nn.Parameter(ember.ones(2))
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
