"""Derivatives of functions: values, nesting, what the caller's tape sees."""

import math

import pytest

import ember
from ember import func


@pytest.fixture
def x():
    return ember.tensor([0.5, -1.0, 2.0], dtype=ember.float64)


def close(a, b):
    return ember.allclose(a, ember.as_tensor(b, dtype=a.dtype))


def test_grad_of_grad_of_grad():
    f = lambda x: x.sin()  # noqa: E731
    for order, wanted in enumerate([math.cos, lambda v: -math.sin(v)], 1):
        g = f
        for _ in range(order):
            g = func.grad(g)
        assert g(ember.tensor(0.3)).item() == pytest.approx(wanted(0.3), abs=1e-6)


def test_levels_do_not_mix():
    # d/dx x * d/dy (x + y) = 1, not 2: the inner derivative is by y alone.
    outer = func.grad(lambda x: x * func.grad(lambda y: x + y)(x))
    assert outer(ember.tensor(3.0)).item() == 1.0


def test_argnums_aux_and_trees(x):
    made = func.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, 2 * x)
    assert close(made[0], 2 * x) and close(made[1], x)
    made, aux = func.grad(lambda a: ((a**2).sum(), a + 1), has_aux=True)(x)
    assert close(made, 2 * x) and close(aux, x + 1) and not aux.requires_grad
    made = func.grad(lambda d: (d["a"] * d["b"][0]).sum())({"a": x, "b": [x + 1]})
    assert close(made["a"], x + 1) and close(made["b"][0], x)
    value, made = func.value_and_grad(lambda a: (a**2).sum())(x)
    assert value.item() == 5.25 and close(made, 2 * x)


def test_history_only_where_something_outside_needs_it(x):
    f = lambda a: (a**3).sum()  # noqa: E731
    assert not func.grad(f)(x).requires_grad
    leaf = x.clone().requires_grad_()
    made = func.grad(f)(leaf)
    made.sum().backward()
    assert close(leaf.grad, 6 * x)
    with ember.no_grad():
        assert close(func.grad(f)(leaf), 3 * x * x)
    weight = ember.ones(3, dtype=x.dtype, requires_grad=True)
    assert func.grad(lambda a: (a * a * weight).sum())(x).requires_grad
    assert not func.grad(lambda a: (a * a).sum() + weight.sum())(x).requires_grad


def test_vjp_jvp_and_linearize_agree(x):
    f = lambda a: (a.sin() * a.sum(), a.prod())  # noqa: E731
    v, u = (
        ember.tensor([1.0, 2.0, 3.0]).double(),
        ember.tensor([0.1, 0.2, 0.3]).double(),
    )
    out, pull = func.vjp(f, x)
    (g,) = pull((u, ember.tensor(2.0).double()))
    value, moved = func.jvp(f, (x,), (v,))
    assert close(value[0], out[0]) and close(value[1], out[1])
    assert (g @ v).item() == pytest.approx((u @ moved[0] + 2 * moved[1]).item())
    _, push = func.linearize(f, x)
    assert all(close(a, b) for a, b in zip(push(v), moved, strict=True))


def test_jvp_of_what_does_not_depend_on_the_input(x):
    _, moved = func.jvp(lambda a: (a * 2, ember.ones(2)), (x,), (x,))
    assert close(moved[0], 2 * x) and moved[1].tolist() == [0, 0]


@pytest.mark.parametrize("jacobian", [func.jacrev, func.jacfwd])
def test_jacobians(x, jacobian):
    made = jacobian(lambda a: a.sin())(x)
    assert close(made, x.cos().diag())
    made = jacobian(lambda a, b: {"s": (a * b).sum(), "p": a * b}, (0, 1))(x, x + 1)
    assert close(made["s"][0], x + 1) and close(made["p"][1], x.diag())
    assert jacobian(lambda a: a.new_zeros(0) * a.sum())(x).shape == (0, 3)


def test_hessian(x):
    f = lambda a: (a**3).sum() * a[0]  # noqa: E731
    made = func.hessian(f)(x)
    assert close(made, func.jacfwd(func.jacrev(f))(x))
    assert close(made, made.t()) and made[1, 1].item() == 6 * x[1] * x[0]


