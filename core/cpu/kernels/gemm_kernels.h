// The table of matrix-product kernels that kernels/gemm.cpp fills once per ISA level.
// Everything here is one thread's work on raw memory; gemm.cpp one level up splits and converts.
#pragma once

#include <cstdint>

#include "cpu/kernels/levels.h"

namespace ember::cpu {

// C = alpha * A B + beta * C on one thread, all of one type. Strides count elements; C's columns
// are adjacent. C is not read when beta is 0.
template <class T>
struct GemmTask {
  int64_t m, n, k;
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row, b_col;
  T* c;
  int64_t c_row;
  T alpha, beta;
  const T* ahead = nullptr;  // memory that gemm_packed brings near meanwhile, about all of it
  int64_t ahead_size = 0;
};

template <class T>
struct GemmKernelsOf {
  void (*gemm)(const GemmTask<T>&);
  int64_t (*block_width)(int64_t k);  // columns of B that meet the rows of A in one pass
  // B once for many products: `pack` writes it in panels, `packed_size` elements. `gemm_packed`
  // computes tiles first, first + 1 ... (not `last`) of the `tile_count` that C has.
  int64_t (*packed_size)(int64_t k, int64_t n);
  void (*pack)(int64_t k, int64_t n, const T* b, int64_t b_row, int64_t b_col, T* packed);
  int64_t (*tile_count)(int64_t m, int64_t n);
  void (*gemm_packed)(const GemmTask<T>&, const T* packed, int64_t first, int64_t last);
  // y[i] = sum over j of a[i * a_row + j] * x[j]: rows are adjacent elements.
  void (*dot_rows)(int64_t rows, int64_t n, const T* a, int64_t a_row, const T* x, T* y,
                   int64_t y_step);
  // y[j] = sum over i of x[i * x_step] * a[i * a_row + j]: adjacent columns, y contiguous.
  void (*sum_rows)(int64_t rows, int64_t n, const T* a, int64_t a_row, const T* x, int64_t x_step,
                   T* y);
};

struct GemmKernels {
  GemmKernelsOf<float> f32;
  GemmKernelsOf<double> f64;
  GemmKernelsOf<int32_t> i32;
  GemmKernelsOf<int64_t> i64;
  void (*from_half)(int64_t n, const uint16_t* x, float* y);
  void (*to_half)(int64_t n, const float* x, uint16_t* y);
  void (*from_bfloat)(int64_t n, const uint16_t* x, float* y);
  void (*to_bfloat)(int64_t n, const float* x, uint16_t* y);
};

EMBER_DECLARE_LEVELS(const GemmKernels& gemm_kernels();)

}  // namespace ember::cpu
