// Minima and maxima with their places. Included by reduce.cpp alone.
#pragma once

#include "cpu/kernels/reduce_run.h"

namespace ember::cpu::EMBER_ISA {
namespace {

template <class T>
bool beats(bool most, T x, T best) {
  if constexpr (std::is_integral_v<T>)
    return most ? x > best : x < best;
  else
    return (most ? x > best : x < best) || (x != x && best == best);
}

// Each block's extreme by vector; only the block that holds the best is searched for its place.
template <class T>
Extreme<T> extreme(bool most, int64_t n, const T* x) {
  T best{};
  int64_t from = -1;
  for (int64_t i = 0; i < n; i += kBlock) {
    int64_t w = n - i < kBlock ? n - i : kBlock;
    T v = most ? run<T, folds::max>(w, x + i) : run<T, folds::min>(w, x + i);
    if (from < 0 || beats(most, v, best)) {
      best = v;
      from = i;
      if (v != v) break;
    }
  }
  if (best != best) {
    while (x[from] == x[from]) from++;
    best = x[from];
  } else {
    while (!(x[from] == best)) from++;
  }
  return {best, from};
}

// The row numbers of a chunk are kept in integers as wide as T, so that they ride in the same
// lanes.
template <class T, bool Most>
void extremes_of(int64_t first, int64_t rows, int64_t n, const T* x, int64_t row_stride, T* best,
                 int64_t* where) {
  using I = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  constexpr int64_t kColumns = 256;
  for (int64_t j0 = 0; j0 < n; j0 += kColumns) {
    const int64_t w = n - j0 < kColumns ? n - j0 : kColumns;
    I at[kColumns];
    T top[kColumns];
    for (int64_t j = 0; j < w; j++) {
      at[j] = -1;
      top[j] = best[j0 + j];
    }
    for (int64_t r = 0; r < rows; r++) {
      const T* row = x + r * row_stride + j0;
      for (int64_t j = 0; j < w; j++) {
        T v = row[j], b = top[j];
        bool better = Most ? v > b : v < b;
        if constexpr (!std::is_integral_v<T>) better |= (v != v) & (b == b);
        top[j] = better ? v : b;
        at[j] = better ? I(r) : at[j];
      }
    }
    for (int64_t j = 0; j < w; j++) {
      best[j0 + j] = top[j];
      if (at[j] >= 0) where[j0 + j] = first + at[j];
    }
  }
}

template <class T>
void extremes(bool most, bool start, int64_t first, int64_t rows, int64_t n, const T* x,
              int64_t row_stride, T* best, int64_t* where) {
  if (start) {
    for (int64_t j = 0; j < n; j++) {
      best[j] = x[j];
      where[j] = first;
    }
    x += row_stride;
    first++;
    rows--;
  }
  if (most)
    extremes_of<T, true>(first, rows, n, x, row_stride, best, where);
  else
    extremes_of<T, false>(first, rows, n, x, row_stride, best, where);
}

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
