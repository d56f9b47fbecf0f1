// Depthwise convolutions, plane by plane on several threads. The gradient of the input is a
// convolution again: of the other gradient, its elements a stride apart, with the kernel turned.
#include "cpu/depthwise.h"

#include "cpu/dispatch.h"
#include "cpu/parallel.h"

namespace ember::cpu::depthwise {
namespace {

constexpr int64_t kGrainTaps = 1 << 16;  // multiply-adds worth a thread

const DepthwiseKernels& kernels_of(Dtype dtype) {
  const bool wide = dtype == Dtype::Float64;
  EMBER_RETURN_BY_LEVEL(depthwise_kernels(wide))
}

struct Zeros : Scratch {
  explicit Zeros(int64_t n) : Scratch(n) { std::memset(data, 0, bytes); }
};

char* at(void* p, int64_t bytes) { return static_cast<char*>(p) + bytes; }
const char* at(const void* p, int64_t bytes) { return static_cast<const char*>(p) + bytes; }

void run(Dtype dtype, const ConvSizes& s, bool turned, const void* x, const void* w,
         const void* bias, void* y) {
  const DepthwiseKernels& k = kernels_of(dtype);
  const Planes p(s, k.lanes, turned);
  const int64_t size = item_size(dtype), each = p.rows * p.cols * p.taps;
  parallel_for(s.n * s.c, 1 + kGrainTaps / each, [&](int64_t begin, int64_t end) {
    Zeros copy(p.size() * size);
    for (int64_t i = begin; i < end; i++) {
      k.copy_in(p, at(x, i * p.in_rows * p.in_cols * size), copy.data);
      k.run(p, copy.data, at(w, i % s.c * p.taps * size), bias ? at(bias, i % s.c * size) : nullptr,
            at(y, i * p.rows * p.cols * size));
    }
  });
}

}  // namespace

bool can(Dtype dtype, const ConvSizes& s) {
  if (s.channels_last || (dtype != Dtype::Float32 && dtype != Dtype::Float64)) return false;
  for (int i = 0; i < 3; i++) {
    const int64_t reach = s.dilation[i] * (s.kernel[i] - 1);
    // The turned kernel must not start inside the plane, nor zeros outweigh what is in it.
    if (s.pad[i] > reach || s.stride[i] > 4 || reach > 4 * s.in[i]) return false;
  }
  return true;
}

void forward(Dtype dtype, const ConvSizes& s, const void* x, const void* w, const void* bias,
             void* y) {
  run(dtype, s, false, x, w, bias, y);
}

void backward_data(Dtype dtype, const ConvSizes& s, const void* g, const void* w, void* dx) {
  run(dtype, s, true, g, w, nullptr, dx);
}

void backward_weights(Dtype dtype, const ConvSizes& s, const void* g, const void* x, void* dw) {
  const DepthwiseKernels& k = kernels_of(dtype);
  const Planes p(s, k.lanes, false);
  // The rows of g, filled up to whole vectors.
  const int64_t size = item_size(dtype), width = p.vectors * k.lanes, places = p.rows * p.cols;
  parallel_for(s.c, 1 + kGrainTaps / (places * p.taps * s.n), [&](int64_t begin, int64_t end) {
    Zeros copy(p.size() * size), grad(p.rows * width * size);
    std::memset(at(dw, begin * p.taps * size), 0, size_t((end - begin) * p.taps * size));
    for (int64_t c = begin; c < end; c++)
      for (int64_t n = 0; n < s.n; n++) {
        const int64_t plane = n * s.c + c;
        k.copy_in(p, at(x, plane * p.in_rows * p.in_cols * size), copy.data);
        for (int64_t row = 0; row < p.rows; row++)
          std::memcpy(grad.data + row * width * size, at(g, (plane * places + row * p.cols) * size),
                      size_t(p.cols * size));
        k.weights(p, copy.data, grad.data, at(dw, c * p.taps * size));
      }
  });
}

}  // namespace ember::cpu::depthwise
