"""What the functions of autograd.functional say of a wrong vector."""

import pytest

import ember
from ember.autograd import functional

X = ember.tensor([1.0, 2.0])


@pytest.mark.parametrize("name", ["vjp", "jvp", "vhp", "hvp"])
def test_a_wrong_vector_is_named(name):
    call = getattr(functional, name)

    def f(x):
        return (x * x).sum()

    with pytest.raises(TypeError, match=f"The v given to {name} must be either"):
        call(f, X, v=(X, 2))
    with pytest.raises(RuntimeError, match="should contain a single Tensor"):
        call(f, X, v=(X, X))
    with pytest.raises(RuntimeError, match="v has invalid size"):
        call(f, X, v=ember.ones(5))
