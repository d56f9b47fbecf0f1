// Normalization step by step, in differentiable ops: for devices that do not fuse it, and where the
// gradient itself must be differentiable.
#pragma once

#include "backend.h"
#include "ops/ops.h"

namespace ember {

struct Normalized {
  Tensor mean, rstd;  // with size 1 along the reduced dimensions; no mean if root mean square
  Tensor value;       // (x - mean) * rstd
};
Normalized normalized(const Tensor& x, const Shape& dims, double eps,
                      bool root_mean_square = false);
// The gradient of `value` with respect to x.
Tensor normalized_grad(const Tensor& g, const Normalized& n, const Shape& dims);

// value * weight + bias, where these are given.
inline Tensor affine(Tensor value, const Tensor& weight, const Tensor& bias) {
  if (weight) value = value * weight;
  return bias ? value + bias : value;
}
inline Tensor wide(const Tensor& t) {
  return t && is_reduced(t.dtype()) ? to(t, Dtype::Float32) : t;
}
inline Dtype statistics_dtype(const Tensor& x) { return compute_of(x.dtype()); }
// A contiguous tensor in another shape, without history.
inline Tensor flat(const Tensor& t, const Shape& shape) {
  return alias(t, shape, contiguous_strides(shape), t.offset());
}
// Weights have the input's dtype, or float32 where that is smaller.
void check_norm_dtypes(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias);
// torch's dtype of saved statistics: the weights', or the input's without weights.
inline Tensor as_saved(const Tensor& t, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return to(t, weight ? weight.dtype() : bias ? bias.dtype() : x.dtype());
}

}  // namespace ember
