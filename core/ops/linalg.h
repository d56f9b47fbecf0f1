// What the files of linear algebra share. Matrices are the last two dimensions, the rest a batch.
#pragma once

#include "backend.h"
#include "ops/ops.h"

namespace ember {

// --- checks ------------------------------------------------------------------------------------
void check_matrix(const char* op, const Tensor& a, const char* name = "A");
void check_square(const char* op, const Tensor& a, const char* name = "A");
// A floating or complex dtype that LAPACK has.
void check_linalg_dtype(const char* op, const Tensor& a, const char* name = "A");
void check_same_dtype(const char* op, const Tensor& a, const Tensor& b);
// Raises LinAlgError for the first matrix whose info is not 0; `why` makes the text from it.
void check_info(const char* op, const Tensor& info, std::string (*why)(int64_t));
// Raises LinAlgError for the first matrix with a NaN or infinity, on which LAPACK would print.
void check_finite(const char* op, const Tensor& a);

// --- shapes ------------------------------------------------------------------------------------
inline Shape batch_of(const Tensor& t, int matrix_dims = 2) {
  return Shape(t.shape().data(), t.dim() - matrix_dims);
}
inline Shape with_sizes(Shape batch, std::initializer_list<int64_t> sizes) {
  for (int64_t s : sizes) batch.push_back(s);
  return batch;
}
inline int64_t smaller_size(const Tensor& a) { return std::min(a.size(-2), a.size(-1)); }
// The matrices of t, repeated over a batch.
Tensor spread_over(const Tensor& t, const Shape& batch);
Shape common_batch(const char* op, const Tensor& a, const Tensor& b);

// --- memory for kernels ------------------------------------------------------------------------
// Laid out by columns, as the kernels want them (families/linalg.h); no history.
Tensor empty_by_columns(const Shape& shape, Dtype dtype, Device device);
Tensor by_columns(const Tensor& t);
// The transposes of matrices without history, not as a view.
Tensor transposed(const Tensor& t);
// The device's kernels; nullptr if there is nothing to compute (meta, or no elements in `x`).
// What else they read must be on the same device.
Backend* kernels_for(const char* op, const Tensor& x, std::initializer_list<Tensor> others = {});
inline Tensor info_for(const Tensor& a) { return zeros(batch_of(a), Dtype::Int32, a.device()); }

// --- small matrices of ops ---------------------------------------------------------------------
// The same values with the columns of each matrix contiguous, as LAPACK leaves them.
inline Tensor column_major(const Tensor& t) {
  if (t.size(-1) < 2 || t.size(-2) < 2) return t;
  NoGrad guard;
  return transpose(contiguous(transpose(t, -2, -1)), -2, -1);
}
inline void check_real_order(const char* op, const Scalar& order) {
  check(!order.is_complex(), Kind::Runtime, op,
        ": Expected a non-complex scalar as the order, got ", order);
}

inline Tensor adjoint_of(const Tensor& t) { return conj(transpose(t, -2, -1)); }
Tensor identity(int64_t n, const Tensor& like);

// --- lu.cpp ------------------------------------------------------------------------------------
struct LuFactors {
  Tensor lu, pivots, info;
};
LuFactors lu_factors(const char* op, const Tensor& a);  // no history
// The x with op(a) x = b or x op(a) = b, from factors; no history.
Tensor solve_by_lu(const char* op, const Tensor& lu, const Tensor& pivots, const Tensor& b,
                   bool left, Apply apply);
// The permutation matrix P of a = P L U, for m rows.
Tensor pivot_matrix(const Tensor& pivots, int64_t m, Dtype dtype);

// --- svd.cpp -----------------------------------------------------------------------------------
struct Svd {
  Tensor u, s, vh;
};
Svd svd(const Tensor& a, bool full_matrices, const char* op = "linalg.svd");
// Without the vectors, unless a gradient needs them.
Tensor svdvals(const Tensor& a, const char* op = "linalg.svdvals");
// Raises if the imaginary parts `a` and `b` differ: a loss would depend on the phase of vectors.
void check_phase(const char* op, const Tensor& a, const Tensor& b);

// --- eigen.cpp ---------------------------------------------------------------------------------
std::tuple<Tensor, Tensor> eigh(const Tensor& a, const std::string& uplo = "L");
Tensor eigvalsh(const Tensor& a, const std::string& uplo, const char* op);

// --- pinv.cpp, matrix_norms.cpp ----------------------------------------------------------------
Tensor pinv(const Tensor& a);
// The gradient of a from that of its pseudo-inverse p.
Tensor pinv_rule(const Tensor& g, const Tensor& p, const Tensor& a);
Tensor nuclear_norm(const char* op, const Tensor& self, const Dims& dim, bool keepdim,
                    std::optional<Dtype> dtype);

// --- solve.cpp, determinant.cpp ----------------------------------------------------------------
Tensor solve(const Tensor& a, const Tensor& b, bool left = true);
Tensor inv(const Tensor& a);
std::tuple<Tensor, Tensor> inv_ex(const Tensor& a);  // and the info, unchecked
Tensor det(const Tensor& a);

}  // namespace ember
