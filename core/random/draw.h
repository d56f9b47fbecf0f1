// A draw as a value: what a backend is asked for when a tensor is to be filled with random numbers.
#pragma once

#include "random/distributions.h"
#include "tensor/tensor.h"

namespace ember {

enum class Distribution : uint8_t {
  Uniform,          // a = low, b = high
  Normal,           // a = mean, b = std
  Exponential,      // a = rate
  Cauchy,           // a = median, b = sigma
  LogNormal,        // a = mean, b = std
  Geometric,        // a = p
  Bernoulli,        // a = p, b = the value that stands for 1
  Integers,         // low, width
  IntegersOfDtype,  // all that the dtype holds
  Permutation,
};

struct Draw {
  Distribution kind;
  double a = 0.0, b = 0.0;
  int64_t low = 0;
  uint64_t width = 0;
};

namespace random {

// Fills n adjacent elements of host memory; complex ones as pairs of reals. `in_blocks` is whether
// they are a contiguous tensor: normal numbers depend on it.
void fill(void* out, int64_t n, Dtype dtype, bool in_blocks, Generator& g, const Draw& draw);

// `t` with its dimensions in the order of the memory of `like`, which has as many. `like` itself
// becomes contiguous by it, unless it has gaps.
Tensor in_memory_order(const Tensor& t, const Tensor& like);

}  // namespace random

}  // namespace ember
