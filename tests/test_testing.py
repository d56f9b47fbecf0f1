"""ember.testing: assert_close and make_tensor."""

import numpy as np
import pytest

import ember
from ember.testing import assert_allclose, assert_close, make_tensor


def test_equal_and_near():
    x = ember.randn(3, 4)
    assert_close(x, x.clone())
    assert_close(x, x * (1 + 1e-7))
    assert_close(1.0, 1.0 + 1e-9)
    assert_close([x, {"a": 1}], [x.clone(), {"a": 1}])
    assert_close(
        ember.tensor([float("nan")]), ember.tensor([float("nan")]), equal_nan=True
    )
    assert_close(np.ones(2), np.ones(2))
    assert_close(None, None)


@pytest.mark.parametrize(
    "a, b, text",
    [
        (
            ember.tensor([1.0, 2.0]),
            ember.tensor([1.0, 2.1]),
            "Mismatched elements: 1 / 2",
        ),
        (ember.tensor(1.0), ember.tensor(2.0), "Expected 2.0 but got 1.0"),
        (ember.ones(2), ember.ones(3), "'shape'"),
        (ember.ones(2), ember.ones(2, dtype=ember.float64), "'dtype'"),
        (ember.tensor([float("nan")]), ember.tensor([float("nan")]), "1 / 1"),
        ([1, 2], [1], "length"),
        ({"a": 1}, {"b": 1}, "keys"),
        ([ember.ones(1), ember.ones(1)], [ember.ones(1), ember.zeros(1)], r"\[1\]"),
        (ember.tensor([1, 2]), ember.tensor([1, 3]), "not equal"),
        (None, 1, "None mismatch"),
    ],
)
def test_what_differs_is_said(a, b, text):
    with pytest.raises(AssertionError, match=text):
        assert_close(a, b)


def test_options():
    assert_close(ember.ones(2), ember.ones(2).double(), check_dtype=False)
    assert_close(ember.tensor([1.0]), ember.tensor([1.5]), rtol=0, atol=1)
    with pytest.raises(ValueError, match="both"):
        assert_close(1.0, 1.0, rtol=1)
    with pytest.raises(AssertionError, match="mine"):
        assert_close(1.0, 2.0, msg="mine")
    with pytest.raises(AssertionError, match="stride"):
        assert_close(ember.zeros(2, 3), ember.zeros(3, 2).t(), check_stride=True)
    with pytest.raises(TypeError, match="object"):
        assert_close(object(), object())
    assert_allclose([1.0], ember.tensor([1.0]))


def test_make_tensor():
    for dtype in (ember.bool, ember.uint8, ember.int64, ember.float16, ember.complex64):
        x = make_tensor(3, 4, dtype=dtype, device="cpu")
        assert x.shape == (3, 4)
        assert x.dtype == dtype
    x = make_tensor(
        (50,), dtype=ember.int32, device="cpu", low=0, high=2, exclude_zero=True
    )
    assert (x == 1).all()
    x = make_tensor(2, 3, dtype=ember.float32, device="cpu", noncontiguous=True)
    assert not x.is_contiguous()
    with pytest.raises(ValueError, match="below"):
        make_tensor(2, dtype=ember.float32, device="cpu", low=4, high=3)
    with pytest.raises(ValueError, match="requires_grad"):
        make_tensor(2, dtype=ember.int32, device="cpu", requires_grad=True)


def test_memory_that_is_not_there():
    with pytest.raises(ember.OutOfMemoryError):
        ember.empty(2**50)
