"""The functions that formulas call, in terms of a graph: those of core/cpu/vmath.h,
vmath_trig.h and kernels/arithmetic.h, operation by operation, so that results are equal
bit for bit. tests/compiler compares them; a change there needs the same change here.

What is not here (gamma, Bessel and the like, integer division, pow of doubles) is left
to the eager kernel of its row, which generated code calls.
"""

from __future__ import annotations

import struct
from typing import Any

from ember.compiler._graph import V, bits_of, is_float, is_signed, rounded

INF, NAN = float("inf"), float("nan")

# --- numbers of a type --------------------------------------------------------


def _is32(x: V) -> bool:
    return x.type == "f32"


def _mantissa(x: V) -> int:
    return 23 if _is32(x) else 52


def _one_bits(x: V) -> int:
    return 0x3F800000 if _is32(x) else 0x3FF0000000000000


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


# --- exp and its kin ----------------------------------------------------------


class _Whole:
    def __init__(self, x: V) -> None:
        magic = 12582912.0 if _is32(x) else 6755399441055744.0
        t = x + magic
        self.value, self.bits = t - magic, bits(t)


def _scale_near(p: V, k: _Whole) -> V:
    return from_bits(bits(p) + (k.bits << _mantissa(p)))


def _scale(p: V, k: _Whole) -> V:
    half = k.bits >> 1
    first = from_bits(bits(p) + (half << _mantissa(p)))
    return first * from_bits(((k.bits - half) << _mantissa(p)) + _one_bits(p))


def _exp_parts(x: V) -> tuple[_Whole, V]:
    if _is32(x):
        k = _Whole(x * 1.44269504)
        return k, (x - k.value * 0.693359375) - k.value * -2.12194440e-4
    k = _Whole(x * 1.4426950408889634)
    high = x - k.value * 6.93147180369123816490e-01
    return k, high - k.value * 1.90821492927058770002e-10


def _exp_tail(r: V) -> V:
    if _is32(r):
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
    return -104 if _is32(x) else -745.2


def _exp_high(x: V) -> float:
    return 88.73 if _is32(x) else 709.79


def exp(x: V) -> V:
    k, r = _exp_parts(at_least(at_most(x, _exp_high(x)), _exp_low(x)))
    return _scale(_exp_near(r), k)


def _half_exp(x: V) -> V:
    high = rounded(rounded(_exp_high(x), x.type) + rounded(0.7, x.type), x.type)
    k, r = _exp_parts(at_most(x, high))
    return _scale(0.5 * _exp_near(r), k)


def _exp_negative(x: V) -> V:
    k, r = _exp_parts(at_least(x, -80))
    return _scale_near(_exp_near(r), k)


def exp2(x: V) -> V:
    if _is32(x):
        x = at_least(at_most(x, 128.0), -151.0)
        c: tuple[float, ...] = (1.0, 0.693147182, 0.240226075, 0.0555038713)
        c += (0.00962287653, 0.00133774651, 0.000142299905)
    else:
        x = at_least(at_most(x, 1024.0), -1076.0)
        c = (1.0, 0.69314718055994529, 0.2402265069591015, 0.05550410866482406)
        c += (0.0096181291075862953, 0.0013333558145774327, 0.00015403530468447417)
        c += (1.5252734391835851e-05, 1.3215428963252362e-06, 1.0177861427614433e-07)
        c += (7.0749876638380334e-09, 4.4799732706395892e-10)
    k = _Whole(x)
    return _scale(poly(x - k.value, *c), k)


def expm1(x: V) -> V:
    low = -20 if _is32(x) else -40
    k, r = _exp_parts(at_least(at_most(x, _exp_high(x)), low))
    s = _scale_near(x.const(0.5), k)
    y = 2 * (s * _expm1_near(r) + (s - 0.5))
    return where(x.eq(0), x, y)


