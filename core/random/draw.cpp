// From a tensor to raw memory: order, gaps, complex numbers.
#include "random/draw.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "backend.h"

namespace ember::random {

namespace {

void fill_memory(void* out, int64_t n, Dtype dtype, bool in_blocks, Generator& g, const Draw& d) {
  switch (d.kind) {
    case Distribution::Uniform: return uniform(g, out, n, dtype, d.a, d.b);
    case Distribution::Normal: return normal(g, out, n, dtype, d.a, d.b, in_blocks);
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

}  // namespace

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

void fill(const Tensor& out, Generator& g, const Draw& draw) {
  Tensor ordered = in_memory_order(out, out);
  Tensor whole = ordered.is_contiguous() ? ordered : empty(ordered.shape(), out.dtype());
  int64_t parts = is_complex(out.dtype()) ? 2 : 1;
  Draw real = draw;
  if (parts == 2 && draw.kind == Distribution::Normal) real.b = draw.b / std::sqrt(2.0);
  fill_memory(whole.data(), whole.numel() * parts, real_of(out.dtype()), out.is_contiguous(), g, real);
  if (!whole.same(ordered)) backend_of(out).copy(ordered, whole);
}

}  // namespace ember::random
