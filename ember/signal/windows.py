"""Window functions, by which a piece of a signal is faded in and out.

Every function takes the length `M`; `sym=False` gives the window of a periodic signal.

>>> import ember
>>> ember.signal.windows.hann(5)
tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
"""

from collections.abc import Iterable
from math import pi, sqrt

import ember
from ember._C import Tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _window(M, formula, dtype=None, layout=None, device=None, requires_grad=False):
    """`formula()` in double precision, cast at the end; checks of the options."""
    dtype = ember.get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"Requires non-negative window length, got M={M}")
    if layout is not None and layout is not ember.strided:
        raise ValueError(f"Implemented for strided tensors only, got: {layout}")
    if dtype not in (ember.float32, ember.float64):
        raise ValueError(
            f"Expects torch.float32 or torch.float64 as dtype, got: {dtype}"
        )
    with ember.no_grad():
        if M < 2:
            made = ember.ones(M, dtype=dtype, device=device)
        else:
            made = formula().to(dtype=dtype, device=device)
    return made.requires_grad_() if requires_grad else made


def _points(start: float, step: float, M: int) -> Tensor:
    return ember.linspace(start, start + (M - 1) * step, M, dtype=ember.float64)


def _span(M: int, sym: bool) -> int:
    return M - 1 if sym else M


def bartlett(M: int, *, sym: bool = True, **options) -> Tensor:
    """A triangle that starts and ends at 0."""
    return _window(M, lambda: 1 - _points(-1, 2 / _span(M, sym), M).abs(), **options)


def cosine(M: int, *, sym: bool = True, **options) -> Tensor:
    """Half a period of the sine."""
    step = pi / (M if sym else M + 1) if M else 0
    return _window(M, lambda: _points(0.5 * step, step, M).sin(), **options)


def exponential(
    M: int, *, center=None, tau: float = 1.0, sym: bool = True, **options
) -> Tensor:
    """Decay on both sides of `center` by the factor e every `tau` samples."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    center = _span(M, sym) / 2 if center is None else center
    return _window(
        M, lambda: (-_points(-center / tau, 1 / tau, M).abs()).exp(), **options
    )


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options) -> Tensor:
    """The bell curve of standard deviation `std`."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    step = 1 / (std * sqrt(2))
    start = -_span(M, sym) / 2 * step
    return _window(M, lambda: (-(_points(start, step, M) ** 2)).exp(), **options)


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options) -> Tensor:
    """The Kaiser window, narrower the larger `beta` is."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def formula():
        k = _points(-beta, 2 * beta / _span(M, sym), M).clamp(max=beta)
        inside = (beta * beta - k * k).clamp(min=0).sqrt()
        return ember.i0(inside) / ember.i0(ember.tensor(beta, dtype=ember.float64))

    return _window(M, formula, **options)


def general_cosine(
    M: int, *, a: Iterable[float], sym: bool = True, **options
) -> Tensor:
    """A sum of cosines with the weights `a`, of alternating sign."""
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    a = list(a)
    if not a:
        raise ValueError("Coefficients cannot be empty")

    def formula():
        k = _points(0, 2 * pi / _span(M, sym), M)
        return sum((-1) ** i * c * (i * k).cos() for i, c in enumerate(a))

    return _window(M, formula, **options)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, **options
) -> Tensor:
    """alpha - (1 - alpha) cos: between a hann window and a rectangle."""
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options) -> Tensor:
    """The Hamming window."""
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options) -> Tensor:
    """The Hann window: one period of a raised cosine."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M: int, *, sym: bool = True, **options) -> Tensor:
    """The Blackman window."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def nuttall(M: int, *, sym: bool = True, **options) -> Tensor:
    """The minimum four-term Blackman-Harris window."""
    a = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return general_cosine(M, a=a, sym=sym, **options)
