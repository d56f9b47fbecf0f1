"""Python numbers beyond int64: the right value or an exception, never another number.

Those from 2**63 to 2**64 - 1 are uint64 values; what lies further out has no dtype.
"""

import math

import numpy as np
import pytest

import ember

BIG = 2**63
F = ember.nn.functional
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
        lambda: ember.clamp_min(x, BIG),
        lambda: x.clamp_max(BIG),
        lambda: x.clone().clamp_min_(BIG),
        lambda: x.clone().clamp_max_(BIG),
        lambda: x.clamp(0, BIG),
        lambda: ember.where(x > 0, x, BIG),
        lambda: ember.where(x > 0, BIG, x),
        lambda: x.where(x > 0, BIG),
        lambda: ember.addr(x[None], x[:1], x, alpha=BIG),
        lambda: ember.addr(x[None], x[:1], x, beta=BIG),
        lambda: F.threshold(x, BIG, 0),
        lambda: F.threshold(x, 0, BIG),
        lambda: F.threshold_(x.clone(), 0, BIG),
        lambda: ember.threshold(x, 0, BIG),
        lambda: F.hardtanh(x, 0, BIG),
        lambda: F.hardtanh_(x.clone(), 0, BIG),
        lambda: ember._foreach_clamp_max([x], BIG),
        lambda: ember._foreach_clamp_min_([x.clone()], BIG),
        lambda: ember._foreach_maximum([x], BIG),
        lambda: ember._foreach_minimum([x], [BIG]),
    ):
        with pytest.raises(RuntimeError, match="without overflow"):
            call()


@pytest.mark.parametrize(
    ("dtype", "bound"),
    [
        (ember.uint8, 300),
        (ember.int16, 2**15),
        (ember.int64, 1e30),
        (ember.int64, 2.0**63),
        (ember.int64, math.nan),
        (ember.float16, 1e6),
        (ember.float32, 1e60),
    ],
)
def test_bounds_and_choices_are_numbers_of_the_type(dtype, bound):
    x = ember.ones(3, dtype=dtype)
    calls = []
    if dtype.is_floating_point or isinstance(bound, int):  # others are of float32 then
        calls += [
            lambda: ember._foreach_clamp_max([x], bound),
            lambda: ember._foreach_clamp_min_([x.clone()], bound),
            lambda: x.clamp_min(bound),
            lambda: ember.clamp_max(x, bound),
            lambda: x.clone().clamp_max_(bound),
        ]
    if dtype != ember.float16:
        calls += [
            lambda: F.threshold(x, 0, bound),
            lambda: F.threshold(x, bound, 0),
            lambda: F.hardtanh(x, 0, bound),
        ]
    if dtype == ember.float32 or isinstance(bound, int):
        calls.append(lambda: ember.where(x > 0, x, bound))
    if not dtype.is_floating_point and isinstance(bound, int):
        calls.append(lambda: ember.addr(x[None], x[:1], x, alpha=bound))
    for call in calls:
        with pytest.raises(RuntimeError, match="without overflow"):
            call()


def test_bounds_of_integers_are_cut_off():
    x = ember.tensor([-3, 1, 5])
    assert F.hardtanh(x, -1.7, 2.7).tolist() == [-1, 1, 2]
    assert F.threshold(x, 1.5, 7.9).tolist() == [7, 7, 5]
    assert x.clamp_max(2**63 - 1).tolist() == [-3, 1, 5]
    assert ember.where(x > 0, x, -(2**63)).tolist() == [-(2**63), 1, 5]


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
    for value in (math.inf, math.nan, 1e30, -1e30, 2.0**64):
        with pytest.raises(RuntimeError, match="without overflow"):
            ember.full((2,), value, dtype=ember.uint64)
        with pytest.raises(RuntimeError, match="without overflow"):
            ember.full((2,), value, dtype=ember.int64)
    with pytest.raises(RuntimeError, match="without overflow"):
        ember.full((2,), 2.0**63, dtype=ember.int64)
    assert ember.full((2,), -(2.0**63), dtype=ember.int64).tolist() == [-(2**63)] * 2
