"""Products of 8-bit integers are exact; those with int8 weights are rounded once."""

import pytest

import ember


@pytest.mark.parametrize("dtype", [ember.int8, ember.uint8])
@pytest.mark.parametrize("size", [(1, 1, 1), (3, 0, 2), (17, 5000, 9), (2, 513, 40)])
def test_integers_are_exact(size, dtype):
    m, k, n = size
    info = ember.iinfo(dtype)
    ember.manual_seed(0)
    a = ember.randint(info.min, info.max + 1, (m, k), dtype=dtype)
    b = ember.randint(-128, 128, (k, n), dtype=ember.int8)
    expected = (a.long() @ b.long()).tolist()
    assert ember._int_mm(a, b).dtype == ember.int32
    assert ember._int_mm(a, b).tolist() == expected
    assert ember._int_mm(a.t().contiguous().t(), b).tolist() == expected
    out = ember.empty(m, n, dtype=ember.int32)
    assert ember._int_mm(a, b, out=out) is out
    assert out.tolist() == expected


def test_extremes_do_not_lose_bits():
    a = ember.full((1, 4096), 255, dtype=ember.uint8)
    b = ember.full((4096, 1), -128, dtype=ember.int8)
    b[0] = -127
    assert ember._int_mm(a, b).item() == -255 * 128 * 4096 + 255


@pytest.mark.parametrize("dtype", [ember.float32, ember.float16, ember.bfloat16])
@pytest.mark.parametrize("size", [(1, 64, 200), (5, 37, 3), (0, 4, 4), (3, 8, 0)])
def test_int8_weights(size, dtype):
    m, k, n = size
    ember.manual_seed(0)
    x, scales = ember.randn(m, k).to(dtype), ember.rand(n).to(dtype)
    w = ember.randint(-128, 128, (n, k), dtype=ember.int8)
    exact = (x.double() @ w.double().t()) * scales.double()
    got = ember._weight_int8pack_mm(x, w, scales)
    assert got.dtype == dtype
    ember.testing.assert_close(
        got.double(), exact, rtol=2 * ember.finfo(dtype).eps, atol=1e-2
    )
