"""Fourier transforms: core/ops/fft.cpp, fft_freq.cpp, stft.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op

NP = np.fft


def resized(x, n, axis):
    n = x.shape[axis] if n is None else n
    cut = np.take(x, range(min(n, x.shape[axis])), axis)
    width = [(0, 0)] * x.ndim
    width[axis] = (0, max(0, n - x.shape[axis]))
    return np.pad(cut, width)


def hfft2(x, s=None, dim=(-2, -1), norm=None):
    """Forward with the first half of the last dimension given: irfftn of the conjugate, unscaled."""
    swap = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}[norm]
    return NP.irfftn(np.conj(x), s, dim, swap)


def ihfft2(x, s=None, dim=(-2, -1), norm=None):
    swap = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}[norm]
    return np.conj(NP.rfftn(x, s, dim, swap))


def every(x, dim):
    return tuple(range(x.ndim)) if dim is None else dim


ONE = [T(6), S(T(3, 5), 4), S(T(4, 3), 7, 0), S(T(2, 12), norm="ortho"), S(T(9), norm="forward"),
       S(T(3, 4, 2), dim=1), T(1), T(13), S(T(17), norm="backward")]
TWO = [T(3, 4), S(T(3, 4), (2, 5)), S(T(2, 3, 4), None, (0, 1)), S(T(5, 4), norm="ortho")]
ALL = [T(5), T(3, 4), S(T(2, 3, 4), (4, 5)), S(T(2, 3, 4), dim=(2, 0), norm="forward")]
ERRORS = [(S(T(4), 0), RuntimeError, r"Invalid number of data points \(0\)"),
          (S(T(4), dim=1), IndexError, "out of range"),
          (S(T()), IndexError, "no dimensions"),
          (S(T(4), norm="other"), RuntimeError, "normalization mode")]
ERRORS_N = [(S(T(3, 4), (2,), (0, 1)), RuntimeError, "same length"),
            (S(T(3, 4), dim=(0, 0)), RuntimeError, "unique")]
KINDS = dict(fft="ifc", ifft="ifc", rfft="if", irfft="fc", hfft="fc", ihfft="if")

for name, dtypes in KINDS.items():
    # Signatures differ: NumPy says axis, and its 2-d and n-d forms take s and axes.
    f = getattr(NP, name)
    op(f"fft.{name}", *ONE[:5] if "r" in name or "h" in name else ONE, tol=20, dtypes=dtypes,
       ref=lambda x, n=None, dim=-1, norm=None, f=f: f(x, n, dim, norm), errors=ERRORS)
    f2 = dict(hfft=hfft2, ihfft=ihfft2).get(name) or getattr(NP, name + "2")
    op(f"fft.{name}2", *TWO, tol=20, dtypes=dtypes, errors=ERRORS_N,
       ref=lambda x, s=None, dim=(-2, -1), norm=None, f=f2: f(x, s, dim, norm))
    fn = dict(hfft=hfft2, ihfft=ihfft2).get(name) or getattr(NP, name + "n")
    op(f"fft.{name}n", *ALL, tol=20, dtypes=dtypes, errors=ERRORS_N,
       ref=lambda x, s=None, dim=None, norm=None, f=fn:
       f(x, s, dim if s is None or dim else tuple(range(-len(s), 0)), norm)
       if s is not None or dim else f(x, None, every(x, None), norm))

op("fft.fftshift", T(4), T(3, 5), S(T(3, 4), 1), S(T(3, 4, 5), (0, 2)), dtypes="bifhc",
   ref=lambda x, dim=None: NP.fftshift(x, dim), errors=[(S(T(3), 1), IndexError, "out of range")])
op("fft.ifftshift", T(4), T(3, 5), S(T(3, 4), 1), S(T(3, 4, 5), (0, 2)), dtypes="bifhc",
   ref=lambda x, dim=None: NP.ifftshift(x, dim))
op("fft.fftfreq", S(5), S(6), S(4, d=0.5), S(1), ref=lambda n, d=1.0: NP.fftfreq(n, d),
   errors=[(S(-1), RuntimeError, "negative")])
op("fft.rfftfreq", S(5), S(6), S(4, d=0.5), S(1), ref=lambda n, d=1.0: NP.rfftfreq(n, d))


def windows(x, n_fft, hop, window=None, center=True, mode="reflect"):
    if center:
        side = [(0, 0)] * (x.ndim - 1) + [(n_fft // 2, n_fft // 2)]
        x = np.pad(x, side, {"replicate": "edge", "circular": "wrap"}.get(mode, mode))
    count = 1 + (x.shape[-1] - n_fft) // hop
    frames = np.stack([x[..., i * hop:i * hop + n_fft] for i in range(count)], -2)
    if window is None:
        return frames
    left = (n_fft - len(window)) // 2
    return frames * np.pad(window, (left, n_fft - len(window) - left))


def stft(x, n_fft, hop_length=None, win_length=None, window=None, center=True,
         pad_mode="reflect", normalized=False, onesided=None, return_complex=None):
    hop = n_fft // 4 if hop_length is None else hop_length
    frames = windows(x, n_fft, hop, window, center, pad_mode)
    f = NP.rfft if onesided is not False else NP.fft
    return np.swapaxes(f(frames, norm="ortho" if normalized else None), -1, -2)


def as_stft(x):
    """Numbers that are the transform of a real signal: first and last bin real."""
    x = np.array(x)
    if np.iscomplexobj(x):
        x[..., 0, :], x[..., -1, :] = x[..., 0, :].real, x[..., -1, :].real
    return x


HAMMING = np.hamming(6)
op("stft", S(T(20), 8, 2, return_complex=True), S(T(2, 20), 8, 4, center=False, return_complex=True),
   S(T(15), 6, 3, 6, HAMMING, return_complex=True), S(T(15), 8, 3, 6, HAMMING, return_complex=True),
   S(T(15), 8, 3, pad_mode="constant", normalized=True, return_complex=True),
   S(T(15), 8, 3, pad_mode="replicate", onesided=False, return_complex=True),
   S(T(15), 8, 3, pad_mode="circular", return_complex=True), ref=stft, tol=20,
   errors=[(S(T(20), 8), RuntimeError, "return_complex"),
           (S(T(3), 8, return_complex=True), RuntimeError, "[Pp]adding size"),
           (S(T(20), 8, 0, return_complex=True), RuntimeError, "hop_length > 0"),
           (S(T(20), 8, 2, 9, return_complex=True), RuntimeError, "win_length"),
           (S(T(20), 8, 2, 8, HAMMING, return_complex=True), RuntimeError, "window"),
           (S(T(20), 8, center=False, pad_mode="no", return_complex=True, align_to_window=True,
              onesided=True, win_length=0), RuntimeError, "win_length"),
           (S(T(20, dtype="int64"), 8, return_complex=True), RuntimeError, "floating")])
op("istft", S(T(5, 7, make=as_stft), 8), S(T(2, 5, 7, make=as_stft), 8, 3),
   S(T(5, 4), 8, 2, length=12), S(T(8, 4), 8, 4, return_complex=True), dtypes="c", grad=True,
   errors=[(S(T(6, 4), 8), RuntimeError, "frequency"), (S(T(5, 4), 8, 9), RuntimeError, "hop_length"),
           (S(T(5, 4), 8, 8, 4), RuntimeError, "hop_length"),
           (S(T(5, 4), 8, 4, 4, center=False), RuntimeError, "overlap add min")])
