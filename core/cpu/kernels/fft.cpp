// The steps of a Fourier transform on a block of lines, Note [Lanes]: Stockham's algorithm, which
// reads one buffer and writes the other and needs no reordering.
//
// Note [Steps]: a step of radix R takes the block as (l1, R, ido) and writes (R, l1, ido): for each
// of l1 * ido places a transform of length R, times the twiddles exp(-2 pi i j k / (R ido)).
#include "cpu/kernels/fft_kernels.h"
#include "cpu/kernels/fft_steps.h"

namespace ember::cpu::EMBER_ISA {
namespace {

template <class T, int R, bool Swap>
void step(int64_t l1, int64_t ido, const Vec<T>* in, Vec<T>* out, const T* w, const T* roots) {
  const LocalRoots<T, R> local(roots);
  if (ido == 1)  // the last step: no twiddles
    return butterflies<T, R, Swap, false>(l1, in, 2, 2 * R, out, 2 * l1, w, local.value);
  const int64_t from = 2 * ido;
  for (int64_t k = 0; k < l1; k++)
    butterflies<T, R, Swap, true>(ido, in + k * from * R, from, 2, out + k * from, from * l1, w,
                                  local.value);
}

// Any odd prime up to kFftLargestPrime.
template <class T>
void step_of(int r, int64_t l1, int64_t ido, Block<T> in, Block<T> out, const T* w,
             const T* roots) {
  Complex<T> sum[kFftLargestPrime / 2 + 1], dif[kFftLargestPrime / 2 + 1];
  const int h = r / 2;
  for (int64_t k = 0; k < l1; k++)
    for (int64_t i = 0; i < ido; i++) {
      const T* by = w + 2 * (r - 1) * i;
      const Complex<T> first = in.get(i + ido * r * k);
      Complex<T> total = first;
      for (int m = 1; m <= h; m++) {
        const Complex<T> a = in.get(i + ido * (m + r * k)), b = in.get(i + ido * (r - m + r * k));
        sum[m] = a + b, dif[m] = a - b;
        total = total + sum[m];
      }
      out.set(i + ido * k, total);
      for (int j = 1; j <= h; j++) {
        Complex<T> even = first, odd = {};
        for (int m = 1, at = j; m <= h; m++) {
          const T c = roots[2 * at], s = roots[2 * at + 1];
          even.re += sum[m].re * c, even.im += sum[m].im * c;
          odd.re -= dif[m].im * s, odd.im += dif[m].re * s;
          at += j;
          if (at >= r) at -= r;
        }
        out.set(i + ido * (k + l1 * j), (even + odd).times(by[2 * j - 2], by[2 * j - 1]));
        const int o = r - j;
        out.set(i + ido * (k + l1 * o), (even - odd).times(by[2 * o - 2], by[2 * o - 1]));
      }
    }
}

template <class T, bool Swap>
void* run_as(const FftSteps& steps, int begin, int end, void* a, void* b) {
  int64_t l1 = 1;
  for (int s = 0; s < begin; s++) l1 *= steps.radix[s];
  for (int s = begin; s < end; s++) {
    const int r = steps.radix[s];
    const int64_t ido = steps.n / (l1 * r);
    const Vec<T>* in = static_cast<const Vec<T>*>(a);
    Vec<T>* out = static_cast<Vec<T>*>(b);
    const T* w = static_cast<const T*>(steps.twiddles[s]);
    const T* roots = static_cast<const T*>(steps.roots[s]);
    switch (r) {
      case 2: step<T, 2, Swap>(l1, ido, in, out, w, roots); break;
      case 3: step<T, 3, Swap>(l1, ido, in, out, w, roots); break;
      case 4: step<T, 4, Swap>(l1, ido, in, out, w, roots); break;
      case 5: step<T, 5, Swap>(l1, ido, in, out, w, roots); break;
      case 7: step<T, 7, Swap>(l1, ido, in, out, w, roots); break;
      case 8: step<T, 8, Swap>(l1, ido, in, out, w, roots); break;
      case 11: step<T, 11, Swap>(l1, ido, in, out, w, roots); break;
      case 13: step<T, 13, Swap>(l1, ido, in, out, w, roots); break;
      default: step_of<T>(r, l1, ido, Block<T>(a, Swap), Block<T>(b, Swap), w, roots);
    }
    l1 *= r;
    void* was = a;
    a = b, b = was;
  }
  return a;
}

template <class T>
void* run_some(const FftSteps& steps, int begin, int end, void* a, void* b, bool inverse) {
  return inverse ? run_as<T, true>(steps, begin, end, a, b)
                 : run_as<T, false>(steps, begin, end, a, b);
}
template <class T>
void* run(const FftSteps& steps, void* a, void* b, bool inverse) {
  return run_some<T>(steps, 0, steps.count, a, b, inverse);
}

// x[k] = (z[k] + conj z[h - k]) / 2 - i / 2 w^k (z[k] - conj z[h - k]), and x[h - k] likewise.
template <class T>
void unpack_real(int64_t half, const void* z, void* out, const void* roots) {
  const Block<T> in(z), to(out);
  const T* w = static_cast<const T*>(roots);
  const Complex<T> first = in.get(0);
  to.set(0, {first.re + first.im, Vec<T>{}});
  to.set(half, {first.re - first.im, Vec<T>{}});
  for (int64_t k = 1; 2 * k <= half; k++) {
    const Complex<T> a = in.get(k), b = in.get(half - k);
    const Complex<T> even = {(a.re + b.re) * T(0.5), (a.im - b.im) * T(0.5)};
    const Complex<T> odd =
        Complex<T>{(a.im + b.im) * T(0.5), (b.re - a.re) * T(0.5)}.times(w[2 * k], w[2 * k + 1]);
    to.set(half - k, {even.re - odd.re, odd.im - even.im});
    to.set(k, even + odd);
  }
}

// z[k] = x[k] + conj x[h - k] + i w^-k (x[k] - conj x[h - k])
template <class T>
void pack_real(int64_t half, const void* x, void* z, const void* roots) {
  const Block<T> in(x), to(z);
  const T* w = static_cast<const T*>(roots);
  const Vec<T> first = in.get(0).re, last = in.get(half).re;
  for (int64_t k = 1; 2 * k <= half; k++) {
    const Complex<T> a = in.get(k), b = in.get(half - k);
    const Complex<T> even = {a.re + b.re, a.im - b.im};
    const Complex<T> odd = Complex<T>{-(a.im + b.im), a.re - b.re}.times(w[2 * k], -w[2 * k + 1]);
    to.set(half - k, {even.re - odd.re, odd.im - even.im});
    to.set(k, even + odd);
  }
  to.set(0, {first + last, first - last});
}

template <class T>
void widen(int64_t n, const void* x, void* out) {
  const Vec<T>* from = static_cast<const Vec<T>*>(x);
  const Block<T> to(out);
  for (int64_t i = 0; i < n; i++) to.set(i, {from[i], Vec<T>{}});
}
template <class T>
void mirror(int64_t n, const void* x, void* out) {
  const Block<T> in(x), to(out);
  to.set(0, {in.get(0).re, Vec<T>{}});
  for (int64_t i = 1; 2 * i < n; i++) {
    const Complex<T> v = in.get(i);
    to.set(i, v);
    to.set(n - i, {v.re, -v.im});
  }
}
template <class T>
void narrow(int64_t n, const void* x, void* out) {
  const Block<T> in(x);
  Vec<T>* to = static_cast<Vec<T>*>(out);
  for (int64_t i = 0; i < n; i++) to[i] = in.re[2 * i];
}

template <class T>
void twist(int64_t n, const void* block, void* out, const void* base, const void* by,
           bool inverse) {
  const Block<T> in(block, inverse), to(out, inverse), lanes(by);
  const T* w = static_cast<const T*>(base);
  for (int64_t i = 0; i < n; i++) to.set(i, in.get(i) * lanes.get(i).times(w[2 * i], w[2 * i + 1]));
}

template <class T>
void add(FftLaneKernels& k) {
  k.lanes = kLanes<T>;
  k.run = run<T>;
  k.run_some = run_some<T>;
  k.unpack_real = unpack_real<T>;
  k.pack_real = pack_real<T>;
  k.widen = widen<T>;
  k.mirror = mirror<T>;
  k.narrow = narrow<T>;
  k.twist = twist<T>;
}

}  // namespace

void add_fft(FftTable& table) {
  add<float>(table.f32);
  add<double>(table.f64);
}

}  // namespace ember::cpu::EMBER_ISA
