"""Work along a line, over the borders of work-groups: scans, sorting, scatters."""

import pytest

import ember
from ember.testing import assert_close

# around a work-item's part, a chunk of a scan, a block of a sort, and several levels
SIZES = [1, 16, 33, 511, 513, 1024, 1025, 5000]


def numbers(*shape, seed=0):
    return ember.randn(*shape, generator=ember.Generator().manual_seed(seed))


def both(f, *inputs, **options):
    expected = f(*inputs)
    actual = f(*(t.to("opencl") for t in inputs))
    assert_close(actual.cpu(), expected, equal_nan=True, **options)


@pytest.mark.parametrize("n", [*SIZES, 1100000])
def test_scans(n):
    x = numbers(n)
    both(lambda x: x.cumsum(0), x.double(), rtol=1e-9, atol=1e-9)
    both(lambda x: (x * 10).int().cumsum(0), x)
    if n > 5000:
        return
    both(lambda x: x.sign().cumprod(0), x)
    both(lambda x: x.logcumsumexp(0), x, rtol=1e-5, atol=1e-5)
    # ties take the later place
    both(lambda x: (x * 3).int().cummax(0)[1], x)
    both(lambda x: (x * 3).int().cummin(0)[1], x)


def test_scans_of_strided_lines():
    x = numbers(3, 2000, 5)
    both(lambda x: x.cumsum(1), x, rtol=1e-4, atol=1e-4)
    both(lambda x: x.transpose(0, 2)[:, ::2].cummax(1)[0], x)
    both(lambda x: x.flip(1).cummax(1)[1], x)


def test_nan_stays_in_scans():
    x = numbers(3000)
    x[1500] = float("nan")
    both(lambda x: x.cummax(0)[0], x)
    both(lambda x: x.cummin(0)[1], x)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("descending", [False, True])
def test_sort_is_stable(n, descending):
    x = (numbers(3, n) * 5).int()
    both(lambda x: x.sort(1, descending, stable=True)[1], x)
    both(lambda x: x.t().sort(0, descending, stable=True)[0], x)


def test_sort_places_nan_and_infinities():
    x = numbers(2000)
    x[::7], x[3::31], x[5::31] = float("nan"), float("inf"), -float("inf")
    both(lambda x: x.sort()[0], x)
    both(lambda x: x.sort(descending=True)[0], x)


@pytest.mark.parametrize(
    "dtype", [ember.uint8, ember.bool, ember.float16, ember.float64, ember.int64]
)
def test_sort_of_other_types(dtype):
    x = (numbers(2, 700) * 100).abs().to(dtype)
    both(lambda x: x.sort(1, stable=True)[0], x)
    both(lambda x: x.sort(1, stable=True)[1], x)


@pytest.mark.parametrize("n", [10, 600, 5000])
@pytest.mark.parametrize("k", [1, 10, 300])
def test_topk(n, k):
    k = min(n, k)
    x = numbers(3, n)
    both(lambda x: x.topk(k)[0], x)
    both(lambda x: x.topk(k)[1], x)
    both(lambda x: x.topk(k, largest=False)[1], x)


def test_what_follows_from_sorting_and_scanning():
    x = numbers(40, 50)
    many = (x * 5).int()
    both(lambda x: x.unique(), many)
    both(lambda x: x.unique(return_inverse=True)[1], many)
    both(lambda x: x.flatten().unique_consecutive(), many)
    both(lambda x: (x > 1).nonzero(), x)
    both(lambda x: ember.bincount(x.flatten().abs()), many)
    both(lambda x: ember.histc(x, 20, -2, 2), x)
    both(lambda x: x.kthvalue(7, 1)[0], x)
    both(lambda x: x.median(0)[0], x)
    both(lambda x: x.mode(1)[0], many)
    both(lambda x: x.quantile(0.3), x)
    edges = x.flatten().sort()[0]
    both(lambda e, x: ember.searchsorted(e, x, right=True), edges, x)
    both(lambda e, x: ember.bucketize(x, e), edges, x)


@pytest.mark.parametrize("dtype", [ember.float32, ember.float16, ember.int8], ids=str)
@pytest.mark.parametrize("reduce", ["sum", "prod", "amax", "amin"])
def test_scatters(dtype, reduce):
    x = (numbers(500) * 2).to(dtype)
    index = (numbers(500, seed=1) * 5).abs().long()
    base = ember.ones(40, dtype=dtype)
    options = {} if dtype == ember.int8 else {"rtol": 2e-2, "atol": 2e-2}
    if reduce == "prod":  # so that it stays small
        x = x.sign()
    both(lambda b, i, x: b.scatter_reduce(0, i, x, reduce), base, index, x, **options)


def test_scatters_in_order_are_reproducible():
    x, index = numbers(20000), (numbers(20000, seed=1) * 3).abs().long()
    ember.use_deterministic_algorithms(True)
    try:
        x, index = x.to("opencl"), index.to("opencl")
        base = ember.zeros(30, device="opencl")
        first = base.index_add(0, index, x)
        # in the order of the elements: not only the same every time, but that of a loop
        assert ember.equal(
            first.cpu(), ember.zeros(30).index_add(0, index.cpu(), x.cpu())
        )
        # of several values for one place, the last
        order = ember.arange(20000.0, device="opencl")
        last = base.index_put((index,), order)
        expected = base.scatter_reduce(0, index, order, "amax")
        assert ember.equal(last, expected)
    finally:
        ember.use_deterministic_algorithms(False)
