"""Products of what is scattered to one place, where some of it is zero."""

import pytest

import ember


@pytest.mark.parametrize("function", [ember.scatter_reduce, ember.index_reduce])
def test_two_zeros_have_one_derivative_only(function):
    x = ember.ones(1, dtype=ember.float64, requires_grad=True)
    at = ember.tensor([0, 0])

    def first(values):
        src = ember.tensor(values, dtype=ember.float64, requires_grad=True)
        out = function(x, 0, at, src, "prod")
        return src, ember.autograd.grad(out.sum(), src, create_graph=True)[0]

    src, g = first([0.0, 0.0])
    assert g.tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="Double backward is unsupported for"):
        g.sum().backward()
    src, g = first([2.0, 3.0])
    g.sum().backward()
    assert src.grad.tolist() == [1.0, 1.0]
