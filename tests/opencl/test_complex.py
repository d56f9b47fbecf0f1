"""Complex numbers on the device: what the CPU gives."""

import pytest

import ember
from ember.testing import assert_close

UNARY = """abs neg sgn square reciprocal sqrt rsqrt conj_physical exp exp2 expm1 log
log2 log10 log1p sinh cosh tanh asinh acosh atanh sin cos tan asin acos atan sinc
sigmoid isfinite logical_not""".split()


def numbers(*shape, seed=0, dtype=ember.complex64):
    generator = ember.Generator().manual_seed(seed)
    return ember.randn(*shape, dtype=dtype, generator=generator)


def both(f, *inputs, rtol=1e-5, atol=1e-5):
    expected = f(*inputs)
    actual = f(*(t.to("opencl") for t in inputs))
    assert actual.device.type == "opencl"
    assert actual.dtype == expected.dtype
    assert_close(actual.cpu(), expected, rtol=rtol, atol=atol, equal_nan=True)


@pytest.mark.parametrize("name", UNARY)
def test_functions(name):
    # the branch cuts, from both sides, are there as well
    edges = ember.tensor([0.0, 2.0, -2.0, 2j, -2j, 1 + 1e-3j, complex(-2, -0.0)])
    both(getattr(ember, name), ember.cat([numbers(30) * 3, edges]))


def test_functions_in_double():
    x = numbers(30, dtype=ember.complex128)
    both(lambda x: x.sin() * x.acos() / x.sqrt(), x, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: a + b * 2,
        lambda a, b: (a - 1j) / b,
        lambda a, b: a.t() ** b.t(),
        lambda a, b: (a == b) | (a.abs() > 1),
        lambda a, b: ember.isclose(a, b + 1e-9),
        lambda a, b: ember.addcmul(a, a, b, value=2 - 1j),
        lambda a, b: ember.where(a.real > 0, a, b),
        lambda a, b: ember.lerp(a, b, 0.7),
        lambda a, b: a.real * b.imag,
        lambda a, b: a.to(ember.complex128) + b.real,
        lambda a, b: a.bool(),
        lambda a, b: ember.view_as_real(a) + 1,
        lambda a, b: ember.complex(a.real, b.imag).conj(),
    ],
)
def test_operators(f):
    both(f, numbers(5, 5), numbers(5, 5, seed=1))


@pytest.mark.parametrize("dim", [None, 0, 1])
def test_reductions(dim):
    args = () if dim is None else (dim,)
    x = numbers(6, 50)
    both(lambda x: x.sum(*args), x, atol=1e-4)
    both(lambda x: x.mean(*args), x)
    both(lambda x: (x / x.abs()).prod(*args), x)
    both(lambda x: ember.linalg.vector_norm(x, 3, *args), x)
    both(lambda x: ember.count_nonzero(x, *args), x)
    both(lambda x: x.var(*args), x)


def test_scans_and_moves():
    x, i = numbers(6, 70), ember.tensor([0, 3, 3])
    for dtype in (ember.complex64, ember.complex128):
        z = x.to(dtype)
        both(lambda x: x.cumsum(1), z)
        both(lambda x: (x / x.abs()).cumprod(1), z)
        both(lambda x, i: x[i] + x[:3], z, i)
        both(lambda x, i: x.index_add(0, i, x[:3]), z, i)


def test_matmul():
    a, b = numbers(2, 9, 33), numbers(2, 33, 17, seed=1)
    both(lambda a, b: a @ b, a, b, atol=1e-4)
    both(lambda a, b: a.conj() @ b[0], a, b, atol=1e-4)
    for beta, alpha in ((2, 0.5), (1 + 2j, 2 - 1j), (0, 1j)):
        both(
            lambda a, b, beta=beta, alpha=alpha: ember.addmm(
                a[0, :, :17], a[0], b[0], beta=beta, alpha=alpha
            ),
            a,
            b,
            atol=1e-4,
        )


@pytest.mark.parametrize("name", ["abs", "exp", "log", "sqrt", "tanh", "asin", "sgn"])
def test_gradients(name):
    def grad(x):
        x = x.clone().requires_grad_()
        y = getattr(ember, name)(x)
        (y * y.conj()).sum().real.backward()
        return x.grad

    both(grad, numbers(20), rtol=1e-4, atol=1e-4)
