// Resampling: an axis of a dense tensor, and what lies around it, shared out to threads.
#include "cpu/resample.h"

#include <algorithm>

#include "cpu/dispatch.h"
#include "cpu/kernels/plane_kernels.h"
#include "cpu/layout.h"
#include "cpu/parallel.h"

namespace ember::cpu {
namespace {

constexpr int64_t kGrainReads = 1 << 15;

const BlendKernels& kernels_of(Dtype dtype) {
  const bool wide = dtype == Dtype::Float64;
  EMBER_RETURN_BY_LEVEL(blend_kernels(wide))
}

// (outer, n, inner) in the order of memory.
struct Sides {
  int64_t outer = 1, inner = 1;
  Sides(const Shape& shape, int dim, bool channels_last) {
    for (int d = 0; d < shape.size(); d++) {
      const bool before = channels_last ? d == 0 || (d > 1 && d < dim) : d < dim;
      if (d != dim) (before ? outer : inner) *= shape[d];
    }
  }
};

using Kernel = void (*)(const BlendPlan&, int64_t, int64_t, const void*, void*);

template <class T>
void run(Kernel kernel, const Sides& s, int64_t in, int64_t out, const Taps& taps, bool back,
         const Tensor& from, const Tensor& to) {
  const std::vector<T> weight(taps.weight.begin(), taps.weight.end());
  const BlendPlan p{in, out, s.inner, taps.width, taps.index.data(), weight.data()};
  const int64_t from_size = (back ? out : in) * s.inner, to_size = (back ? in : out) * s.inner;
  const int64_t parts = s.outer >= num_threads() ? 1 : std::clamp<int64_t>(s.inner / 256, 1, 16);
  const int64_t width = (s.inner + parts - 1) / parts;
  const int64_t grain = 1 + kGrainReads / std::max<int64_t>(1, out * taps.width * width);
  const T* x = from.data<T>();
  T* y = to.data<T>();
  parallel_for(s.outer * parts, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const int64_t first = i % parts * width, last = std::min(s.inner, first + width);
      if (first < last) kernel(p, first, last, x + i / parts * from_size, y + i / parts * to_size);
    }
  });
}

void run(const Tensor& to, const Tensor& from, int dim, const Taps& taps, bool back) {
  const bool last = is_channels_last(to);
  const Tensor x = laid_out(from, to.dtype(), last);
  const Output y(to, to.dtype(), last);
  const Sides sides(to.shape(), dim, last);
  const int64_t in = (back ? to : from).size(dim), out = (back ? from : to).size(dim);
  const BlendKernels& k = kernels_of(to.dtype());
  const Kernel kernel = back ? k.grad : k.run;
  if (to.dtype() == Dtype::Float64)
    run<double>(kernel, sides, in, out, taps, back, x, y.tensor());
  else
    run<float>(kernel, sides, in, out, taps, back, x, y.tensor());
  y.store();
}

}  // namespace

void blend(const Tensor& y, const Tensor& x, int dim, const Taps& taps) {
  run(y, x, dim, taps, false);
}
void blend_grad(const Tensor& dx, const Tensor& g, int dim, const Taps& taps) {
  run(dx, g, dim, taps, true);
}

}  // namespace ember::cpu
