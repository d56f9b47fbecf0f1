"""`ember.nn.grad`: gradients of convolutions by themselves."""

import pytest

import ember
from ember.nn import functional as F, grad


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_they_are_those_of_the_tape(dims):
    x = ember.randn(2, 4, *[5] * dims, requires_grad=True)
    w = ember.randn(6, 2, *[2] * dims, requires_grad=True)
    options = {"stride": 2, "padding": 1, "groups": 2}
    y = getattr(F, f"conv{dims}d")(x, w, **options)
    g = ember.randn(y.shape)
    of_x, of_w = ember.autograd.grad(y, (x, w), g)
    by_input, by_weight = (
        getattr(grad, f"conv{dims}d_{name}") for name in ("input", "weight")
    )
    ember.testing.assert_close(by_input(x.shape, w, g, **options), of_x)
    ember.testing.assert_close(by_weight(x, w.shape, g, **options), of_w)
