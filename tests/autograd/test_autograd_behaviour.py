"""What libraries rely on in autograd: names, keywords, dual numbers, checks."""

from __future__ import annotations

import pytest

import ember
from ember.autograd import Function, Variable, forward_ad, grad, gradcheck

X = ember.tensor([1.0, 2.0])


def test_variable_makes_a_tensor():
    x = Variable(X, requires_grad=True)
    assert x.requires_grad and isinstance(x, Variable) and not X.requires_grad
    with pytest.raises(TypeError, match="list"):
        Variable([1.0])


class Scaled(Function):
    @staticmethod
    def forward(ctx, x, y, scale=1.0):
        ctx.save_for_backward(x, y)
        ctx.scale = scale
        return scale * x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * ctx.scale * y, g * ctx.scale * x, None


def test_functions_take_keywords():
    x, y = (t.clone().requires_grad_() for t in (X, X + 1))
    Scaled.apply(x, scale=5.0, y=y).sum().backward()
    assert x.grad.tolist() == [10, 15] and y.grad.tolist() == [5, 10]


def test_inputs_with_names():
    x = X.clone().requires_grad_()
    assert grad((x * x).sum(), {"x": x})["x"].tolist() == [2, 4]
    (x * x).sum().backward(inputs={"x": x})
    assert x.grad.tolist() == [2, 4]
    with pytest.raises(RuntimeError, match="cannot be empty"):
        grad((x * x).sum(), {})


def test_nodes_have_types_of_their_names():
    x = X.clone().requires_grad_()
    for y, name in ((x * x, "MulBackward0"), (x.exp(), "ExpBackward0")):
        assert type(y.grad_fn).__name__ == y.grad_fn.name() == name
        assert isinstance(y.grad_fn, ember.autograd.graph.Node)
    assert type((x * x).grad_fn) is type((x * 2 * x).grad_fn)


def test_arrays_of_tensors_with_gradients_under_no_grad():
    x = X.clone().requires_grad_()
    with ember.no_grad():
        assert x.numpy().tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="detach"):
        x.numpy()


def test_named_results_are_shown_as_torch_shows_them():
    text = repr(X.view(1, 2).max(1))
    assert text == (
        "torch.return_types.max(\nvalues=tensor([2.]),\nindices=tensor([1]))"
    )
    assert repr(ember.linalg.slogdet(ember.eye(2))).startswith(
        "torch.return_types.linalg_slogdet(\nsign="
    )


def test_the_old_name_of_grad():
    p = ember.nn.Parameter(X.clone())
    p._grad = X * 3
    assert p.grad.tolist() == [3, 6] and p._grad is p.grad


# --- dual numbers -------------------------------------------------------------------


def test_directions_are_carried_under_no_grad():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(X, X * 10)
        with ember.no_grad():
            assert not ember.is_grad_enabled()
            layer = ember.nn.Linear(2, 2)  # changes its leaves in place
            y = layer(x * x)
        want = layer.weight @ (2 * X * X * 10)
        assert ember.allclose(forward_ad.unpack_dual(y).tangent, want)
        with ember.no_grad():
            assert not (layer.weight * 2).requires_grad
    assert ember.is_grad_enabled()


class WithJvp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_forward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, g):
        raise AssertionError("forward mode does not run backward")

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return t * x * 100


def test_a_function_is_asked_for_its_jvp():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(X, ember.ones(2))
        y = WithJvp.apply(x * 2) * 3
        assert forward_ad.unpack_dual(y).tangent.tolist() == [1200, 2400]


def test_gradcheck_in_forward_mode():
    x = ember.rand(3, dtype=ember.float64, requires_grad=True)
    options = {"check_forward_ad": True}
    assert gradcheck(lambda t: t.sin() * t, (x,), **options)
    assert gradcheck(lambda t: t.sin() * t, (x,), fast_mode=True, **options)
    z = ember.rand(2, dtype=ember.complex128, requires_grad=True)
    assert gradcheck(lambda t: t * t.abs(), (z,), **options)

    class Wrong(Function):
        @staticmethod
        def forward(ctx, t):
            return t * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

        @staticmethod
        def jvp(ctx, t):
            return t * 3

    with pytest.raises(RuntimeError, match="computed with forward mode"):
        gradcheck(Wrong.apply, (x,), **options)


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_gradcheck_of_sparse_inputs(layout, masked):
    dense = ember.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=ember.float64)
    x = dense.to_sparse(layout=getattr(ember, layout)).requires_grad_()
    assert gradcheck(lambda t: t.to_dense() * 2, (x,), masked=masked)


@pytest.mark.parametrize("dims", [0, 1])
def test_jacobians_of_numbers(dims):
    x = ember.full((1,) * dims, 2.0)
    for made in (ember.func.jacfwd, ember.func.jacrev, ember.func.hessian):
        order = 2 if made is ember.func.hessian else 1
        got = made(lambda t: t**3)(x)
        assert got.dim() == dims * (order + 1) and got.item() == 12
    assert ember.autograd.functional.jacobian(lambda t: t**3, x).item() == 12


@pytest.mark.parametrize(
    "name", "SGD Adam AdamW Adamax NAdam RAdam Adagrad Adadelta RMSprop ASGD".split()
)
def test_steps_of_optimizers_are_differentiable(name):
    """Three steps, by the parameter's start and by the rate, against differences."""

    def run(start, lr):
        p = start.clone()
        made = getattr(ember.optim, name)([p], lr=lr, differentiable=True)
        for k in range(3):
            p.grad = start * (k + 1) + p
            made.step()
        return p

    start = ember.tensor([1.0, 2.0], dtype=ember.float64, requires_grad=True)
    lr = ember.tensor(0.1, dtype=ember.float64, requires_grad=True)
    wanted = (start,) if name == "ASGD" else (start, lr)
    found = grad(run(start, lr).sum(), wanted, allow_unused=True)
    eps = 1e-6
    for x, got in zip(wanted, found, strict=True):
        plain = {id(start): start.detach(), id(lr): lr.detach()}
        moved = []
        for sign in (1, -1):
            plain[id(x)] = x.detach() + sign * eps
            moved.append(run(plain[id(start)], plain[id(lr)]).sum())
        want = (moved[0] - moved[1]) / (2 * eps)
        assert ember.allclose(got.sum(), want, rtol=1e-4, atol=1e-6)
