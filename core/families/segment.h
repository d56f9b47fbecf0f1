// Sums over segments: products with sparse matrices in compressed rows (CSR).
#pragma once

#include "tensor/tensor.h"

namespace ember {

// A matrix of R rows: row r has the elements start[r] .. start[r + 1] - 1 of `columns` and of the
// values. Both are int64 and contiguous. Positions out of bounds are a RuntimeError.
struct CsrRows {
  const Tensor& start;    // (R + 1)
  const Tensor& columns;  // (nnz)
  int64_t width;          // columns of the matrix
};

class SegmentKernels {
 public:
  virtual ~SegmentKernels() = default;
  // These are false for dtypes that there is no kernel for. All operands have the dtype of `out`
  // and are contiguous. out (R, N) = a @ dense (width, N), or, transposed, out (width, N) = a^T @
  // dense (R, N).
  virtual bool sparse_mm(const Tensor& out, const CsrRows& a, const Tensor& values,
                         const Tensor& dense, bool transposed) = 0;
  // out[k] = sum_j a[r, j] * b[c, j] for each element k of the matrix, at (r, c): a (R, N), b
  // (width, N).
  virtual bool sampled_mm(const Tensor& out, const CsrRows& at, const Tensor& a,
                          const Tensor& b) = 0;
};

}  // namespace ember
