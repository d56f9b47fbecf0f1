// Normalization, fused: statistics, scaling and their gradients in one pass each.
// All tensors are floating and of one device; outputs are allocated, and what is undefined is not
// wanted. Statistics and everything in between are float64 for float64, else float32.
#pragma once

#include "backend.h"

namespace ember {

class NormKernels {
 public:
  virtual ~NormKernels() = default;

  // Each row of x (M, N) by its own statistics: out = (x - mean) * rstd * weight + bias, weight and
  // bias (N). An undefined mean means the root mean square: nothing is subtracted.
  virtual void rows(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x,
                    const Tensor& weight, const Tensor& bias, double eps) = 0;
  virtual void rows_grad(const Tensor& dx, const Tensor& dweight, const Tensor& dbias,
                         const Tensor& g, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                         const Tensor& weight) = 0;

  // Groups of channels of x (N, C, S), contiguous: mean and rstd (N * groups), weight and bias (C).
  virtual void groups(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x,
                      const Tensor& weight, const Tensor& bias, double eps) = 0;
  virtual void groups_grad(const Tensor& dx, const Tensor& dweight, const Tensor& dbias,
                           const Tensor& g, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                           const Tensor& weight) = 0;

  // Channels of x (N, C, S) over N and S; x and out have one layout, contiguous or with C last.
  // mean and variance (C), the latter divided by the count.
  virtual void channel_moments(const Tensor& mean, const Tensor& variance, const Tensor& x) = 0;
  // out = x * scale + shift, for each channel.
  virtual void channel_scale(const Tensor& out, const Tensor& x, const Tensor& scale,
                             const Tensor& shift) = 0;
  // The sums of g and of g * (x - mean) over each channel.
  virtual void channel_dots(const Tensor& sum, const Tensor& dot, const Tensor& g, const Tensor& x,
                            const Tensor& mean) = 0;
  // dx = g * by_g + x * by_x + rest, for each channel.
  virtual void channel_combine(const Tensor& dx, const Tensor& g, const Tensor& x,
                               const Tensor& by_g, const Tensor& by_x, const Tensor& rest) = 0;
};

}  // namespace ember
