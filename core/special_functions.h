// Special functions in the common subset of C and OpenCL C, for rows of scalar_functions.h that
// need more than an expression. No include guard: define REAL (the type), include it where exp,
// log, log1p, sin, cos, tan, sqrt, pow, floor, fabs, erf, erfc, lgamma, INFINITY and NAN are known;
// the CPU backend does so once, with double. Series are those of tools/chebyshev.py; methods are
// named where they are used. recurrences.h comes first. cmake/embed.cmake puts the files in
// special/ into the text for devices.

// Sum of c[k] T_k(t), by Clenshaw's recurrence.
inline REAL chebyshev_sum(REAL t, const REAL* c, int n) {
  REAL high = 0, low = 0, twice = 2 * t;
  for (int k = n - 1; k > 0; k--) {
    REAL next = twice * high - low + c[k];
    low = high;
    high = next;
  }
  return t * high - low + c[0];
}
#define CHEBYSHEV(t, c) chebyshev_sum(t, c, (int)(sizeof(c) / sizeof(c[0])))

#include "special/airy.h"
#include "special/bessel.h"
#include "special/error.h"
#include "special/gamma.h"
#include "special/incomplete_gamma.h"
#include "special/modified_bessel.h"

inline REAL log1p_exp(REAL x) { return (x > 0 ? x : 0) + log1p(exp(-fabs(x))); }
inline REAL entr(REAL x) { return x > 0 ? -x * log(x) : x == 0 ? 0 : x < 0 ? -INFINITY : x; }

#undef CHEBYSHEV
