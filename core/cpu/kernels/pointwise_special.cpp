// Kernels of the SPECIAL family: gamma, Bessel and the like. None vectorises, so float goes through double, and
// only the baseline has them: dispatch.cpp takes them from there at every level.
#ifndef __AVX2__
#include <math.h>

#include "cpu/kernels/arithmetic.h"

namespace ember::cpu::EMBER_ISA {
namespace {

namespace in_double {
using ::acos, ::cos, ::erf, ::erfc, ::exp, ::fabs, ::floor, ::log, ::log1p, ::pow, ::sin, ::sqrt, ::tan, ::trunc;
inline double lgamma(double x) {  // the plain one writes a global
  int sign;
  return ::lgamma_r(x, &sign);
}
#define REAL double
#include "special_functions.h"
#undef REAL
}  // namespace in_double

#define EMBER_SPECIAL1(name)                                     \
  inline double name(double x) { return in_double::name(x); }    \
  inline float name(float x) { return float(in_double::name(x)); }
#define EMBER_SPECIAL2(name)                                                 \
  inline double name(double a, double b) { return in_double::name(a, b); }   \
  inline float name(float a, float b) { return float(in_double::name(a, b)); }

EMBER_SPECIAL1(exp)
EMBER_SPECIAL1(log)
EMBER_SPECIAL1(cos)
EMBER_SPECIAL1(lgamma)
EMBER_SPECIAL1(digamma)
EMBER_SPECIAL1(trigamma)
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
EMBER_SPECIAL2(chebyshev_polynomial_t)
EMBER_SPECIAL2(chebyshev_polynomial_u)
EMBER_SPECIAL2(chebyshev_polynomial_v)
EMBER_SPECIAL2(chebyshev_polynomial_w)
EMBER_SPECIAL2(hermite_polynomial_h)
EMBER_SPECIAL2(hermite_polynomial_he)
EMBER_SPECIAL2(laguerre_polynomial_l)
EMBER_SPECIAL2(legendre_polynomial_p)

}  // namespace
}  // namespace ember::cpu::EMBER_ISA

#define EMBER_FAMILY SPECIAL
#define EMBER_SCALAR_LOOPS
#include "cpu/kernels/rows.h"

namespace ember::cpu::EMBER_ISA {

void add_special(Kernels& k) { add_rows(k); }

}  // namespace ember::cpu::EMBER_ISA
#endif
