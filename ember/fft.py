"""Discrete Fourier transforms."""

from typing import TYPE_CHECKING

from ember._lazy import fill

if TYPE_CHECKING:
    from ember._names.fft import *

fill(globals(), "fft")
