// Depthwise convolutions, plane by plane on several threads. The gradient of the input is a
// convolution again: of the other gradient, its elements a stride apart, with the kernel turned.
#include "cpu/depthwise.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "cpu/dispatch.h"
#include "cpu/kernels/depthwise_kernels.h"
#include "cpu/parallel.h"
#include "tensor/allocator.h"

namespace ember::cpu::depthwise {
namespace {

constexpr int64_t kGrainTaps = 1 << 16;  // multiply-adds worth a thread

const DepthwiseKernels& kernels_of(Dtype dtype) {
  const bool wide = dtype == Dtype::Float64;
  switch (cpu_level()) {
#ifdef EMBER_HAVE_AVX512
    case Level::Avx512: return avx512::depthwise_kernels(wide);
#endif
#ifdef EMBER_HAVE_AVX2
    case Level::Avx2: return avx2::depthwise_kernels(wide);
#endif
    default: return baseline::depthwise_kernels(wide);
  }
}

struct Zeros {
  size_t bytes;
  char* data;
  explicit Zeros(int64_t n) : bytes(size_t(n)), data(static_cast<char*>(allocate(bytes))) {
    std::memset(data, 0, bytes);
  }
  ~Zeros() { deallocate(data, bytes); }
  Zeros(const Zeros&) = delete;
};

struct Plan : PlanePlan {
  std::vector<int64_t> places;
  int64_t bytes;

  // `turned`: the gradient of the input.
  Plan(const ConvSizes& s, Dtype dtype, bool turned) {
    const int64_t lanes = kernels_of(dtype).lanes;
    const int64_t *d = s.dilation + 1, *k = s.kernel + 1, *pad = s.pad + 1, *step = s.stride + 1;
    const int64_t *from = (turned ? s.out : s.in) + 1, *to = (turned ? s.in : s.out) + 1;
    const int64_t reach[2] = {d[0] * (k[0] - 1), d[1] * (k[1] - 1)};
    in_rows = from[0], in_cols = from[1], rows = to[0], cols = to[1];
    top = turned ? reach[0] - pad[0] : pad[0];
    left = turned ? reach[1] - pad[1] : pad[1];
    spread_y = turned ? step[0] : 1;
    spread_x = turned ? step[1] : 1;
    phases = turned ? 1 : step[1];
    step_y = turned ? 1 : step[0];
    vectors = (cols + lanes - 1) / lanes;
    height = (rows - 1) * step_y + reach[0] + 1;
    width = vectors * lanes + reach[1] / phases + 1;
    taps = k[0] * k[1];
    for (int64_t y = 0; y < k[0]; y++)
      for (int64_t x = 0; x < k[1]; x++)
        places.push_back(d[1] * x % phases * height * width + d[0] * y * width + d[1] * x / phases);
    if (turned) std::reverse(places.begin(), places.end());
    offsets = places.data();
    bytes = item_size(dtype);
  }
};

char* at(void* p, int64_t bytes) { return static_cast<char*>(p) + bytes; }
const char* at(const void* p, int64_t bytes) { return static_cast<const char*>(p) + bytes; }

void run(Dtype dtype, const ConvSizes& s, const Plan& p, const void* x, const void* w,
         const void* bias, void* y) {
  const DepthwiseKernels& k = kernels_of(dtype);
  const int64_t each = p.rows * p.cols * p.taps;
  parallel_for(s.n * s.c, 1 + kGrainTaps / each, [&](int64_t begin, int64_t end) {
    Zeros copy(p.size() * p.bytes);
    for (int64_t i = begin; i < end; i++) {
      k.copy_in(p, at(x, i * p.in_rows * p.in_cols * p.bytes), copy.data);
      k.run(p, copy.data, at(w, i % s.c * p.taps * p.bytes),
            bias ? at(bias, i % s.c * p.bytes) : nullptr, at(y, i * p.rows * p.cols * p.bytes));
    }
  });
}

}  // namespace

bool can(Dtype dtype, const ConvSizes& s) {
  if (s.axes > 2 || s.channels_last) return false;
  if (dtype != Dtype::Float32 && dtype != Dtype::Float64) return false;
  for (int i = 1; i < 3; i++) {
    const int64_t reach = s.dilation[i] * (s.kernel[i] - 1);
    // The turned kernel must not start inside the plane, nor zeros outweigh what is in it.
    if (s.pad[i] > reach || s.stride[i] > 4 || reach > 4 * s.in[i]) return false;
  }
  return true;
}

void forward(Dtype dtype, const ConvSizes& s, const void* x, const void* w, const void* bias,
             void* y) {
  run(dtype, s, Plan(s, dtype, false), x, w, bias, y);
}

void backward_data(Dtype dtype, const ConvSizes& s, const void* g, const void* w, void* dx) {
  run(dtype, s, Plan(s, dtype, true), g, w, nullptr, dx);
}

void backward_weights(Dtype dtype, const ConvSizes& s, const void* g, const void* x, void* dw) {
  const DepthwiseKernels& k = kernels_of(dtype);
  const Plan p(s, dtype, false);
  PlanePlan as_rows = p;  // g, its rows filled up to whole vectors
  as_rows.in_rows = as_rows.height = p.rows;
  as_rows.in_cols = p.cols;
  as_rows.top = as_rows.left = 0;
  as_rows.phases = 1;
  as_rows.width = p.vectors * k.lanes;
  const int64_t places = p.rows * p.cols;
  parallel_for(s.c, 1 + kGrainTaps / (places * p.taps * s.n), [&](int64_t begin, int64_t end) {
    Zeros copy(p.size() * p.bytes), grad(as_rows.size() * p.bytes);
    std::memset(at(dw, begin * p.taps * p.bytes), 0, size_t((end - begin) * p.taps * p.bytes));
    for (int64_t c = begin; c < end; c++)
      for (int64_t n = 0; n < s.n; n++) {
        const int64_t plane = n * s.c + c;
        k.copy_in(p, at(x, plane * p.in_rows * p.in_cols * p.bytes), copy.data);
        k.copy_in(as_rows, at(g, plane * places * p.bytes), grad.data);
        k.weights(p, copy.data, grad.data, at(dw, c * p.taps * p.bytes));
      }
  });
}

}  // namespace ember::cpu::depthwise
