// Drives the kernels of kernels/softmax.cpp. Half-precision lines are widened a few rows at a time,
// in the cache.
#include <limits>
#include <memory>

#include "cpu/dispatch.h"
#include "cpu/kernels/line_kernels.h"
#include "cpu/layout.h"
#include "cpu/lines.h"
#include "cpu/parallel.h"

namespace ember::cpu {

namespace {

constexpr int64_t kSoftmaxGrain = 8192;  // an exponential costs a few additions

EMBER_TABLE_BY_LEVEL(SoftmaxKernels, kernels_here, softmax_kernels)

// Rows at a time, such that they fill about half an L1 cache.
int64_t rows_at_once(int64_t n) { return std::max<int64_t>(1, 4096 / n); }

// Calls body(rows, inputs, out) on rows of n, in float; `x` and `out` are of `dtype`, float16 or
// bfloat16.
template <int inputs, class F>
void widened(Dtype dtype, int64_t outer, int64_t n, int64_t out_n, const Tensor* const (&x)[inputs],
             const Tensor& out, F body) {
  const Cast widen = kernels().cast[int(dtype)][int(Dtype::Float32)];
  const Cast narrow = kernels().cast[int(Dtype::Float32)][int(dtype)];
  const int64_t most = rows_at_once(n);
  parallel_for(outer, 1 + kSoftmaxGrain / n, [&](int64_t begin, int64_t end) {
    std::unique_ptr<float[]> buffer(new float[size_t(inputs * most * n + most * out_n)]);
    float* to = buffer.get() + inputs * most * n;
    for (int64_t i = begin; i < end; i += most) {
      const int64_t rows = std::min(most, end - i);
      const float* from[inputs];
      for (int k = 0; k < inputs; k++) {
        float* wide = buffer.get() + k * most * n;
        widen(static_cast<const char*>(x[k]->data()) + i * n * 2, wide, rows * n);
        from[k] = wide;
      }
      body(rows, from, to);
      narrow(to, out.data<char>() + i * out_n * 2, rows * out_n);
    }
  });
}

// Calls body(columns, offset) on blocks of lines that lie side by side.
template <class F>
void blocks(const Along& a, F body) {
  // A block should stay in the L2 cache from its first pass to the last.
  int64_t chunk = std::clamp<int64_t>(131072 / a.n / 32 * 32, 64, kSoftmaxColumns);
  chunk = std::min(chunk, std::max<int64_t>(64, (a.inner / num_threads() + 31) / 32 * 32));
  const int64_t chunks = (a.inner + chunk - 1) / chunk;
  parallel_for(a.outer * chunks, 1 + kSoftmaxGrain / (a.n * chunk),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; i++) {
                   const int64_t column = i % chunks * chunk;
                   body(std::min(chunk, a.inner - column), i / chunks * a.n * a.inner + column,
                        i / chunks * a.inner + column);
                 }
               });
}

}  // namespace

void softmax(const Tensor& out, const Tensor& x, int dim, bool log) {
  if (x.numel() == 0) return;
  const Along a(x.shape(), dim);
  const SoftmaxKernels& k = kernels_here();
  const bool by_rows = is_reduced(out.dtype()) && a.inner == 1 && x.dtype() == out.dtype();
  const Dtype dtype = by_rows ? out.dtype() : compute_of(out.dtype());
  const int type = dtype == Dtype::Float64 ? kLineF64 : kLineF32;
  Tensor from = dense(x, dtype);
  const Output to(out, dtype);
  const char* in = from.data<char>();
  char* result = to.data<char>();
  const int64_t size = item_size(dtype);
  if (by_rows) {
    widened<1>(dtype, a.outer, a.n, a.n, {&from}, to.tensor(),
               [&](int64_t rows, const float* const* xs, float* y) {
                 k.run[log][kLineF32](rows, a.n, xs[0], y);
               });
  } else if (a.inner == 1) {
    parallel_for(a.outer, 1 + kSoftmaxGrain / a.n, [&](int64_t begin, int64_t end) {
      k.run[log][type](end - begin, a.n, in + begin * a.n * size, result + begin * a.n * size);
    });
  } else {
    blocks(a, [&](int64_t columns, int64_t at, int64_t) {
      k.across[log][type](a.n, columns, in + at * size, result + at * size, a.inner);
    });
  }
  to.store();
}

void softmax_grad(const Tensor& out, const Tensor& g, const Tensor& y, int dim, bool log) {
  if (y.numel() == 0) return;
  const Along a(y.shape(), dim);
  const SoftmaxKernels& k = kernels_here();
  const bool by_rows = is_reduced(out.dtype()) && a.inner == 1 && y.dtype() == out.dtype() &&
                       g.dtype() == out.dtype();
  const Dtype dtype = by_rows ? out.dtype() : compute_of(y.dtype());
  const int type = dtype == Dtype::Float64 ? kLineF64 : kLineF32;
  Tensor gd = dense(g, dtype), yd = dense(y, dtype);
  const Output to(out, dtype);
  const char *gs = gd.data<char>(), *ys = yd.data<char>();
  char* result = to.data<char>();
  const int64_t size = item_size(dtype);
  if (by_rows) {
    widened<2>(dtype, a.outer, a.n, a.n, {&gd, &yd}, to.tensor(),
               [&](int64_t rows, const float* const* xs, float* z) {
                 k.run_grad[log][kLineF32](rows, a.n, xs[0], xs[1], z);
               });
  } else if (a.inner == 1) {
    parallel_for(a.outer, 1 + kSoftmaxGrain / a.n, [&](int64_t begin, int64_t end) {
      const int64_t at = begin * a.n * size;
      k.run_grad[log][type](end - begin, a.n, gs + at, ys + at, result + at);
    });
  } else {
    blocks(a, [&](int64_t columns, int64_t at, int64_t) {
      k.across_grad[log][type](a.n, columns, gs + at * size, ys + at * size, result + at * size,
                               a.inner);
    });
  }
  to.store();
}

void logsumexp(const Tensor& out, const Tensor& x, int dim) {
  if (out.numel() == 0) return;
  const Along a(x.shape(), dim);
  const SoftmaxKernels& k = kernels_here();
  const bool by_rows =
      is_reduced(out.dtype()) && a.inner == 1 && x.dtype() == out.dtype() && a.n > 0;
  const Dtype dtype = by_rows ? out.dtype() : compute_of(out.dtype());
  const int type = dtype == Dtype::Float64 ? kLineF64 : kLineF32;
  Tensor from = dense(x, dtype);
  const Output to(out, dtype);
  const char* in = from.data<char>();
  char* result = to.data<char>();
  const int64_t size = item_size(dtype);
  if (by_rows) {
    widened<1>(dtype, a.outer, a.n, 1, {&from}, to.tensor(),
               [&](int64_t rows, const float* const* xs, float* y) {
                 k.logsumexp[kLineF32](rows, a.n, xs[0], y);
               });
  } else if (a.inner == 1) {
    parallel_for(a.outer, 1 + kSoftmaxGrain / (a.n + 1), [&](int64_t begin, int64_t end) {
      k.logsumexp[type](end - begin, a.n, in + begin * a.n * size, result + begin * size);
    });
  } else if (a.n == 0) {
    backend_of(out).fill(out, Scalar(-std::numeric_limits<double>::infinity()));
    return;
  } else {
    blocks(a, [&](int64_t columns, int64_t at, int64_t out_at) {
      k.logsumexp_across[type](a.n, columns, in + at * size, result + out_at * size, a.inner);
    });
  }
  to.store();
}

}  // namespace ember::cpu
