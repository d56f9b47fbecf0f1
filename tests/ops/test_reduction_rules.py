"""Reductions at their limits: degrees of freedom, ranges, mixed dtypes."""

import math
import warnings

import pytest

import ember

BIG = ember.finfo(ember.float32).max


@pytest.mark.parametrize("name", ["std", "var", "std_mean", "var_mean"])
@pytest.mark.parametrize("dtype", [ember.float32, ember.complex64])
def test_too_few_degrees_of_freedom_warn(name, dtype):
    function, x = getattr(ember, name), ember.ones(2, 3, dtype=dtype)
    with pytest.warns(UserWarning, match="degrees of freedom is <= 0"):
        function(x, dim=-1, correction=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(x, dim=-1, correction=2)


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        ([-BIG] * 3, [3, 0, 0, 0]),
        ([BIG] * 3, [0, 0, 0, 3]),
        ([1e20] * 3, [0, 0, 3, 0]),
        ([0.0] * 3, [0, 0, 3, 0]),
        ([-BIG, BIG, 0.0], [1, 0, 1, 1]),
    ],
)
def test_histogram_over_the_whole_range_of_floats(values, counts):
    assert ember.histc(ember.tensor(values), bins=4).tolist() == counts


def test_ranges_of_histograms():
    x = ember.ones(3)
    for dtype in (ember.float32, ember.int64):
        with pytest.raises(RuntimeError, match="max must be larger than min"):
            ember.histc(x.to(dtype), bins=4, min=5, max=1)
    with pytest.raises(RuntimeError, match=r"range of \[nan, 1\] is not finite"):
        ember.histc(x, bins=4, min=math.nan, max=1)
    with pytest.raises(RuntimeError, match="min should not exceed max"):
        ember.histogram(x, 4, range=(1, 0))
    with pytest.raises(RuntimeError, match="at least 1 element"):
        ember.histogram(x, ember.ones(0))
    with pytest.raises(RuntimeError, match="should have the same dtype"):
        ember.histogram(x, ember.ones(2, dtype=ember.float64))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda h, x: h(x, [2, 2], range=[0.0, 1.0, 1.0, 0.0]),
            "min should not exceed",
        ),
        (lambda h, x: h(x, [2, 2], range=[0.0, 1.0, 0.0, math.nan]), "not finite"),
        (lambda h, x: h(x, [2, 2], range=[0.0, math.inf, 0.0, 1.0]), "not finite"),
        (lambda h, x: h(x, [2, 2], range=[0.0, 1e60, 0.0, 1.0]), "not finite"),
        (lambda h, x: h(x * math.nan, [2, 2]), "dimension 0's range .* not finite"),
        (lambda h, x: h(x, [ember.empty(0), ember.ones(1)]), "at least 1 element"),
        (lambda h, x: h(x, [ember.ones(1), ember.ones(1, 1)]), "one dimension"),
        (lambda h, x: h(x, [ember.ones(1, dtype=ember.float64)] * 2), "dtype"),
        (lambda h, x: h(x, [2, 2], weight=ember.ones(4)), "same shape"),
        (lambda h, x: h(x, [2, 2], weight=ember.ones(3).double()), "same dtype"),
        (lambda h, x: h(x.long(), [2, 2]), "not implemented for"),
    ],
)
def test_histograms_of_points_that_make_no_sense(call, text):
    with pytest.raises((RuntimeError, NotImplementedError), match=text):
        call(ember.histogramdd, ember.ones(3, 2))


def test_a_range_that_the_dtype_lacks():
    with pytest.raises(RuntimeError, match="without overflow"):
        ember.histogram(ember.ones(3), 2, range=(0.0, 1e60))
    wide = ember.histogram(ember.ones(3).double(), 2, range=(0.0, 1e60))
    assert wide.hist.tolist() == [3, 0]


def test_points_without_coordinates_have_a_histogram():
    assert ember.histogramdd(ember.empty(2, 0), bins=[]).hist.shape == ()


@pytest.mark.parametrize("left", [ember.int32, ember.int64, ember.float64])
@pytest.mark.parametrize("right", [ember.int32, ember.float32, ember.float64])
def test_places_are_searched_in_a_common_dtype(left, right):
    sorted_ = ember.tensor([1, 2, 3], dtype=left)
    found = ember.searchsorted(sorted_, ember.tensor([2, 5], dtype=right))
    assert found.tolist() == [1, 3]
    assert ember.bucketize(ember.tensor(2.5), sorted_).item() == 2
    assert ember.searchsorted(sorted_, 2.5).item() == 2


def test_phases_of_what_vanishes_do_not_count():
    inf = math.inf
    x = ember.tensor([complex(-inf, inf), complex(-inf, 1), 1 + 2j])
    out = ember.logcumsumexp(x, 0)
    assert out[:2].real.tolist() == [-inf, -inf] and out[:2].imag.tolist() == [0, 0]
    assert out[2].item() == 1 + 2j


def test_fractions_of_integer_products_are_cut_off():
    a = ember.tensor([10])
    assert ember.addcmul(a, a, a, value=1.9).item() == 110
    assert ember.addcmul(a, a, a, value=-0.5).item() == 10
