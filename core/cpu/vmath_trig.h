// Trigonometric functions and the error function, in the manner of vmath.h.
// sin, cos and tan are right for |x| up to pi * kTurnLimit (kernels/exact.h).
#pragma once

#include "cpu/vmath.h"

namespace ember::cpu::EMBER_ISA {
namespace {

// x = k pi/2 + r, |r| <= pi/4. The constants are pi/2 in pieces; without FMA they must end in zero
// bits.
template <class T>
struct Turn {
  T r;
  typename Float<T>::UInt k;  // only its low bits count
};
#ifdef EMBER_FMA
EMBER_MATH Turn<float> turn(float x) {
  float t = x * 0.636619747f + Float<float>::magic, k = t - Float<float>::magic;
  float r = fused(k, -1.57079637f, x);
  r = fused(k, 4.37113883e-8f, r);
  return {fused(k, 1.71512451e-15f, r), bits(t)};
}
EMBER_MATH Turn<double> turn(double x) {
  double t = x * 0.63661977236758138 + Float<double>::magic, k = t - Float<double>::magic;
  double r = fused(k, -1.5707963267948966, x);
  r = fused(k, -6.123233995736766e-17, r);
  return {fused(k, 1.4973849048591833e-33, r), bits(t)};
}
#else
EMBER_MATH Turn<float> turn(float x) {
  float t = x * 0.636619747f + Float<float>::magic, k = t - Float<float>::magic;
  float r = x - k * 1.5703125f;
  r = r - k * 4.8375129699707031e-4f;
  return {(r - k * 7.5495336204767227e-8f) - k * 2.56334406e-12f, bits(t)};
}
EMBER_MATH Turn<double> turn(double x) {
  double t = x * 0.63661977236758138 + Float<double>::magic, k = t - Float<double>::magic;
  double r = x - k * 1.57079632673412561417e+00;
  r = r - k * 6.07710050630396597660e-11;
  return {r - k * 2.02226624879595063154e-21, bits(t)};
}
#endif

EMBER_MATH float sin_near(float r) {
  float z = r * r;
  return r + r * z * poly(z, -0.166666552f, 0.00833219197f, -0.000195187735f);
}
EMBER_MATH float cos_near(float r) {
  float z = r * r;
  return (1 - 0.5f * z) + z * z * poly(z, 0.0416666456f, -0.00138873013f, 2.44306739e-05f);
}
EMBER_MATH double sin_near(double r) {
  double z = r * r;
  return r + r * z *
                 poly(z, -0.16666666666666632, 0.0083333333333224895, -0.00019841269829857735,
                      2.7557313706871837e-06, -2.5050760192816251e-08, 1.5896905066807661e-10);
}
EMBER_MATH double cos_near(double r) {
  double z = r * r, h = 0.5 * z, w = 1 - h;
  return w + ((1 - w) - h +
              z * z *
                  poly(z, 0.041666666666666602, -0.0013888888888874474, 2.4801587289671503e-05,
                       -2.7557314400984495e-07, 2.0875729266524299e-09, -1.1359932846103519e-11));
}

template <class T>
EMBER_MATH T flip_sign(T x, typename Float<T>::UInt odd) {
  return from_bits(bits(x) ^ (odd << (sizeof(T) * 8 - 1)));
}
template <class T, class = std::enable_if_t<is_real<T>>>
EMBER_MATH T sin(T x) {
  Turn<T> t = turn(x);
  T s = sin_near(t.r), c = cos_near(t.r);
  T y = flip_sign((t.k & 1) != 0 ? c : s, (t.k >> 1) & 1);
  return x == 0 ? x : y;
}
template <class T, class = std::enable_if_t<is_real<T>>>
EMBER_MATH T cos(T x) {
  Turn<T> t = turn(x);
  T s = sin_near(t.r), c = cos_near(t.r);
  return flip_sign((t.k & 1) != 0 ? s : c, ((t.k + 1) >> 1) & 1);
}
EMBER_MATH float tan(float x) {
  Turn<float> t = turn(x);
  float z = t.r * t.r;
  float y = t.r + t.r * z *
                      poly(z, 0.333333522f, 0.13332583f, 0.0540686548f, 0.0212385822f,
                           0.0109456154f, -4.61504824e-05f, 0.00444164313f);
  y = (t.k & 1) != 0 ? -1 / y : y;
  return x == 0 ? x : y;
}
EMBER_MATH double tan(double x) {
  Turn<double> t = turn(x);
  double s = sin_near(t.r), c = cos_near(t.r);
  const bool odd = (t.k & 1) != 0;
  double y = (odd ? -c : s) / (odd ? s : c);
  return x == 0 ? x : y;
}
template <class T, class = std::enable_if_t<is_real<T>>>
EMBER_MATH T sinc(T x) {
  T u = T(3.14159265358979323846) * x;
  return x == 0 ? T(1) : sin(u) / u;
}

// ---- inverse functions ----

EMBER_MATH float atan_tail(float z) {
  return poly(z, -0.333333164f, 0.199985325f, -0.142445117f, 0.106001854f, -0.0609276406f);
}
EMBER_MATH double atan_tail(double z) {
  return poly(z, -0.33333333333333198, 0.19999999999953819, -0.14285714280220302,
              0.11111110784656612, -0.090908977921093911, 0.076920608210536104,
              -0.06663110826531779, 0.058479374843441088, -0.050395156502303633,
              0.038069746849805651, -0.017912686659198429);
}
// pi/2, and what it lacks.
template <class T>
constexpr T kHalfPi = T(1.57079632679489661923);
template <class T>
constexpr T kHalfPiLow = sizeof(T) == 4 ? T(-4.37113883e-8) : T(6.123233995736766e-17);

// atan(small / large) for 0 <= small <= large, by one division.
template <class T>
EMBER_MATH T atan_ratio(T small, T large) {
  const bool steep = small > T(0.41421356237309504880) * large;
  T t = (steep ? small - large : small) / (steep ? small + large : large);
  T z = t * t, tail = t * z * atan_tail(z);
  return steep ? kHalfPi<T> / 2 + ((tail + kHalfPiLow<T> / 2) + t) : t + tail;
}
template <class T, class = std::enable_if_t<is_real<T>>>
EMBER_MATH T atan(T x) {
  T a = abs(x);
  const bool large = a > 1;
  T y = atan_ratio(large ? T(1) : a, large ? a : T(1));
  y = large ? kHalfPi<T> - (y - kHalfPiLow<T>) : y;
  return copysign(y, x);
}
template <class T>
EMBER_MATH T atan2(T y, T x) {
  T ax = abs(x), ay = abs(y);
  const bool swap = ay > ax;
  T small = swap ? ax : ay, large = swap ? ay : ax;
  const bool both = isinf(small);
  T angle = atan_ratio(both ? T(1) : small, both ? T(1) : large);
  angle = large == 0 ? T(0) : angle;
  angle = swap ? kHalfPi<T> - (angle - kHalfPiLow<T>) : angle;
  angle = signbit(x) ? 2 * kHalfPi<T> - (angle - 2 * kHalfPiLow<T>) : angle;
  return (x != x) | (y != y) ? x + y : copysign(angle, y);
}

EMBER_MATH float asin_tail(float z) {
  return poly(z, 0.166667536f, 0.0749525279f, 0.0454759747f, 0.0241523068f, 0.042211175f);
}
EMBER_MATH double asin_tail(double z) {
  return poly(z, 0.16666666666665383, 0.075000000003429101, 0.044642856823573003,
              0.030381959328405352, 0.022371753570069094, 0.017359770718346785,
              0.013884599424949611, 0.012173289522509465, 0.006510750499359408,
              0.019574312872890878, -0.01629485641715786, 0.031959569416509064);
}
template <class T, class = std::enable_if_t<is_real<T>>>
EMBER_MATH T asin(T x) {
  T a = abs(x);
  const bool far = a > T(0.5);
  T z = far ? T(0.5) * (1 - a) : a * a, s = far ? sqrt(z) : a;
  T y = s + s * z * asin_tail(z);
  y = far ? kHalfPi<T> - (2 * y - kHalfPiLow<T>) : y;
  return copysign(y, x);
}
template <class T, class = std::enable_if_t<is_real<T>>>
EMBER_MATH T acos(T x) {
  T a = abs(x);
  const bool far = a > T(0.5);
  T z = far ? T(0.5) * (1 - a) : a * a, s = far ? sqrt(z) : x;
  T y = s + s * z * asin_tail(z);
  T wide = x > 0 ? 2 * y : 2 * kHalfPi<T> - 2 * (y - kHalfPiLow<T>);
  return far ? wide : kHalfPi<T> - (y - kHalfPiLow<T>);
}

EMBER_MATH float hypot(float a, float b) {
  float y = float(__builtin_sqrt(double(a) * a + double(b) * b));
  return isinf(a) | isinf(b) ? __builtin_inff() : y;
}
inline double hypot(double a, double b) { return __builtin_hypot(a, b); }

// ---- the error function ----

EMBER_MATH float erf_near(float x) {
  return x + x * poly(x * x, 0.128379166f, -0.376126289f, 0.112836242f, -0.0268555861f,
                      0.00519193616f, -0.000804361189f, 7.96815511e-05f);
}
EMBER_MATH double erf_near(double x) {
  return x + x * poly(at_most(x * x, 1.), 0.12837916709551259, -0.37612638903184109,
                      0.11283791670972063, -0.026866170648280455, 0.0052239776556772108,
                      -0.00085483287347400626, 0.00012055394306941992, -1.4927094208198774e-05,
                      1.6484718567287526e-06, -1.6598203371879576e-07, 1.630283790054986e-08,
                      -1.7629228492924299e-09, 1.6380072869948533e-10);
}
EMBER_MATH float erf(float x) {
  float a = at_most(abs(x), 4.f);
  float g =
      poly(a, -0.000153427944f, 1.12939727f, 0.633626938f, 0.107906014f, -0.0248128548f,
           0.004013306f, -0.000384710467f, 1.23069021e-05f, 6.65428843e-07f);  // -log(erfc(a))
  float far = 1 - exp_negative(-g);
  return a < 0.92f ? erf_near(x) : copysign(far, x);
}

// The normal distribution function. In the tail that float keeps 0 for, so does this.
EMBER_MATH float ndtr(float x) {
  float a = abs(x);
  float g = poly(at_most(a, 6.f), 0.693147182f, 0.79788506f, 0.318304241f, 0.0363557152f,
                 -0.00481412746f, -1.34756892e-05f, 0.000209309539f, -6.14718811e-05f,
                 1.02008134e-05f, -1.05048321e-06f, 6.25587546e-08f,
                 -1.65001546e-09f);  // -log(ndtr(-a))
  float e = a > 6 ? 0.f : exp_negative(-g);
  return x > 0 ? 1 - e : e;
}

EMBER_MATH float erfcx_times(float t) {  // erfcx(x) (1 + 2x), t = (x - 2) / (x + 2)
  return poly(t, 1.27697837f, -0.0927638933f, -0.166031465f, 0.164052919f, -0.0542040691f,
              -0.00804222189f, 0.00863511674f, 0.00126477878f, -0.00125234865f, -0.000354520482f,
              3.14406207e-05f);
}
EMBER_MATH double erfcx_times(double t) {  // t = (x - 4) / (x + 4)
  return poly(t, 1.2329951186255526, -0.13962111684056253, 0.015379652102619622,
              0.068097054254695324, -0.10103906603629773, 0.093732834998256298,
              -0.066330365812360084, 0.037167515538976979, -0.016197734056208224,
              0.0050319699648878786, -0.00075777329924012421, -0.00019925662553687442,
              0.00015062172346314614, -2.4399442216574131e-05, -1.1222182981301679e-05,
              5.7101967667310846e-06, 2.9416174422457131e-07, -8.2596648765529539e-07,
              7.4105418921805464e-08, 1.1033294746053505e-07, -1.7469717956764381e-08,
              -1.4070585701971344e-08, 1.6772899475331411e-09, 1.1981416315407854e-09);
}
// a * a - square, exactly.
template <class T>
EMBER_MATH T square_error(T a, T square) {
#ifdef EMBER_FMA
  return fused(a, a, -square);
#else
  T split = a * T(sizeof(T) == 4 ? 4097 : 134217729), high = split - (split - a), low = a - high;
  return ((high * high - square) + 2 * high * low) + low * low;
#endif
}
template <class T>
EMBER_MATH T erfc(T x) {
  constexpr T k = sizeof(T) == 4 ? 2 : 4, end = sizeof(T) == 4 ? T(10.5) : T(28);
  T a = at_most(abs(x), end), square = a * a;
  T e = exp(-square) * (1 - square_error(a, square));
  T y = e * erfcx_times((a - k) / (a + k)) / (1 + 2 * a);
  y = x < 0 ? 2 - y : x > end ? T(0) : y;
  return a < T(0.5) ? 1 - erf_near(x) : y;
}
EMBER_MATH double ndtr(double x) { return 0.5 * erfc(-0.70710678118654752440 * x); }
EMBER_MATH double erf(double x) {
  double a = abs(x);
  return a < 1 ? erf_near(x) : copysign(1 - erfc(a), x);
}

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
