// Passes over one line of complex numbers, real and imaginary parts side by side: what goes before
// and after the transforms of long lines.
#include "cpu/kernels/fft_kernels.h"
#include "cpu/kernels/loops.h"

namespace ember::cpu::EMBER_ISA {
namespace {

template <class T>
struct Number {
  T re, im;
};

template <class T, bool conj_a, bool conj_out>
void multiply_as(int64_t n, const Number<T>* a, const Number<T>* b, Number<T>* out, T scale) {
#pragma omp simd
  for (int64_t i = 0; i < n; i++) {
    const T ar = a[i].re, ai = conj_a ? -a[i].im : a[i].im;
    const T re = ar * b[i].re - ai * b[i].im, im = ar * b[i].im + ai * b[i].re;
    out[i] = {re * scale, conj_out ? -im * scale : im * scale};
  }
}

template <class T>
void multiply(int64_t n, const void* a, const void* b, void* out, bool conj_a, bool conj_out,
              double scale) {
  auto* x = static_cast<const Number<T>*>(a);
  auto* y = static_cast<const Number<T>*>(b);
  auto* z = static_cast<Number<T>*>(out);
  if (conj_a)
    conj_out ? multiply_as<T, true, true>(n, x, y, z, T(scale))
             : multiply_as<T, true, false>(n, x, y, z, T(scale));
  else
    conj_out ? multiply_as<T, false, true>(n, x, y, z, T(scale))
             : multiply_as<T, false, false>(n, x, y, z, T(scale));
}

// The elements k and h - k belong together. In a chunk the vectorised loop writes to buffers, so
// that out may be z.
constexpr int64_t kPairs = 64;

template <class T, class F>
EMBER_INLINE void pairs(int64_t half, const Number<T>* in, Number<T>* out, const Number<T>* w,
                        F f) {
  Number<T> low[kPairs], high[kPairs];
  for (int64_t k = 1; 2 * k <= half; k += kPairs) {
    const int64_t left = half / 2 - k + 1, count = left < kPairs ? left : kPairs;
    const Number<T>*a = in + k, *b = in + half - k - count + 1, *r = w + k;
#pragma omp simd
    for (int64_t i = 0; i < count; i++) f(a[i], b[count - 1 - i], r[i], low[i], high[i]);
    for (int64_t i = 0; i < count; i++) out[half - k - i] = high[i];
    for (int64_t i = 0; i < count; i++) out[k + i] = low[i];
  }
}

template <class T>
void unpack_line(int64_t half, const void* z, void* out, const void* roots, double scale) {
  auto* in = static_cast<const Number<T>*>(z);
  auto* to = static_cast<Number<T>*>(out);
  const T whole = T(scale), by = T(scale / 2);
  const Number<T> first = in[0];
  pairs<T>(half, in, to, static_cast<const Number<T>*>(roots),
           [by](Number<T> a, Number<T> b, Number<T> w, Number<T>& low, Number<T>& high)
               EMBER_LAMBDA {
                 const T er = a.re + b.re, ei = a.im - b.im, dr = a.im + b.im, di = b.re - a.re;
                 const T pr = dr * w.re - di * w.im, pi = dr * w.im + di * w.re;
                 low = {(er + pr) * by, (ei + pi) * by};
                 high = {(er - pr) * by, (pi - ei) * by};
               });
  to[0] = {(first.re + first.im) * whole, T(0)};
  to[half] = {(first.re - first.im) * whole, T(0)};
}

template <class T>
void pack_line(int64_t half, const void* x, void* z, const void* roots) {
  auto* in = static_cast<const Number<T>*>(x);
  auto* to = static_cast<Number<T>*>(z);
  const T first = in[0].re, last = in[half].re;
  pairs<T>(half, in, to, static_cast<const Number<T>*>(roots),
           [](Number<T> a, Number<T> b, Number<T> w, Number<T>& low, Number<T>& high) EMBER_LAMBDA {
             const T er = a.re + b.re, ei = a.im - b.im, dr = -(a.im + b.im), di = a.re - b.re;
             const T pr = dr * w.re + di * w.im, pi = di * w.re - dr * w.im;
             low = {er + pr, ei + pi};
             high = {er - pr, pi - ei};
           });
  to[0] = {first + last, first - last};
}

template <class T>
void add(FftLaneKernels& k) {
  k.multiply = multiply<T>;
  k.unpack_line = unpack_line<T>;
  k.pack_line = pack_line<T>;
}

}  // namespace

void add_fft_lines(FftTable& table) {
  add<float>(table.f32);
  add<double>(table.f64);
}

}  // namespace ember::cpu::EMBER_ISA
