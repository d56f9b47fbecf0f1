"""log and its kin, and powers (core/cpu/vmath.h)."""

from __future__ import annotations

import struct
from typing import Any

from ember.compiler._graph import V
from ember.compiler._math._basic import (
    INF,
    NAN,
    abs,
    at_least,
    at_most,
    bits,
    copysign,
    floor,
    from_bits,
    is32,
    isinf,
    mantissa,
    maximum,
    one_bits,
    poly,
    signbit,
    sqrt,
    unfused,
    where,
)
from ember.compiler._math._exp import Whole, exp, exp2, scale_near


def log_parts(x: V) -> tuple[V, V]:
    two = 8388608.0 if is32(x) else 4503599627370496.0
    bias = 127 if is32(x) else 1023
    smallest = 1.17549435e-38 if is32(x) else 2.2250738585072014e-308
    tiny = x < smallest
    scaled = x * where(tiny, x.const(two), x.const(1))
    excess = where(tiny, x.const(two + (bias + mantissa(x))), x.const(two + bias))
    root = 0x3F3504F3 if is32(x) else 0x3FE6A09E667F3BCD
    b = bits(scaled) + (one_bits(x) - root)
    m = from_bits((b & ((1 << mantissa(x)) - 1)) + root)
    exponent = b >> mantissa(x)
    shifted = exponent + _bit_pattern(two, x.type)
    return from_bits(shifted) - excess, m - 1


def _bit_pattern(value: float, type: str) -> int:
    if type == "f32":
        return struct.unpack("<I", struct.pack("<f", value))[0]
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def _log_joined(k: Any, f: V, correction: Any) -> V:
    k, correction = f.graph.coerce(k, f.type), f.graph.coerce(correction, f.type)
    if is32(f):
        z = f * f
        p = poly(
            f,
            *(0.333333105, -0.250001371, 0.200023621, -0.166611999, 0.142092228),
            *(-0.125160113, 0.120710284, -0.111148916, 0.0568818823),
        )
        y = f * z * p + (k * -2.12194440e-4 + correction)
        y = y - 0.5 * z
        return (f + y) + k * 0.693359375
    s = f / (2 + f)
    z = s * s
    half = 0.5 * f * f
    r = z * poly(
        z,
        *(0.6666666666666734, 0.39999999999416636, 0.28571428742020855),
        *(0.2222219860649477, 0.18183562759416369, 0.15314087426341774),
        *(0.147956035559524,),
    )
    low = s * (half + r) + (k * 1.90821492927058770002e-10 + correction)
    return k * 6.93147180369123816490e-01 - ((half - low) - f)


def _log_domain(x: V, y: V) -> V:
    y = where(x.eq(INF), x, y)
    y = where(x > 0, y, NAN)
    return where(x.eq(0), x.const(-INF), y)


def log(x: V) -> V:
    k, f = log_parts(x)
    return _log_domain(x, _log_joined(k, f, 0.0))


def log2(x: V) -> V:
    k, f = log_parts(x)
    m = _log_joined(0.0, f, 0.0)
    return _log_domain(x, (m * 0.44269504088896340736 + m) + k)


def log10(x: V) -> V:
    high = 0.301025390625 if is32(x) else 0.30102999566406652
    low = 4.6050389811952e-6 if is32(x) else -8.5323443170571066e-14
    k, f = log_parts(x)
    m = _log_joined(0.0, f, 0.0)
    correction = k * low  # before the other product: this one is fused
    return _log_domain(x, (m * 0.43429448190325182765 + correction) + k * high)


def log1p(x: V) -> V:
    u = 1 + x
    lost = where(u.eq(INF), x.const(0), (x - (u - 1)) / u)
    k, f = log_parts(u)
    y = _log_domain(u, _log_joined(k, f, lost))
    return where(x.eq(0), x, y)


def asinh(x: V) -> V:
    a = abs(x)
    z = a * a
    big = 1e18 if is32(x) else 1e150
    far = a > big
    near = log1p(at_most(a, big) + where(far, x.const(0), z / (1 + sqrt(1 + z))))
    return copysign(where(far, log(a) + 0.69314718055994530942, near), x)


def acosh(x: V) -> V:
    t = x - 1
    big = 1e18 if is32(x) else 1e150
    far = log(x) + 0.69314718055994530942
    y = where(x > big, far, log1p(t + sqrt(2 * t + t * t)))
    return where(x < 1, x.const(NAN), y)


def atanh(x: V) -> V:
    a = abs(x)
    return copysign(0.5 * log1p(2 * a / (1 - a)), x)


def xlogy(a: V, b: V) -> V:
    return where(b.ne(b), b, where(a.eq(0), a.const(0), a * log(b)))


def xlog1py(a: V, b: V) -> V:
    return where(b.ne(b), b, where(a.eq(0), a.const(0), a * log1p(b)))


def log1p_exp(x: V) -> V:
    e = exp(-abs(x))
    above = where(x > 0, x, x.const(0))
    if not is32(x):
        return above + log1p(e)
    tail = e * poly(
        e,
        *(1.0, -0.499999404, 0.333307564, -0.249612778, 0.19709681),
        *(-0.153973252, 0.107522883, -0.058376275, 0.020584343, -0.00340271438),
    )
    return above + unfused(tail)


def logaddexp(a: V, b: V) -> V:
    high = maximum(a, b)
    y = high + log1p_exp(-abs(a - b))
    return where(a.eq(b) & isinf(a), a, y)


def logaddexp2(a: V, b: V) -> V:
    high = maximum(a, b)
    y = high + log1p(exp2(-abs(a - b))) * 1.44269504088896340736
    return where(a.eq(b) & isinf(a), a, y)


def pow(x: V, y: Any) -> V:
    """Of floats, in double."""
    y = x.graph.coerce(y, x.type)
    a = abs(x)
    wide = a.make("fpext", a, type="f64")
    k, f = log_parts(wide)
    s = f / (2 + f)
    z = s * s
    p = poly(
        z,
        *(2.0, 0.6666666666666734, 0.39999999999416636, 0.28571428742020855),
        *(0.2222219860649477, 0.18183562759416369),
    )
    log2_a = s * p * 1.4426950408889634 + k
    inf = wide.const(INF)
    log2_a = where(x.eq(0), -inf, where(wide.eq(INF), wide, log2_a))
    e = at_least(at_most(y.make("fpext", y, type="f64") * log2_a, 130.0), -160.0)
    n = Whole(e)
    q = poly(
        e - n.value,
        *(1.0, 0.69314718054137547, 0.24022651076106841, 0.055504109625661303),
        *(0.0096180367842005864, 0.0013333452071250199, 0.00015466773296321612),
        *(1.5313350873561468e-05,),
    )
    scaled = scale_near(q, n)
    result = scaled.make("fptrunc", scaled, type="f32")
    integer = floor(y).eq(y)
    odd = integer & (floor(y * 0.5) * 2).ne(y)
    result = where(signbit(x) & odd, -result, result)
    result = where((x < 0) & ~integer & a.ne(INF), x.const(NAN), result)
    result = where(x.ne(x) | y.ne(y), x + y, result)
    return where(y.eq(0) | x.eq(1) | (a.eq(1) & isinf(y)), x.const(1), result)
