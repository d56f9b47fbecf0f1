"""backward, grad, custom functions, gradcheck and the functional derivatives."""

import pytest

import ember
from ember.autograd import (
    Function,
    backward,
    functional as F,
    grad,
    gradcheck,
    gradgradcheck,
)
from ember.autograd.function import once_differentiable
from ember.autograd.gradcheck import GradcheckError


def doubles(*values):
    return ember.tensor(values, dtype=ember.float64, requires_grad=True)


def test_backward_accumulates():
    x = doubles(1, 2)
    backward((x * x).sum())
    backward([x.sum(), x.sum()])
    assert x.grad.tolist() == [4, 6]


def test_backward_checks():
    x = doubles(1, 2)
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        backward(x * 2)
    with pytest.raises(RuntimeError, match=r"Mismatch in shape: grad_output\[0\]"):
        backward(x * 2, ember.ones(3))
    with pytest.raises(RuntimeError, match="cannot be empty"):
        backward(x.sum(), inputs=[])
    with pytest.raises(TypeError, match="Tensors or None"):
        grad(x * 2, x, [3])


def test_grad():
    x, y = doubles(1, 2), doubles(3, 4)
    (g,) = grad((x * y).sum(), x)
    assert g.tolist() == [3, 4] and x.grad is None
    assert grad(x.sum(), [x, y], allow_unused=True)[1] is None
    assert grad(x.sum(), [x, y], materialize_grads=True)[1].tolist() == [0, 0]
    with pytest.raises(ValueError, match="allow_unused"):
        grad(x.sum(), x, materialize_grads=True, allow_unused=False)
    (batched,) = grad(x * x, x, ember.eye(2, dtype=x.dtype), is_grads_batched=True)
    assert batched.tolist() == [[2, 0], [0, 4]]


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


class ScaledByContext(Function):
    @staticmethod
    def forward(x, k):
        return x * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.k = inputs[1]

    @staticmethod
    def backward(ctx, g):
        assert ctx.needs_input_grad == (True, False)
        return g * ctx.k, None


class Wrong(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        return g * 3


def test_custom_functions():
    x = doubles(1, 2)
    assert gradcheck(Cube.apply, x) and gradgradcheck(Cube.apply, x)
    assert ScaledByContext.apply(x, 4).tolist() == [4, 8]
    assert grad(ScaledByContext.apply(x, 4).sum(), x)[0].tolist() == [4, 4]
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        Function.__call__(None)
    assert Cube._backward_cls.__name__ == "CubeBackward"


def test_once_differentiable():
    x = doubles(1, 2)
    (g,) = grad(Wrong.apply(x * x).sum(), x, create_graph=True)
    assert g.tolist() == [6, 12]
    (g,) = grad(
        Wrong.apply(x), x, ember.ones_like(x).requires_grad_(), create_graph=True
    )
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.sum().backward()


@pytest.mark.parametrize("fast", [False, True])
def test_gradcheck_finds_a_wrong_gradient(fast):
    x = doubles(1, 2)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with"):
        gradcheck(Wrong.apply, x, fast_mode=fast)
    assert not gradcheck(Wrong.apply, x, fast_mode=fast, raise_exception=False)
    with pytest.raises(GradcheckError, match="expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, x)


@pytest.mark.parametrize("fast", [False, True])
def test_gradcheck_passes(fast):
    x, y = doubles(1, 2), doubles(0.5, -1)
    assert gradcheck(lambda x, y: (x * y, x.exp()), (x, y), fast_mode=fast)
    assert gradgradcheck(lambda x, y: (x * y, x.exp()), (x, y), fast_mode=fast)
    z = ember.tensor([1 + 2j, -1j], dtype=ember.complex128, requires_grad=True)
    assert gradcheck(lambda z: (z * z, z.abs(), z.conj()), z, fast_mode=fast)
    assert gradcheck(lambda z, x: z * x, (z, x), fast_mode=fast)
    assert gradgradcheck(lambda z: z * z, z, fast_mode=fast)
    assert gradcheck(lambda x: x.sum(), x.detach().reshape(2, 1).t().requires_grad_())


def test_gradcheck_inputs():
    with pytest.raises(ValueError, match="at least one input tensor"):
        gradcheck(ember.exp, ember.ones(2))
    with pytest.raises(RuntimeError, match="stride 0"):
        gradcheck(ember.exp, doubles(1).expand(3))


def test_jacobian_and_hessian():
    x, y = doubles(1, 2), doubles(3, 4)
    assert F.jacobian(lambda x: x * x, x).tolist() == [[2, 0], [0, 4]]
    jac = F.jacobian(lambda x, y: (x * y, x.sum()), (x, y))
    assert jac[0][1].tolist() == [[1, 0], [0, 2]]
    assert jac[1][0].tolist() == [1, 1] and jac[1][1].tolist() == [0, 0]
    hess = F.hessian(lambda x, y: (x * x * y).sum(), (x, y))
    assert hess[0][0].tolist() == [[6, 0], [0, 8]]
    assert hess[0][1].tolist() == [[2, 0], [0, 4]]
    assert F.hessian(lambda x: (x**3).sum(), x).tolist() == [[6, 0], [0, 12]]
    assert F.jacobian(lambda x: x * x, x, create_graph=True).requires_grad


def test_products():
    x, v = doubles(1, 2), doubles(1, -1)
    out, g = F.vjp(lambda x: x * x, x, v)
    assert out.tolist() == [1, 4] and g.tolist() == [2, -4]
    out, g = F.jvp(lambda x: x * x, x, v)
    assert out.tolist() == [1, 4] and g.tolist() == [2, -4]
    assert not g.requires_grad
    for product in (F.vhp, F.hvp):
        out, g = product(lambda x: (x**3).sum(), x, v)
        assert out.item() == 9 and g.tolist() == [6, -12]
    _, g = F.jvp(lambda x: x * x, x, v, create_graph=True)
    assert grad(g.sum(), x)[0].tolist() == [2, -2]


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda x: F.jacobian(lambda x: ember.ones(2), x, strict=True), "Output 0 of"),
        (
            lambda x: F.jacobian(lambda x, y: x * 2, (x, doubles(1)), strict=True),
            "independent of input 1",
        ),
        (lambda x: F.hessian(lambda x: x.sum(), x, strict=True), "independent of"),
        (lambda x: F.hessian(lambda x: x, x), "single element"),
        (lambda x: F.vjp(lambda x: x, x), "v can only be None"),
        (lambda x: F.vjp(lambda x: x, x, ember.ones(3)), "v has invalid size"),
    ],
)
def test_functional_errors(call, match):
    with pytest.raises(RuntimeError, match=match):
        call(doubles(1, 2))
    with pytest.raises(TypeError, match="has type <class 'int'>"):
        F.jacobian(lambda x: 3, doubles(1))
