"""Gradients that are infinite or NaN do not pass where a function is constant."""

import math

import pytest

import ember

F = ember.nn.functional
X = [-4.0, -3.0, -1.0, -0.3, 0.0, 0.3, 1.0, 3.0, 4.0, 6.0, 7.0]

# A function, and where it is constant: a derivative of 0 on both sides, or of one side.
CUT = {
    "relu": (F.relu, lambda x: x <= 0),
    "relu6": (F.relu6, lambda x: x <= 0 or x >= 6),
    "hardtanh": (F.hardtanh, lambda x: x <= -1 or x >= 1),
    "hardsigmoid": (F.hardsigmoid, lambda x: x <= -3 or x >= 3),
    "hardswish": (F.hardswish, lambda x: x <= -3),
    "hardshrink": (F.hardshrink, lambda x: -0.5 <= x <= 0.5),
    "softshrink": (F.softshrink, lambda x: -0.5 <= x <= 0.5),
    "threshold": (lambda x: F.threshold(x, 0.5, 2.0), lambda x: x <= 0.5),
    "clamp": (lambda x: x.clamp(-1, 1), lambda x: x < -1 or x > 1),
    "clamp_min": (lambda x: x.clamp(min=0), lambda x: x < 0),
    "maximum": (lambda x: ember.maximum(x, ember.tensor(0.1)), lambda x: x < 0.1),
    "where": (lambda x: ember.where(x > 0, x, 1.0), lambda x: x <= 0),
    "masked_fill": (lambda x: x.masked_fill(x > 0, 1.0), lambda x: x > 0),
    "logit": (lambda x: ember.logit(x, eps=0.1), lambda x: x < 0.1 or x > 0.9),
    "sign": (ember.sign, lambda x: True),
    "round": (ember.round, lambda x: True),
    "trunc": (ember.trunc, lambda x: True),
    "floor": (ember.floor, lambda x: True),
    "ceil": (ember.ceil, lambda x: True),
    "pow": (lambda x: x ** ember.zeros(x.shape), lambda x: True),
    "max": (lambda x: x.max(), lambda x: x != 7),
    "min": (lambda x: x.min(), lambda x: x != -4),
    "median": (lambda x: x.median(), lambda x: x != 0.3),
    "nanmedian": (lambda x: x.nanmedian(), lambda x: x != 0.3),
    "topk": (lambda x: x.topk(2)[0], lambda x: x < 6),
}


def gradient(function, x, by):
    x = x.clone().requires_grad_()
    y = function(x)
    y.backward(ember.full_like(y, by))
    return x.grad


@pytest.mark.parametrize("by", [math.inf, math.nan])
@pytest.mark.parametrize("dtype", [ember.float32, ember.float64, ember.bfloat16])
@pytest.mark.parametrize("name", CUT)
def test_cut_off(name, dtype, by):
    function, constant = CUT[name]
    x = ember.tensor(X, dtype=dtype)
    for row in (x, x.repeat(40)[: x.numel()], x.repeat_interleave(2)[::2]):
        made = gradient(function, row, by).tolist()
        assert [g == 0 for g in made] == [constant(v) for v in X], made


# (Of pow, the rule itself has 0 * inf at 0.)
@pytest.mark.parametrize("name", sorted(CUT.keys() - {"pow"}))
def test_second_gradients_are_cut_off_too(name):
    function, constant = CUT[name]
    x = ember.tensor(X, requires_grad=True)
    y = function(x)
    g = ember.ones_like(y).requires_grad_()
    (first,) = ember.autograd.grad(y, x, g, create_graph=True)
    if not first.requires_grad:
        return
    (second,) = ember.autograd.grad(
        first, g, ember.full_like(x, math.inf), allow_unused=True
    )
    if second is not None and second.shape == x.shape:
        assert [v == 0 for v in second.tolist()] == [constant(v) for v in X]
