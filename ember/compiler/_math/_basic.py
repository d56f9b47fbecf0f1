"""What the functions are made of: numbers of a type and their bits, choices,
polynomials; and core/cpu/kernels/arithmetic.h.
"""

from __future__ import annotations

from typing import Any

from ember.compiler._graph import V, bits_of, is_float, is_signed

INF, NAN = float("inf"), float("nan")


def is32(x: V) -> bool:
    return x.type == "f32"


def mantissa(x: V) -> int:
    return 23 if is32(x) else 52


def one_bits(x: V) -> int:
    return 0x3F800000 if is32(x) else 0x3FF0000000000000


def bits(x: V) -> V:
    return x.make("bitcast", x, type="u" + x.type[1:])


def from_bits(b: V) -> V:
    return b.make("bitcast", b, type="f" + b.type[1:])


def where(c: V, a: Any, b: Any) -> V:
    if not isinstance(a, V) and not isinstance(b, V):
        raise TypeError("where(): both arms are numbers")
    a = a if isinstance(a, V) else b.const(a)
    b = a.graph.coerce(b, a.type)
    return a.make("select", c, a, b)


def cut(c: V, d: V) -> V:
    """A derivative that is 0 where `c`: see core/scalar_functions.h."""
    return where(c, d.const(0), d)


def abs(x: V) -> V:
    if is_float(x.type):
        return x.make("fabs", x)
    return where(x < 0, -x, x) if is_signed(x.type) else x


def copysign(a: V, b: V) -> V:
    return a.make("copysign", a, a.graph.coerce(b, a.type))


def sqrt(x: V) -> V:
    return x.make("sqrt", x)


def fused(a: V, b: Any, c: V) -> V:
    if not a.graph.fma:
        return a * b + c
    return a.make("fma", a, a.graph.coerce(b, a.type), c, False, False)


def unfused(x: V) -> V:
    """A product that the compiler does not fuse with the sum that it is in."""
    return x.make("keep", x)


def poly(x: V, *c: float) -> V:
    y = x.const(c[-1])
    for k in reversed(c[:-1]):
        y = y * x + k
    return y


def at_most(x: V, high: Any) -> V:
    return where(x > high, high, x)


def at_least(x: V, low: Any) -> V:
    return where(x < low, low, x)


# --- kernels/arithmetic.h -----------------------------------------------------


def _rounding(op: str) -> Any:
    return lambda x: x.make(op, x) if is_float(x.type) else x


ceil, floor, trunc = _rounding("ceil"), _rounding("floor"), _rounding("ftrunc")
round = _rounding("rint")


def conj(x: V) -> V:
    return x


def sign(x: V) -> V:
    above = where(x > 0, x.const(1), x.const(0))
    return where(x < 0, x.const(-1), above) if x.type[0] != "u" else above


def reciprocal(x: V) -> V:
    return 1 / x


def rsqrt(x: V) -> V:
    return 1 / sqrt(x)


def bitwise_not(x: V) -> V:
    return ~x


def isnan(x: V) -> V:
    return x.ne(x) if is_float(x.type) else x.graph.const(False, "b1")


def isinf(x: V) -> V:
    return abs(x).eq(INF) if is_float(x.type) else x.graph.const(False, "b1")


def isfinite(x: V) -> V:
    return abs(x) < INF if is_float(x.type) else x.graph.const(True, "b1")


def signbit(x: V) -> V:
    if not is_float(x.type):
        return x < 0
    b = bits(x)
    return b.make("bitcast", b, type="i" + x.type[1:]) < 0


def isreal(x: V) -> V:
    return x.graph.const(True, "b1")


def maximum(a: V, b: Any) -> V:
    b = a.graph.coerce(b, a.type)
    return where((isnan(a) | (a > b)) if is_float(a.type) else a > b, a, b)


def minimum(a: V, b: Any) -> V:
    b = a.graph.coerce(b, a.type)
    return where((isnan(a) | (a < b)) if is_float(a.type) else a < b, a, b)


def fmax(a: V, b: V) -> V:
    return where((isnan(b) | (a >= b)) if is_float(a.type) else a >= b, a, b)


def fmin(a: V, b: V) -> V:
    return where((isnan(b) | (a <= b)) if is_float(a.type) else a <= b, a, b)


def heaviside(a: V, b: V) -> V:
    return where(a.eq(0), b, where(a > 0, a.const(1), a.const(0)))


def trunc_divide(a: V, b: V) -> V:
    return trunc(a / b)


def lerp(a: V, b: V, w: V) -> V:
    near = a + w * (b - a)
    far = b - (b - a) * (1 - w)
    return where(abs(w) < 0.5, near, far)


def left_shift(a: V, b: V) -> V:
    size = bits_of(a.type)
    outside = (b < 0) | (b >= size)
    return where(outside, a.const(0), a << (b & (size - 1)))


def right_shift(a: V, b: V) -> V:
    most = bits_of(a.type) - is_signed(a.type)
    return a >> where((b < 0) | (b >= most), b.const(most), b)


sgn = sign
