// Pooling over windows of one to three axes, as a device may provide it. Windows of any kind
// (sliding, adaptive) are lists of where each begins and ends.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace ember {

// The windows along one axis: window i holds first[i], first[i] + step ... below last[i], all
// inside the input.
struct PoolAxis {
  std::vector<int64_t> first, last;
  std::vector<int64_t> count;  // what a mean divides by, which may count padding
  int64_t step = 1;
  // Sliding windows are known by these as well; stride is 0 for others.
  int64_t kernel = 0, stride = 0, padding = 0;

  int64_t size() const { return int64_t(first.size()); }
};
using PoolWindows = std::vector<PoolAxis>;

// Weighted sums along one axis: result i is the sum over t of weight[i, t] * x[index[i, t]].
struct Taps {
  int64_t width = 0;  // of each result
  std::vector<int64_t> index;
  std::vector<double> weight;

  int64_t size() const { return int64_t(index.size()) / width; }
};

// Tensors are (N, C, ...), of one dtype but for indices, contiguous or channels-last, with no size
// 0.
class PoolKernels {
 public:
  virtual ~PoolKernels() = default;
  // The maximum of each window and, if defined, its position in the flattened last axes of x
  // (int64). The first of equals counts; NaN is larger than all. Any real dtype.
  virtual void max(const Tensor& y, const Tensor& indices, const Tensor& x,
                   const PoolWindows& windows) = 0;
  // dx is 0 but for the sums of g at these positions.
  virtual void max_grad(const Tensor& dx, const Tensor& g, const Tensor& indices) = 0;
  // The mean of each window, or its sum divided by `divisor` if that is not 0. Floats and int64.
  virtual void mean(const Tensor& y, const Tensor& x, const PoolWindows& windows,
                    int64_t divisor) = 0;
  virtual void mean_grad(const Tensor& dx, const Tensor& g, const PoolWindows& windows,
                         int64_t divisor) = 0;
  // Resampling of float32 and float64 along `dim`, and its gradient.
  virtual void blend(const Tensor& y, const Tensor& x, int dim, const Taps& taps) = 0;
  virtual void blend_grad(const Tensor& dx, const Tensor& g, int dim, const Taps& taps) = 0;
};

}  // namespace ember
