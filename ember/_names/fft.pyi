# Written by `make stubs` from the schemas of the compiled module. Do not edit.
# mypy: disable-error-code="overload-overlap,overload-cannot-match"
from builtins import (
    bool as _bool,
    complex as _complex,
    float as _float,
    int as _int,
    str as _str,
)
from collections.abc import Sequence as _Sequence
from typing import Any, Literal, NamedTuple, overload

from ember._C import (
    Generator,
    Size,
    Tensor,
    _DeviceLike,
    _Dims,
    _DtypeLike,
    _Number,
    _Operand,
    _Size,
    memory_format,
)


def fft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Discrete Fourier transform along one dimension."""

def fft2(input: Tensor, s: _Size | None = ..., dim: _Dims = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Discrete Fourier transform along two dimensions."""

def fftfreq(n: _int, d: _float = ..., *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The frequencies of fft's results for n samples, `d` apart."""

def fftn(input: Tensor, s: _Size | None = ..., dim: _Dims = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Discrete Fourier transform along all of `dim`, or of `s` from the last, or every
    dimension.
    """

def fftshift(input: Tensor, dim: _Dims = ...) -> Tensor:
    """Moves frequency zero from the first place to the middle."""

def hfft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Discrete Fourier transform of a Hermitian-symmetric tensor, of which half is
    given along one dimension.
    """

def hfft2(input: Tensor, s: _Size | None = ..., dim: _Dims = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Discrete Fourier transform of a Hermitian-symmetric tensor, of which half is
    given along two dimensions.
    """

def hfftn(input: Tensor, s: _Size | None = ..., dim: _Dims = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Discrete Fourier transform of a Hermitian-symmetric tensor, of which half is
    given along all of `dim`, or of `s` from the last, or every dimension.
    """

def ifft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Inverse discrete Fourier transform along one dimension."""

def ifft2(input: Tensor, s: _Size | None = ..., dim: _Dims = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Inverse discrete Fourier transform along two dimensions."""

def ifftn(input: Tensor, s: _Size | None = ..., dim: _Dims = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Inverse discrete Fourier transform along all of `dim`, or of `s` from the last,
    or every dimension.
    """

def ifftshift(input: Tensor, dim: _Dims = ...) -> Tensor:
    """Inverse of fftshift: frequency zero from the middle to the first place."""

def ihfft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Inverse of hfft: half of a Hermitian-symmetric tensor along one dimension."""

def ihfft2(input: Tensor, s: _Size | None = ..., dim: _Dims = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Inverse of hfft: half of a Hermitian-symmetric tensor along two dimensions."""

def ihfftn(input: Tensor, s: _Size | None = ..., dim: _Dims = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Inverse of hfft: half of a Hermitian-symmetric tensor along all of `dim`, or of
    `s` from the last, or every dimension.
    """

def irfft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Inverse of rfft: a real tensor from half of its transform along one dimension."""

def irfft2(input: Tensor, s: _Size | None = ..., dim: _Dims = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Inverse of rfft: a real tensor from half of its transform along two dimensions.
    """

def irfftn(input: Tensor, s: _Size | None = ..., dim: _Dims = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Inverse of rfft: a real tensor from half of its transform along all of `dim`, or
    of `s` from the last, or every dimension.
    """

def rfft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The first half of the discrete Fourier transform of a real tensor along one
    dimension.
    """

def rfft2(input: Tensor, s: _Size | None = ..., dim: _Dims = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The first half of the discrete Fourier transform of a real tensor along two
    dimensions.
    """

def rfftfreq(n: _int, d: _float = ..., *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The frequencies of rfft's results for n samples, `d` apart."""

def rfftn(input: Tensor, s: _Size | None = ..., dim: _Dims = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The first half of the discrete Fourier transform of a real tensor along all of
    `dim`, or of `s` from the last, or every dimension.
    """
