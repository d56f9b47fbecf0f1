// Matrix products on raw memory: any strides, any numeric dtype, batches; threads are decided here.
// The kernels are kernels/gemm.cpp; complex products go to OpenBLAS (blas.h).
#pragma once

#include <complex>

#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace ember::cpu {

// Strides count elements and may be 0 or negative.
struct Matrix {
  const void* data;
  int64_t row, col;
  bool conj = false;
};

struct MatrixOut {
  void* data;
  int64_t row, col;
};

// C = alpha * A B + beta * C with A of m x k, B of k x n. C is not read when beta is 0.
// float16 and bfloat16 accumulate in float32; integers wrap around. Not for bool.
void gemm(Dtype dtype, int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b,
          const MatrixOut& c, complex128 alpha = 1.0, complex128 beta = 0.0);

// The same for every index of `ndim` batch dimensions; a stride of 0 repeats a matrix.
struct Batch {
  int ndim;
  const int64_t* shape;
  const int64_t *a, *b, *c;  // strides
};
void gemm(Dtype dtype, const Batch& batch, int64_t m, int64_t n, int64_t k, const Matrix& a,
          const Matrix& b, const MatrixOut& c, complex128 alpha = 1.0, complex128 beta = 0.0);

// B of k x n in the order in which the kernels read it, for many products with a few rows each.
// float32 and float64 only. It may be used while Unlocked, but neither made nor dropped.
class PackedMatrix {
 public:
  PackedMatrix(Dtype dtype, int64_t k, int64_t n, const Matrix& b);
  // C = A B + beta * C with A of m x k; the columns of A and of C are adjacent. Meanwhile `ahead`
  // (may be empty) is brought near: what the caller reads next.
  struct Memory {
    const void* data = nullptr;
    int64_t size = 0;  // in elements
  };
  void product(int64_t m, const void* a, int64_t a_row, void* c, int64_t c_row, double beta,
               Memory ahead) const;

 private:
  template <class T>
  void run(int64_t m, const void* a, int64_t a_row, void* c, int64_t c_row, double beta,
           Memory ahead) const;
  Dtype dtype_;
  int64_t k_, n_;
  Tensor memory_;
};

// out[0] = sum of x[i] * y[i]; `conj` conjugates x (vdot).
void dot(Dtype dtype, int64_t n, const void* x, int64_t x_step, const void* y, int64_t y_step,
         void* out, bool conj = false);

}  // namespace ember::cpu
