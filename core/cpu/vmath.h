// Elementary functions of float and double as branch-free scalar code, which GCC turns into vector
// code inside a plain loop: bit casts, selects and polynomials, no calls and no tables. Errors are
// below 2 ulp unless noted, with denormals, infinities, NaN and -0. as the C library has them.
// Included by kernel files only, once per ISA level (Note [One namespace per level] in
// kernels/loops.h). Coefficients are those of tools/minimax.py. They must be compiled without
// -ffast-math: the order of operations is the point.
#pragma once

#include "cpu/kernels/arithmetic.h"

namespace ember::cpu::EMBER_ISA {
namespace {

#define EMBER_MATH inline __attribute__((always_inline))

template <class T>
struct Float;
template <>
struct Float<float> {
  using Int = int32_t;
  using UInt = uint32_t;
  static constexpr int mantissa = 23, bias = 127;
  static constexpr float magic =
      12582912.f;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  static constexpr UInt one = 0x3f800000, sign = 0x80000000, sqrt_half = 0x3f3504f3;
  static constexpr float smallest = 1.17549435e-38f, infinity = __builtin_inff(),
                         nan = __builtin_nanf("");
};
template <>
struct Float<double> {
  using Int = int64_t;
  using UInt = uint64_t;
  static constexpr int mantissa = 52, bias = 1023;
  static constexpr double magic = 6755399441055744.;  // 1.5 * 2^52
  static constexpr UInt one = 0x3ff0000000000000, sign = 0x8000000000000000,
                        sqrt_half = 0x3fe6a09e667f3bcd;
  static constexpr double smallest = 2.2250738585072014e-308, infinity = __builtin_inf(),
                          nan = __builtin_nan("");
};

EMBER_MATH uint32_t bits(float x) { return __builtin_bit_cast(uint32_t, x); }
EMBER_MATH uint64_t bits(double x) { return __builtin_bit_cast(uint64_t, x); }
EMBER_MATH float from_bits(uint32_t b) { return __builtin_bit_cast(float, b); }
EMBER_MATH double from_bits(uint64_t b) { return __builtin_bit_cast(double, b); }

// One rounding where the machine has FMA; plain sums are contracted too, but these rely on it.
EMBER_MATH float fused(float a, float b, float c) {
#ifdef EMBER_FMA
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
EMBER_MATH double fused(double a, double b, double c) {
#ifdef EMBER_FMA
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

// c0 + c1 x + c2 x^2 ...
template <class T>
EMBER_MATH T poly(T, T c0) {
  return c0;
}
template <class T, class... C>
EMBER_MATH T poly(T x, T c0, C... rest) {
  return poly(x, rest...) * x + c0;
}

// Limits that let NaN through.
template <class T>
EMBER_MATH T at_most(T x, T high) {
  return x > high ? high : x;
}
template <class T>
EMBER_MATH T at_least(T x, T low) {
  return x < low ? low : x;
}

// The integer nearest to x, and its low bits in `bits`: those of x + magic.
template <class T>
struct Whole {
  T value;
  typename Float<T>::UInt bits;
};
template <class T>
EMBER_MATH Whole<T> whole(T x) {
  T t = x + Float<T>::magic;
  return {t - Float<T>::magic, bits(t)};
}
// p * 2^k for p near 1: by its exponent, if the result is a normal number ...
template <class T>
EMBER_MATH T scale_near(T p, Whole<T> k) {
  return from_bits(bits(p) + (k.bits << Float<T>::mantissa));
}
// ... or in two steps, where 2^k itself need not be one.
template <class T>
EMBER_MATH T scale(T p, Whole<T> k) {
  auto half = k.bits >> 1;
  T first = from_bits(bits(p) + (half << Float<T>::mantissa));
  return first * from_bits(((k.bits - half) << Float<T>::mantissa) + Float<T>::one);
}

// ---- exp and its kin: x = k ln2 + r, |r| <= ln2 / 2 ----

template <class T>
struct Exp {
  Whole<T> k;
  T r;
};
EMBER_MATH Exp<float> exp_parts(float x) {
  Whole<float> k = whole(x * 1.44269504f);
  return {k, (x - k.value * 0.693359375f) - k.value * -2.12194440e-4f};
}
EMBER_MATH Exp<double> exp_parts(double x) {
  Whole<double> k = whole(x * 1.4426950408889634);
  return {k, (x - k.value * 6.93147180369123816490e-01) - k.value * 1.90821492927058770002e-10};
}
// (exp(r) - 1 - r) / r^2
EMBER_MATH float exp_tail(float r) {
  return poly(r, 0.5f, 0.166664883f, 0.041665554f, 0.00837228633f, 0.00140351837f);
}
EMBER_MATH double exp_tail(double r) {
  return poly(r, 0.5, 0.1666666666666583, 0.041666666666623567, 0.0083333333338124916,
              0.0013888888919711517, 0.00019841268888375763, 2.4801516811725809e-05,
              2.7558102225084688e-06, 2.7622244053596701e-07, 2.4844389236055773e-08);
}
template <class T>
EMBER_MATH T exp_near(T r) {
  return (exp_tail(r) * r + 1) * r + 1;
}
template <class T>
EMBER_MATH T expm1_near(T r) {
  return r * r * exp_tail(r) + r;
}

// Beyond these exp() is 0 and infinite.
template <class T>
constexpr T kExpLow = sizeof(T) == 4 ? T(-104) : T(-745.2);
template <class T>
constexpr T kExpHigh = sizeof(T) == 4 ? T(88.73) : T(709.79);

template <class T, class = std::enable_if_t<is_real<T>>>
EMBER_MATH T exp(T x) {
  Exp<T> e = exp_parts(at_least(at_most(x, kExpHigh<T>), kExpLow<T>));
  return scale(exp_near(e.r), e.k);
}
// exp(x) / 2 for x >= 0, which overflows later.
template <class T>
EMBER_MATH T half_exp(T x) {
  Exp<T> e = exp_parts(at_most(x, kExpHigh<T> + T(0.7)));
  return scale(T(0.5) * exp_near(e.r), e.k);
}
// For x <= 0 down to -80, below which it stays at exp(-80).
template <class T>
EMBER_MATH T exp_negative(T x) {
  Exp<T> e = exp_parts(at_least(x, T(-80)));
  return scale_near(exp_near(e.r), e.k);
}

EMBER_MATH float exp2(float x) {
  x = at_least(at_most(x, 128.f), -151.f);
  Whole<float> k = whole(x);
  float r = x - k.value;
  return scale(poly(r, 1.f, 0.693147182f, 0.240226075f, 0.0555038713f, 0.00962287653f,
                    0.00133774651f, 0.000142299905f),
               k);
}
EMBER_MATH double exp2(double x) {
  x = at_least(at_most(x, 1024.), -1076.);
  Whole<double> k = whole(x);
  double r = x - k.value;
  return scale(poly(r, 1., 0.69314718055994529, 0.2402265069591015, 0.05550410866482406,
                    0.0096181291075862953, 0.0013333558145774327, 0.00015403530468447417,
                    1.5252734391835851e-05, 1.3215428963252362e-06, 1.0177861427614433e-07,
                    7.0749876638380334e-09, 4.4799732706395892e-10),
               k);
}

template <class T, class = std::enable_if_t<is_real<T>>>
EMBER_MATH T expm1(T x) {
  Exp<T> e = exp_parts(at_least(at_most(x, kExpHigh<T>), T(sizeof(T) == 4 ? -20 : -40)));
  // 2^k - 1 has no error worth mention, and 2^(k-1) no overflow.
  T s = scale_near(T(0.5), e.k);
  T y = 2 * (s * expm1_near(e.r) + (s - T(0.5)));
  return x == 0 ? x : y;
}

// m / (m + 2) with m = exp(2x) - 1: one formula for all x, off by 2.6 ulp at most.
EMBER_MATH float tanh(float x) {
  Exp<float> e = exp_parts(2 * at_most(abs(x), 10.f));
  float s = scale_near(1.f, e.k), m = s * expm1_near(e.r) + (s - 1);
  return copysign(m / (m + 2), x);
}
// With e = exp(-2x) and m = e - 1: -m / (2 + m) near 0, 1 - 2e / (1 + e) away from it, by one
// division.
EMBER_MATH double tanh(double x) {
  double a = abs(x);
  Exp<double> p = exp_parts(-2 * at_most(a, 20.));
  double s = scale_near(1., p.k), near = expm1_near(p.r), m = s * near + (s - 1),
         e = s * (near + 1);
  const bool far = a > 0.6;
  double q = (far ? 2 * e : -m) / (1 + e);
  return copysign(far ? 1 - q : q, x);
}
template <class T, class = std::enable_if_t<is_real<T>>>
EMBER_MATH T sigmoid(T x) {
  return 1 / (1 + exp(-x));
}

template <class T, class = std::enable_if_t<is_real<T>>>
EMBER_MATH T cosh(T x) {
  T half = half_exp(abs(x));
  return half + T(0.25) / half;
}
EMBER_MATH float sinh_tail(float z) {
  return poly(z, 0.166666672f, 0.00833331142f, 0.000198426365f, 2.78390985e-06f);
}
EMBER_MATH double sinh_tail(double z) {
  return poly(z, 0.16666666666666666, 0.0083333333333335691, 0.00019841269841066605,
              2.7557319307033979e-06, 2.5052090233764044e-08, 1.6061224858531329e-10,
              7.5112270956994581e-13, 6.2559105603748969e-15);
}
template <class T, class = std::enable_if_t<is_real<T>>>
EMBER_MATH T sinh(T x) {
  T a = abs(x), half = half_exp(a), z = a * a;
  return a < 1 ? x + x * z * sinh_tail(z) : copysign(half - T(0.25) / half, x);
}

// ---- log and its kin: x = 2^k m, m in [sqrt(1/2), sqrt(2)) ----

template <class T>
struct Log {
  T k, f;  // f = m - 1
};
template <class T>
constexpr T kTwoToMantissa = sizeof(T) == 4 ? T(8388608) : T(4503599627370496);

// `bias` is what the exponent exceeds k by, plus 2^mantissa.
template <class T>
EMBER_MATH Log<T> log_parts(T x, T bias) {  // x positive, normal, finite
  using F = Float<T>;
  auto b = bits(x) + (F::one - F::sqrt_half);
  auto m = from_bits((b & ((typename F::UInt(1) << F::mantissa) - 1)) + F::sqrt_half);
  // The exponent becomes a number by way of the mantissa of 2^mantissa: AVX2 has no conversion from
  // int64.
  return {from_bits((b >> F::mantissa) + bits(kTwoToMantissa<T>)) - bias, m - 1};
}
template <class T>
EMBER_MATH Log<T> log_parts(T x) {  // x positive, finite
  using F = Float<T>;
  constexpr T up = kTwoToMantissa<T>;
  const bool tiny = x < F::smallest;
  // A product, not a choice between x * up and x: GCC would do all that follows for both.
  return log_parts(x * (tiny ? up : T(1)), tiny ? up + T(F::bias + F::mantissa) : up + T(F::bias));
}
// log(x) from its parts, given a correction to add.
EMBER_MATH float log_joined(Log<float> l, float correction) {
  float f = l.f, z = f * f;
  float p = poly(f, 0.333333105f, -0.250001371f, 0.200023621f, -0.166611999f, 0.142092228f,
                 -0.125160113f, 0.120710284f, -0.111148916f, 0.0568818823f);
  float y = f * z * p + (l.k * -2.12194440e-4f + correction);
  y = y - 0.5f * z;
  return (f + y) + l.k * 0.693359375f;
}
EMBER_MATH double log_joined(Log<double> l, double correction) {
  double f = l.f, s = f / (2 + f), z = s * s, half = 0.5 * f * f;
  double r =
      z * poly(z, 0.6666666666666734, 0.39999999999416636, 0.28571428742020855, 0.2222219860649477,
               0.18183562759416369, 0.15314087426341774, 0.147956035559524);
  double low = s * (half + r) + (l.k * 1.90821492927058770002e-10 + correction);
  return l.k * 6.93147180369123816490e-01 - ((half - low) - f);
}
// What log does outside the positive numbers.
template <class T>
EMBER_MATH T log_domain(T x, T y) {
  y = x == Float<T>::infinity ? x : y;
  y = x > 0 ? y : Float<T>::nan;
  return x == 0 ? -Float<T>::infinity : y;
}

template <class T, class = std::enable_if_t<is_real<T>>>
EMBER_MATH T log(T x) {
  return log_domain(x, log_joined(log_parts(x), T(0)));
}
template <class T, class = std::enable_if_t<is_real<T>>>
EMBER_MATH T log2(T x) {
  Log<T> l = log_parts(x);
  T m = log_joined(Log<T>{0, l.f}, T(0));
  return log_domain(x, (m * T(0.44269504088896340736) + m) + l.k);
}
template <class T, class = std::enable_if_t<is_real<T>>>
EMBER_MATH T log10(T x) {
  constexpr T high =
      sizeof(T) == 4 ? T(0.301025390625) : T(0.30102999566406652);  // log10(2), ending in zero bits
  constexpr T low = sizeof(T) == 4 ? T(4.6050389811952e-6) : T(-8.5323443170571066e-14);
  Log<T> l = log_parts(x);
  T m = log_joined(Log<T>{0, l.f}, T(0));
  return log_domain(x, (m * T(0.43429448190325182765) + l.k * low) + l.k * high);
}
template <class T, class = std::enable_if_t<is_real<T>>>
EMBER_MATH T log1p(T x) {
  T u = 1 + x;
  T lost = u == Float<T>::infinity ? T(0) : (x - (u - 1)) / u;
  T y = log_domain(u, log_joined(log_parts(u), lost));
  return x == 0 ? x : y;
}

template <class T, class = std::enable_if_t<is_real<T>>>
EMBER_MATH T asinh(T x) {
  T a = abs(x), z = a * a;
  constexpr T big = sizeof(T) == 4 ? T(1e18) : T(1e150);
  T near = log1p(at_most(a, big) + (a > big ? T(0) : z / (1 + sqrt(1 + z))));
  return copysign(a > big ? log(a) + T(0.69314718055994530942) : near, x);
}
template <class T, class = std::enable_if_t<is_real<T>>>
EMBER_MATH T acosh(T x) {
  T t = x - 1;
  constexpr T big = sizeof(T) == 4 ? T(1e18) : T(1e150);
  T y = x > big ? log(x) + T(0.69314718055994530942) : log1p(t + sqrt(2 * t + t * t));
  return x < 1 ? Float<T>::nan : y;
}
template <class T, class = std::enable_if_t<is_real<T>>>
EMBER_MATH T atanh(T x) {
  T a = abs(x);
  return copysign(T(0.5) * log1p(2 * a / (1 - a)), x);
}

template <class T>
EMBER_MATH T xlogy(T a, T b) {
  return b != b ? b : a == 0 ? T(0) : a * log(b);
}
template <class T>
EMBER_MATH T xlog1py(T a, T b) {
  return b != b ? b : a == 0 ? T(0) : a * log1p(b);
}
// log(1 + exp(x)), without overflow.
EMBER_MATH float log1p_exp(float x) {
  float e = exp(-abs(x));
  float tail = e * poly(e, 1.f, -0.499999404f, 0.333307564f, -0.249612778f, 0.19709681f,
                        -0.153973252f, 0.107522883f, -0.058376275f, 0.020584343f, -0.00340271438f);
  return (x > 0 ? x : 0) + tail;
}
EMBER_MATH double log1p_exp(double x) { return (x > 0 ? x : 0) + log1p(exp(-abs(x))); }

template <class T, class = std::enable_if_t<is_real<T>>>
EMBER_MATH T logaddexp(T a, T b) {
  T high = maximum(a, b), y = high + log1p_exp(-abs(a - b));
  return (a == b) & isinf(a) ? a : y;
}
template <class T>
EMBER_MATH T logaddexp2(T a, T b) {
  T high = maximum(a, b), y = high + log1p(exp2(-abs(a - b))) * T(1.44269504088896340736);
  return (a == b) & isinf(a) ? a : y;
}

// ---- powers ----

// In double, where 2^-40 is all that a float result needs.
EMBER_MATH float pow(float x, float y) {
  double a = abs(x);
  Log<double> l = log_parts(a);
  double s = l.f / (2 + l.f), z = s * s;
  double p = poly(z, 2., 0.6666666666666734, 0.39999999999416636, 0.28571428742020855,
                  0.2222219860649477, 0.18183562759416369);
  double log2_a = s * p * 1.4426950408889634 + l.k;
  log2_a = x == 0 ? -__builtin_inf() : a == __builtin_inf() ? a : log2_a;
  double e = at_least(at_most(y * log2_a, 130.), -160.);
  Whole<double> k = whole(e);
  double r = e - k.value;
  double q = poly(r, 1., 0.69314718054137547, 0.24022651076106841, 0.055504109625661303,
                  0.0096180367842005864, 0.0013333452071250199, 0.00015466773296321612,
                  1.5313350873561468e-05);
  float result = float(scale_near(q, k));
  const bool integer = __builtin_floorf(y) == y,
             odd = integer & (__builtin_floorf(y * 0.5f) * 2 != y);
  result = signbit(x) & odd ? -result : result;
  result = (x < 0) & !integer & (a != __builtin_inf()) ? __builtin_nanf("") : result;
  result = (x != x) | (y != y) ? x + y : result;
  return (y == 0) | (x == 1) | ((a == 1) & isinf(y)) ? 1.f : result;
}
inline double pow(double x, double y) { return __builtin_pow(x, y); }

template <class T, class = std::enable_if_t<is_int<T>>>
inline T pow(T a, T b) {
  using U = std::make_unsigned_t<T>;
  if (b < 0) return a == 1 ? T(1) : a == T(-1) ? T((b & 1) ? -1 : 1) : T(0);
  U result = 1, base = U(a);
  for (U e = U(b); e != 0; e >>= 1, base *= base)
    if (e & 1) result *= base;
  return T(result);
}

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
