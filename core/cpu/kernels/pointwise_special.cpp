// Kernels of the SPECIAL family: gamma, Bessel and the like. None vectorises, so float goes through
// double, and only the baseline has them: dispatch.cpp takes them from there at every level.
#ifndef __AVX2__
#include <math.h>

#include "cpu/kernels/arithmetic.h"

namespace ember::cpu::EMBER_ISA {
namespace {

namespace in_double {
using ::acos, ::cos, ::erf, ::erfc, ::exp, ::fabs, ::floor, ::fma, ::log, ::log1p, ::pow, ::sin,
    ::sqrt, ::tan, ::trunc;
inline double lgamma(double x) {  // the plain one writes a global
  int sign;
  return ::lgamma_r(x, &sign);
}
#define REAL double
#include "recurrences.h"
#include "special_functions.h"
#undef REAL
}  // namespace in_double

namespace in_float {
inline float acos(float x) { return ::acosf(x); }
inline float cos(float x) { return ::cosf(x); }
inline float fabs(float x) { return ::fabsf(x); }
inline float floor(float x) { return ::floorf(x); }
inline float fma(float a, float b, float c) { return ::fmaf(a, b, c); }
inline float sin(float x) { return ::sinf(x); }
inline float trunc(float x) { return ::truncf(x); }
#define REAL float
#include "recurrences.h"
#undef REAL
}  // namespace in_float

#define EMBER_SPECIAL1(name)                                  \
  inline double name(double x) { return in_double::name(x); } \
  inline float name(float x) { return float(in_double::name(x)); }
#define EMBER_SPECIAL2(name)                                               \
  inline double name(double a, double b) { return in_double::name(a, b); } \
  inline float name(float a, float b) { return float(in_double::name(a, b)); }

#define EMBER_RECURRENCE(name)                                             \
  inline double name(double a, double b) { return in_double::name(a, b); } \
  inline float name(float a, float b) { return in_float::name(a, b); }

EMBER_SPECIAL1(exp)
EMBER_SPECIAL1(log)
EMBER_SPECIAL1(cos)
EMBER_SPECIAL1(lgamma)
EMBER_SPECIAL1(digamma)
EMBER_SPECIAL1(erfinv)
EMBER_SPECIAL1(erfcx)
EMBER_SPECIAL1(ndtri)
EMBER_SPECIAL1(log_ndtr)
EMBER_SPECIAL1(entr)
EMBER_SPECIAL1(i0)
EMBER_SPECIAL1(i0e)
EMBER_SPECIAL1(i1)
EMBER_SPECIAL1(i1e)
EMBER_SPECIAL1(bessel_j0)
EMBER_SPECIAL1(bessel_j1)
EMBER_SPECIAL1(bessel_y0)
EMBER_SPECIAL1(bessel_y1)
EMBER_SPECIAL1(modified_bessel_k0)
EMBER_SPECIAL1(modified_bessel_k1)
EMBER_SPECIAL1(scaled_modified_bessel_k0)
EMBER_SPECIAL1(scaled_modified_bessel_k1)
EMBER_SPECIAL1(spherical_bessel_j0)
EMBER_SPECIAL1(airy_ai)
EMBER_SPECIAL2(polygamma)
EMBER_SPECIAL2(zeta)
EMBER_SPECIAL2(igamma)
EMBER_SPECIAL2(igammac)
EMBER_SPECIAL2(gamma_density)
EMBER_RECURRENCE(chebyshev_polynomial_t)
EMBER_RECURRENCE(chebyshev_polynomial_u)
EMBER_RECURRENCE(chebyshev_polynomial_v)
EMBER_RECURRENCE(chebyshev_polynomial_w)
EMBER_RECURRENCE(hermite_polynomial_h)
EMBER_RECURRENCE(hermite_polynomial_he)
EMBER_RECURRENCE(laguerre_polynomial_l)
EMBER_RECURRENCE(legendre_polynomial_p)

inline double trigamma(double x) { return in_double::trigamma(x); }
inline float trigamma(float x) { return in_float::trigamma(x); }

}  // namespace
}  // namespace ember::cpu::EMBER_ISA

#define EMBER_FAMILY SPECIAL
#define EMBER_SCALAR_LOOPS
#include "cpu/kernels/rows.h"

namespace ember::cpu::EMBER_ISA {

void add_special(Kernels& k) { add_rows(k); }

}  // namespace ember::cpu::EMBER_ISA
#endif
