// The error function's relatives and the normal distribution. Included by special_functions.h.

// For x >= 0 in t = (x - 4) / (x + 4); below zero by reflection.
inline REAL erfcx(REAL x) {
  const REAL c[] = {1.1774832005374487,      -0.0072607966203019009,  -0.081265123236184997,
                    0.060092128041222249,    -0.028753935580276661,   0.010595663363472859,
                    -0.0031369272945542641,  0.00074564943725361843,  -0.0001369696503010054,
                    1.7183861600300937e-05,  -7.1583646234503465e-07, -2.4261399442449534e-07,
                    5.5765709395703566e-08,  -2.1057869513809494e-09, -1.1717889351884957e-09,
                    1.9098355172456688e-10,  1.408871764208813e-11,   -6.9011083204808152e-12,
                    9.1679583641112937e-14,  2.1454508286554553e-13,  -1.4716575027010623e-14,
                    -6.6686751187704082e-15, 7.5045985098800835e-16,  2.22009300666632e-16,
                    -3.1704898956330886e-17};
  if (x != x) return x;
  if (x < -26.7) return INFINITY;
  REAL a = fabs(x);
  REAL y =
      a > 1e9 ? (REAL)0.56418958354775628695 / a : CHEBYSHEV((a - 4) / (a + 4), c) / (1 + 2 * a);
  return x < 0 ? 2 * exp(x * x) - y : y;
}

// Acklam's rational approximation, good to 1e-9, then one step of Halley's method.
inline REAL ndtri(REAL p) {
  if (p == 0) return -INFINITY;
  if (p == 1) return INFINITY;
  if (!(p > 0 && p < 1)) return NAN;
  REAL tail = p < (REAL)0.5 ? p : 1 - p, x;
  if (tail > (REAL)0.02425) {
    REAL q = p - (REAL)0.5, r = q * q;
    x = (((((-3.969683028665376e+01 * r + 2.209460984245205e+02) * r - 2.759285104469687e+02) * r +
           1.383577518672690e+02) *
              r -
          3.066479806614716e+01) *
             r +
         2.506628277459239e+00) *
        q /
        (((((-5.447609879822406e+01 * r + 1.615858368580409e+02) * r - 1.556989798598866e+02) * r +
           6.680131188771972e+01) *
              r -
          1.328068155288572e+01) *
             r +
         1);
  } else {
    REAL q = sqrt(-2 * log(tail));
    x = (((((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838e+00) * q -
           2.549732539343734e+00) *
              q +
          4.374664141464968e+00) *
             q +
         2.938163982698783e+00) /
        ((((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996e+00) * q +
          3.754408661907416e+00) *
             q +
         1);
    x = p < (REAL)0.5 ? x : -x;
  }
  // Relative to the density, so that nothing underflows far out: x is negative in the lower tail.
  REAL m = p < (REAL)0.5 ? x : -x;
  REAL density =
      (REAL)0.79788456080286535588 / erfcx((REAL)-0.70710678118654752440 * m);  // phi / Phi
  REAL ratio = (1 - tail / ((REAL)0.5 * erfc((REAL)-0.70710678118654752440 * m))) / density;
  m = tail < 1e-290 ? m : m - ratio / (1 + (REAL)0.5 * m * ratio);
  return p < (REAL)0.5 ? m : -m;
}

// Giles' approximation, good to single precision, then two steps of Newton's method.
inline REAL erfinv(REAL y) {
  if (y == 1) return INFINITY;
  if (y == -1) return -INFINITY;
  if (!(y > -1 && y < 1)) return NAN;
  REAL a = fabs(y), w = -log((1 - a) * (1 + a)), x;
  if (w < 5) {
    w -= (REAL)2.5;
    x = 2.81022636e-08;
    x = 3.43273939e-07 + x * w;
    x = -3.5233877e-06 + x * w;
    x = -4.39150654e-06 + x * w;
    x = 0.00021858087 + x * w;
    x = -0.00125372503 + x * w;
    x = -0.00417768164 + x * w;
    x = 0.246640727 + x * w;
    x = 1.50140941 + x * w;
  } else {
    w = sqrt(w) - 3;
    x = -0.000200214257;
    x = 0.000100950558 + x * w;
    x = 0.00134934322 + x * w;
    x = -0.00367342844 + x * w;
    x = 0.00573950773 + x * w;
    x = -0.0076224613 + x * w;
    x = 0.00943887047 + x * w;
    x = 1.00167406 + x * w;
    x = 2.83297682 + x * w;
  }
  x *= a;
  for (int i = 0; i < 2; i++) {
    REAL miss = a < (REAL)0.5 ? erf(x) - a : (1 - a) - erfc(x);
    x -= miss * (REAL)0.88622692545275801365 * exp(x * x);
  }
  return y < 0 ? -x : y == 0 ? y : x;
}

inline REAL log_ndtr(REAL x) {
  REAL t = x * (REAL)0.70710678118654752440;
  return x < -1 ? log(erfcx(-t) / 2) - t * t : log1p(-erfc(t) / 2);
}
inline REAL ndtr(REAL x) { return (REAL)0.5 * erfc((REAL)-0.70710678118654752440 * x); }
