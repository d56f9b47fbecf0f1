"""Fourier transforms of every kind of length, against NumPy in double precision."""

import numpy as np
import pytest

import ember

# Short, powers, products of the radices, small primes, split lines, Bluestein.
LENGTHS = [
    *range(1, 34),
    *(64, 97, 101, 103, 128, 143, 206, 210, 257, 343, 480, 512, 1000, 1021, 1024),
    *(2048, 2310, 4096, 10007, 10403, 65536),
]


def error(got: ember.Tensor, want: np.ndarray) -> float:
    """The largest error, relative to the size of a typical element."""
    size = np.sqrt(np.mean(np.abs(want) ** 2)) or 1.0
    return float(np.abs(got.numpy() - want).max() / size)


@pytest.mark.parametrize(
    ("dtype", "bound"), [("complex64", 2e-6), ("complex128", 4e-15)]
)
@pytest.mark.parametrize("shape", ["line", "lines", "columns", "few columns"])
def test_every_length(shape: str, dtype: str, bound: float) -> None:
    rng = np.random.default_rng(0)
    for n in LENGTHS:
        if shape != "line" and n > 2310:
            continue
        size = {
            "line": (n,),
            "lines": (19, n),
            "columns": (2, n, 21),
            "few columns": (3, n, 3),
        }[shape]
        axis = 0 if shape == "line" else 1
        z = rng.standard_normal(size) + 1j * rng.standard_normal(size)
        z = z.astype(dtype)
        wide, x = z.astype(complex), ember.from_numpy(z)
        half = np.take(z, range(n // 2 + 1), axis)
        results = {
            "fft": (ember.fft.fft(x, dim=axis), np.fft.fft(wide, axis=axis)),
            "ifft": (ember.fft.ifft(x, dim=axis), np.fft.ifft(wide, axis=axis)),
            "rfft": (
                ember.fft.rfft(x.real, dim=axis),
                np.fft.rfft(wide.real, axis=axis),
            ),
            "irfft": (
                ember.fft.irfft(ember.from_numpy(half.copy()), n, axis),
                np.fft.irfft(half.astype(complex), n, axis),
            ),
        }
        for name, (got, want) in results.items():
            assert error(got, want) < bound, f"{name} of length {n}"


def test_long_lines_there_and_back() -> None:
    x = ember.randn(2, 300_000)
    assert (ember.fft.irfft(ember.fft.rfft(x)) - x).abs().max().item() < 1e-5


def test_twiddles_are_exact() -> None:
    """A pure tone has one line in its spectrum, and nothing else above rounding."""
    n, k = 4096, 1234
    phase = 2 * np.pi * (np.arange(n) * k % n) / n
    spectrum = ember.fft.fft(ember.from_numpy(np.exp(1j * phase))).abs().numpy()
    assert abs(spectrum[k] / n - 1) < 1e-15
    assert np.delete(spectrum, k).max() < 1e-12 * n


def test_many_lengths_keep_the_cache_bounded() -> None:
    before = ember.cpu.memory_stats()["allocated"]
    for n in range(200_000, 200_100):
        ember.fft.fft(ember.zeros(n, dtype=ember.complex64))
    after = ember.cpu.memory_stats()["allocated"]
    assert after - before < 110 << 20


def test_transforms_of_views() -> None:
    x = ember.randn(6, 4, 10, dtype=ember.complex128)
    assert ember.fft.fft(x[:, :0]).shape == (6, 0, 10)
    for view in (x.transpose(0, 2), x[::2, :, 1:], x.expand(2, 6, 4, 10)):
        copy = np.array(view.numpy())
        assert error(ember.fft.fft(view, dim=-1), np.fft.fft(copy, axis=-1)) < 1e-14


def test_stft_and_back() -> None:
    x, window = (
        ember.randn(3, 1000, dtype=ember.float64),
        ember.hann_window(64).double(),
    )
    options = {"n_fft": 64, "hop_length": 16, "window": window}
    spectrum = x.stft(**options, return_complex=True)
    assert spectrum.shape == (3, 33, 63)
    back = spectrum.istft(**options, length=1000)
    assert (back - x).abs().max().item() < 1e-12


def test_stft_of_real_numbers_as_pairs() -> None:
    x = ember.randn(100)
    pairs = ember.stft(x, 16, return_complex=False)
    whole = ember.stft(x, 16, return_complex=True)
    assert (ember.view_as_complex(pairs) == whole).all()


def test_istft_pads_with_a_warning() -> None:
    spectrum = ember.stft(ember.randn(64), 16, return_complex=True)
    with pytest.warns(UserWarning, match="padded with zeros"):
        out = ember.istft(spectrum, 16, length=100)
    assert out.shape == (100,)
    assert (out[80:] == 0).all()
