// The small ends of cpu/triangular.h's recursions: one thread's work, row by row.
#pragma once

#include <cstdint>

#include "cpu/kernels/levels.h"

namespace ember::cpu {

constexpr int64_t kTriangle = 32;  // rows or columns at most

template <class T>
struct TriangularKernelsOf {
  // b (n x columns, any strides) becomes the x with a x = b; a is triangular, its rows adjacent.
  void (*solve)(int64_t n, int64_t columns, const T* a, T* b, int64_t b_row, int64_t b_col,
                bool upper);
  // a (m x n, columns `step` apart) becomes its packed LU factors; pivots count from 1. The result
  // is 0, or the first column (from 1) without a pivot.
  int (*lu)(int64_t m, int64_t n, T* a, int64_t step, int* pivots);
};

struct TriangularKernels {
  TriangularKernelsOf<float> f32;
  TriangularKernelsOf<double> f64;
};
EMBER_DECLARE_LEVELS(const TriangularKernels& triangular_kernels();)

}  // namespace ember::cpu
