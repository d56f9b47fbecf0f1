// Sums, maxima and dot products of lines in registers: what softmax, norms, losses and attention
// fold before they map. Included by kernel files only (Note [One namespace per level]).
#pragma once

#include "cpu/kernels/vector.h"
#include "cpu/vmath.h"

namespace ember::cpu::EMBER_ISA {
namespace {

// Folds what `take` makes of elements i, i + 1 ..., in four vectors of lanes.
template <class T, class Take, class Fold>
EMBER_INLINE T folded(int64_t n, T start, Take take, Fold fold) {
  using V = Vector<T>;
  constexpr int L = kLanes<T>;
  T result = start;
  int64_t i = 0;
  if (n >= L) {
    V acc[4] = {start - V{}, start - V{}, start - V{}, start - V{}};
    for (; i + 4 * L <= n; i += 4 * L)
#pragma GCC unroll 4
      for (int u = 0; u < 4; u++) acc[u] = fold(acc[u], take(i + u * L, V{}));
    for (; i + L <= n; i += L) acc[0] = fold(acc[0], take(i, V{}));
    acc[0] = fold(fold(acc[0], acc[1]), fold(acc[2], acc[3]));
    T lanes[L];
    *reinterpret_cast<V*>(lanes) = acc[0];
    for (int step = L / 2; step; step /= 2)
      for (int l = 0; l < step; l++) lanes[l] = fold(lanes[l], lanes[l + step]);
    result = fold(result, lanes[0]);
  }
  for (; i < n; i++) result = fold(result, take(i, T()));
  return result;
}
template <class V, class T>
EMBER_INLINE V at(const T* p, int64_t i, V) {
  return *reinterpret_cast<const V*>(p + i);
}

// NaN is left out here; it comes back with x - max.
template <class T>
EMBER_INLINE T max_of(int64_t n, const T* x) {
  return folded<T>(
      n, -Float<T>::infinity, [=](int64_t i, auto v) EMBER_LAMBDA { return at(x, i, v); },
      [](auto a, auto b) EMBER_LAMBDA { return b > a ? b : a; });
}
template <class T>
EMBER_INLINE T sum_of(int64_t n, const T* x) {
  return folded<T>(
      n, T(0), [=](int64_t i, auto v) EMBER_LAMBDA { return at(x, i, v); },
      [](auto a, auto b) EMBER_LAMBDA { return a + b; });
}
template <class T>
EMBER_INLINE T dot_of(int64_t n, const T* x, const T* y) {
  return folded<T>(
      n, T(0), [=](int64_t i, auto v) EMBER_LAMBDA { return at(x, i, v) * at(y, i, v); },
      [](auto a, auto b) EMBER_LAMBDA { return a + b; });
}

constexpr int64_t kChunk = 512;

// The sum of exp(x - max), through a buffer: the exponentials themselves are not wanted.
template <class T>
EMBER_INLINE T exp_sum(int64_t n, const T* x, T max) {
  T buffer[kChunk], sum = 0;
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t w = n - i < kChunk ? n - i : kChunk;
    map1(x + i, buffer, w, [=](T v) EMBER_LAMBDA { return exp(v - max); });
    sum += sum_of(w, buffer);
  }
  return sum;
}

// Lines side by side: the maximum of each of w columns, and the sum of exp(x - max).
template <class T>
EMBER_INLINE void max_across(int64_t n, int64_t w, const T* x, int64_t stride, T* max) {
  for (int64_t j = 0; j < w; j++) max[j] = -Float<T>::infinity;
  for (int64_t i = 0; i < n; i++, x += stride)
    map2(x, static_cast<const T*>(max), max, w,
         [](T v, T m) EMBER_LAMBDA { return v > m ? v : m; });
}
template <class T>
EMBER_INLINE void exp_sum_across(int64_t n, int64_t w, const T* x, int64_t stride, T* max, T* sum) {
  for (int64_t j = 0; j < w; j++) sum[j] = 0;
  for (int64_t i = 0; i < n; i++, x += stride)
    map3(x, static_cast<const T*>(max), static_cast<const T*>(sum), sum, w,
         [](T v, T m, T s) EMBER_LAMBDA { return s + exp(v - m); });
}

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
