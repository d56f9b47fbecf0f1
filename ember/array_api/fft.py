"""The standard's extension `fft`."""

from __future__ import annotations

from typing import Any

import ember
from ember import Tensor
from ember.array_api._arrays import named


def _along(name: str) -> Any:
    op = getattr(ember.fft, name)

    def function(
        x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
    ) -> Tensor:
        return op(x, n, axis, norm)

    return named(function, name, op)


def _over(name: str) -> Any:
    op = getattr(ember.fft, name)

    def function(
        x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward"
    ) -> Tensor:
        return op(x, s, axes, norm)

    return named(function, name, op)


fft, ifft = _along("fft"), _along("ifft")
rfft, irfft = _along("rfft"), _along("irfft")
hfft, ihfft = _along("hfft"), _along("ihfft")
fftn, ifftn = _over("fftn"), _over("ifftn")
rfftn, irfftn = _over("rfftn"), _over("irfftn")


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None
) -> Tensor:
    """The frequencies of `fft` for `n` samples, `d` apart."""
    return ember.fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None
) -> Tensor:
    """The frequencies of `rfft` for `n` samples, `d` apart."""
    return ember.fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """Frequency zero from the first place to the middle."""
    return ember.fft.fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """Frequency zero from the middle to the first place."""
    return ember.fft.ifftshift(x, axes)


__all__ = """
    fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift
    ifftshift
    """.split()
