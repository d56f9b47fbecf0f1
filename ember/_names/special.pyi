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


def airy_ai(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Airy function Ai."""

def bessel_j0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bessel function of the first kind, order 0."""

def bessel_j1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bessel function of the first kind, order 1."""

def bessel_y0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bessel function of the second kind, order 0."""

def bessel_y1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bessel function of the second kind, order 1."""

def chebyshev_polynomial_t(x: _Operand, n: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Chebyshev polynomial of the first kind of degree n."""

def chebyshev_polynomial_u(x: _Operand, n: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Chebyshev polynomial of the second kind of degree n."""

def chebyshev_polynomial_v(x: _Operand, n: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Chebyshev polynomial of the third kind of degree n."""

def chebyshev_polynomial_w(x: _Operand, n: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Chebyshev polynomial of the fourth kind of degree n."""

def digamma(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Derivative of gammaln."""

def entr(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """-x * log(x); 0 at zero, -inf below."""

def erf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Error function of each element."""

def erfc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """1 - erf(x), accurate where that is small."""

def erfcx(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """exp(x * x) * erfc(x)."""

def erfinv(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse error function."""

def exp2(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """2 to the power of each element."""

def expit(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """1 / (1 + exp(-x))."""

def expm1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """exp(x) - 1, accurate near zero."""

def gammainc(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Regularised lower incomplete gamma function."""

def gammaincc(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Regularised upper incomplete gamma function."""

def gammaln(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Logarithm of the absolute value of gamma(x)."""

def hermite_polynomial_h(x: _Operand, n: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Physicists' Hermite polynomial of degree n."""

def hermite_polynomial_he(x: _Operand, n: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Probabilists' Hermite polynomial of degree n."""

def i0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Modified Bessel function of the first kind, order 0."""

def i0e(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """exp(-abs(x)) * i0(x)."""

def i1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Modified Bessel function of the first kind, order 1."""

def i1e(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """exp(-abs(x)) * i1(x)."""

def laguerre_polynomial_l(x: _Operand, n: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Laguerre polynomial of degree n."""

def legendre_polynomial_p(x: _Operand, n: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Legendre polynomial of degree n."""

def log1p(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """log(1 + x), accurate near zero."""

def log_ndtr(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Logarithm of ndtr(x)."""

def log_softmax(input: Tensor, dim: _int, *, dtype: _DtypeLike | None = ...) -> Tensor:
    """The same as log_softmax."""

def logit(input: Tensor, eps: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """log(x / (1 - x)), x being limited to [eps, 1 - eps] if eps is given."""

def logsumexp(input: Tensor, dim: _Dims, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The same as logsumexp."""

def modified_bessel_i0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Modified Bessel function of the first kind, order 0."""

def modified_bessel_i1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Modified Bessel function of the first kind, order 1."""

def modified_bessel_k0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Modified Bessel function of the second kind, order 0."""

def modified_bessel_k1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Modified Bessel function of the second kind, order 1."""

def multigammaln(input: Tensor, p: _int, *, out: Tensor | None = ...) -> Tensor:
    """Logarithm of the multivariate gamma function."""

def ndtr(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Normal distribution function."""

def ndtri(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse of the normal distribution function."""

def polygamma(n: _int, self: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """n-th derivative of digamma."""

def psi(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Alias of digamma()."""

def round(input: Tensor, *, decimals: _int = ..., out: Tensor | None = ...) -> Tensor:
    """Each element rounded to a number of decimals, halves to even."""

def scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """exp(x) * modified_bessel_k0(x)."""

def scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """exp(x) * modified_bessel_k1(x)."""

def shifted_chebyshev_polynomial_t(x: _Operand, n: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Chebyshev polynomial of the first kind of 2x - 1."""

def shifted_chebyshev_polynomial_u(x: _Operand, n: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Chebyshev polynomial of the second kind of 2x - 1."""

def shifted_chebyshev_polynomial_v(x: _Operand, n: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Chebyshev polynomial of the third kind of 2x - 1."""

def shifted_chebyshev_polynomial_w(x: _Operand, n: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Chebyshev polynomial of the fourth kind of 2x - 1."""

def sinc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """sin(pi x) / (pi x), which is 1 at zero."""

def softmax(input: Tensor, dim: _int, dtype: _DtypeLike | None = ...) -> Tensor:
    """The same as softmax."""

def spherical_bessel_j0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Spherical Bessel function of the first kind, order 0."""

def xlog1py(input: _Operand, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """self * log(1 + other), which is 0 where self is."""

def xlogy(input: _Operand, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """self * log(other), which is 0 where self is."""

def zeta(input: _Operand, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Hurwitz zeta function."""
