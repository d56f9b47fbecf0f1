"""Limits on gradients and parameters as vectors."""

import pytest

import ember
from ember import nn
from ember.nn import utils


def test_clipping_keeps_the_direction():
    layer = nn.Linear(2, 1)
    layer.weight.grad = ember.tensor([[3.0, 0.0]])
    layer.bias.grad = ember.tensor([4.0])
    assert utils.clip_grad_norm_(layer.parameters(), 10.0).item() == 5.0
    assert layer.bias.grad.item() == 4.0  # short enough already
    utils.clip_grad_norm_(layer.parameters(), 1.0)
    assert layer.bias.grad.item() == pytest.approx(0.8, abs=1e-5)
    utils.clip_grad_value_(layer.parameters(), 0.5)
    assert layer.weight.grad.tolist() == [[0.5, 0.0]]


def test_a_norm_that_is_not_finite():
    p = nn.Parameter(ember.ones(1))
    p.grad = ember.tensor([float("inf")])
    with pytest.raises(RuntimeError, match="non-finite"):
        utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)
    assert utils.clip_grad_norm_([], 1.0).item() == 0.0


def test_parameters_as_a_vector():
    layer = nn.Linear(2, 3)
    vector = utils.parameters_to_vector(layer.parameters())
    utils.vector_to_parameters(vector.detach() * 2, layer.parameters())
    again = utils.parameters_to_vector(layer.parameters())
    assert bool((again == vector * 2).all())
