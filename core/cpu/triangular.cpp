// See triangular.h. The recursions end in blocks of kTriangle rows, which are kernels of their own.
#include "cpu/triangular.h"

#include <algorithm>

#include "cpu/dispatch.h"
#include "cpu/gemm.h"
#include "cpu/kernels/triangular_kernels.h"
#include "cpu/parallel.h"

namespace ember::cpu {

namespace {

EMBER_TABLE_BY_LEVEL(TriangularKernels, kernels_here, triangular_kernels)

template <class T>
const TriangularKernelsOf<T>& kernels_of() {
  if constexpr (sizeof(T) == 4)
    return kernels_here().f32;
  else
    return kernels_here().f64;
}

template <class T>
constexpr Dtype dtype_of = sizeof(T) == 4 ? Dtype::Float32 : Dtype::Float64;

// Where to cut: both parts are about half, the first whole blocks.
int64_t cut(int64_t n) { return (n / 2 + kTriangle - 1) / kTriangle * kTriangle; }

// c = beta c + alpha a b
template <class T>
void multiply(int64_t m, int64_t n, int64_t k, Grid<const T> a, Grid<const T> b, Grid<T> c,
              double alpha, double beta) {
  gemm(dtype_of<T>, m, n, k, {a.data, a.row, a.col}, {b.data, b.row, b.col}, {c.data, c.row, c.col},
       alpha, beta);
}

template <class T>
void solve_block(int64_t n, int64_t columns, Grid<const T> a, Grid<T> b, bool upper, bool unit) {
  T block[kTriangle * kTriangle];
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) block[i * n + j] = i == j && unit ? T(1) : a.at(i, j);
  parallel_for(columns, 128, [&](int64_t begin, int64_t end) {
    kernels_of<T>().solve(n, end - begin, block, &b.at(0, begin), b.row, b.col, upper);
  });
}

// Rows first ... last - 1 of some columns change places as pivots say.
template <class T>
void exchange_rows(int64_t columns, Grid<T> a, const int* pivots, int64_t first, int64_t last) {
  const int64_t grain = std::max<int64_t>(1, kGrain / 4 / std::max<int64_t>(1, last - first));
  parallel_for(columns, grain, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; c++) {
      T* column = &a.at(0, c);
      if (a.row == 1)  // the usual case, without products
        for (int64_t i = first; i < last; i++) std::swap(column[i], column[pivots[i] - 1]);
      else
        for (int64_t i = first; i < last; i++)
          std::swap(column[i * a.row], column[(pivots[i] - 1) * a.row]);
    }
  });
}

// The reverse, for all n rows. Row by row: columns of a matrix that lies by columns come as the
// rows of its transpose, and are adjacent elements.
template <class T>
void exchange_rows_back(int64_t n, int64_t columns, Grid<T> a, const int* pivots) {
  parallel_for(columns, std::max<int64_t>(1, kGrain / n), [&](int64_t begin, int64_t end) {
    for (int64_t i = n - 1; i >= 0; i--) {
      const int64_t with = pivots[i] - 1;
      if (with == i) continue;
      for (int64_t c = begin; c < end; c++) std::swap(a.at(i, c), a.at(with, c));
    }
  });
}

// The lower triangle a, with ones on its diagonal, becomes its inverse.
template <class T>
void invert_unit_lower(int64_t n, Grid<T> a) {
  if (n <= kTriangle) {
    T inverse[kTriangle * kTriangle] = {};
    for (int64_t i = 0; i < n; i++) inverse[i * n + i] = T(1);
    solve_block<T>(n, n, a, {inverse, n, 1}, false, true);
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < i; j++) a.at(i, j) = inverse[i * n + j];
    return;
  }
  // The corner c of [a1 0; c a2] becomes -a2^-1 c a1^-1, before a1 and a2 are inverted.
  const int64_t half = cut(n), rest = n - half;
  Grid<T> corner = a.part(half, 0);
  solve_triangle<T>(rest, half, a.part(half, half), corner, false, true);
  solve_triangle<T>(half, rest, a.transposed(), corner.transposed(), true, true);
  for (int64_t j = 0; j < half; j++)
    for (int64_t i = 0; i < rest; i++) corner.at(i, j) = -corner.at(i, j);
  invert_unit_lower(half, a);
  invert_unit_lower(rest, a.part(half, half));
}

}  // namespace

