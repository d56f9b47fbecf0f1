// Complex numbers: c_add, c_mul ... c_exp, c_sqrt ... for the element type T (c64 or c128) of two
// R. Formulas of core/scalar_functions.h come here rewritten into calls (complex.cpp). What loses
// digits by cancellation calculates in W.
#ifdef EMBER_DOUBLE
typedef double W;
#else
typedef float W;
#endif
typedef struct {
  W x, y;
} Wide;

DEVICE T c_make(R x, R y) {
  T z;
  z.x = x;
  z.y = y;
  return z;
}
DEVICE Wide w_make(W x, W y) {
  Wide z;
  z.x = x;
  z.y = y;
  return z;
}
#define c_of(v) c_make((R)(v), (R)0)
#define c_narrow(z) c_make((R)(z).x, (R)(z).y)
#define c_wide(z) w_make((W)(z).x, (W)(z).y)
#define c_where(c, t, f) ((c) ? (t) : (f))
#define c_zeros_like(z) c_of(0)

DEVICE T c_add(T a, T b) { return c_make(a.x + b.x, a.y + b.y); }
DEVICE T c_sub(T a, T b) { return c_make(a.x - b.x, a.y - b.y); }
DEVICE T c_mul(T a, T b) { return c_make(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
DEVICE T c_neg(T z) { return c_make(-z.x, -z.y); }
DEVICE T c_scale(R s, T z) { return c_make(s * z.x, s * z.y); }
// Smith's method: scales by the larger part of b, so that nothing overflows on the way.
DEVICE T c_div(T a, T b) {
  int by_real = fabs(b.x) >= fabs(b.y);
  R large = by_real ? b.x : b.y, little = by_real ? b.y : b.x;
  if (large == 0) return c_make(a.x / large, a.y / large);
  R ratio = little / large, scale = (R)1 / (large + little * ratio);
  R x = by_real ? a.x + a.y * ratio : a.x * ratio + a.y;
  R y = by_real ? a.y - a.x * ratio : a.y * ratio - a.x;
  return c_make(x * scale, y * scale);
}
DEVICE int c_eq(T a, T b) { return (a.x == b.x) & (a.y == b.y); }
DEVICE int c_ne(T a, T b) { return (a.x != b.x) | (a.y != b.y); }
DEVICE int c_le(T a, T b) { return a.x <= b.x; }  // of moduli
DEVICE int c_truth(T z) { return (z.x != 0) | (z.y != 0); }
DEVICE int c_isnan(T z) { return (z.x != z.x) | (z.y != z.y); }
DEVICE int c_isinf(T z) { return (isinf(z.x) != 0) | (isinf(z.y) != 0); }
DEVICE int c_isfinite(T z) { return (isfinite(z.x) != 0) & (isfinite(z.y) != 0); }
DEVICE int c_isreal(T z) { return z.y == 0; }
DEVICE T c_conj(T z) { return c_make(z.x, -z.y); }
DEVICE T c_abs(T z) { return c_of(hypot(z.x, z.y)); }
DEVICE T c_sgn(T z) {
  R size = hypot(z.x, z.y);
  return size == 0 ? c_of(0) : c_make(z.x / size, z.y / size);
}
DEVICE T c_reciprocal(T z) { return c_div(c_of(1), z); }
DEVICE T c_lerp(T a, T b, T w) {
  if (w.x * w.x + w.y * w.y < (R)0.25) return c_add(a, c_mul(w, c_sub(b, a)));
  return c_sub(b, c_mul(c_sub(b, a), c_sub(c_of(1), w)));
}

DEVICE T c_exp(T z) {
  R e = exp(z.x);
  if (z.y == 0) return c_make(e, z.y);
  if (e == 0) return c_make(0, 0);  // also of -infinity, at any angle
  return c_make(e * cos(z.y), e * sin(z.y));
}
DEVICE Wide w_log(Wide z) {
  W a = fabs(z.x), b = fabs(z.y), size = hypot(a, b);
  W large = a > b ? a : b, little = a > b ? b : a;
  W real = size > (W)0.7 && size < (W)1.4
               ? (W)0.5 * log1p((large - 1) * (large + 1) + little * little)
               : log(size);
  return w_make(real, atan2(z.y, z.x));
}
DEVICE T c_log(T z) { return c_narrow(w_log(c_wide(z))); }
DEVICE Wide w_sqrt(Wide z) {
  if (z.x == 0 && z.y == 0) return w_make(0, z.y);
  if (isinf(z.y)) return w_make(fabs(z.y), z.y);
  // Halved twice first where the sum could overflow.
  int huge = fabs(z.x) > (W)1e37 || fabs(z.y) > (W)1e37;
  W s = huge ? (W)0.25 : (W)1, x = z.x * s, y = z.y * s;
  W t = sqrt((fabs(x) + hypot(x, y)) * (W)0.5);
  W u = t == 0 ? (W)0 : fabs(y) / (2 * t), back = huge ? (W)2 : (W)1;
  return x >= 0 ? w_make(t * back, copysign(u * back, z.y))
                : w_make(u * back, copysign(t * back, z.y));
}
DEVICE T c_sqrt(T z) { return c_narrow(w_sqrt(c_wide(z))); }
DEVICE T c_rsqrt(T z) { return c_div(c_of(1), c_sqrt(z)); }

DEVICE T c_sinh(T z) {
  if (z.y == 0) return c_make(sinh(z.x), z.y);
  return c_make(sinh(z.x) * cos(z.y), cosh(z.x) * sin(z.y));
}
DEVICE T c_cosh(T z) {
  if (z.y == 0) return c_make(cosh(z.x), z.x * z.y);
  return c_make(cosh(z.x) * cos(z.y), sinh(z.x) * sin(z.y));
}
// Kahan's, see "Branch cuts for complex elementary functions", 1987, as is what follows.
DEVICE T c_tanh(T z) {
  if (fabs(z.x) > (R)20) {
    R angle = isinf(z.y) ? (R)0 : sin(2 * z.y);
    return c_make(copysign((R)1, z.x), 2 * angle * exp(-2 * fabs(z.x)));
  }
  R t = tan(z.y), beta = 1 + t * t, s = sinh(z.x), rho = sqrt(1 + s * s);
  if (isinf(t)) return c_make(rho / s, 1 / t);
  R scale = 1 / (1 + beta * s * s);
  return c_make(beta * rho * s * scale, t * scale);
}
#define C_TURNED(f, z) f(c_make(-(z).y, (z).x))  // f(iz)
DEVICE T c_sin(T z) {
  T w = C_TURNED(c_sinh, z);
  return c_make(w.y, -w.x);
}
DEVICE T c_cos(T z) { return C_TURNED(c_cosh, z); }
DEVICE T c_tan(T z) {
  T w = C_TURNED(c_tanh, z);
  return c_make(w.y, -w.x);
}
DEVICE T c_asin(T z) {
  Wide a = w_sqrt(w_make(1 - (W)z.x, -(W)z.y)), b = w_sqrt(w_make(1 + (W)z.x, (W)z.y));
  return c_make((R)atan2((W)z.x, a.x * b.x - a.y * b.y), (R)asinh(a.x * b.y - a.y * b.x));
}
DEVICE T c_acos(T z) {
  Wide a = w_sqrt(w_make(1 - (W)z.x, -(W)z.y)), b = w_sqrt(w_make(1 + (W)z.x, (W)z.y));
  return c_make((R)(2 * atan2(a.x, b.x)), (R)asinh(b.x * a.y - b.y * a.x));
}
DEVICE T c_asinh(T z) {
  T w = C_TURNED(c_asin, z);
  return c_make(w.y, -w.x);
}
DEVICE T c_acosh(T z) {
  Wide a = w_sqrt(w_make((W)z.x - 1, (W)z.y)), b = w_sqrt(w_make((W)z.x + 1, (W)z.y));
  return c_make((R)asinh(a.x * b.x + a.y * b.y), (R)(2 * atan2(a.y, b.x)));
}
DEVICE T c_atanh(T z) {
  W x = z.x, y = z.y, u = 1 - fabs(x);
  if (isinf(x) || isinf(y))
    return c_make(copysign((R)0, z.x), copysign((R)1.57079632679489661923, z.y));
  W real = (W)0.25 * log1p(4 * fabs(x) / (u * u + y * y));
  W angle = (W)0.5 * atan2(2 * y, u * (1 + fabs(x)) - y * y);
  return c_make((R)copysign(real, x), (R)angle);
}
DEVICE T c_atan(T z) {
  T w = C_TURNED(c_atanh, z);
  return c_make(w.y, -w.x);
}

DEVICE T c_exp2(T z) { return c_exp(c_scale((R)0.69314718055994530942, z)); }
DEVICE T c_log2(T z) {
  Wide w = w_log(c_wide(z));
  return c_make((R)(w.x / (W)0.69314718055994530942), (R)(w.y / (W)0.69314718055994530942));
}
DEVICE T c_log10(T z) {
  Wide w = w_log(c_wide(z));
  return c_make((R)(w.x / (W)2.30258509299404568402), (R)(w.y / (W)2.30258509299404568402));
}
// exp(x + iy) - 1 = expm1(x) cos y - 2 sin(y/2)^2 + i exp(x) sin y
DEVICE T c_expm1(T z) {
  R h = sin((R)0.5 * z.y), e = expm1(z.x);
  return c_make(e * cos(z.y) - 2 * h * h, (e + 1) * sin(z.y));
}
// |1 + z|^2 - 1 = x (2 + x) + y^2 keeps its digits near zero.
DEVICE T c_log1p(T z) {
  R angle = atan2(z.y, 1 + z.x);
  if (fabs(z.x) + fabs(z.y) < (R)0.5)
    return c_make((R)0.5 * log1p(z.x * (2 + z.x) + z.y * z.y), angle);
  return c_make(log(hypot(1 + z.x, z.y)), angle);
}
DEVICE T c_pow(T a, T b) {
  if (c_truth(b) == 0) return c_of(1);
  if (b.y == 0 && b.x == 1) return a;
  if (b.y == 0 && b.x == 2) return c_mul(a, a);
  Wide w = w_log(c_wide(a));
  W x = b.x * w.x, y = b.x * w.y;  // no 0 * infinity where b is real
  if (b.y != 0) x -= b.y * w.y, y += b.y * w.x;
  W e = exp(x);
  if (e == 0) return c_make(0, 0);
  return c_make((R)(e * cos(y)), (R)(e * sin(y)));
}
DEVICE T c_sigmoid(T z) { return c_reciprocal(c_add(c_of(1), c_exp(c_neg(z)))); }
DEVICE T c_sinc(T z) {
  T u = c_scale((R)3.14159265358979323846, z);
  return c_truth(z) ? c_div(c_sin(u), u) : c_of(1);
}
DEVICE T c_logaddexp(T a, T b) {
  T large = a.x > b.x ? a : b, little = a.x > b.x ? b : a;
  if (c_eq(large, little) && isinf(large.x)) return large;
  return c_add(large, c_log1p(c_exp(c_sub(little, large))));
}
