"""Sums of products (addmm and its kin) are made where they are wanted."""

import warnings

import pytest

import ember

FORMS = {  # shapes of what is added to, and of the two factors
    "addmm": ((3, 5), (3, 4), (4, 5)),
    "baddbmm": ((2, 3, 5), (2, 3, 4), (2, 4, 5)),
    "addbmm": ((3, 5), (2, 3, 4), (2, 4, 5)),
    "addmv": ((3,), (3, 4), (4,)),
}
DTYPES = [ember.float32, ember.float64, ember.int64, ember.complex64, ember.bfloat16]


def operands(name, dtype=ember.float64):
    ember.manual_seed(1)
    return [(ember.randn(shape) * 4).to(dtype) for shape in FORMS[name]]


def expected(name, c, a, b, beta, alpha):
    product = ember.matmul(a, b)
    product = product.sum(0) if name == "addbmm" else product
    return c * beta + product * alpha


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_same(name, dtype):
    c, a, b = operands(name, dtype)
    f = getattr(ember, name)
    want = f(c, a, b, beta=3, alpha=2)
    if dtype != ember.bfloat16:
        ember.testing.assert_close(want, expected(name, c, a, b, 3, 2))
    out = ember.empty(want.shape, dtype=dtype)
    assert f(c, a, b, beta=3, alpha=2, out=out) is out
    assert out.equal(want)
    before = c.clone()
    assert getattr(c, name + "_")(a, b, beta=3, alpha=2) is c
    assert c.equal(want)
    assert f(before, a, b, beta=3, alpha=2, out=before).equal(want)


@pytest.mark.parametrize("name", FORMS)
def test_memory_is_written_where_it_is(name):
    c, a, b = operands(name)
    want = getattr(ember, name)(c, a, b)
    wide = ember.zeros(*c.shape, 2, dtype=c.dtype)
    strided = wide[..., 1]
    strided.copy_(c)
    version = strided._version
    getattr(strided, name + "_")(a, b)
    ember.testing.assert_close(strided, want)
    assert strided._version == version + 1
    assert wide[..., 0].abs().sum() == 0
    pointer = c.data_ptr()
    getattr(c, name + "_")(a, b)
    assert c.data_ptr() == pointer


@pytest.mark.parametrize("name", FORMS)
def test_beta_of_zero_ignores_what_was_there(name):
    c, a, b = operands(name)
    want = expected(name, ember.zeros_like(c), a, b, 0, 1)
    nan = ember.full_like(c, float("nan"))
    f = getattr(ember, name)
    ember.testing.assert_close(f(nan, a, b, beta=0), want)
    ember.testing.assert_close(f(c, a, b, beta=0, out=nan.clone()), want)
    ember.testing.assert_close(getattr(nan, name + "_")(a, b, beta=0), want)


def test_a_factor_may_be_the_place():
    ember.manual_seed(0)
    a, b = ember.randn(4, 4), ember.randn(4, 4)
    want = a + a @ b
    y = b.clone()
    ember.testing.assert_close(ember.addmm(a, a, y, out=y), want)
    x = a.clone()
    ember.testing.assert_close(ember.addmm(x, x, b, out=x), want)
    x = a.clone()
    ember.testing.assert_close(x.addmm_(x, b), want)
    x = a.clone()
    ember.testing.assert_close(x.addmm_(b, x.T), a + b @ a.T)
    x = a.clone()
    ember.testing.assert_close(ember.addmm(x.T, a, b, out=x), a.T + a @ b)
    x = a.clone()
    ember.testing.assert_close(ember.addmm(x[0], a, b, out=x), a[0] + a @ b)


def test_what_is_added_to_broadcasts():
    _, a, b = operands("addmm")
    row = ember.arange(5.0, dtype=ember.float64)
    out = ember.empty(0, dtype=ember.float64)
    ember.testing.assert_close(ember.addmm(row, a, b, out=out), row + a @ b)
    with pytest.raises(RuntimeError, match="shape"):
        row.addmm_(a, b)
    with pytest.raises(RuntimeError):
        ember.addmm(ember.zeros(4, dtype=ember.float64), a, b, out=out)
    assert out.shape == (3, 5)


@pytest.mark.parametrize("name", FORMS)
def test_gradients_in_place(name):
    def f(c, a, b):
        return getattr(c * 1, name + "_")(a, b, beta=0.5, alpha=2)

    inputs = [t.requires_grad_() for t in operands(name)]
    assert ember.autograd.gradcheck(f, inputs)
    assert ember.autograd.gradgradcheck(f, inputs)


def test_a_factor_changed_in_place_counts_as_it_was():
    v = ember.arange(4.0).view(2, 2).requires_grad_()
    w = ember.ones(2, 2, requires_grad=True)
    x = v * 1
    x.addmm_(x, w)
    x.sum().backward()
    assert v.grad.tolist() == [[3, 3], [3, 3]]
    assert w.grad.tolist() == [[2, 2], [4, 4]]


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("addmm", [(2, 2), (2, 3), (3, 2)]),
        ("addmv", [(2,), (2, 3), (3,)]),
        ("addr", [(2, 3), (2,), (3,)]),
        ("addbmm", [(2, 2), (4, 2, 3), (4, 3, 2)]),
        ("baddbmm", [(4, 2, 2), (4, 2, 3), (4, 3, 2)]),
    ],
)
def test_factors_that_stand_before_what_they_multiply(name, shapes):
    """addmm(beta, input, alpha, mat1, mat2), as it once was: deprecated, not gone."""
    x, a, b = (ember.rand(shape) for shape in shapes)
    function, method = getattr(ember, name), getattr(x, name)
    once, both = function(x, a, b, beta=2), function(x, a, b, beta=2, alpha=3)
    with pytest.warns(UserWarning, match=f"overload of {name} is deprecated"):
        assert ember.equal(method(2, a, b), once)
    with pytest.warns(UserWarning, match="deprecated"):
        assert ember.equal(method(2, 3, a, b), both)
        assert ember.equal(function(2, x, a, b), once)
        assert ember.equal(function(2, x, 3, a, b), both)
        y = x.clone()
        assert getattr(y, name + "_")(2, 3, a, b) is y and ember.equal(y, both)
    for bad in ((2, 3, 4, a, b), (a, 2, 3)):
        with warnings.catch_warnings(), pytest.raises(TypeError):
            warnings.simplefilter("ignore")
            method(*bad)


@pytest.mark.parametrize("name", ["add", "sub"])
def test_sums_with_the_factor_before_what_it_multiplies(name):
    """x.add_(1 - beta, gradient), as old optimizers are written."""
    x, y = ember.rand(2, 3), ember.rand(3)
    function, method = getattr(ember, name), getattr(x, name)
    expected = function(x, y, alpha=2)
    with pytest.warns(UserWarning, match=f"overload of {name} is deprecated"):
        assert ember.equal(method(2, y), expected)
    with pytest.warns(UserWarning, match="keyword argument `alpha`"):
        assert ember.equal(function(x, 2, y), expected)
        assert ember.equal(function(x, 2, y, out=ember.empty(2, 3)), expected)
        z = x.clone()
        assert getattr(z, name + "_")(2, y) is z and ember.equal(z, expected)
    with pytest.raises(TypeError):
        method(2, 3, y)
