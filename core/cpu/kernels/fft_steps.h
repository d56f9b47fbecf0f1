// One step of a transform, Note [Steps]: transforms of length R at `count` places, for the lines in
// all lanes at once.
#pragma once

#include "cpu/kernels/fft_vector.h"

namespace ember::cpu::EMBER_ISA {
namespace {

template <class T>
EMBER_INLINE void butterfly2(Complex<T>& a, Complex<T>& b) {
  const Complex<T> sum = a + b;
  b = a - b;
  a = sum;
}
// In place: a, b, c, d are results 0 ... 3.
template <class T>
EMBER_INLINE void butterfly4(Complex<T>& a, Complex<T>& b, Complex<T>& c, Complex<T>& d) {
  const Complex<T> s = a + c, t = a - c, u = b + d, v = (b - d).times_minus_i();
  a = s + u, b = t + v, c = s - u, d = t - v;
}

template <class T, int R>
struct Butterfly {  // odd R: sums and differences of the elements m and R - m share their products
  static EMBER_INLINE void run(Complex<T>* x, const T* roots) {
    constexpr int H = R / 2;
    Complex<T> sum[H + 1], dif[H + 1], first = x[0];
#pragma GCC unroll 8
    for (int m = 1; m <= H; m++) {
      sum[m] = x[m] + x[R - m], dif[m] = x[m] - x[R - m];
      x[0] = x[0] + sum[m];
    }
#pragma GCC unroll 8
    for (int j = 1; j <= H; j++) {
      Complex<T> even = first, odd = {};
#pragma GCC unroll 8
      for (int m = 1; m <= H; m++) {
        const T c = roots[2 * (j * m % R)], s = roots[2 * (j * m % R) + 1];
        even.re += sum[m].re * c, even.im += sum[m].im * c;
        odd.re -= dif[m].im * s, odd.im += dif[m].re * s;
      }
      x[j] = even + odd, x[R - j] = even - odd;
    }
  }
};
template <class T>
struct Butterfly<T, 2> {
  static EMBER_INLINE void run(Complex<T>* x, const T*) { butterfly2(x[0], x[1]); }
};
template <class T>
struct Butterfly<T, 4> {
  static EMBER_INLINE void run(Complex<T>* x, const T*) { butterfly4(x[0], x[1], x[2], x[3]); }
};
template <class T>
struct Butterfly<T, 8> {
  static EMBER_INLINE void run(Complex<T>* x, const T*) {
    constexpr T h = T(0.70710678118654752440L);
    butterfly4(x[0], x[2], x[4], x[6]);
    butterfly4(x[1], x[3], x[5], x[7]);
    const Complex<T> b = x[3], d = x[7];
    x[3] = {(b.re + b.im) * h, (b.im - b.re) * h};
    x[5] = x[5].times_minus_i();
    x[7] = {(d.im - d.re) * h, -(d.re + d.im) * h};
    // Results k and k + 4 come from elements 2 k and 2 k + 1.
    butterfly2(x[0], x[1]);
    butterfly2(x[2], x[3]);
    butterfly2(x[4], x[5]);
    butterfly2(x[6], x[7]);
    const Complex<T> y[8] = {x[0], x[2], x[4], x[6], x[1], x[3], x[5], x[7]};
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) x[j] = y[j];
  }
};

// Elements j are `from` vectors apart in `a` and `to` in `b`; places are `next` apart in `a`,
// beside each other in `b`. Results are multiplied by twiddles (count, R - 1, 2), if there are any.
template <class T, int R, bool Swap, bool Twiddles>
EMBER_INLINE void butterflies(int64_t count, const Vec<T>* a, int64_t from, int64_t next, Vec<T>* b,
                              int64_t to, const T* by, const T* roots) {
  Complex<T> x[R];
  for (int64_t i = 0; i < count; i++, a += next, b += 2, by += 2 * (R - 1)) {
#pragma GCC unroll 16
    for (int j = 0; j < R; j++) x[j] = element<Swap>(a + from * j, T());
    Butterfly<T, R>::run(x, roots);
    set_element<Swap>(b, x[0]);
#pragma GCC unroll 16
    for (int j = 1; j < R; j++)
      set_element<Swap>(b + to * j, Twiddles ? x[j].times(by[2 * j - 2], by[2 * j - 1]) : x[j]);
  }
}

// Roots as a local array, which the compiler knows not to change.
template <class T, int R>
struct LocalRoots {
  T value[2 * R];
  EMBER_INLINE explicit LocalRoots(const void* roots) {
    for (int j = 0; j < 2 * R; j++) value[j] = static_cast<const T*>(roots)[j];
  }
};

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
