"""Python numbers beyond int64: the right value or an exception, never another number.

Those from 2**63 to 2**64 - 1 are uint64 values; what lies further out has no dtype.
"""

import math

import numpy as np
import pytest

import ember

BIG = 2**63
MASK = ember.tensor([True, False, True])
FLOATS = [ember.float32, ember.float64, ember.bfloat16]
INTEGERS = [ember.uint8, ember.int8, ember.int16, ember.int32, ember.int64]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [2**63, 2**63 + 2**60, 2**64 - 1])
def test_arithmetic_with_floats_keeps_the_sign(dtype, n):
    x = ember.ones(2, dtype=dtype)
    near = pytest.approx(float(n), rel=1e-2)
    assert (x * n)[0].item() == near
    assert (n * x)[0].item() == near
    assert (x + n)[0].item() == near
    assert (x - n)[0].item() == pytest.approx(-float(n), rel=1e-2)
    assert (n / x)[0].item() == near
    assert (x < n).all() and not (x > n).any() and (x != n).all()
    assert ember.add(x, x, alpha=n)[0].item() == near
    assert ember.sub(x, x, alpha=n)[0].item() == pytest.approx(-float(n), rel=1e-2)
    assert ember.addcmul(x, x, x, value=n)[0].item() == near
    assert x.clamp(max=n)[0].item() == 1
    assert x.clamp(min=n)[0].item() == near
    assert ember.full((2,), n, dtype=dtype)[0].item() == near
    assert x.clone().fill_(n)[0].item() == near
    assert ember.where(ember.tensor([True, False]), n, x)[0].item() == near
    assert x.masked_fill(ember.tensor([True, False]), n)[0].item() == near
    assert ember.lerp(ember.zeros(2, dtype=dtype), x, n)[0].item() == near
    assert (x**n)[0].item() == 1
    assert ember.maximum(x, ember.full_like(x, n))[0].item() == near


def test_functions_whose_parameters_are_floats_take_any_int():
    x = ember.tensor([-3.0, 3.0])
    assert ember.nn.functional.threshold(x, 0, BIG)[0].item() == float(BIG)
    assert ember.nn.functional.hardtanh(x, -1, BIG)[1].item() == 3
    assert ember.nn.functional.softplus(x, 1, BIG)[1].item() == pytest.approx(3.0485873)
    assert (
        ember.nn.functional.layer_norm(x, (2,), eps=10**30).abs().max().item() < 1e-10
    )
    with pytest.raises(OverflowError):
        ember.nn.functional.layer_norm(x, (2,), eps=10**400)


def test_a_dtype_that_is_inferred_is_int64():
    with pytest.raises(RuntimeError, match="without overflow"):
        ember.full((2,), BIG)
    assert ember.full((2,), BIG - 1).tolist() == [BIG - 1] * 2


@pytest.mark.parametrize("n", [2**64, 10**30, -(2**63) - 1, -(10**30)])
def test_what_no_dtype_holds_is_refused(n):
    x = ember.ones(2)
    mask = ember.tensor([True, False])
    for call in (
        lambda: x * n,
        lambda: n - x,
        lambda: x == n,
        lambda: x.clamp(min=n),
        lambda: ember.full((2,), n),
        lambda: x.fill_(n),
        lambda: ember.where(mask, x, n),
        lambda: x**n,
        lambda: ember.add(x, x, alpha=n),
        lambda: x.masked_fill(mask, n),
    ):
        with pytest.raises(OverflowError, match="too big"):
            call()


@pytest.mark.parametrize("n", [2**63, 2**64 - 1, 2**64, 10**30, -(2**63) - 1])
def test_index_assignment_takes_int64_alone(n):
    for dtype in (*FLOATS, *INTEGERS, ember.uint64, ember.bool):
        x = ember.ones(3, dtype=dtype)
        for key in (1, slice(None), ..., ember.tensor([0, 2]), MASK):
            with pytest.raises(ValueError, match="Overflow"):
                x[key] = n


@pytest.mark.parametrize("n", [2**63, 2**64, 10**30, -(2**63) - 1])
def test_sizes_and_dimensions_beyond_int64_are_refused(n):
    x = ember.ones(2, 3)
    for call in (
        lambda: x.sum(n),
        lambda: x.cumsum(n),
        lambda: x.unsqueeze(n),
        lambda: x.size(n),
        lambda: x.topk(n),
        lambda: x.roll(n, 0),
        lambda: ember.eye(n),
    ):
        with pytest.raises(ValueError, match="Overflow when unpacking long"):
            call()
    for call in (
        lambda: ember.zeros(n),
        lambda: ember.zeros((2, n)),
        lambda: x.sum((n,)),
        lambda: x.reshape(n, 1),
        lambda: x.expand(n, 3),
    ):
        with pytest.raises(TypeError, match="Overflow when unpacking long"):
            call()


@pytest.mark.parametrize("n", [2**63, 2**64 - 1])
def test_uint64_values_go_in_and_out(n):
    for t in (
        ember.tensor([n], dtype=ember.uint64),
        ember.full((1,), n, dtype=ember.uint64),
        ember.zeros(1, dtype=ember.uint64).fill_(n),
    ):
        assert t.item() == n and t.tolist() == [n] and str(n) in repr(t)
        assert t.to(ember.float64).item() == float(n)
        assert (t == n).item()
    assert ember.result_type(n, n) == ember.uint64
    assert (ember.ones(1) * np.uint64(n)).item() == float(n)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_an_integer_that_a_dtype_lacks_is_refused(dtype):
    x = ember.ones(3, dtype=dtype)
    index = ember.tensor([1])
    for call in (
        lambda: ember.full((2,), BIG, dtype=dtype),
        lambda: x.fill_(BIG),
        lambda: x.clamp(max=BIG),
        lambda: ember.add(x, x, alpha=BIG),
        lambda: x.scatter(0, index, BIG),
        lambda: x.index_fill(0, index, BIG),
        lambda: x.masked_fill(x > 0, BIG),
        lambda: x**BIG,
        lambda: ember.arange(BIG, BIG + 2, dtype=dtype),
    ):
        with pytest.raises(RuntimeError, match="without overflow"):
            call()


def test_wide_unsigned_types_meet_no_other():
    with pytest.raises(RuntimeError, match="Promotion for uint16"):
        ember.tensor([True]) + BIG
    with pytest.raises(RuntimeError, match="Promotion for uint16"):
        ember.promote_types(ember.uint8, ember.uint16)


def test_int64_limits_are_exact():
    x = ember.tensor([1, 2, 3])
    most = 2**63 - 1
    assert x.clamp(max=most).tolist() == [1, 2, 3]
    assert ember.nn.functional.hardtanh(x, -1, most).tolist() == [1, 2, 3]
    assert ember.addcmul(x, x, x, value=2**53 + 1)[0].item() == 2**53 + 2
    assert ember.tril(x[None], most).tolist() == [[1, 2, 3]]
    assert ember.triu(x[None], -most).tolist() == [[1, 2, 3]]
    assert ember.arange(most - 1, most).tolist() == [most - 1]


def test_floats_that_integers_lack():
    for value in (math.inf, math.nan, 1e30, -1e30):
        with pytest.raises(RuntimeError, match="without overflow"):
            ember.full((2,), value, dtype=ember.uint64)
        with pytest.raises(RuntimeError, match="without overflow"):
            ember.full((2,), value, dtype=ember.int64)
