// Derivatives of the logarithm of the gamma function. Included by special_functions.h.

// Upwards by recurrence, then the asymptotic series; below zero by reflection.
inline REAL digamma(REAL x) {
  const REAL pi = 3.14159265358979323846;
  REAL shift = 0;
  if (x == 0) return 1 / x < 0 ? INFINITY : -INFINITY;
  if (x < 0) {
    if (x == floor(x)) return NAN;
    shift = -pi / tan(pi * (x - floor(x + (REAL)0.5)));
    x = 1 - x;
  }
  while (x < 10) {
    shift -= 1 / x;
    x += 1;
  }
  REAL z = 1 / (x * x);
  REAL tail =
      z * (1. / 12 -
           z * (1. / 120 -
                z * (1. / 252 - z * (1. / 240 - z * (1. / 132 - z * (691. / 32760 - z / 12))))));
  return x > 1e17 ? shift + log(x) : shift + log(x) - (REAL)0.5 / x - tail;
}

// Hurwitz zeta from its terms up to 9, then the Euler-Maclaurin formula.
inline REAL zeta_from(REAL x, REAL q) {
  // (2k)! / B_2k
  const REAL a[] = {12.0,
                    -720.0,
                    30240.0,
                    -1209600.0,
                    47900160.0,
                    -1307674368000.0 / 691.0,
                    74724249600.0,
                    -10670622842880000.0 / 3617.0,
                    5109094217170944000.0 / 43867.0,
                    -802857662698291200000.0 / 174611.0,
                    14101100039391805440000.0 / 77683.0,
                    -1693824136731743669452800000.0 / 236364091.0};
  REAL sum = pow(q, -x), term = sum, at = q;
  for (int i = 0; i < 9 || at <= 9; i++) {
    at += 1;
    term = pow(at, -x);
    sum += term;
    if (fabs(term) < fabs(sum) * (REAL)1.1e-16) return sum;
  }
  sum += term * at / (x - 1) - (REAL)0.5 * term;
  REAL factor = 1, k = 0;
  for (int i = 0; i < 12; i++) {
    factor *= x + k;
    term /= at;
    REAL t = factor * term / a[i];
    sum += t;
    if (fabs(t) < fabs(sum) * (REAL)1.1e-16) break;
    k += 1;
    factor *= x + k;
    term /= at;
    k += 1;
  }
  return sum;
}

inline REAL zeta(REAL x, REAL q) {
  if (x == 1) return INFINITY;
  if (x < 1 || x != x || q != q) return NAN;
  if (q <= 0) {
    if (q == floor(q)) return INFINITY;
    if (x != floor(x)) return NAN;  // a power of a negative number
  }
  if (q > -1000) return zeta_from(x, q);
  // There are too many terms below zero to add them up: they are those above it, with a sign.
  REAL part = -q - floor(-q), sign = x - 2 * floor(x / 2) == 1 ? -1 : 1;
  return zeta_from(x, 1 - part) + sign * (zeta_from(x, part) - zeta_from(x, 1 - q));
}

inline REAL polygamma(REAL n, REAL x) {
  if (n == 0) return digamma(x);
  if (n == 1) return trigamma(x);
  REAL sign = n - 2 * floor(n / 2) == 0 ? -1 : 1;
  return sign * exp(lgamma(n + 1)) * zeta(n + 1, x);
}
