"""Discrete Fourier transforms."""

from ember._lazy import fill

fill(globals(), "fft")
