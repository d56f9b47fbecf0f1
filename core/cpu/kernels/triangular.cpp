// See triangular_kernels.h.
#include "cpu/kernels/triangular_kernels.h"

#include "cpu/kernels/gemm_pack.h"

namespace ember::cpu::EMBER_ISA {
namespace {

// Columns of b are brought together, so that a row of them is a few vectors.
template <class T, int W>
void solve_columns(int64_t n, int64_t count, const T* a, T* b, int64_t b_row, int64_t b_col,
                   bool upper) {
  alignas(64) T x[kTriangle][W];
  const bool by_columns = b_row == 1 && count == W && n % kLanes<T> == 0;
  if (by_columns) {
    for (int64_t c = 0; c < W; c += kLanes<T>)
      for (int64_t i = 0; i < n; i += kLanes<T>) transpose(b + i + c * b_col, b_col, &x[i][c], W);
  } else {
    for (int64_t i = 0; i < n; i++)
      for (int64_t c = 0; c < W; c++) x[i][c] = c < count ? b[i * b_row + c * b_col] : T(0);
  }
  for (int64_t k = 0; k < n; k++) {
    const int64_t i = upper ? n - 1 - k : k, first = upper ? i + 1 : 0;
    const T* row = a + i * n;
    T sum[W];
    for (int c = 0; c < W; c++) sum[c] = x[i][c];
    for (int64_t j = first; j < first + k; j++)
      for (int c = 0; c < W; c++) sum[c] -= row[j] * x[j][c];
    for (int c = 0; c < W; c++) x[i][c] = sum[c] / row[i];
  }
  if (by_columns) {
    for (int64_t c = 0; c < W; c += kLanes<T>)
      for (int64_t i = 0; i < n; i += kLanes<T>) transpose(&x[i][c], W, b + i + c * b_col, b_col);
  } else {
    for (int64_t i = 0; i < n; i++)
      for (int64_t c = 0; c < count; c++) b[i * b_row + c * b_col] = x[i][c];
  }
}

template <class T>
void solve(int64_t n, int64_t columns, const T* a, T* b, int64_t b_row, int64_t b_col, bool upper) {
  constexpr int kNarrow = 64 / sizeof(T), kWide = 4 * kNarrow;
  for (int64_t c = 0; c < columns;) {
    const int64_t left = columns - c;
    if (left > 2 * kNarrow) {
      solve_columns<T, kWide>(n, left < kWide ? left : kWide, a, b + c * b_col, b_row, b_col,
                              upper);
      c += kWide;
    } else {
      solve_columns<T, kNarrow>(n, left < kNarrow ? left : kNarrow, a, b + c * b_col, b_row, b_col,
                                upper);
      c += kNarrow;
    }
  }
}

// The row of the largest element, the first of those if there are several.
template <class T>
int64_t largest(int64_t n, const T* x) {
  T most = T(0);
#pragma omp simd reduction(max : most)
  for (int64_t i = 0; i < n; i++) {
    const T size = x[i] < 0 ? -x[i] : x[i];
    most = size > most ? size : most;
  }
  for (int64_t i = 0; i < n; i++)
    if (x[i] == most || x[i] == -most) return i;
  return 0;  // nothing but NaN
}

// x[first ... m - 1] -= the product of `count` columns of a with the numbers y.
template <class T>
void subtract_product(int64_t first, int64_t m, int64_t count, const T* a, int64_t step, const T* y,
                      T* x) {
  constexpr int W = 4 * kLanes<T>;
  int64_t i = first;
  for (; i + W <= m; i += W) {
    T sum[W];
    for (int c = 0; c < W; c++) sum[c] = x[i + c];
    for (int64_t j = 0; j < count; j++)
      for (int c = 0; c < W; c++) sum[c] -= a[j * step + i + c] * y[j];
    for (int c = 0; c < W; c++) x[i + c] = sum[c];
  }
  for (int64_t j = 0; j < count; j++)
    for (int64_t k = i; k < m; k++) x[k] -= a[j * step + k] * y[j];
}

// Column by column, each changed by those before it when its turn comes: it stays in registers.
template <class T>
int lu(int64_t m, int64_t n, T* a, int64_t step, int* pivots) {
  auto exchange = [](T& x, T& y) {
    const T kept = x;
    x = y;
    y = kept;
  };
  int info = 0;
  for (int64_t j = 0; j < n; j++) {
    T* column = a + j * step;
    const int64_t above = j < m ? j : m;
    for (int64_t i = 0; i < above; i++) exchange(column[i], column[pivots[i] - 1]);
    for (int64_t i = 0; i < above; i++)
      for (int64_t k = i + 1; k < above; k++) column[k] -= a[i * step + k] * column[i];
    if (j >= m) continue;
    subtract_product(j, m, j, a, step, column, column);
    const int64_t best = j + largest(m - j, column + j);
    pivots[j] = int(best + 1);
    const T pivot = column[best];
    if (pivot == T(0)) {
      if (!info) info = int(j + 1);
      continue;
    }
    if (best != j)
      for (int64_t k = 0; k <= j; k++) exchange(a[k * step + j], a[k * step + best]);
    for (int64_t i = j + 1; i < m; i++) column[i] /= pivot;
  }
  return info;
}

template <class T>
constexpr TriangularKernelsOf<T> kernels_of{solve<T>, lu<T>};

}  // namespace

const TriangularKernels& triangular_kernels() {
  static constexpr TriangularKernels table{kernels_of<float>, kernels_of<double>};
  return table;
}

}  // namespace ember::cpu::EMBER_ISA
