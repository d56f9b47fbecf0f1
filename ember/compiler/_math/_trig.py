"""Sines, tangents and their inverses (core/cpu/vmath_trig.h)."""

from __future__ import annotations

from ember.compiler._graph import V, bits_of, rounded
from ember.compiler._math._basic import (
    INF,
    abs,
    bits,
    copysign,
    from_bits,
    fused,
    is32,
    isinf,
    poly,
    signbit,
    sqrt,
    unfused,
    where,
)


def _turn(x: V) -> tuple[V, V]:
    wide = not is32(x)
    magic = 6755399441055744.0 if wide else 12582912.0
    t = x * (0.63661977236758138 if wide else 0.636619747) + magic
    k = t - magic
    if x.graph.fma:
        c = (-1.5707963267948966, -6.123233995736766e-17, 1.4973849048591833e-33)
        if not wide:
            c = (-1.57079637, 4.37113883e-8, 1.71512451e-15)
        r = fused(k, c[0], x)
        r = fused(k, c[1], r)
        return fused(k, c[2], r), bits(t)
    if wide:
        r = x - k * 1.57079632673412561417e00
        r = r - k * 6.07710050630396597660e-11
        return r - k * 2.02226624879595063154e-21, bits(t)
    r = x - k * 1.5703125
    r = r - k * 4.8375129699707031e-4
    return (r - k * 7.5495336204767227e-8) - k * 2.56334406e-12, bits(t)


def _sin_near(r: V) -> V:
    z = r * r
    if is32(r):
        return r + r * z * poly(z, -0.166666552, 0.00833219197, -0.000195187735)
    return r + r * z * poly(
        z,
        *(-0.16666666666666632, 0.0083333333333224895, -0.00019841269829857735),
        *(2.7557313706871837e-06, -2.5050760192816251e-08, 1.5896905066807661e-10),
    )


def _cos_near(r: V) -> V:
    z = r * r
    if is32(r):
        tail = (0.0416666456, -0.00138873013, 2.44306739e-05)
        return (1 - 0.5 * z) + z * z * poly(z, *tail)
    h = 0.5 * z
    w = 1 - h
    p = z * z
    p = p * poly(
        z,
        *(0.041666666666666602, -0.0013888888888874474, 2.4801587289671503e-05),
        *(-2.7557314400984495e-07, 2.0875729266524299e-09, -1.1359932846103519e-11),
    )
    return w + ((1 - w) - h + p)


def _flip_sign(x: V, odd: V) -> V:
    return from_bits(bits(x) ^ (odd << (bits_of(x.type) - 1)))


def sin(x: V) -> V:
    r, k = _turn(x)
    s, c = _sin_near(r), _cos_near(r)
    y = _flip_sign(where((k & 1).ne(0), c, s), (k >> 1) & 1)
    return where(x.eq(0), x, y)


def cos(x: V) -> V:
    r, k = _turn(x)
    s, c = _sin_near(r), _cos_near(r)
    return _flip_sign(where((k & 1).ne(0), s, c), ((k + 1) >> 1) & 1)


def tan(x: V) -> V:
    r, k = _turn(x)
    odd = (k & 1).ne(0)
    if is32(x):
        z = r * r
        y = r + r * z * poly(
            z,
            *(0.333333522, 0.13332583, 0.0540686548, 0.0212385822),
            *(0.0109456154, -4.61504824e-05, 0.00444164313),
        )
        y = where(odd, -1 / y, y)
    else:
        s, c = _sin_near(r), _cos_near(r)
        y = where(odd, -c, s) / where(odd, s, c)
    return where(x.eq(0), x, y)


def sinc(x: V) -> V:
    u = 3.14159265358979323846 * x
    return where(x.eq(0), x.const(1), sin(u) / u)


def _half_pi(x: V) -> float:
    return 1.57079632679489661923


def _half_pi_low(x: V) -> float:
    return -4.37113883e-8 if is32(x) else 6.123233995736766e-17


def _atan_ratio(small: V, large: V, plain: bool = False) -> V:
    steep = small > 0.41421356237309504880 * large
    over = where(steep, small - large, small)
    t = over / where(steep, small + large, large)
    z = t * t
    if is32(t):
        p = poly(z, -0.333333164, 0.199985325, -0.142445117, 0.106001854, -0.0609276406)
    else:
        p = poly(
            z,
            *(-0.33333333333333198, 0.19999999999953819, -0.14285714280220302),
            *(0.11111110784656612, -0.090908977921093911, 0.076920608210536104),
            *(-0.06663110826531779, 0.058479374843441088, -0.050395156502303633),
            *(0.038069746849805651, -0.017912686659198429),
        )
    tail = t * z * p
    if plain:
        tail = unfused(tail)
    half = rounded(_half_pi(t), t.type) / 2
    low = rounded(_half_pi_low(t), t.type) / 2
    return where(steep, half + ((tail + low) + t), t + tail)


def atan(x: V) -> V:
    a = abs(x)
    large = a > 1
    y = _atan_ratio(where(large, x.const(1), a), where(large, a, x.const(1)))
    y = where(large, _half_pi(x) - (y - _half_pi_low(x)), y)
    return copysign(y, x)


def atan2(y: V, x: V) -> V:
    ax, ay = abs(x), abs(y)
    swap = ay > ax
    small, large = where(swap, ax, ay), where(swap, ay, ax)
    both = isinf(small)
    one = x.const(1)
    plain = not is32(x)
    angle = _atan_ratio(where(both, one, small), where(both, one, large), plain)
    angle = where(large.eq(0), x.const(0), angle)
    half, low = _half_pi(x), rounded(_half_pi_low(x), x.type)
    angle = where(swap, half - (angle - low), angle)
    pi = 2 * rounded(half, x.type)
    angle = where(signbit(x), pi - (angle - 2 * low), angle)
    return where(x.ne(x) | y.ne(y), x + y, copysign(angle, y))


def _asin_tail(z: V) -> V:
    if is32(z):
        return poly(
            z, 0.166667536, 0.0749525279, 0.0454759747, 0.0241523068, 0.042211175
        )
    return poly(
        z,
        *(0.16666666666665383, 0.075000000003429101, 0.044642856823573003),
        *(0.030381959328405352, 0.022371753570069094, 0.017359770718346785),
        *(0.013884599424949611, 0.012173289522509465, 0.006510750499359408),
        *(0.019574312872890878, -0.01629485641715786, 0.031959569416509064),
    )


def asin(x: V) -> V:
    a = abs(x)
    far = a > 0.5
    z = where(far, 0.5 * (1 - a), a * a)
    s = where(far, sqrt(z), a)
    y = s + s * z * _asin_tail(z)
    y = where(far, _half_pi(x) - (2 * y - _half_pi_low(x)), y)
    return copysign(y, x)


def acos(x: V) -> V:
    a = abs(x)
    far = a > 0.5
    z = where(far, 0.5 * (1 - a), a * a)
    s = where(far, sqrt(z), x)
    y = s + s * z * _asin_tail(z)
    half, low = rounded(_half_pi(x), x.type), rounded(_half_pi_low(x), x.type)
    wide = where(x > 0, 2 * y, 2 * half - 2 * (y - low))
    return where(far, wide, half - (y - low))


def hypot(a: V, b: V) -> V:
    """Of floats, in double."""
    wa, wb = a.make("fpext", a, type="f64"), b.make("fpext", b, type="f64")
    root = sqrt(wa * wa + wb * wb)
    y = root.make("fptrunc", root, type="f32")
    return where(isinf(a) | isinf(b), a.const(INF), y)
