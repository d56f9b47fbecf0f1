"""Gradients of products by segments where elements are 0 or NaN."""

import pytest

import ember

NAN = float("nan")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([2.0, 3.0, 4.0], [12.0, 8.0, 6.0]),
        ([2.0, 0.0, 4.0], [0.0, 8.0, 0.0]),
        ([0.0, 0.0, 4.0], [0.0, 0.0, 0.0]),
        ([NAN, 3.0, 4.0], [12.0, NAN, NAN]),
        ([NAN, NAN, 4.0], [NAN, NAN, NAN]),
    ],
)
def test_gradient(data, expected):
    x = ember.tensor([*data, 5.0], requires_grad=True)
    lengths = ember.tensor([3, 1])
    ember.segment_reduce(x, "prod", lengths=lengths).sum().backward()
    ember.testing.assert_close(x.grad, ember.tensor([*expected, 1.0]), equal_nan=True)


def test_second_gradient():
    x = ember.tensor([2.0, 0.0, 4.0, 5.0], dtype=ember.float64, requires_grad=True)
    lengths = ember.tensor([2, 2])
    assert ember.autograd.gradgradcheck(
        lambda v: ember.segment_reduce(v, "prod", lengths=lengths), (x,)
    )
