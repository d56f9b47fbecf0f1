// The CPU backend: which primitives it has. Each is in the file of its family; the pointwise ones,
// and those that only check and call a loop, are in backend.cpp.
#pragma once

#include "backend.h"

namespace ember::cpu {

class CpuBackend final : public Backend {
 public:
  void* allocate(int64_t bytes) override;
  void deallocate(void* data, int64_t bytes) override;
  void copy_bytes(void* to, const void* from, int64_t bytes) override;
  void copy_from_host(const Tensor& to, const void* from) override;
  void copy_to_host(void* to, const Tensor& from) override;

  EMBER_HAS(copy, fill, unary, binary, predicate, compare, ternary, unary_grad, list_pointwise)
  EMBER_HAS(reduce, extremes, variance)
  EMBER_HAS(index_get, index_put, gather, scatter, nonzero)
  EMBER_HAS(masked_select, masked_scatter, flip, join, repeated_positions, arange, triangle)
  EMBER_HAS(matmul, weights_matmul, random_slopes, sample, sample_grad)
  EMBER_HAS(scan, sort, topk, pick, search, softmax, softmax_grad, logsumexp)
  EMBER_HAS(cholesky, solve_triangular, lu, lu_solve, lu_inverse, pivot_order, ldl, ldl_solve)
  EMBER_HAS(qr, reflect_identity, reflect, eigh, eig, svd, least_squares)
  EMBER_HAS(fft_c2c, fft_r2c, fft_c2r)
  EMBER_HAS(conv, conv_grad, unfold, fold)
  EMBER_HAS(max_pool, max_pool_grad, mean_pool, mean_pool_grad, blend, blend_grad)
  EMBER_HAS(norm_rows, norm_rows_grad, norm_groups, norm_groups_grad)
  EMBER_HAS(channel_moments, channel_scale, channel_dots, channel_combine)
  EMBER_HAS(attention, attention_grad, recurrent, recurrent_grad, class_loss, class_loss_grad)
  EMBER_HAS(sparse_mm, sampled_mm)
  EMBER_HAS(update)

 private:
  bool takes(Primitive p, Dtype dtype) const override;
};

// Ops check that their operands are on one device; what one of them missed must not be read here.
template <class... T>
void on_cpu(const T&... tensors) {
  auto one = [](const Tensor& t) {
    if (!t || t.device().is_cpu()) return;
    fail(Kind::Runtime,
         "Expected all tensors to be on the same device, but found at least two devices, cpu and ",
         t.device(), "!");
  };
  (one(tensors), ...);
}

}  // namespace ember::cpu
