"""Every kind of kernel gives what the CPU gives."""

import pytest

import ember
from ember.testing import assert_close

DTYPES = [
    ember.float32,
    ember.float64,
    ember.int64,
    ember.int32,
    ember.uint8,
    ember.bool,
]


def both(f, *inputs, **options):
    """f on the CPU and on the device."""
    expected = f(*inputs)
    actual = f(*(t.to("opencl") if ember.is_tensor(t) else t for t in inputs))
    assert actual.device.type == "opencl"
    assert_close(actual.cpu(), expected, equal_nan=True, **options)


def numbers(*shape, seed=0):
    return ember.randn(*shape, generator=ember.Generator().manual_seed(seed))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("to", DTYPES, ids=str)
def test_copy_converts(dtype, to):
    both(lambda x: x.to(to), (numbers(3, 5) * 10).abs().to(dtype))


@pytest.mark.parametrize("dtype", [ember.float16, ember.bfloat16], ids=str)
def test_reduced_floats(dtype):
    x = ember.cat([numbers(50), ember.tensor([0.0, float("inf"), float("nan"), 1e-7])])
    both(lambda x: x.to(dtype), x)
    both(lambda x: x.to(dtype) * 3 + 1, x)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: a + b,
        lambda a, b: a.t() * b.t(),
        lambda a, b: a - b[0],
        lambda a, b: a[:, ::2] / b[:, ::2],
        lambda a, b: a.expand(2, 3, 4) + b,
        lambda a, b: ember.where(a > b, a, b * 2),
        lambda a, b: ember.lerp(a, b, 0.3),
        lambda a, b: ember.addcmul(a, a, b, value=2),
        lambda a, b: ember.atan2(a, b),
        lambda a, b: (a > 0) & (b > 0),
        lambda a, b: a.flip(0, 1) + b,
        lambda a, b: ember.nn.functional.gelu(a) + ember.special.i0(b),
        lambda a, b: ember.digamma(a) + ember.erfinv(b / 10),
    ],
)
def test_pointwise(f):
    both(f, numbers(3, 4), numbers(3, 4, seed=1))


@pytest.mark.parametrize(
    "dtype", [ember.int64, ember.int32, ember.int8, ember.uint8], ids=str
)
def test_integer_division(dtype):
    a = ember.arange(-20, 20).to(dtype)
    for b in (3, 7):
        both(lambda x, b=b: x // b, a)
        both(lambda x, b=b: x % b, a)
        both(lambda x, b=b: ember.fmod(x, b), a)
    both(lambda x: x**3, a)
    assert (
        ember.ones(3, dtype=dtype, device="opencl")
        // ember.zeros_like(a[:3]).to("opencl")
    ).shape == (3,)


@pytest.mark.parametrize("shape", [(1000,), (3, 7, 5), (70, 300), (5, 20000)], ids=str)
@pytest.mark.parametrize("dim", [None, 0, -1])
def test_reductions(shape, dim):
    x = numbers(*shape)
    args = () if dim is None else (dim,)
    both(lambda x: x.sum(*args), x, rtol=1e-4, atol=1e-3)
    both(lambda x: x.mean(*args), x, rtol=1e-4, atol=1e-5)
    both(lambda x: x.amax(*args), x)
    both(lambda x: (x > 2).any(*args), x)
    both(lambda x: ember.count_nonzero(x > 0, *args), x)
    both(lambda x: x.var(*args), x, rtol=1e-4, atol=1e-5)
    both(lambda x: ember.linalg.vector_norm(x, 3, *args), x, rtol=1e-4, atol=1e-4)
    both(lambda x: x.argmax(*args), x)


def test_nan_wins_in_extremes():
    x = ember.tensor([[1.0, float("nan"), 3.0], [2.0, 2.0, 1.0]])
    both(lambda x: x.max(1)[0], x)
    both(lambda x: x.max(1)[1], x)
    both(lambda x: x.min(1)[1], x)


@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), (5, 7, 3), (33, 17, 65), (4, 0, 5)], ids=str
)
def test_matmul(sizes):
    m, k, n = sizes
    a, b = numbers(2, m, k), numbers(2, k, n, seed=1)
    both(lambda a, b: a[0] @ b[0], a, b, rtol=1e-4, atol=1e-5)
    both(lambda a, b: a @ b, a, b, rtol=1e-4, atol=1e-5)
    both(lambda a, b: a @ b[0], a, b, rtol=1e-4, atol=1e-5)
    both(lambda a, b: b.mT @ a.mT, a, b, rtol=1e-4, atol=1e-5)
    both(
        lambda a, b: ember.addmm(
            ember.ones_like(a[0] @ b[0]), a[0], b[0], beta=2, alpha=3
        ),
        a,
        b,
        rtol=1e-4,
        atol=1e-5,
    )


@pytest.mark.parametrize("n", [1, 2, 33, 100])
@pytest.mark.parametrize("dim", [0, 1])
def test_lines(n, dim):
    x = numbers(n, n)
    both(lambda x: x.cumsum(dim), x, rtol=1e-4, atol=1e-5)
    both(lambda x: x.cummax(dim)[1], x)
    both(lambda x: x.sort(dim)[0], x)
    both(lambda x: (x > 0).int().sort(dim, stable=True, descending=True)[1], x)
    both(lambda x: x.topk(min(n, 3), dim)[1], x)
    both(lambda x: x.median(dim)[0], x)
    both(lambda x: x.softmax(dim), x)
    both(lambda x: x.log_softmax(dim), x)
    both(lambda x: ember.searchsorted(x[0].sort()[0], x), x)


def test_indexing():
    x, i = numbers(6, 5), ember.tensor([0, -1, 3, 3])
    both(lambda x, i: x[i], x, i)
    both(lambda x, i: x[:, i], x, i)
    both(lambda x, i: x[i, i], x, i)
    both(lambda x: x[x > 0], x)
    both(lambda x: (x > 0).nonzero(), x)
    both(lambda x, i: x.index_add(0, i.abs(), x[:4]), x, i)
    both(lambda x: x.gather(1, (x > 0).long()), x)
    both(lambda x: x.scatter_add(1, (x > 0).long(), x), x)
    for dtype in (ember.int8, ember.float16, ember.float64, ember.int64):
        both(lambda x: x.scatter_add(1, (x > 0).long(), x), x.to(dtype))
    both(lambda x: x.scatter_reduce(1, (x > 0).long(), x, "amax"), x)
    both(lambda i: i.abs().repeat_interleave(i.abs()), i)


def test_positions_out_of_bounds_raise():
    x = ember.zeros(3, 4, device="opencl")
    with pytest.raises(
        IndexError, match="index 7 is out of bounds for dimension 0 with size 3"
    ):
        x[ember.tensor([7], device="opencl")].cpu()
    with pytest.raises(
        RuntimeError, match="index 4 is out of bounds for dimension 1 with size 4"
    ):
        x.gather(1, ember.tensor([[4]], device="opencl")).cpu()
