// What formulas of core/scalar_functions.h call, for the element type T. The program defines
// T_FLOAT, T_SIGNED or T_UNSIGNED (and T_BOOL with it), U (the unsigned type of the same size) and
// T_BITS (of floats, too).
#define where(c, t, f) ((c) != 0 ? (t) : (f))
#define cut(c, d) where(c, (T)0, d)
#define conj(x) (x)
#define isreal(x) (1)
#define zeros_like(x) ((T)0)
#define abs_squared(x) ((x) * (x))

DEVICE T f_maximum(T a, T b) { return ((a != a) | (a > b)) ? a : b; }
DEVICE T f_minimum(T a, T b) { return ((a != a) | (a < b)) ? a : b; }
DEVICE T f_fmax(T a, T b) { return ((b != b) | (a >= b)) ? a : b; }
DEVICE T f_fmin(T a, T b) { return ((b != b) | (a <= b)) ? a : b; }
DEVICE T f_sign(T x) { return (T)((x > 0) - (x < 0)); }
DEVICE T f_heaviside(T a, T b) { return a == 0 ? b : (T)(a > 0); }
#ifdef T_FLOAT
DEVICE T f_remainder(T a, T b) {
  T m = fmod(a, b);
  return ((m != 0) & ((m < 0) != (b < 0))) ? m + b : m;
}
DEVICE T f_floor_divide(T a, T b) {
  T m = fmod(a, b);
  int down = (m != 0) & ((m < 0) != (b < 0));
  T q = (a - m) / b - (down ? (T)1 : (T)0), f = floor(q);
  f = q - f > (T)0.5 ? f + 1 : f;
  f = q == 0 ? copysign((T)0, a / b) : f;
  return b == 0 ? a / b : f;
}
DEVICE T f_frexp_mantissa(T x) {
  int e;
  return frexp(x, &e);
}
DEVICE T f_frexp_exponent(T x) {
  int e;
  frexp(x, &e);
  return isfinite(x) ? (T)e : (T)0;
}
DEVICE T f_lerp(T a, T b, T w) {
  return fabs(w) < (T)0.5 ? a + w * (b - a) : b - (b - a) * ((T)1 - w);
}
DEVICE T f_sigmoid(T x) {
  T e = exp(-fabs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}
DEVICE T f_sinc(T x) {
  T u = (T)3.14159265358979323846 * x;
  return x == 0 ? (T)1 : sin(u) / u;
}
DEVICE T f_xlogy(T a, T b) { return b != b ? b : a == 0 ? (T)0 : a * log(b); }
DEVICE T f_xlog1py(T a, T b) { return b != b ? b : a == 0 ? (T)0 : a * log1p(b); }
DEVICE T f_logaddexp(T a, T b) {
  if (a == b && isinf(a)) return a;
  T m = f_maximum(a, b);
  return m + log1p(exp(-fabs(a - b)));
}
DEVICE T f_logaddexp2(T a, T b) {
  if (a == b && isinf(a)) return a;
  T m = f_maximum(a, b);
  return m + log1p(exp2(-fabs(a - b))) * (T)1.44269504088896340736;
}
DEVICE T f_rsqrt(T x) { return 1 / sqrt(x); }
// The error function by polynomials, those of core/cpu/vmath_trig.h: without the branches of
// library versions, which keep compilers from making vectors.
#define P2(x, a, b) ((a) + (x) * (b))
#define P4(x, a, b, c, d) P2((x) * (x), P2(x, a, b), P2(x, c, d))
#define P8(x, a, b, c, d, e, f, g, h) \
  P2((x) * (x) * (x) * (x), P4(x, a, b, c, d), P4(x, e, f, g, h))
#if T_BITS == 32
DEVICE T f_erf_near(T x) {
  T s = x * x;
  return x + x * P8(s, 0.128379166f, -0.376126289f, 0.112836242f, -0.0268555861f, 0.00519193616f,
                    -0.000804361189f, 7.96815511e-05f, 0.0f);
}
DEVICE T f_erf(T x) {
  T a = fabs(x), b = a > 4 ? (T)4 : a, b4 = (b * b) * (b * b);
  T g = P8(b, -0.000153427944f, 1.12939727f, 0.633626938f, 0.107906014f, -0.0248128548f,
           0.004013306f, -0.000384710467f, 1.23069021e-05f) +
        b4 * b4 * 6.65428843e-07f;  // -log(erfc(b))
  T far = copysign(1 - exp(-g), x);
  return x != x ? x : a < 0.92f ? f_erf_near(x) : far;
}
DEVICE T f_erfcx_times(T t) {  // erfcx(x) (1 + 2x), t = (x - 2) / (x + 2)
  T t4 = (t * t) * (t * t);
  return P8(t, 1.27697837f, -0.0927638933f, -0.166031465f, 0.164052919f, -0.0542040691f,
            -0.00804222189f, 0.00863511674f, 0.00126477878f) +
         t4 * t4 * P4(t, -0.00125234865f, -0.000354520482f, 3.14406207e-05f, 0.0f);
}
#define ERFC_MIDDLE 2
#define ERFC_END (T)10.5
#define SPLIT (T)4097
#else
DEVICE T f_erf_near(T x) {
  T s = x * x > 1 ? (T)1 : x * x, s4 = (s * s) * (s * s);
  return x + x * (P8(s, 0.12837916709551259, -0.37612638903184109, 0.11283791670972063,
                     -0.026866170648280455, 0.0052239776556772108, -0.00085483287347400626,
                     0.00012055394306941992, -1.4927094208198774e-05) +
                  s4 * s4 *
                      (P4(s, 1.6484718567287526e-06, -1.6598203371879576e-07, 1.630283790054986e-08,
                          -1.7629228492924299e-09) +
                       s4 * 1.6380072869948533e-10));
}
DEVICE T f_erfcx_times(T t) {  // t = (x - 4) / (x + 4)
  T t4 = (t * t) * (t * t), t8 = t4 * t4;
  T low =
      P8(t, 1.2329951186255526, -0.13962111684056253, 0.015379652102619622, 0.068097054254695324,
         -0.10103906603629773, 0.093732834998256298, -0.066330365812360084, 0.037167515538976979);
  T middle = P8(t, -0.016197734056208224, 0.0050319699648878786, -0.00075777329924012421,
                -0.00019925662553687442, 0.00015062172346314614, -2.4399442216574131e-05,
                -1.1222182981301679e-05, 5.7101967667310846e-06);
  T high = P8(t, 2.9416174422457131e-07, -8.2596648765529539e-07, 7.4105418921805464e-08,
              1.1033294746053505e-07, -1.7469717956764381e-08, -1.4070585701971344e-08,
              1.6772899475331411e-09, 1.1981416315407854e-09);
  return low + t8 * (middle + t8 * high);
}
#define ERFC_MIDDLE 4
#define ERFC_END (T)28
#define SPLIT (T)134217729
#endif
DEVICE T f_erfc(T x) {
  T a = fabs(x), b = a > ERFC_END ? ERFC_END : a, square = b * b;
  // What rounding took from the square, by splitting b in halves (Dekker).
  T split = b * SPLIT, top = split - (split - b), low = b - top;
  T lost = ((top * top - square) + 2 * top * low) + low * low;
  T e = exp(-square) * (1 - lost);
  T y = e * f_erfcx_times((b - ERFC_MIDDLE) / (b + ERFC_MIDDLE)) / (1 + 2 * b);
  y = x < 0 ? 2 - y : x > ERFC_END ? (T)0 : y;
  return x != x ? x : b < (T)0.5 ? 1 - f_erf_near(x) : y;
}
#if T_BITS == 64
DEVICE T f_erf(T x) {
  T a = fabs(x);
  return a < 1 ? f_erf_near(x) : copysign(1 - f_erfc(a), x);
}
#endif
#ifndef SPECIAL
DEVICE T ndtr(T x) { return (T)0.5 * f_erfc((T)-0.70710678118654752440 * x); }
DEVICE T log1p_exp(T x) { return (x > 0 ? x : (T)0) + log1p(exp(-fabs(x))); }
DEVICE T entr(T x) { return x > 0 ? -x * log(x) : x == 0 ? (T)0 : x < 0 ? -(T)INFINITY : x; }
#endif
#undef abs
#define abs fabs
#undef round
#define round rint
#undef erf
#define erf f_erf
#undef erfc
#define erfc f_erfc
#define reciprocal(x) ((T)1 / (x))
#define trunc_divide(a, b) trunc((a) / (b))
#undef remainder
#define remainder f_remainder
#define floor_divide f_floor_divide
#define frexp_mantissa f_frexp_mantissa
#define frexp_exponent f_frexp_exponent
#define lerp f_lerp
#define sigmoid f_sigmoid
#define sinc f_sinc
#define xlogy f_xlogy
#define xlog1py f_xlog1py
#define logaddexp f_logaddexp
#define logaddexp2 f_logaddexp2
#undef rsqrt
#define rsqrt f_rsqrt
#else
// A division by zero gives 0: a device cannot raise.
#ifdef T_SIGNED
DEVICE T f_abs(T x) { return (T)(x < 0 ? (U)0 - (U)x : (U)x); }
DEVICE T f_divide(T a, T b) { return b == 0 ? (T)0 : b == -1 ? (T)((U)0 - (U)a) : (T)(a / b); }
DEVICE T f_modulo(T a, T b) { return (b == 0) | (b == -1) ? (T)0 : (T)(a % b); }
#define T_MOST (T_BITS - 1)
#else
DEVICE T f_abs(T x) { return x; }
DEVICE T f_divide(T a, T b) { return b == 0 ? (T)0 : (T)(a / b); }
DEVICE T f_modulo(T a, T b) { return b == 0 ? (T)0 : (T)(a % b); }
#define T_MOST T_BITS
#endif
DEVICE T f_remainder(T a, T b) {
  T m = f_modulo(a, b);
  return ((m != 0) & ((m < 0) != (b < 0))) ? (T)(m + b) : m;
}
DEVICE T f_floor_divide(T a, T b) {
  T m = f_modulo(a, b);
  return (T)(f_divide(a, b) - ((m != 0) & ((m < 0) != (b < 0))));
}
DEVICE T f_left_shift(T a, T b) {
  return ((b < 0) | (b >= T_BITS)) ? (T)0 : (T)((U)a << (b & (T_BITS - 1)));
}
DEVICE T f_right_shift(T a, T b) {
  return ((b < 0) | (b >= T_MOST)) ? (T)(a < 0 ? -1 : 0) : (T)(a >> b);
}
DEVICE U f_magnitude(T a) { return a < 0 ? (U)((U)0 - (U)a) : (U)a; }
DEVICE T f_gcd(T a, T b) {
  U x = f_magnitude(a), y = f_magnitude(b);
  while (x != 0) {
    U r = (U)(y % x);
    y = x, x = r;
  }
  return (T)y;
}
DEVICE T f_lcm(T a, T b) {
  U d = f_magnitude(f_gcd(a, b));
  return d == 0 ? (T)0 : f_abs((T)((U)(f_magnitude(a) / d) * f_magnitude(b)));
}
DEVICE T f_pow(T a, T n) {
  if (n < 0) return a == 1 ? (T)1 : a + 1 == 0 ? ((n & 1) ? a : (T)1) : (T)0;
  U y = 1, x = (U)a;
  for (U k = (U)n; k; k >>= 1, x = (U)(x * x))
    if (k & 1) y = (U)(y * x);
  return (T)y;
}
#ifdef T_BOOL
#define bitwise_not(x) (!(x))
#else
#define bitwise_not(x) ((T) ~(x))
#endif
#undef abs
#define abs f_abs
#undef ceil
#define ceil(x) (x)
#undef floor
#define floor(x) (x)
#undef trunc
#define trunc(x) (x)
#undef round
#define round(x) (x)
#undef isnan
#define isnan(x) (0)
#undef isinf
#define isinf(x) (0)
#undef isfinite
#define isfinite(x) (1)
#undef signbit
#define signbit(x) ((x) < 0)
#define trunc_divide f_divide
#undef fmod
#define fmod f_modulo
#undef remainder
#define remainder f_remainder
#define floor_divide f_floor_divide
#define left_shift f_left_shift
#define right_shift f_right_shift
#define gcd f_gcd
#define lcm f_lcm
#undef pow
#define pow f_pow
#endif
#define maximum f_maximum
#define minimum f_minimum
#undef fmax
#define fmax f_fmax
#undef fmin
#define fmin f_fmin
#undef sign
#define sign f_sign
#define sgn f_sign
#define heaviside f_heaviside
