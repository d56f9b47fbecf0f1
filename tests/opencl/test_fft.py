"""Fourier transforms on the device give what the CPU gives."""

import pytest

import ember
from ember import fft
from ember.testing import assert_close

# Powers of two, products of small primes, primes with and without a radix of their own.
LENGTHS = [1, 2, 3, 4, 6, 8, 15, 16, 49, 60, 61, 64, 67, 128, 134, 210, 509, 1000, 1024]


def numbers(*shape, dtype, seed=0):
    g = ember.Generator().manual_seed(seed)
    return ember.randn(*shape, generator=g, dtype=dtype)


def both(f, x):
    expected, actual = f(x), f(x.to("opencl"))
    assert actual.device.type == "opencl"
    loose = expected.dtype in (ember.float32, ember.complex64)
    size = expected.abs().max().item() if expected.numel() else 1
    assert_close(
        actual.cpu(), expected, rtol=1e-5, atol=size * (2e-6 if loose else 1e-14)
    )


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("wide", [False, True])
def test_lengths(n, wide):
    real, pair = (
        (ember.float64, ember.complex128) if wide else (ember.float32, ember.complex64)
    )
    x = numbers(3, n, dtype=pair)
    both(fft.fft, x)
    both(fft.ifft, x)
    both(fft.rfft, x := numbers(3, n, dtype=real))
    both(fft.ihfft, x)
    half = numbers(2, n // 2 + 1, dtype=pair)
    both(lambda x: fft.irfft(x, n), half)
    both(lambda x: fft.hfft(x, n), half)


@pytest.mark.parametrize("norm", ["forward", "backward", "ortho"])
def test_norms_and_sizes(norm):
    x = numbers(4, 6, dtype=ember.float32)
    for n in (3, 6, 11):
        both(lambda x, n=n: fft.rfft(x, n, norm=norm), x)


@pytest.mark.parametrize("dims", [(0,), (1, 2), (0, 2), (2, 1, 0)])
def test_dims_and_strides(dims):
    x = numbers(4, 10, 6, dtype=ember.float64)[:, ::2].transpose(0, 1)
    both(lambda x: fft.rfftn(x, dim=dims), x)
    both(lambda x: fft.irfftn(fft.rfftn(x, dim=dims), dim=dims), x)
    both(lambda x: fft.ifftn(fft.rfftn(x, dim=dims), dim=dims), x)


def test_empty_batch():
    both(fft.rfft, ember.zeros(0, 5))
    with pytest.raises(RuntimeError, match="data points"):
        fft.rfft(ember.zeros(3, 0).to("opencl"))


def test_gradient():
    x = numbers(3, 10, dtype=ember.float64)
    there = x.to("opencl").requires_grad_()
    x.requires_grad_()
    for t in (x, there):
        part = fft.irfft(fft.rfft(t)[..., :4], 7)
        (part**3).sum().backward()
    assert_close(there.grad.cpu(), x.grad)