def tanh(x: V) -> V:
    if _is32(x):
        k, r = _exp_parts(2 * at_most(abs(x), 10.0))
        s = _scale_near(x.const(1), k)
        m = s * _expm1_near(r) + (s - 1)
        return copysign(m / (m + 2), x)
    a = abs(x)
    k, r = _exp_parts(-2 * at_most(a, 20.0))
    s = _scale_near(x.const(1), k)
    near = _expm1_near(r)
    m = s * near + (s - 1)
    e = s * (near + 1)
    far = a > 0.6
    q = where(far, 2 * e, -m) / (1 + e)
    return copysign(where(far, 1 - q, q), x)


def sigmoid(x: V) -> V:
    return 1 / (1 + exp(-x))


def cosh(x: V) -> V:
    half = _half_exp(abs(x))
    return half + 0.25 / half


def sinh(x: V) -> V:
    a = abs(x)
    half, z = _half_exp(a), a * a
    if _is32(x):
        tail = poly(z, 0.166666672, 0.00833331142, 0.000198426365, 2.78390985e-06)
    else:
        tail = poly(
            z,
            *(0.16666666666666666, 0.0083333333333335691, 0.00019841269841066605),
            *(2.7557319307033979e-06, 2.5052090233764044e-08, 1.6061224858531329e-10),
            *(7.5112270956994581e-13, 6.2559105603748969e-15),
        )
    return where(a < 1, x + x * z * tail, copysign(half - 0.25 / half, x))


# --- log and its kin ----------------------------------------------------------


def _log_parts(x: V) -> tuple[V, V]:
    two = 8388608.0 if _is32(x) else 4503599627370496.0
    bias = 127 if _is32(x) else 1023
    smallest = 1.17549435e-38 if _is32(x) else 2.2250738585072014e-308
    tiny = x < smallest
    scaled = x * where(tiny, x.const(two), x.const(1))
    excess = where(tiny, x.const(two + (bias + _mantissa(x))), x.const(two + bias))
    root = 0x3F3504F3 if _is32(x) else 0x3FE6A09E667F3BCD
    b = bits(scaled) + (_one_bits(x) - root)
    m = from_bits((b & ((1 << _mantissa(x)) - 1)) + root)
    exponent = b >> _mantissa(x)
    shifted = exponent + _bit_pattern(two, x.type)
    return from_bits(shifted) - excess, m - 1


def _bit_pattern(value: float, type: str) -> int:
    if type == "f32":
        return struct.unpack("<I", struct.pack("<f", value))[0]
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def _log_joined(k: Any, f: V, correction: Any) -> V:
    k, correction = f.graph.coerce(k, f.type), f.graph.coerce(correction, f.type)
    if _is32(f):
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
    k, f = _log_parts(x)
    return _log_domain(x, _log_joined(k, f, _zero(x)))


def _zero(x: V) -> V | float:
    return 0.0


def log2(x: V) -> V:
    k, f = _log_parts(x)
    m = _log_joined(0.0, f, 0.0)
    return _log_domain(x, (m * 0.44269504088896340736 + m) + k)


def log10(x: V) -> V:
    high = 0.301025390625 if _is32(x) else 0.30102999566406652
    low = 4.6050389811952e-6 if _is32(x) else -8.5323443170571066e-14
    k, f = _log_parts(x)
    m = _log_joined(0.0, f, 0.0)
    correction = k * low  # before the other product: this one is fused
    return _log_domain(x, (m * 0.43429448190325182765 + correction) + k * high)


def log1p(x: V) -> V:
    u = 1 + x
    lost = where(u.eq(INF), x.const(0), (x - (u - 1)) / u)
    k, f = _log_parts(u)
    y = _log_domain(u, _log_joined(k, f, lost))
    return where(x.eq(0), x, y)


