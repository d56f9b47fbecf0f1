"""Warnings point at the line of the program, whatever lies between it and them."""

import warnings

import pytest

import ember
import ember.nn.functional as F
from ember import nn


def hooked(module):
    module.register_forward_hook(lambda *_: None)
    return module


CASES = {
    "sizes of a loss": lambda: F.mse_loss(ember.ones(2, 1), ember.ones(2)),
    "inside of a module": lambda: nn.MSELoss()(ember.ones(2, 1), ember.ones(2)),
    "an implicit dimension": lambda: nn.Softmax()(ember.ones(2, 2)),
    "one of a module with hooks": lambda: hooked(nn.Softmax())(ember.ones(2, 2)),
    "an old argument": lambda: nn.MSELoss(size_average=True),
    "initial values of nothing": lambda: nn.Linear(0, 2),
    "the order of a grid": lambda: ember.meshgrid(ember.ones(2), ember.ones(2)),
    "a divergence's mean": lambda: F.kl_div(ember.ones(2), ember.ones(2)),
    "channels of a dropout": lambda: F.dropout2d(ember.ones(2, 2)),
    "a checkpoint": lambda: ember.utils.checkpoint.checkpoint(
        lambda x: x, ember.ones(2), use_reentrant=True
    ),
    "another scaler": lambda: ember.cuda.amp.GradScaler(),
    "copies of tensors": lambda: ember.tensor(ember.ones(2)),
    "a resized output": lambda: ember.add(ember.ones(3), 1, out=ember.empty(2)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_line_is_the_user_s(name):
    was = ember.is_warn_always_enabled()
    ember.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            CASES[name]()
    finally:
        ember.set_warn_always(was)
    assert found and {w.filename for w in found} == {__file__}, [
        (w.filename, w.lineno) for w in found
    ]
