"""Reduced floats (stored so, calculated in float32), and devices without float64."""

import os
import subprocess
import sys

import pytest

import ember
from ember.testing import assert_close

REDUCED = [ember.float16, ember.bfloat16]


def numbers(*shape, seed=0):
    return ember.randn(*shape, generator=ember.Generator().manual_seed(seed))


def both(f, *inputs, **options):
    expected = f(*inputs)
    actual = f(*(t.to("opencl") for t in inputs))
    assert actual.dtype == expected.dtype
    assert_close(actual.cpu(), expected, equal_nan=True, **options)


@pytest.mark.parametrize("dtype", REDUCED, ids=str)
def test_every_pattern_of_bits_converts(dtype):
    bits = ember.arange(-(2**15), 2**15).to(ember.int16).view(dtype)
    both(lambda x: x.float(), bits)
    both(lambda x: x.float().to(x.dtype), bits)


@pytest.mark.parametrize("dtype", REDUCED, ids=str)
def test_float32_rounds_to_the_nearest(dtype):
    edges = [0.0, -0.0, 65504.0, 65519.9, 65520.0, 1e-8, 6e-8, 3.4e38, float("inf")]
    x = ember.cat([numbers(3000) * 100, numbers(3000) * 1e-6, ember.tensor(edges)])
    both(lambda x: x.to(dtype), x)
    both(lambda x: (x + 1).to(dtype), x.double(), rtol=0, atol=0)


@pytest.mark.parametrize("scale", [1e25, 1e30, 1e-20, 1e-30])
@pytest.mark.parametrize("shape", [(8, 5), (3, 700), (700, 3)])
def test_std_of_huge_and_tiny_floats(shape, scale):
    if not ember.opencl.get_device_properties(0).has_fp64:
        pytest.skip("squares of float32 alone overflow")
    x = numbers(*shape) * scale
    for dim in (None, 0, 1):
        expected = x.double().std(dim).float()
        assert_close(x.to("opencl").std(dim).cpu(), expected, atol=0.0, rtol=1e-5)


@pytest.mark.parametrize("dtype", REDUCED, ids=str)
def test_kernels_of_reduced_floats(dtype):
    x, y = numbers(9, 70).to(dtype), numbers(9, 70, seed=1).to(dtype)
    i = ember.tensor([0, 3, 3])
    both(lambda x, y: x * y + x / 3, x, y)
    both(lambda x: x.sum(1), x, rtol=1e-2, atol=1e-2)
    both(lambda x: x.max(1)[1], x)
    both(lambda x: x.var(0), x, rtol=2e-2, atol=1e-2)
    both(lambda x, y: x @ y.t(), x, y, rtol=2e-2, atol=5e-2)
    both(lambda x: x.cumsum(1), x, rtol=2e-2, atol=5e-2)
    both(lambda x: x.sort(1)[1], x)
    both(lambda x: x.softmax(1), x, rtol=1e-2, atol=1e-3)
    both(lambda x, i: x[i], x, i)
    both(lambda x, i: x.index_add(0, i, x[:3]), x, i, rtol=1e-2, atol=1e-2)
    assert ember.rand(5, dtype=dtype, device="opencl").dtype == dtype


@pytest.mark.parametrize("dtype", [ember.float16, ember.float32, ember.float64])
def test_points_between_are_those_of_the_host(dtype):
    for ends in ((0, 1, 7), (-3.3, 1e4, 1001), (1, 2, 1)):
        there = ember.linspace(*ends, dtype=dtype, device="opencl")
        assert there.cpu().equal(ember.linspace(*ends, dtype=dtype))


WITHOUT_DOUBLE = """
import pytest
import ember
from ember.testing import assert_close

assert not ember.opencl.get_device_properties().has_fp64
x = ember.linspace(-2, 2, 60).reshape(6, 10)
d = x.to("opencl")
for f in (
    lambda x: x.exp() + x / 3 - x**2.5,
    lambda x: ember.lgamma(x.abs() + 1),
    lambda x: ember.digamma(x.abs() + 1),
    lambda x: x.softmax(1) @ x.t(),
    lambda x: x.std(1) + x.mean(1),
    lambda x: x.logcumsumexp(0),
    lambda x: x.sort(0)[0],
    lambda x: x.int().sum(),
    lambda x: ember.polar(x.abs(), x).sin(),
    lambda x: ember.arange(0, 1, 0.1, device=x.device),
    lambda x: ember.linspace(0, 1, 7, device=x.device),
    lambda x: ember.nn.functional.cross_entropy(x, x.argmax(1)),
):
    assert_close(f(d).cpu(), f(x), rtol=1e-4, atol=1e-5, equal_nan=True)
ember.randn(5, device="opencl")
for f in (
    lambda: ember.zeros(3, dtype=ember.float64, device="opencl"),
    lambda: d.double(),
    lambda: ember.randn(3, dtype=ember.float64, device="opencl"),
    lambda: ember.ones(3, dtype=ember.float64).to("opencl").sum(),
):
    with pytest.raises(TypeError, match="has no float64; use float32"):
        f()
with pytest.raises(TypeError, match="has no complex128; use complex64"):
    ember.zeros(3, dtype=ember.complex128, device="opencl")
"""


def test_a_device_without_float64_says_so():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_DOUBLE],
        env={**os.environ, "EMBER_OPENCL_NO_DOUBLE": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
