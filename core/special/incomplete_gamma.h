// The incomplete gamma functions, lower and upper. Included by special_functions.h.

// log(1 + x) - x without cancellation.
inline REAL log1p_minus(REAL x) {
  if (fabs(x) > (REAL)0.3) return log1p(x) - x;
  REAL power = -x, sum = 0;
  for (int k = 2; k < 60; k++) {
    power *= -x;
    REAL t = -power / k;
    sum += t;
    if (fabs(t) <= fabs(sum) * (REAL)1e-17) break;
  }
  return sum;
}

// x^a exp(-x) / gamma(a + 1), stable also where both are large.
inline REAL gamma_weight(REAL a, REAL x) {
  if (a < 10) return exp(a * log(x) - x - lgamma(a + 1));
  REAL z = 1 / (a * a);
  REAL stirling =
      (1. / 12 -
       z * (1. / 360 - z * (1. / 1260 - z * (1. / 1680 - z * (1. / 1188 - z * 691. / 360360))))) /
      a;
  return exp(a * log1p_minus((x - a) / a) - stirling) / sqrt((REAL)6.28318530717958647693 * a);
}
inline REAL gamma_series(REAL a, REAL x) {  // the lower function
  REAL sum = 1, term = 1;
  for (REAL k = 1; k < 10000; k += 1) {
    term *= x / (a + k);
    sum += term;
    if (term <= sum * (REAL)1e-17) break;
  }
  return gamma_weight(a, x) * sum;
}
inline REAL gamma_fraction(REAL a, REAL x) {  // the upper function, by Lentz's method
  const REAL tiny = 1e-300;
  REAL b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d;
  for (REAL k = 1; k < 10000; k += 1) {
    REAL an = -k * (k - a);
    b += 2;
    d = an * d + b;
    d = 1 / (fabs(d) < tiny ? tiny : d);
    c = b + an / c;
    c = fabs(c) < tiny ? tiny : c;
    REAL step = d * c;
    h *= step;
    if (fabs(step - 1) < (REAL)1e-16) break;
  }
  return gamma_weight(a, x) * a * h;
}
// 1 - the lower function for small a and x, where both methods would cancel.
inline REAL gamma_small(REAL a, REAL x) {
  REAL sum = 0, factor = 1;
  for (REAL n = 1; n < 2000; n += 1) {
    factor *= -x / n;
    REAL t = factor / (a + n);
    sum += t;
    if (fabs(t) <= (REAL)1e-17 * fabs(sum)) break;
  }
  REAL l = a * log(x) - lgamma(1 + a);
  REAL e =
      fabs(l) < (REAL)0.5
          ? l * (1 +
                 l * ((REAL)0.5 +
                      l * (1. / 6 +
                           l * (1. / 24 +
                                l * (1. / 120 +
                                     l * (1. / 720 + l * (1. / 5040 + l * (1. / 40320 +
                                                                           l * (1. / 362880 +
                                                                                l / 3628800)))))))))
          : exp(l) - 1;
  return -e - exp(a * log(x) - lgamma(a)) * sum;
}
inline REAL igamma(REAL a, REAL x) {
  if (x < 0 || a < 0 || x != x || a != a) return NAN;
  if (a == 0) return x > 0 ? 1 : NAN;
  if (x == 0) return 0;
  if (a == INFINITY) return x == INFINITY ? NAN : 0;
  if (x == INFINITY) return 1;
  return x > 1 && x > a ? 1 - gamma_fraction(a, x) : gamma_series(a, x);
}
inline REAL igammac(REAL a, REAL x) {
  if (x < 0 || a < 0 || x != x || a != a) return NAN;
  if (a == 0) return x > 0 ? 0 : NAN;
  if (x == 0) return 1;
  if (a == INFINITY) return x == INFINITY ? NAN : 1;
  if (x == INFINITY) return 0;
  if (x > (REAL)1.1) return x < a ? 1 - gamma_series(a, x) : gamma_fraction(a, x);
  return x <= (REAL)0.5 ? (-(REAL)0.4 / log(x) < a ? 1 - gamma_series(a, x) : gamma_small(a, x))
                        : (x * (REAL)1.1 < a ? 1 - gamma_series(a, x) : gamma_small(a, x));
}