template <class T>
void solve_triangle(int64_t n, int64_t columns, Grid<const T> a, Grid<T> b, bool upper, bool unit) {
  if (n <= kTriangle) return solve_block(n, columns, a, b, upper, unit);
  const int64_t half = cut(n), rest = n - half;
  Grid<T> bottom = b.part(half, 0);
  auto solve_top = [&] { solve_triangle<T>(half, columns, a, b, upper, unit); };
  auto solve_bottom = [&] {
    solve_triangle<T>(rest, columns, a.part(half, half), bottom, upper, unit);
  };
  if (upper) {
    solve_bottom();
    multiply<T>(half, columns, rest, a.part(0, half), bottom, b, -1, 1);
    solve_top();
  } else {
    solve_top();
    multiply<T>(rest, columns, half, a.part(half, 0), b, bottom, -1, 1);
    solve_bottom();
  }
}

template <class T>
int lu_factor(int64_t m, int64_t n, Grid<T> a, int* pivots) {
  if (n <= kTriangle) return kernels_of<T>().lu(m, n, a.data, a.col, pivots);
  const int64_t all = std::min(m, n), half = all <= kTriangle ? all : cut(all);
  const int first = lu_factor(m, half, a, pivots);
  Grid<T> top = a.part(0, half), rest = a.part(half, half);
  exchange_rows(n - half, top, pivots, 0, half);
  solve_triangle<T>(half, n - half, a, top, false, true);
  if (m == half) return first;
  multiply<T>(m - half, n - half, half, a.part(half, 0), top, rest, -1, 1);
  const int second = lu_factor(m - half, n - half, rest, pivots + half);
  for (int64_t i = half; i < all; i++) pivots[i] += int(half);
  exchange_rows(half, a, pivots, half, all);
  return first ? first : second ? second + int(half) : 0;
}

template <class T>
void lu_solve(int64_t n, int64_t columns, Grid<const T> lu, const int* pivots, Grid<T> b,
              bool transpose) {
  if (transpose) {
    solve_triangle<T>(n, columns, lu.transposed(), b, false, false);
    solve_triangle<T>(n, columns, lu.transposed(), b, true, true);
    return exchange_rows_back(n, columns, b, pivots);
  }
  exchange_rows(columns, b, pivots, 0, n);
  solve_triangle<T>(n, columns, lu, b, false, true);
  solve_triangle<T>(n, columns, lu, b, true, false);
}

template <class T>
void lu_inverse(int64_t n, Grid<const T> lu, const int* pivots, Grid<T> out) {
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < n; i++) out.at(i, j) = i > j ? lu.at(i, j) : i == j ? T(1) : T(0);
  invert_unit_lower(n, out);
  solve_triangle<T>(n, n, lu, out, true, false);
  exchange_rows_back(n, n, out.transposed(), pivots);
}

#define EMBER_FOR_TYPE(T)                                                                \
  template void solve_triangle<T>(int64_t, int64_t, Grid<const T>, Grid<T>, bool, bool); \
  template int lu_factor<T>(int64_t, int64_t, Grid<T>, int*);                            \
  template void lu_solve<T>(int64_t, int64_t, Grid<const T>, const int*, Grid<T>, bool); \
  template void lu_inverse<T>(int64_t, Grid<const T>, const int*, Grid<T>);
EMBER_FOR_TYPE(float)
EMBER_FOR_TYPE(double)
#undef EMBER_FOR_TYPE

}  // namespace ember::cpu
