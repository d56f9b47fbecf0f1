"""Functions of each element: mostly ember's under the standard's names."""

from __future__ import annotations

from typing import Any

import ember
from ember import Tensor
from ember.array_api._arrays import binary, number, pair, unary

_UNARY = """
    abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor isfinite isinf
    isnan log log1p log2 log10 logical_not reciprocal signbit sin sinh sqrt square tan
    tanh trunc bitwise_invert=bitwise_not negative=neg positive
    """
_BINARY = """
    add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor
    copysign divide=true_divide equal=eq greater greater_equal hypot less
    less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply
    nextafter not_equal pow subtract
    """


def _pairs(text: str) -> list[tuple[str, str]]:
    """Names of the standard and of ember, which are mostly the same."""
    return [
        (name, own or name) for name, _, own in (w.partition("=") for w in text.split())
    ]


for _name, _own in _pairs(_UNARY):
    globals()[_name] = unary(_name, getattr(ember, _own))
for _name, _own in _pairs(_BINARY):
    globals()[_name] = binary(_name, getattr(ember, _own))


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """Elements below `min` and above `max` become those; the dtype stays."""
    out = x
    if min is not None:
        low = (min if isinstance(min, Tensor) else number(min, x)).to(x.dtype)
        out = ember.maximum(out, low)
    if max is not None:
        high = (max if isinstance(max, Tensor) else number(max, x)).to(x.dtype)
        out = ember.minimum(out, high)
    return out.clone() if out is x else out


def conj(x: Tensor, /) -> Tensor:
    """Complex conjugate; what is real stays."""
    return ember.conj(x).resolve_conj() if x.is_complex() else x.clone()


def imag(x: Tensor, /) -> Tensor:
    """The imaginary part; zeros of what is real."""
    return ember.imag(x) if x.is_complex() else ember.zeros_like(x)


def real(x: Tensor, /) -> Tensor:
    """The real part."""
    return ember.real(x) if x.is_complex() else x.clone()


def round(x: Tensor, /) -> Tensor:
    """To the nearest integer, halves to the even one; both parts of complex numbers."""
    if x.is_complex():
        return ember.complex(ember.round(x.real), ember.round(x.imag))
    return ember.round(x)


def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1; of complex numbers, the number of modulus one. NaN stays."""
    if x.is_complex():
        return ember.sgn(x)
    out = ember.sign(x)
    return ember.where(ember.isnan(x), x, out) if x.is_floating_point() else out


def floor_divide(x1: Any, x2: Any, /) -> Tensor:
    """The greatest integer below the quotient; infinities as in the quotient."""
    x1, x2 = pair(x1, x2)
    out = ember.floor_divide(x1, x2)
    if not out.is_floating_point():
        return out
    return ember.where(ember.isinf(x1) | ember.isinf(x2), x1 / x2, out)


def remainder(x1: Any, x2: Any, /) -> Tensor:
    """What division leaves over, of the sign of `x2`; zeros, too."""
    x1, x2 = pair(x1, x2)
    out = ember.remainder(x1, x2)
    return ember.copysign(out, x2) if out.is_floating_point() else out


names = [name for name, _ in _pairs(_UNARY) + _pairs(_BINARY)]
__all__ = [
    *names,
    "clip",
    "conj",
    "floor_divide",
    "imag",
    "real",
    "remainder",
    "round",
    "sign",
]
