// Elementary functions of complex numbers, by the C library in double precision: it gets the branch
// cuts and the infinities right. None of them is hot.
#pragma once

#include "cpu/kernels/arithmetic.h"

namespace ember::cpu::EMBER_ISA {
namespace {

inline _Complex double to_c(Complex<double> z) {
  _Complex double w;
  __real__ w = z.re, __imag__ w = z.im;
  return w;
}
inline Complex<double> from_c(_Complex double w) { return {__real__ w, __imag__ w}; }

#define EMBER_COMPLEX(name, call)                                 \
  inline Complex<double> name(Complex<double> z) { return call; } \
  inline Complex<float> name(Complex<float> z) { return Complex<float>(name(Complex<double>(z))); }

EMBER_COMPLEX(sqrt, from_c(__builtin_csqrt(to_c(z))))
EMBER_COMPLEX(rsqrt, Complex<double>(1) / sqrt(z))
EMBER_COMPLEX(exp, from_c(__builtin_cexp(to_c(z))))
EMBER_COMPLEX(log, from_c(__builtin_clog(to_c(z))))
EMBER_COMPLEX(sin, from_c(__builtin_csin(to_c(z))))
EMBER_COMPLEX(cos, from_c(__builtin_ccos(to_c(z))))
EMBER_COMPLEX(tan, from_c(__builtin_ctan(to_c(z))))
EMBER_COMPLEX(asin, from_c(__builtin_casin(to_c(z))))
EMBER_COMPLEX(acos, from_c(__builtin_cacos(to_c(z))))
EMBER_COMPLEX(atan, from_c(__builtin_catan(to_c(z))))
EMBER_COMPLEX(sinh, from_c(__builtin_csinh(to_c(z))))
EMBER_COMPLEX(cosh, from_c(__builtin_ccosh(to_c(z))))
EMBER_COMPLEX(tanh, from_c(__builtin_ctanh(to_c(z))))
EMBER_COMPLEX(asinh, from_c(__builtin_casinh(to_c(z))))
EMBER_COMPLEX(acosh, from_c(__builtin_cacosh(to_c(z))))
EMBER_COMPLEX(atanh, from_c(__builtin_catanh(to_c(z))))

constexpr double kLn2 = 0.69314718055994530942, kLn10 = 2.30258509299404568402,
                 kPi = 3.14159265358979323846;

EMBER_COMPLEX(exp2, exp(Complex<double>(kLn2) * z))
EMBER_COMPLEX(log2, (Complex<double>{log(z).re / kLn2, log(z).im / kLn2}))
EMBER_COMPLEX(log10, (Complex<double>{log(z).re / kLn10, log(z).im / kLn10}))
EMBER_COMPLEX(sigmoid, Complex<double>(1) / (Complex<double>(1) + exp(-z)))

// exp(x + iy) - 1 = expm1(x) cos y - 2 sin(y/2)^2 + i exp(x) sin y
inline Complex<double> expm1(Complex<double> z) {
  double half = __builtin_sin(0.5 * z.im), e = __builtin_expm1(z.re);
  return {e * __builtin_cos(z.im) - 2 * half * half, (e + 1) * __builtin_sin(z.im)};
}
inline Complex<float> expm1(Complex<float> z) { return Complex<float>(expm1(Complex<double>(z))); }

// |1 + z|^2 - 1 = x (2 + x) + y^2 keeps its digits near zero.
inline Complex<double> log1p(Complex<double> z) {
  double angle = __builtin_atan2(z.im, 1 + z.re);
  if (__builtin_fabs(z.re) + __builtin_fabs(z.im) < 0.5)
    return {0.5 * __builtin_log1p(z.re * (2 + z.re) + z.im * z.im), angle};
  return {__builtin_log(__builtin_hypot(1 + z.re, z.im)), angle};
}
inline Complex<float> log1p(Complex<float> z) { return Complex<float>(log1p(Complex<double>(z))); }

inline Complex<double> pow(Complex<double> a, Complex<double> b) {
  if (b == 0) return 1;
  if (b.im == 0 && b.re == 1) return a;
  if (b.im == 0 && b.re == 2) return a * a;
  return from_c(__builtin_cpow(to_c(a), to_c(b)));
}
inline Complex<float> pow(Complex<float> a,
                          Complex<float> b) {  // its rounding shows, and PyTorch's is that of float
  if (b == 0) return 1;
  if (b.im == 0 && b.re == 1) return a;
  if (b.im == 0 && b.re == 2) return a * a;
  _Complex float x, y;
  __real__ x = a.re, __imag__ x = a.im, __real__ y = b.re, __imag__ y = b.im;
  x = __builtin_cpowf(x, y);
  return {__real__ x, __imag__ x};
}

template <class R>
inline Complex<R> sinc(Complex<R> z) {
  Complex<R> u = Complex<R>(R(kPi)) * z;
  return z == 0 ? Complex<R>(1) : sin(u) / u;
}

template <class R>
inline Complex<R> logaddexp(Complex<R> a, Complex<R> b) {
  bool first = a.re > b.re;
  Complex<R> large = first ? a : b, small = first ? b : a;
  if (large == small && isinf(large.re)) return large;
  return large + log1p(exp(small - large));
}

#undef EMBER_COMPLEX

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
