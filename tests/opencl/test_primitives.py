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


def test_pointwise_layouts():
    a, b = numbers(3, 70, 40), numbers(70, 40, seed=1)
    both(lambda a, b: a + b[:, :1], a, b)  # one number for each row
    both(lambda a, b: a + b[:1], a, b)
    both(lambda a, b: a.permute(2, 0, 1) * b.t()[:, None], a, b)
    both(lambda a, b: a[:, ::3, ::4] - b[::3, ::4], a, b)
    both(lambda a, b: a[..., :2] + b[:, :2], a, b)  # rows of two
    both(lambda a, b: a.flip(2) + b.flip(0), a, b)
    both(lambda a: a.view(3, 7, 5, 4, 4, 5).permute(5, 3, 1, 0, 4, 2) + 1, a)
    both(lambda a: a[:, :3, :2].permute(2, 1, 0).contiguous(), a)

    def in_place(a, b):
        a = a.clone()
        a[:, 1::2] += b[1::2, :1]
        a.transpose(0, 2).mul_(2)
        return a

    both(in_place, a, b)


@pytest.mark.parametrize("length", [100_000, 1_000_003])
def test_long_pointwise(length):
    both(lambda x: x * 2 + x[0], numbers(length))


@pytest.mark.parametrize(
    "dims", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2), (0, 1)], ids=str
)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)], ids=str)
def test_reductions_of_several_dimensions(dims, order):
    x = numbers(9, 70, 50)
    both(lambda x: x.permute(order).sum(dims), x, rtol=1e-5, atol=1e-4)
    both(lambda x: x.permute(order).var(dims), x, rtol=1e-5, atol=1e-6)
    both(lambda x: x.permute(order).amin(dims), x)
    both(lambda x: x.permute(order).argmin(dims[0]), x)


def test_sums_are_as_accurate_as_their_inputs():
    x = ember.rand(3_000_000, generator=ember.Generator().manual_seed(0)) + 1000
    exact = x.double()
    there = x.to("opencl")
    assert there.sum().item() == pytest.approx(exact.sum().item(), rel=2e-7)
    assert there.var().item() == pytest.approx(exact.var().item(), rel=1e-4)
    columns = there.view(-1, 300)
    assert_close(
        columns.sum(0).cpu().double(), exact.view(-1, 300).sum(0), rtol=1e-6, atol=0
    )
    assert_close(
        columns.var(0).cpu().double(), exact.view(-1, 300).var(0), rtol=1e-3, atol=0
    )


def test_the_first_of_equals_is_found_across_chunks():
    x = ember.zeros(200_000)
    x[[40_001, 40_002, 150_000]] = 3.0
    both(lambda x: x.argmax(), x)
    both(lambda x: x.argmin(), x)
    both(lambda x: x.view(400, 500).argmax(0), x)
    x[[160_000, 170_000]] = float("nan")
    both(lambda x: x.argmax(), x)


# Tiles over edges, packed and not, split along k, and sums of rows.
@pytest.mark.parametrize(
    "sizes",
    [(130, 70, 97), (70, 3000, 20), (1, 500, 300), (300, 500, 3), (64, 600, 1000)],
    ids=str,
)
def test_shapes_of_products(sizes):
    m, k, n = sizes
    a, b = numbers(m, k), numbers(k, n, seed=1)
    options = {"rtol": 1e-4, "atol": 1e-3}
    both(lambda a, b: a @ b, a, b, **options)
    both(lambda a, b: a @ b.t().contiguous().t(), a, b, **options)
    both(lambda a, b: a.t().contiguous().t() @ b, a, b, **options)

    def added(a, b):
        out = ember.ones(n, m, device=a.device).t()
        return out.addmm_(a, b, beta=2, alpha=0.5)

    both(added, a, b, **options)


@pytest.mark.parametrize("dtype", [ember.int64, ember.uint8, ember.bfloat16], ids=str)
def test_products_of_other_types(dtype):
    a, b = (numbers(2, 33, 33) * 5).to(dtype), (numbers(33, 65) * 5).to(dtype)
    options = {} if dtype.is_floating_point else {"rtol": 0, "atol": 0}
    both(lambda a, b: a @ b, a, b, **options)


@pytest.mark.parametrize("shape", [(5,), (40, 33), (3, 300, 70)], ids=str)
def test_softmax(shape):
    for dim in range(len(shape)):
        for f in (ember.softmax, ember.log_softmax):

            def forth_and_back(x, w, f=f, dim=dim):
                x = x.detach().requires_grad_()
                y = f(x, dim)
                (y * w).sum().backward()
                return ember.stack([y.detach(), x.grad])

            x, w = numbers(*shape), numbers(*shape, seed=1)
            both(forth_and_back, x, w, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [ember.float32, ember.float64], ids=str)
def test_error_functions(dtype):
    x = ember.linspace(-11, 11, 4001, dtype=dtype)
    x = ember.cat([x, ember.tensor([float("inf"), float("-inf"), float("nan")])])
    x = x.to(dtype)
    tolerance = {"rtol": 1e-6 if dtype == ember.float32 else 1e-14, "atol": 1e-38}
    both(ember.erf, x, **tolerance)
    both(ember.erfc, x, **tolerance)
    both(ember.nn.functional.gelu, x[x > -5], rtol=2e-6, atol=1e-7)


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
