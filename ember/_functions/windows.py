"""hann_window and its kin: `ember.signal.windows` in their older form.

>>> import ember
>>> ember.hann_window(4)
tensor([0.0000, 0.5000, 1.0000, 0.5000])
"""

import ember
from ember.signal import windows


def _make(name, kind, window_length, periodic, options, **shape):
    """A window in float64, cast to what is asked for."""
    dtype = options.pop("dtype", None)
    dtype = ember.get_default_dtype() if dtype is None else dtype
    requires_grad = options.pop("requires_grad", False)
    options.pop("pin_memory", None)
    layout = options.get("layout")
    if layout is not None and layout is not ember.strided:
        raise RuntimeError(f"{name} is not implemented for sparse types, got: {layout}")
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    if window_length < 0:
        raise RuntimeError(
            f"{name} requires non-negative window_length, got window_length="
            f"{window_length}"
        )
    sym = not periodic
    made = kind(window_length, sym=sym, dtype=ember.float64, **shape, **options)
    made = made.to(dtype)
    return made.requires_grad_() if requires_grad else made


def hann_window(window_length: int, periodic: bool = True, **options):
    """The Hann window."""
    return _make("hann_window", windows.hann, window_length, periodic, options)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    **options,
):
    """The Hamming window: alpha - beta cos."""
    kind, a = windows.general_cosine, [alpha, beta]
    return _make("hamming_window", kind, window_length, periodic, options, a=a)


def blackman_window(window_length: int, periodic: bool = True, **options):
    """The Blackman window."""
    return _make("blackman_window", windows.blackman, window_length, periodic, options)


def bartlett_window(window_length: int, periodic: bool = True, **options):
    """The Bartlett window, a triangle."""
    return _make("bartlett_window", windows.bartlett, window_length, periodic, options)


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, **options
):
    """The Kaiser window."""
    kind = windows.kaiser
    return _make("kaiser_window", kind, window_length, periodic, options, beta=beta)
