// Dense factorisations that a device may provide, as LAPACK has them.
//
// Every operand is a batch of matrices laid out by columns: the last two strides are 1 and the
// number of rows, the batch in front is contiguous (ops/linalg.h: by_columns). Vectors per matrix
// (pivots, tau, values) are contiguous. All have one dtype, float32, float64 or their complex
// partners, unless said otherwise, and nothing is empty. `info` (int32, one per matrix) is 0, or
// what LAPACK says.
#pragma once

#include "backend.h"

namespace ember {

enum class Apply : uint8_t { Plain, Transpose, Adjoint };
enum class LeastSquares : uint8_t { Gels, Gelsy, Gelsd, Gelss };

// How many matrices a batch holds.
inline int64_t batch_count(const Tensor& a) { return a.numel() / (a.size(-2) * a.size(-1)); }

class LinalgKernels {
 public:
  virtual ~LinalgKernels() = default;

  // a (m, n) becomes its packed LU factors; pivots (int32, k = min(m, n)) count rows from 1. info
  // is the first column without a pivot.
  virtual void lu(const Tensor& a, const Tensor& pivots, const Tensor& info) = 0;
  // b becomes the x with op(a) x = b, from the factors of lu().
  virtual void lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, Apply op) = 0;
  // out becomes the inverse of a, if the device has a better way than to solve for the identity.
  virtual bool lu_inverse(const Tensor& lu, const Tensor& pivots, const Tensor& out) {
    return (void)lu, (void)pivots, (void)out, false;
  }

  // rows (int64, m): which row each one of the factors was, from the pivots (k) of lu().
  virtual void pivot_order(const Tensor& pivots, const Tensor& rows) = 0;

  // Symmetric or Hermitian a (its lower triangle) becomes its packed LDL factors (Bunch-Kaufman).
  virtual void ldl(const Tensor& a, const Tensor& pivots, const Tensor& info, bool hermitian) = 0;
  virtual void ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b,
                         bool hermitian) = 0;

  // a (m, n) becomes R and, below it, the vectors of the reflectors whose factors are tau (k).
  virtual void qr(const Tensor& a, const Tensor& tau) = 0;
  // The reflectors in a (m, n), m >= n, become the first n columns of their product.
  virtual void reflect_identity(const Tensor& a, const Tensor& tau) = 0;
  // c becomes Q c, Q^H c, c Q or c Q^H, Q being the product of all reflectors in a.
  virtual void reflect(const Tensor& a, const Tensor& tau, const Tensor& c, bool left,
                       bool adjoint) = 0;

  // a (n, n), of which one triangle is read, becomes its eigenvectors if they are wanted; values
  // are real, ascending.
  virtual void eigh(const Tensor& a, const Tensor& values, const Tensor& info, bool upper,
                    bool vectors) = 0;
  // Complex values (n) and, if defined, right eigenvectors (n, n) of a, which is destroyed.
  virtual void eig(const Tensor& a, const Tensor& values, const Tensor& vectors,
                   const Tensor& info) = 0;
  // Real singular values s (k) of a, which is destroyed, and, if defined, u (m, m or k) and vh (n
  // or k, n).
  virtual void svd(const Tensor& a, const Tensor& s, const Tensor& u, const Tensor& vh,
                   const Tensor& info) = 0;
  // b (max(m, n), columns) becomes the least-norm solution in its first n rows; a is destroyed.
  // rank (int32) and singular values (k, real) where the driver computes them.
  virtual void least_squares(LeastSquares driver, const Tensor& a, const Tensor& b, double rcond,
                             const Tensor& rank, const Tensor& s, const Tensor& info) = 0;
};

}  // namespace ember
