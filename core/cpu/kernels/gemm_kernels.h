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
};

// Products of float16 or bfloat16, which stay as they are in memory, summed in float.
struct HalfTask {
  int64_t m, n, k;
  const void* a;
  int64_t a_row, a_col;
  const void* b;
  int64_t b_row, b_col;
  void* c;
  int64_t c_row, c_col;
  float alpha, beta;
};

struct HalfKernels {
  int64_t few;                    // rows that had better meet the other matrix where it lies
  void (*gemm)(const HalfTask&);  // C = alpha * A B + beta * C
  int64_t (*block_width)(int64_t k);
  // A few rows `x`, in float or as `pair` writes them, by a large matrix of halves, either way
  // round. For y[i][r] = the sum over j of x[i][j] * w[r][j], x is in the order that `pair` writes,
  // and k in whole units of kUnit but for the last piece. For y[i][j] = the sum over p of x[i][p] *
  // w[p][j] it is plain.
  void (*dots)(int64_t rows, int64_t few, int64_t k, const void* w, int64_t w_row, const float* x,
               int64_t x_row, float* y, int64_t y_row);
  void (*sums)(int64_t k, int64_t few, int64_t n, const void* w, int64_t w_row, const float* x,
               int64_t x_row, float* y, int64_t y_row);
  void (*pair)(int64_t k, const void* x, int64_t step, float* out);  // out: whole units
  void (*widen)(int64_t k, const void* x, int64_t step, float* out);
  // out = alpha * sum + beta * out, rounded once.
  void (*finish)(int64_t n, float* sum, float alpha, float beta, void* out, int64_t step);
  static constexpr int64_t kUnit = 32;
};

struct GemmHalves {
  HalfKernels f16, bf16;
  const HalfKernels* bf16_pairs;  // for processors that have_bfloat_pairs(); null below AVX-512
};

EMBER_DECLARE_LEVELS(const GemmKernels& gemm_kernels(); const GemmHalves& gemm_halves();)

}  // namespace ember::cpu
