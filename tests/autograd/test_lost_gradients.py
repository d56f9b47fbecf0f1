"""Tensors that require a gradient where a number is wanted."""

import math
import warnings

import pytest

import ember


@pytest.fixture
def x():
    return ember.tensor(2.0, requires_grad=True)


NUMBERS = {
    "float": float,
    "complex": complex,
    "math.pow": lambda t: math.pow(t, 2),
    "%": lambda t: f"{'%f' % t}",  # noqa: UP031
}


@pytest.mark.parametrize("make", NUMBERS.values(), ids=NUMBERS)
def test_a_warning_tells_that_the_gradient_is_lost(make, x):
    ember.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="requires_grad=True to a scalar"):
            make(x)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            make(x.detach())
            x.item()
            with ember.no_grad():
                make(x)
    finally:
        ember.set_warn_always(False)


REFUSED = {
    "full": lambda t: ember.full((2,), t),
    "isclose": lambda t: ember.isclose(t, t, t, 1),
    "dropout": lambda t: ember.dropout(ember.ones(2), t, True),
    "alpha": lambda t: ember.add(t, t, alpha=t),
    "gradient": lambda t: ember.gradient(ember.ones(4), spacing=t),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_numbers_that_are_no_tensors_refuse_it(call, x):
    with pytest.raises(TypeError, match=r"must be (Number|float), not"):
        call(x)
    call(ember.tensor(0.5))
