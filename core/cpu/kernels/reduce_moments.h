// Means and sums of squared distances from them, for variances. Included by reduce.cpp alone.
#pragma once

#include "cpu/kernels/reduce_run.h"
#include "cpu/kernels/wide_moments.h"

namespace ember::cpu::EMBER_ISA {
namespace {

inline Moments join(Moments a, Moments b) {  // Chan, Golub, LeVeque
  if (a.count == 0) return b;
  double count = a.count + b.count, delta = b.mean - a.mean, share = b.count / count;
  return {count, a.mean + delta * share, a.squares + b.squares + delta * delta * a.count * share};
}

template <class T>
T squares_from(int64_t n, const T* x, T mean) {
  using V = Vector<T>;
  constexpr int L = kLanes<T>, U = 4;
  V acc[U] = {};
  int64_t i = 0;
  for (; i + L * U <= n; i += L * U)
#pragma GCC unroll 8
    for (int u = 0; u < U; u++) {
      V d = *(const V*)(x + i + u * L) - mean;
      acc[u] += d * d;
    }
  acc[0] = (acc[0] + acc[1]) + (acc[2] + acc[3]);
  T lanes[L], sum = 0;
  *(V*)lanes = acc[0];
  for (int l = 0; l < L; l++) sum += lanes[l];
  for (; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
  return sum;
}

template <class T>
Moments wide(int64_t n, const T* x, int64_t step) {
  Moments m{double(n), 0, 0};
  wide_moments(n, x, step, &m.mean, &m.squares);
  return m;
}

// A block is summed, then its distances from its own mean are squared while it is in L1; one pass
// over memory.
template <class T>
Moments moments(int64_t n, const T* x) {
  Moments all{0, 0, 0};
  for (int64_t i = 0; i < n; i += kBlock) {
    int64_t w = n - i < kBlock ? n - i : kBlock;
    T shift = run<T, folds::sum>(w, x + i) / T(w);
    // `shift` is within an ulp of the block's mean, which adds w * ulp^2 to the squares: nothing.
    const T squares = squares_from(w, x + i, shift);
    all = join(all, __builtin_expect(holds(shift, squares), 1)
                        ? Moments{double(w), double(shift), double(squares)}
                        : wide(w, x + i, 1));
  }
  return all;
}

template <class T>
void moments_outer(int64_t rows, int64_t n, const T* x, int64_t row_stride, double before,
                   double* mean, double* squares) {
  constexpr int64_t kColumns = 256, kStep = 16;
  for (int64_t j0 = 0; j0 < n; j0 += kColumns) {
    const int64_t w = n - j0 < kColumns ? n - j0 : kColumns;
    double count = before;
    for (int64_t r = 0; r < rows; r += kStep) {
      const int64_t height = rows - r < kStep ? rows - r : kStep;
      const T* from = x + r * row_stride + j0;
      T m[kColumns], s[kColumns];
      for (int64_t j = 0; j < w; j++) m[j] = s[j] = 0;
      for (int64_t q = 0; q < height; q++)
        for (int64_t j = 0; j < w; j++) m[j] += from[q * row_stride + j];
      const T scale = T(1) / T(height);
      for (int64_t j = 0; j < w; j++) m[j] *= scale;
      for (int64_t q = 0; q < height; q++)
        for (int64_t j = 0; j < w; j++) {
          T d = from[q * row_stride + j] - m[j];
          s[j] += d * d;
        }
      const double total = count + double(height), share = double(height) / total,
                   cross = count * share;
      double* mean_to = mean + j0;
      double* squares_to = squares + j0;
      int all_held = 1;
      for (int64_t j = 0; j < w; j++) all_held &= holds(m[j], s[j]);
      if (__builtin_expect(all_held, 1)) {
        for (int64_t j = 0; j < w; j++) {
          double delta = double(m[j]) - mean_to[j];
          mean_to[j] += delta * share;
          squares_to[j] += double(s[j]) + delta * delta * cross;
        }
      } else {
        for (int64_t j = 0; j < w; j++) {
          Moments part{double(height), double(m[j]), double(s[j])};
          if (!holds(m[j], s[j])) part = wide(height, from + j, row_stride);
          double delta = part.mean - mean_to[j];
          mean_to[j] += delta * share;
          squares_to[j] += part.squares + delta * delta * cross;
        }
      }
      count = total;
    }
  }
}

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
