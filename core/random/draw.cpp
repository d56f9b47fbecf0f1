// From a draw to the function that makes it, and from a tensor to the order in which it is drawn.
#include "random/draw.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace ember::random {

void fill(void* out, int64_t n, Dtype dtype, bool in_blocks, Generator& g, const Draw& d) {
  double scale = 1.0;  // of a normal number's parts, so that it has variance 1 as a whole
  if (is_complex(dtype)) {
    n *= 2;
    dtype = real_of(dtype);
    scale = std::sqrt(2.0);
  }
  switch (d.kind) {
    case Distribution::Uniform: return uniform(g, out, n, dtype, d.a, d.b);
    case Distribution::Normal: return normal(g, out, n, dtype, d.a, d.b / scale, in_blocks);
    case Distribution::Exponential: return exponential(g, out, n, dtype, d.a);
    case Distribution::Cauchy: return cauchy(g, out, n, dtype, d.a, d.b);
    case Distribution::LogNormal: return log_normal(g, out, n, dtype, d.a, d.b);
    case Distribution::Geometric: return geometric(g, out, n, dtype, d.a);
    case Distribution::Bernoulli: return bernoulli(g, out, n, dtype, d.a, d.b);
    case Distribution::Integers: return integers(g, out, n, dtype, d.low, d.width);
    case Distribution::IntegersOfDtype: return integers_of_dtype(g, out, n, dtype);
    case Distribution::Permutation: return permutation(g, out, n, dtype);
  }
}

Tensor in_memory_order(const Tensor& t, const Tensor& like) {
  if (like.is_contiguous()) return t;
  std::vector<int> order(size_t(like.dim()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int i, int j) { return like.stride(i) > like.stride(j); });
  Shape shape = t.shape(), strides = t.strides();
  for (int i = 0; i < like.dim(); i++) {
    shape[i] = t.size(order[size_t(i)]);
    strides[i] = t.stride(order[size_t(i)]);
  }
  return alias(t, std::move(shape), std::move(strides), t.offset());
}

}  // namespace ember::random