def asinh(x: V) -> V:
    a = abs(x)
    z = a * a
    big = 1e18 if _is32(x) else 1e150
    far = a > big
    near = log1p(at_most(a, big) + where(far, x.const(0), z / (1 + sqrt(1 + z))))
    return copysign(where(far, log(a) + 0.69314718055994530942, near), x)


def acosh(x: V) -> V:
    t = x - 1
    big = 1e18 if _is32(x) else 1e150
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
    if not _is32(x):
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
    k, f = _log_parts(wide)
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
    n = _Whole(e)
    q = poly(
        e - n.value,
        *(1.0, 0.69314718054137547, 0.24022651076106841, 0.055504109625661303),
        *(0.0096180367842005864, 0.0013333452071250199, 0.00015466773296321612),
        *(1.5313350873561468e-05,),
    )
    scaled = _scale_near(q, n)
    result = scaled.make("fptrunc", scaled, type="f32")
    integer = floor(y).eq(y)
    odd = integer & (floor(y * 0.5) * 2).ne(y)
    result = where(signbit(x) & odd, -result, result)
    result = where((x < 0) & ~integer & a.ne(INF), x.const(NAN), result)
    result = where(x.ne(x) | y.ne(y), x + y, result)
    return where(y.eq(0) | x.eq(1) | (a.eq(1) & isinf(y)), x.const(1), result)


# --- vmath_trig.h -------------------------------------------------------------


def _turn(x: V) -> tuple[V, V]:
    wide = not _is32(x)
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
    if _is32(r):
        return r + r * z * poly(z, -0.166666552, 0.00833219197, -0.000195187735)
    return r + r * z * poly(
        z,
        *(-0.16666666666666632, 0.0083333333333224895, -0.00019841269829857735),
        *(2.7557313706871837e-06, -2.5050760192816251e-08, 1.5896905066807661e-10),
    )


def _cos_near(r: V) -> V:
    z = r * r
    if _is32(r):
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
    if _is32(x):
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
    return -4.37113883e-8 if _is32(x) else 6.123233995736766e-17


def _atan_ratio(small: V, large: V, plain: bool = False) -> V:
    steep = small > 0.41421356237309504880 * large
    over = where(steep, small - large, small)
    t = over / where(steep, small + large, large)
    z = t * t
    if _is32(t):
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
    plain = not _is32(x)
    angle = _atan_ratio(where(both, one, small), where(both, one, large), plain)
    angle = where(large.eq(0), x.const(0), angle)
    half, low = _half_pi(x), rounded(_half_pi_low(x), x.type)
    angle = where(swap, half - (angle - low), angle)
    pi = 2 * rounded(half, x.type)
    angle = where(signbit(x), pi - (angle - 2 * low), angle)
    return where(x.ne(x) | y.ne(y), x + y, copysign(angle, y))


def _asin_tail(z: V) -> V:
    if _is32(z):
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


# --- the error function -------------------------------------------------------


def _erf_near(x: V) -> V:
    if _is32(x):
        c: tuple[float, ...] = (0.128379166, -0.376126289, 0.112836242, -0.0268555861)
        c += (0.00519193616, -0.000804361189, 7.96815511e-05)
        return x + x * poly(x * x, *c)
    c = (0.12837916709551259, -0.37612638903184109, 0.11283791670972063)
    c += (-0.026866170648280455, 0.0052239776556772108, -0.00085483287347400626)
    c += (0.00012055394306941992, -1.4927094208198774e-05, 1.6484718567287526e-06)
    c += (-1.6598203371879576e-07, 1.630283790054986e-08, -1.7629228492924299e-09)
    c += (1.6380072869948533e-10,)
    return x + x * poly(at_most(x * x, 1.0), *c)


def erf(x: V) -> V:
    if not _is32(x):
        a = abs(x)
        return where(a < 1, _erf_near(x), copysign(1 - erfc(a), x))
    a = at_most(abs(x), 4.0)
    g = poly(
        a,
        *(-0.000153427944, 1.12939727, 0.633626938, 0.107906014, -0.0248128548),
        *(0.004013306, -0.000384710467, 1.23069021e-05, 6.65428843e-07),
    )
    far = 1 - _exp_negative(-g)
    return where(a < 0.92, _erf_near(x), copysign(far, x))


