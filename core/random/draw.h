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

// Fills `out`, whose memory is the host's, with any strides but no overlap, in the order of its memory.
void fill(const Tensor& out, Generator& g, const Draw& draw);

// `out` with its dimensions in the order of memory; contiguous unless `out` has gaps. `like`, of the same
// number of dimensions, gives the order.
Tensor in_memory_order(const Tensor& t, const Tensor& like);

}  // namespace random

}  // namespace ember
