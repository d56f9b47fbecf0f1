// Products of a matrix and a vector, limited by memory: four rows at a time, each a stream that the
// prefetcher follows. Included by gemm.cpp alone.
#pragma once

#include "cpu/kernels/gemm_tile.h"

namespace ember::cpu::EMBER_ISA {
namespace {

template <class T, int R>
void dot_some_rows(int64_t n, const T* a, int64_t a_row, const T* x, T* y, int64_t y_step) {
  using V = Vector<T>;
  constexpr int L = kLanes<T>, U = R == 1 ? 8 : 2;
  V sum[R][U] = {};
  int64_t j = 0;
  for (; j + L * U <= n; j += L * U)
#pragma GCC unroll 8
    for (int u = 0; u < U; u++) {
      V v = *(const V*)(x + j + u * L);
#pragma GCC unroll 8
      for (int r = 0; r < R; r++) sum[r][u] += v * *(const V*)(a + r * a_row + j + u * L);
    }
  for (; j + L <= n; j += L) {
    V v = *(const V*)(x + j);
    for (int r = 0; r < R; r++) sum[r][0] += v * *(const V*)(a + r * a_row + j);
  }
  for (int r = 0; r < R; r++) {
    for (int u = 1; u < U; u++) sum[r][0] += sum[r][u];
    T total = 0;
    for (int l = 0; l < L; l++) total += sum[r][0][l];
    for (int64_t q = j; q < n; q++) total += x[q] * a[r * a_row + q];
    y[r * y_step] = total;
  }
}

template <class T>
void dot_rows(int64_t rows, int64_t n, const T* a, int64_t a_row, const T* x, T* y,
              int64_t y_step) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4)
    dot_some_rows<T, 4>(n, a + i * a_row, a_row, x, y + i * y_step, y_step);
  for (; i < rows; i++) dot_some_rows<T, 1>(n, a + i * a_row, a_row, x, y + i * y_step, y_step);
}

// y (+)= the sum of R rows of `a` times their x; a chunk of y stays in L1 between calls.
template <class T, int R>
void add_some_rows(int64_t n, const T* a, int64_t a_row, const T* x, int64_t x_step, T* y,
                   bool first) {
  T f[R];
  for (int r = 0; r < R; r++) f[r] = x[r * x_step];
  if (first) {
    for (int64_t j = 0; j < n; j++) {
      T s = f[0] * a[j];
#pragma GCC unroll 8
      for (int r = 1; r < R; r++) s += f[r] * a[r * a_row + j];
      y[j] = s;
    }
  } else {
    for (int64_t j = 0; j < n; j++) {
      T s = y[j];
#pragma GCC unroll 8
      for (int r = 0; r < R; r++) s += f[r] * a[r * a_row + j];
      y[j] = s;
    }
  }
}

template <class T>
void sum_rows(int64_t rows, int64_t n, const T* a, int64_t a_row, const T* x, int64_t x_step,
              T* y) {
  constexpr int64_t kChunk = 16384 / sizeof(T);
  for (int64_t j = 0; j < n; j += kChunk) {
    int64_t w = n - j < kChunk ? n - j : kChunk, i = 0;
    if (rows == 0)
      for (int64_t q = 0; q < w; q++) y[j + q] = T(0);
    for (; i + 4 <= rows; i += 4)
      add_some_rows<T, 4>(w, a + i * a_row + j, a_row, x + i * x_step, x_step, y + j, i == 0);
    for (; i < rows; i++)
      add_some_rows<T, 1>(w, a + i * a_row + j, a_row, x + i * x_step, x_step, y + j, i == 0);
  }
}

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