def ndtr(x: V) -> V:
    if not _is32(x):
        return 0.5 * erfc(-0.70710678118654752440 * x)
    a = abs(x)
    g = poly(
        at_most(a, 6.0),
        *(0.693147182, 0.79788506, 0.318304241, 0.0363557152, -0.00481412746),
        *(-1.34756892e-05, 0.000209309539, -6.14718811e-05, 1.02008134e-05),
        *(-1.05048321e-06, 6.25587546e-08, -1.65001546e-09),
    )
    e = where(a > 6, x.const(0), _exp_negative(-g))
    return where(x > 0, 1 - e, e)


def _erfcx_times(t: V) -> V:
    if _is32(t):
        c: tuple[float, ...] = (1.27697837, -0.0927638933, -0.166031465, 0.164052919)
        c += (-0.0542040691, -0.00804222189, 0.00863511674, 0.00126477878)
        c += (-0.00125234865, -0.000354520482, 3.14406207e-05)
        return poly(t, *c)
    return poly(
        t,
        *(1.2329951186255526, -0.13962111684056253, 0.015379652102619622),
        *(0.068097054254695324, -0.10103906603629773, 0.093732834998256298),
        *(-0.066330365812360084, 0.037167515538976979, -0.016197734056208224),
        *(0.0050319699648878786, -0.00075777329924012421, -0.00019925662553687442),
        *(0.00015062172346314614, -2.4399442216574131e-05, -1.1222182981301679e-05),
        *(5.7101967667310846e-06, 2.9416174422457131e-07, -8.2596648765529539e-07),
        *(7.4105418921805464e-08, 1.1033294746053505e-07, -1.7469717956764381e-08),
        *(-1.4070585701971344e-08, 1.6772899475331411e-09, 1.1981416315407854e-09),
    )


def _square_error(a: V, square: V) -> V:
    if a.graph.fma:
        return fused(a, a, -square)
    split = a * (4097 if _is32(a) else 134217729)
    high = split - (split - a)
    low = a - high
    return ((high * high - square) + 2 * high * low) + low * low


def erfc(x: V) -> V:
    k, end = (2, 10.5) if _is32(x) else (4, 28)
    a = at_most(abs(x), end)
    square = a * a
    e = exp(-square) * (1 - _square_error(a, square))
    y = e * _erfcx_times((a - k) / (a + k)) / (1 + 2 * a)
    y = where(x < 0, 2 - y, where(x > end, x.const(0), y))
    return where(a < 0.5, 1 - _erf_near(x), y)


sgn = sign

_ANY = (
    "abs ceil floor trunc round conj sign sgn reciprocal rsqrt bitwise_not isnan isinf "
    "isfinite signbit isreal maximum minimum fmax fmin heaviside lerp left_shift "
    "right_shift where"
)
_FLOATS = (
    "copysign sqrt trunc_divide exp exp2 expm1 tanh sigmoid cosh sinh log log2 log10 "
    "log1p asinh acosh atanh xlogy xlog1py log1p_exp logaddexp logaddexp2 sin cos tan "
    "sinc atan atan2 asin acos erf ndtr erfc"
)
_FLOAT32 = "pow hypot"

FUNCTIONS: dict[str, dict[str, Any]] = {}  # by what they are computed in
for _types, _names in (
    (("int", "f64", "f32"), _ANY),
    (("f64", "f32"), _FLOATS),
    (("f32",), _FLOAT32),
):
    for _type in _types:
        _functions = FUNCTIONS.setdefault(_type, {})
        _functions.update((name, globals()[name]) for name in _names.split())
del _types, _names, _type, _functions
