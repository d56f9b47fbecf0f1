// Triangular systems and LU factors of real matrices by recursion: cut in half, nearly all of the
// work is products of matrices (gemm.h), which use all threads. Any strides, but those of `b` and
// `a` that are written have one of 1.
#pragma once

#include <cstdint>

namespace ember::cpu {

template <class T>
struct Grid {
  T* data;
  int64_t row, col;  // strides
  T& at(int64_t i, int64_t j) const { return data[i * row + j * col]; }
  Grid part(int64_t i, int64_t j) const { return {&at(i, j), row, col}; }
  Grid transposed() const { return {data, col, row}; }
  operator Grid<const T>() const { return {data, row, col}; }
};

// b (n x columns) becomes the x with a x = b, a being triangular; `unit`: with ones on its
// diagonal, which is not read.
template <class T>
void solve_triangle(int64_t n, int64_t columns, Grid<const T> a, Grid<T> b, bool upper, bool unit);

// a (m x n, by columns) becomes its packed LU factors; pivots as LAPACK has them. The result is 0,
// or the first column (from 1) without a pivot.
template <class T>
int lu_factor(int64_t m, int64_t n, Grid<T> a, int* pivots);

// b becomes the x with a x = b, or with a^T x = b, from a's factors.
template <class T>
void lu_solve(int64_t n, int64_t columns, Grid<const T> lu, const int* pivots, Grid<T> b,
              bool transpose);

// out (by columns) becomes the inverse of the matrix with these factors.
template <class T>
void lu_inverse(int64_t n, Grid<const T> lu, const int* pivots, Grid<T> out);

}  // namespace ember::cpu