def test_errors(x):
    with pytest.raises(RuntimeError, match="scalar"):
        func.grad(lambda a: a)(x)
    with pytest.raises(RuntimeError, match="return a tensor"):
        func.grad(lambda a: 3)(x)
    with pytest.raises(RuntimeError, match="argnum"):
        func.grad(lambda a: a.sum(), argnums=1)(x)
    with pytest.raises(RuntimeError, match="shapes"):
        func.jvp(lambda a: a, (x,), (ember.ones(4),))
    with pytest.raises(RuntimeError, match="tuple"):
        func.jvp(lambda a: a, x, x)
    with pytest.raises(RuntimeError, match=r"\(output, aux\)"):
        func.vjp(lambda a: a, x, has_aux=True)


def test_rearrange():
    x = ember.arange(24).reshape(2, 4, 3)
    made = func.rearrange(x, "a (b c) d -> (d a) c b", b=2)
    assert ember.equal(made, x.view(2, 2, 2, 3).permute(3, 0, 2, 1).reshape(6, 2, 2))
    assert func.rearrange(x, "a ... -> ... a").shape == (4, 3, 2)
    assert func.rearrange(x, "a b c -> a 1 (b c)").shape == (2, 1, 12)
    for bad in ("a b -> b a", "a b c", "a b c -> a b", "a a c -> a c", "(a b) c -> c"):
        with pytest.raises(ValueError):
            func.rearrange(x, bad)


@pytest.mark.parametrize("inside", [ember.no_grad, ember.inference_mode])
def test_derivatives_where_the_tape_is_off(inside):
    def cube(a):
        return (a**3).sum()

    with inside():
        x = ember.tensor([1.0, 2.0])
        assert func.grad(cube)(x).tolist() == [3, 12]
        assert func.vjp(cube, x)[1](ember.tensor(2.0))[0].tolist() == [6, 24]
        assert func.jvp(cube, (x,), (ember.ones(2),))[1].item() == 15
        assert func.jacrev(cube)(x).tolist() == [3, 12]
        assert func.jacfwd(cube)(x).tolist() == [3, 12]
        assert func.hessian(cube)(x).tolist() == [[6, 0], [0, 12]]
        assert func.vmap(func.grad(cube))(x[:, None]).tolist() == [[3], [12]]


X = ember.tensor([1.0, 2.0])


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: func.grad(ember.mul, argnums=(0, -2))(X, X), RuntimeError, "unique"),
        (lambda: func.jacrev(ember.sin, argnums=())(X), RuntimeError, "non-empty"),
        (
            lambda: func.jacfwd(ember.sin, argnums=0.0)(X),
            RuntimeError,
            "must be int or",
        ),
        (
            lambda: func.jacfwd(ember.sin, argnums=(0.0,))(X),
            RuntimeError,
            "must be int",
        ),
        (lambda: func.jvp(ember.sin, (), ()), RuntimeError, "at least one Tensor"),
        (
            lambda: func.jvp(ember.sin, (X,), (1.0,)),
            RuntimeError,
            "only contain Tensors",
        ),
        (lambda: func.jvp(ember.sin, (X,), [X]), RuntimeError, "same python structure"),
        (lambda: func.jvp(lambda a: (), (X,), (X,)), RuntimeError, "non-empty output"),
        (lambda: func.vjp(ember.sin, X)[1]((X, X)), RuntimeError, "pytree structure"),
        (lambda: func.vjp(lambda a: 1, X), RuntimeError, "return only tensors"),
        (lambda: func.jacrev(ember.sin)(X + 0j), RuntimeError, "inputs to be real"),
        (lambda: func.jacfwd(lambda a: a + 0j)(X), RuntimeError, "outputs to be real"),
        (lambda: func.jacrev(ember.sin, chunk_size=0)(X), ValueError, "jacrev: `chunk"),
    ],
)
def test_wrong_arguments_are_named(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.parametrize("api", [func.grad, func.jacrev, func.jacfwd])
def test_aux_holds_tensors(api):
    with pytest.raises(RuntimeError, match="Expected tensors, got unsupported type"):
        api(lambda a: (a.sum(), [a, 1.0]), has_aux=True)(X)
