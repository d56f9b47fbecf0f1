// Scalar helpers that formulas of the ARITHMETIC and COMPARISON families call, for every element
// type. All are branch-free where the loop around them should vectorise.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cpu/kernels/complex.h"

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define EMBER_FMA 1
#endif

namespace ember::cpu::EMBER_ISA {
namespace {

template <class T>
constexpr bool is_real = std::is_floating_point_v<T>;
template <class T>
constexpr bool is_int = std::is_integral_v<T>;

inline float fabs_(float x) { return __builtin_fabsf(x); }
inline double fabs_(double x) { return __builtin_fabs(x); }

template <class T>
inline T where(bool c, T a, T b) {
  return c ? a : b;
}

template <class T>
inline T cut(bool c, T d) {
  return c ? T(0) : d;
}

template <class T>
inline T conj(T x) {
  return x;
}
template <class R>
inline Complex<R> conj(Complex<R> x) {
  return {x.re, -x.im};
}

inline float sqrt(float x) { return __builtin_sqrtf(x); }
inline double sqrt(double x) { return __builtin_sqrt(x); }

inline float abs(float x) { return __builtin_fabsf(x); }
inline double abs(double x) { return __builtin_fabs(x); }
template <class T, class = std::enable_if_t<is_int<T>>>
inline T abs(T x) {
  using U = std::make_unsigned_t<T>;
  if constexpr (std::is_unsigned_v<T>)
    return x;
  else
    return T(x < 0 ? U(0) - U(x) : U(x));
}
inline float abs(Complex<float> x) {
  return float(__builtin_sqrt(double(x.re) * x.re + double(x.im) * x.im));
}
inline double abs(Complex<double> x) { return __builtin_hypot(x.re, x.im); }

template <class T>
inline T sign(T x) {
  return T((x > 0) - (x < 0));
}
template <class T>
inline T sgn(T x) {
  if constexpr (is_complex_type<T>) {
    auto r = abs(x);
    return r == 0 ? T(0) : T{x.re / r, x.im / r};
  } else {
    return sign(x);
  }
}

#define EMBER_ROUNDING(name, builtin)                              \
  inline float name(float x) { return __builtin_##builtin##f(x); } \
  inline double name(double x) { return __builtin_##builtin(x); }  \
  template <class T, class = std::enable_if_t<is_int<T>>>          \
  inline T name(T x) {                                             \
    return x;                                                      \
  }
EMBER_ROUNDING(ceil, ceil)
EMBER_ROUNDING(floor, floor)
EMBER_ROUNDING(trunc, trunc)
EMBER_ROUNDING(round, rint)  // halves to even
#undef EMBER_ROUNDING

template <class T>
inline T reciprocal(T x) {
  return T(1) / x;
}
template <class T, class = std::enable_if_t<is_real<T>>>
inline T rsqrt(T x) {
  return T(1) / sqrt(x);
}

template <class T>
inline T bitwise_not(T x) {
  return T(~x);
}

inline bool isnan(float x) { return x != x; }
inline bool isnan(double x) { return x != x; }
inline bool isinf(float x) { return __builtin_fabsf(x) == __builtin_inff(); }
inline bool isinf(double x) { return __builtin_fabs(x) == __builtin_inf(); }
inline bool isfinite(float x) { return __builtin_fabsf(x) < __builtin_inff(); }
inline bool isfinite(double x) { return __builtin_fabs(x) < __builtin_inf(); }
inline bool signbit(float x) { return __builtin_bit_cast(int32_t, x) < 0; }
inline bool signbit(double x) { return __builtin_bit_cast(int64_t, x) < 0; }
template <class T, class = std::enable_if_t<is_int<T>>>
inline bool isnan(T) {
  return false;
}
template <class T, class = std::enable_if_t<is_int<T>>>
inline bool isinf(T) {
  return false;
}
template <class T, class = std::enable_if_t<is_int<T>>>
inline bool isfinite(T) {
  return true;
}
template <class T, class = std::enable_if_t<is_int<T>>>
inline bool signbit(T x) {
  return x < 0;
}
template <class R>
inline bool isnan(Complex<R> x) {
  return isnan(x.re) | isnan(x.im);
}
template <class R>
inline bool isinf(Complex<R> x) {
  return isinf(x.re) | isinf(x.im);
}
template <class R>
inline bool isfinite(Complex<R> x) {
  return isfinite(x.re) & isfinite(x.im);
}
template <class T>
inline bool isreal(T x) {
  if constexpr (is_complex_type<T>)
    return x.im == 0;
  else
    return true;
}

template <class T>
inline T frexp_mantissa(T x) {
  int exponent;
  return T(__builtin_frexp(x, &exponent));
}
template <class T>
inline T frexp_exponent(T x) {
  int exponent;
  __builtin_frexp(x, &exponent);
  return isfinite(x) ? T(exponent) : T(0);
}

// NaN wins in maximum and minimum, loses in fmax and fmin.
template <class T>
inline T maximum(T a, T b) {
  return ((a != a) | (a > b)) ? a : b;
}
template <class T>
inline T minimum(T a, T b) {
  return ((a != a) | (a < b)) ? a : b;
}
template <class T>
inline T fmax(T a, T b) {
  return ((b != b) | (a >= b)) ? a : b;
}
template <class T>
inline T fmin(T a, T b) {
  return ((b != b) | (a <= b)) ? a : b;
}

inline float copysign(float a, float b) { return __builtin_copysignf(a, b); }
inline double copysign(double a, double b) { return __builtin_copysign(a, b); }
inline float nextafter(float a, float b) { return __builtin_nextafterf(a, b); }
inline double nextafter(double a, double b) { return __builtin_nextafter(a, b); }
template <class T>
inline T heaviside(T a, T b) {
  return a == 0 ? b : T(a > 0);
}

// Integer division: the loops have made sure that b is not 0; b = -1 could still trap.
template <class T>
inline T divide(T a, T b) {
  using U = std::make_unsigned_t<T>;
  if constexpr (std::is_signed_v<T>)
    return b == -1 ? T(U(0) - U(a)) : T(a / b);
  else
    return T(a / b);
}
template <class T>
inline T modulo(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    return b == -1 ? T(0) : T(a % b);
  else
    return T(a % b);
}
// Exact while |a / b| < kModuloLimit and b is finite; kernels take Exact otherwise
// (kernels/exact.h).
constexpr double kModuloLimit = 1 << 20;
inline float modulo(float a, float b) {
  double q = __builtin_trunc(double(a) / double(b)), r = double(a) - q * double(b);
  return __builtin_copysignf(float(r), a);
}
inline double modulo(double a, double b) {
#ifdef EMBER_FMA
  double q = __builtin_trunc(a / b), r = __builtin_fma(-q, b, a);
  double turned = __builtin_copysign(1., a) * r;  // below 0 if the quotient was rounded up
  return __builtin_copysign(turned < 0 ? turned + __builtin_fabs(b) : turned, a);
#else
  return __builtin_fmod(a, b);
#endif
}
template <class T>
inline bool modulo_is_rare(T a, T b) {
  return !((fabs_(a) < fabs_(b) * T(kModuloLimit)) & isfinite(b));
}

template <class T>
inline T fmod(T a, T b) {
  return modulo(a, b);
}
template <class T>
inline T remainder(T a, T b) {
  T m = modulo(a, b);
  return ((m != 0) & ((m < 0) != (b < 0))) ? T(m + b) : m;
}
template <class T>
inline T trunc_divide(T a, T b) {
  if constexpr (is_int<T>)
    return divide(a, b);
  else
    return trunc(a / b);
}
template <class T>
inline T floor_divide(T a, T b) {
  T m = modulo(a, b);
  bool down = (m != 0) & ((m < 0) != (b < 0));
  if constexpr (is_int<T>) {
    return T(divide(a, b) - T(down));
  } else {
    // As Python does: (a - m) / b is all but an integer; rounding it is exact where floor(a / b) is
    // not.
    T q = (a - m) / b - (down ? T(1) : T(0));
    T f = floor(q);
    f = q - f > T(0.5) ? f + 1 : f;
    f = q == 0 ? copysign(T(0), a / b) : f;
    return b == 0 ? a / b : f;
  }
}

template <class T>
inline T left_shift(T a, T b) {
  using U = std::make_unsigned_t<T>;
  constexpr T bits = T(sizeof(T) * 8);
  return ((b < 0) | (b >= bits)) ? T(0) : T(U(a) << (b & (bits - 1)));
}
template <class T>
inline T right_shift(T a, T b) {
  constexpr T most = T(sizeof(T) * 8 - std::is_signed_v<T>);
  return T(a >> (((b < 0) | (b >= most)) ? most : b));
}
// Magnitudes are unsigned: that of the smallest integer does not fit into T.
template <class T>
inline std::make_unsigned_t<T> magnitude(T a) {
  using U = std::make_unsigned_t<T>;
  return a < 0 ? U(U(0) - U(a)) : U(a);
}
template <class T>
inline T gcd(T a, T b) {
  using U = std::make_unsigned_t<T>;
  U x = magnitude(a), y = magnitude(b);
  while (x != 0) {
    const U r = U(y % x);
    y = x, x = r;
  }
  return T(y);
}
template <class T>
inline T lcm(T a, T b) {
  using U = std::make_unsigned_t<T>;
  const U d = magnitude(gcd(a, b));
  return d == 0 ? T(0) : abs(T(U(magnitude(a) / d) * magnitude(b)));
}

template <class T>
inline T lerp(T a, T b, T w) {
  return abs(w) < Real<T>(0.5) ? a + w * (b - a) : b - (b - a) * (T(1) - w);
}

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
