// The OpenCL backend: which primitives it has, each in the file of its family. What has no kernel
// here raises NotImplementedError with the name of the primitive, or runs on the host if asked to
// (fallback.h).
#pragma once

#include "backend.h"

namespace ember::opencl {

class OpenClBackend : public Backend {
 public:
  void* allocate(int64_t bytes) override;
  void deallocate(void* data, int64_t bytes) override;
  void copy_bytes(void* to, const void* from, int64_t bytes) override;
  void copy_from_host(const Tensor& to, const void* from) override;
  void copy_to_host(void* to, const Tensor& from) override;
  void send(const Tensor& to, const Tensor& host) override;
  void receive(const Tensor& host, const Tensor& from) override;
  void synchronize() override;
  int current_index() override;
  void select(int index) override;

  EMBER_HAS(copy, fill, unary, binary, predicate, compare, ternary, unary_grad)
  EMBER_HAS(reduce, extremes, variance)
  EMBER_HAS(index_get, index_put, gather, scatter, nonzero)
  EMBER_HAS(masked_select, masked_scatter, flip, repeated_positions)
  EMBER_HAS(matmul)
  EMBER_HAS(scan, sort, topk, pick, search, softmax, softmax_grad)
  EMBER_HAS(random)
  EMBER_HAS(cholesky, solve_triangular, lu, lu_solve, pivot_order, ldl, ldl_solve)
  EMBER_HAS(qr, reflect_identity, reflect, eigh, eig, svd, least_squares)
  EMBER_HAS(fft_c2c, fft_r2c, fft_c2r)
  EMBER_HAS(conv, conv_grad, unfold, fold)
  EMBER_HAS(max_pool, max_pool_grad, mean_pool, mean_pool_grad, blend, blend_grad)
  EMBER_HAS(norm_rows, norm_rows_grad, norm_groups, norm_groups_grad)
  EMBER_HAS(channel_moments, channel_scale, channel_dots, channel_combine)
  EMBER_HAS(recurrent, recurrent_grad, class_loss, class_loss_grad)
  EMBER_HAS(sparse_mm, sampled_mm)
  EMBER_HAS(update)

 protected:
  bool takes(Primitive p, Dtype dtype) const override;
};

// For kernels that are made of others: the backend without its fallback.
OpenClBackend& own();

extern bool deterministic;  // scatters add up in order, not as work-items come

}  // namespace ember::opencl
