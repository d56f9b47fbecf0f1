// Special functions by recurrence, in the manner of special_functions.h: orthogonal polynomials and
// trigamma. The CPU backend includes this twice, with REAL float and double: after many steps, and
// near poles, the rounding of the type shows, and PyTorch's results are those of the type.

inline REAL trigamma(REAL x) {
  const REAL pi = 3.14159265358979323846;
  REAL sign = 1, sum = 0;
  if (x < 0.5) {
    REAL s = sin(pi * x);
    sum = -pi * pi / (s * s);
    x = 1 - x;
    sign = -1;
  }
  while (x < 10) {
    sum += 1 / (x * x);
    x += 1;
  }
  REAL z = 1 / (x * x);
  REAL tail =
      z * (1. / 6 -
           z * (1. / 30 -
                z * (1. / 42 - z * (1. / 30 - z * (5. / 66 - z * (691. / 2730 - z * 7 / 6))))));
  return sign * (sum + (1 + (REAL)0.5 / x + tail) / x);
}

// Orthogonal polynomials of degree n, cut to an integer. Beyond MOST_STEPS, where rounding would
// have eaten the digits, what only a recurrence could find is NaN.
#define MOST_STEPS 10000000

inline REAL parity(REAL n) { return n - 2 * floor(n / 2) == 0 ? 1 : -1; }

// The Chebyshev kinds share a recurrence and differ in their polynomial of degree 1.
inline REAL chebyshev_recurrence(REAL x, REAL n, REAL first) {
  if (n == 0) return 1;
  if (n > MOST_STEPS) return NAN;
  REAL p = 1, q = first;
  for (REAL k = 2; k <= n && q == q; k += 1) {
    REAL r = fma(x + x, q, -p);
    p = q;
    q = r;
  }
  return q;
}
inline REAL chebyshev_polynomial_t(REAL x, REAL degree) {
  REAL n = trunc(degree);
  if (n < 0) return 0;
  if (fabs(x) == 1) return x > 0 ? 1 : parity(n);
  if (n > 6 && fabs(x) < 1) return cos(n * acos(x));
  return chebyshev_recurrence(x, n, x);
}
inline REAL chebyshev_polynomial_u(REAL x, REAL degree) {
  REAL n = trunc(degree);
  if (n < 0) return 0;
  if (fabs(x) == 1) return (n + 1) * (x > 0 ? 1 : parity(n));
  if (n > 8 && fabs(x) < 1) return sin((n + 1) * acos(x)) / sin(acos(x));
  return chebyshev_recurrence(x, n, x + x);
}
inline REAL chebyshev_polynomial_v(REAL x, REAL degree) {
  REAL n = trunc(degree);
  if (n < 0) return 0;
  if (fabs(x) == 1) return x > 0 ? 1 : (n + n + 1) * parity(n);
  if (n > 8 && fabs(x) < 1) return cos((n + (REAL)0.5) * acos(x)) / cos(acos(x) / 2);
  return chebyshev_recurrence(x, n, x + x - 1);
}
inline REAL chebyshev_polynomial_w(REAL x, REAL degree) {
  REAL n = trunc(degree);
  if (n < 0) return 0;
  if (fabs(x) == 1) return x > 0 ? n + n + 1 : parity(n);
  if (n > 8 && fabs(x) < 1) return sin((n + (REAL)0.5) * acos(x)) / sin(acos(x) / 2);
  return chebyshev_recurrence(x, n, x + x + 1);
}
inline REAL hermite_polynomial_h(REAL x, REAL degree) {
  REAL n = trunc(degree), p = 1, q = x + x;
  if (n < 0) return 0;
  if (n == 0) return 1;
  if (n > (sizeof(REAL) == 4 ? 128 : 512)) return NAN;
  for (REAL k = 1; k < n; k += 1) {
    REAL r = fma(x + x, q, -((k + k) * p));
    p = q;
    q = r;
  }
  return q;
}
inline REAL hermite_polynomial_he(REAL x, REAL degree) {
  REAL n = trunc(degree), p = 1, q = x;
  if (n < 0) return 0;
  if (n == 0) return 1;
  if (n > (sizeof(REAL) == 4 ? 128 : 512)) return NAN;
  for (REAL k = 1; k < n; k += 1) {
    REAL r = fma(x, q, -(k * p));
    p = q;
    q = r;
  }
  return q;
}
inline REAL laguerre_polynomial_l(REAL x, REAL degree) {
  REAL n = trunc(degree), p = 1, q = 1 - x;
  if (n < 0) return 0;
  if (n == 0 || x == 0) return 1;
  if (n > MOST_STEPS) return NAN;
  for (REAL k = 1; k < n && q == q; k += 1) {
    REAL r = fma((k + k) + (1 - x), q, -(k * p)) / (k + 1);
    p = q;
    q = r;
  }
  return q;
}
inline REAL legendre_polynomial_p(REAL x, REAL degree) {
  REAL n = trunc(degree), p = 1, q = x;
  if (n < 0) return 0;
  if (fabs(x) == 1) return x > 0 ? 1 : parity(n);
  if (n == 0) return 1;
  if (n > MOST_STEPS) return NAN;
  for (REAL k = 1; k < n && q == q; k += 1) {
    REAL r = fma((k + k + 1) * x, q, -(k * p)) / (k + 1);
    p = q;
    q = r;
  }
  return q;
}
#undef MOST_STEPS
