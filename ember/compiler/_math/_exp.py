"""exp and its kin (core/cpu/vmath.h)."""

from __future__ import annotations

from ember.compiler._graph import V, rounded
from ember.compiler._math._basic import (
    abs,
    at_least,
    at_most,
    bits,
    copysign,
    from_bits,
    is32,
    mantissa,
    one_bits,
    poly,
    where,
)


class Whole:
    def __init__(self, x: V) -> None:
        magic = 12582912.0 if is32(x) else 6755399441055744.0
        t = x + magic
        self.value, self.bits = t - magic, bits(t)


def scale_near(p: V, k: Whole) -> V:
    return from_bits(bits(p) + (k.bits << mantissa(p)))


def scale(p: V, k: Whole) -> V:
    half = k.bits >> 1
    first = from_bits(bits(p) + (half << mantissa(p)))
    return first * from_bits(((k.bits - half) << mantissa(p)) + one_bits(p))


def exp_parts(x: V) -> tuple[Whole, V]:
    if is32(x):
        k = Whole(x * 1.44269504)
        return k, (x - k.value * 0.693359375) - k.value * -2.12194440e-4
    k = Whole(x * 1.4426950408889634)
    high = x - k.value * 6.93147180369123816490e-01
    return k, high - k.value * 1.90821492927058770002e-10


def _exp_tail(r: V) -> V:
    if is32(r):
        return poly(r, 0.5, 0.166664883, 0.041665554, 0.00837228633, 0.00140351837)
    return poly(
        r,
        *(0.5, 0.1666666666666583, 0.041666666666623567, 0.0083333333338124916),
        *(0.0013888888919711517, 0.00019841268888375763, 2.4801516811725809e-05),
        *(2.7558102225084688e-06, 2.7622244053596701e-07, 2.4844389236055773e-08),
    )


def _exp_near(r: V) -> V:
    return (_exp_tail(r) * r + 1) * r + 1


def _expm1_near(r: V) -> V:
    return r * r * _exp_tail(r) + r


def _exp_low(x: V) -> float:
    return -104 if is32(x) else -745.2


def _exp_high(x: V) -> float:
    return 88.73 if is32(x) else 709.79


def exp(x: V) -> V:
    k, r = exp_parts(at_least(at_most(x, _exp_high(x)), _exp_low(x)))
    return scale(_exp_near(r), k)


def half_exp(x: V) -> V:
    high = rounded(rounded(_exp_high(x), x.type) + rounded(0.7, x.type), x.type)
    k, r = exp_parts(at_most(x, high))
    return scale(0.5 * _exp_near(r), k)


def exp_negative(x: V) -> V:
    k, r = exp_parts(at_least(x, -80))
    return scale_near(_exp_near(r), k)


def exp2(x: V) -> V:
    if is32(x):
        x = at_least(at_most(x, 128.0), -151.0)
        c: tuple[float, ...] = (1.0, 0.693147182, 0.240226075, 0.0555038713)
        c += (0.00962287653, 0.00133774651, 0.000142299905)
    else:
        x = at_least(at_most(x, 1024.0), -1076.0)
        c = (1.0, 0.69314718055994529, 0.2402265069591015, 0.05550410866482406)
        c += (0.0096181291075862953, 0.0013333558145774327, 0.00015403530468447417)
        c += (1.5252734391835851e-05, 1.3215428963252362e-06, 1.0177861427614433e-07)
        c += (7.0749876638380334e-09, 4.4799732706395892e-10)
    k = Whole(x)
    return scale(poly(x - k.value, *c), k)


def expm1(x: V) -> V:
    low = -20 if is32(x) else -40
    k, r = exp_parts(at_least(at_most(x, _exp_high(x)), low))
    s = scale_near(x.const(0.5), k)
    y = 2 * (s * _expm1_near(r) + (s - 0.5))
    return where(x.eq(0), x, y)


def tanh(x: V) -> V:
    if is32(x):
        k, r = exp_parts(2 * at_most(abs(x), 10.0))
        s = scale_near(x.const(1), k)
        m = s * _expm1_near(r) + (s - 1)
        return copysign(m / (m + 2), x)
    a = abs(x)
    k, r = exp_parts(-2 * at_most(a, 20.0))
    s = scale_near(x.const(1), k)
    near = _expm1_near(r)
    m = s * near + (s - 1)
    e = s * (near + 1)
    far = a > 0.6
    q = where(far, 2 * e, -m) / (1 + e)
    return copysign(where(far, 1 - q, q), x)


def sigmoid(x: V) -> V:
    return 1 / (1 + exp(-x))


def cosh(x: V) -> V:
    half = half_exp(abs(x))
    return half + 0.25 / half


def sinh(x: V) -> V:
    a = abs(x)
    half, z = half_exp(a), a * a
    if is32(x):
        tail = poly(z, 0.166666672, 0.00833331142, 0.000198426365, 2.78390985e-06)
    else:
        tail = poly(
            z,
            *(0.16666666666666666, 0.0083333333333335691, 0.00019841269841066605),
            *(2.7557319307033979e-06, 2.5052090233764044e-08, 1.6061224858531329e-10),
            *(7.5112270956994581e-13, 6.2559105603748969e-15),
        )
    return where(a < 1, x + x * z * tail, copysign(half - 0.25 / half, x))
