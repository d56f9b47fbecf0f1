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
// Sum of c[k] t^k.
inline REAL power_sum(REAL t, const REAL* c, int n) {
  REAL sum = 0;
  for (int k = n - 1; k >= 0; k--) sum = sum * t + c[k];
  return sum;
}
// Both functions where x is near a large a, by Temme's uniform expansion (tools/temme.py): series
// and fraction would need some sqrt(a) terms there. `side` is 1 for the upper function, -1 for the
// lower.
inline REAL gamma_uniform(REAL a, REAL x, REAL side) {
  const REAL c0[] = {-0.3333333333333333,     0.08333333333333333,     -0.014814814814814815,
                     0.0011574074074074073,   0.0003527336860670194,   -0.0001787551440329218,
                     3.919263178522438e-05,   -2.185448510679992e-06,  -1.85406221071516e-06,
                     8.296711340953087e-07,   -1.7665952736826078e-07, 6.707853543401498e-09,
                     1.0261809784240309e-08,  -4.382036018453353e-09,  9.14769958223679e-10,
                     -2.5514193994946248e-11, -5.830772132550426e-11};
  const REAL c1[] = {-0.001851851851851852,   -0.003472222222222222,  0.0026455026455026454,
                     -0.0009902263374485596,  0.00020576131687242798, -4.018775720164609e-07,
                     -1.8098550334489977e-05, 7.64916091608111e-06,   -1.6120900894563446e-06,
                     4.647127802807434e-09,   1.378633446915721e-07,  -5.752545603517705e-08,
                     1.1951628599778148e-08,  -1.7543241719747647e-11};
  const REAL c2[] = {0.004133597883597883,    -0.0026813271604938273, 0.0007716049382716049,
                     2.0093878600823047e-06,  -0.0001073665322636516, 5.2923448829120125e-05,
                     -1.2760635188618728e-05, 3.423578734096138e-08,  1.3721957309062934e-06,
                     -6.298992138380055e-07,  1.4280614206064242e-07, -2.0477098421990866e-10};
  const REAL c3[] = {0.0006494341563786008,  0.00022947209362139917,  -0.0004691894943952557,
                     0.00026772063206283885, -7.561801671883977e-05,  -2.396505113867297e-07,
                     1.1082654115347302e-05, -5.6749528269915965e-06, 1.4230900732435883e-06,
                     -2.7861080291528143e-11};
  const REAL c4[] = {-0.0008618882909167117,  0.0007840392217200666, -0.0002990724803031902,
                     -1.4638452578843418e-06, 6.641498215465122e-05, -3.968365047179435e-05,
                     1.1375726970678419e-05,  2.507497226237533e-10};
  const REAL c5[] = {-0.00033679855336635813, -6.972813758365857e-05, 0.0002772753244959392,
                     -0.00019932570516188847, 6.797780477937208e-05,  1.419062920643967e-07};
  const REAL c6[] = {0.0005313079364639922, -0.0005921664373536939, 0.0002708782096718045,
                     7.902353232660328e-07};
  const REAL c7[] = {0.00034436760689237765, 5.171790908260592e-05};
  REAL mu = (x - a) / a, drop = -log1p_minus(mu);
  REAL eta = sqrt(2 * drop), z = sqrt(a * drop), sum = 0;
  if (mu < 0) eta = -eta, z = -z;
#define POWERS(c) sum = sum / a + power_sum(eta, c, (int)(sizeof(c) / sizeof(c[0])))
  POWERS(c7);
  POWERS(c6);
  POWERS(c5);
  POWERS(c4);
  POWERS(c3);
  POWERS(c2);
  POWERS(c1);
  POWERS(c0);
#undef POWERS
  return (REAL)0.5 * erfc(side * z) +
         side * sum * exp(-a * drop) / sqrt((REAL)6.28318530717958647693 * a);
}
inline int is_uniform(REAL a, REAL x) { return a > 64 && fabs(x - a) < (REAL)0.3 * a; }
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
  if (is_uniform(a, x)) return gamma_uniform(a, x, -1);
  return x > 1 && x > a ? 1 - gamma_fraction(a, x) : gamma_series(a, x);
}
inline REAL igammac(REAL a, REAL x) {
  if (x < 0 || a < 0 || x != x || a != a) return NAN;
  if (a == 0) return x > 0 ? 0 : NAN;
  if (x == 0) return 1;
  if (a == INFINITY) return x == INFINITY ? NAN : 1;
  if (x == INFINITY) return 0;
  if (is_uniform(a, x)) return gamma_uniform(a, x, 1);
  if (x > (REAL)1.1) return x < a ? 1 - gamma_series(a, x) : gamma_fraction(a, x);
  return x <= (REAL)0.5 ? (-(REAL)0.4 / log(x) < a ? 1 - gamma_series(a, x) : gamma_small(a, x))
                        : (x * (REAL)1.1 < a ? 1 - gamma_series(a, x) : gamma_small(a, x));
}
// The derivative of the lower function: x^(a - 1) exp(-x) / gamma(a).
inline REAL gamma_density(REAL a, REAL x) {
  if (x < 0 || a < 0 || x != x || a != a) return NAN;
  if (a == 1) return exp(-x);
  if (x == 0) return a > 1 ? 0 : INFINITY;
  if (a == 0 || x == INFINITY) return 0;
  return gamma_weight(a, x) * (a / x);
}
