// Pooling: tensors as the kernels read them, plans, and planes (or samples) shared out to threads.
// float16 and bfloat16 are pooled as float32, small integers as int32.

#include <algorithm>

#include "cpu/cpu_backend.h"
#include "cpu/dispatch.h"
#include "cpu/index_support.h"
#include "cpu/layout.h"
#include "cpu/parallel.h"
#include "cpu/planes.h"
#include "cpu/resample.h"

namespace ember::cpu {
namespace {

constexpr int64_t kGrainReads = 1 << 15;  // elements read that are worth a thread

Dtype pooled_as(Dtype dtype) {
  switch (dtype) {
    case Dtype::Int16:
    case Dtype::Int8:
    case Dtype::UInt8: return Dtype::Int32;
    default: return compute_of(dtype);
  }
}

const PoolKernelsOf& kernels_of(Dtype dtype) {
  const PoolType type = dtype == Dtype::Float32   ? kPoolF32
                        : dtype == Dtype::Float64 ? kPoolF64
                        : dtype == Dtype::Int32   ? kPoolI32
                                                  : kPoolI64;
  EMBER_RETURN_BY_LEVEL(pool_kernels(type))
}

// The windows with the axes that are missing added in front.
struct Plan : PoolPlan {
  int64_t samples, planes, taps = 1;
  Plan(const Shape& x, const PoolWindows& windows, int64_t by) {
    static const int64_t zero[] = {0}, one[] = {1};
    const int missing = 3 - int(windows.size());
    for (int i = 0; i < 3; i++) {
      const PoolAxis* axis = i < missing ? nullptr : &windows[size_t(i - missing)];
      in[i] = axis ? x[2 + i - missing] : 1;
      out[i] = axis ? axis->size() : 1;
      first[i] = axis ? axis->first.data() : zero;
      last[i] = axis ? axis->last.data() : one;
      count[i] = axis ? axis->count.data() : one;
      step[i] = axis ? axis->step : 1;
      if (axis) taps *= longest(*axis);
    }
    const PoolAxis& lines = windows.back();
    kernel = lines.kernel;
    stride = lines.stride;
    padding = lines.stride ? lines.padding : 0;
    divisor = by;
    samples = x[0];
    channels = x[1];
    planes = samples * channels;
  }
  int64_t inputs() const { return in[0] * in[1] * in[2]; }
  int64_t places() const { return out[0] * out[1] * out[2]; }

 private:
  static int64_t longest(const PoolAxis& axis) {
    int64_t most = 1;
    for (size_t i = 0; i < axis.first.size(); i++)
      most = std::max(most, (axis.last[i] - axis.first[i] + axis.step - 1) / axis.step);
    return most;
  }
};

bool slides(const PoolWindows& windows) {
  return std::all_of(windows.begin(), windows.end(), [](const PoolAxis& a) { return a.stride; });
}

Slide slide_of(const Plan& p, const PoolWindows& windows) {
  Slide s;
  const int missing = 3 - int(windows.size());
  for (int i = 0; i < 3; i++) {
    const PoolAxis* axis = i < missing ? nullptr : &windows[size_t(i - missing)];
    s.in[i] = p.in[i];
    s.out[i] = p.out[i];
    s.kernel[i] = axis ? axis->kernel : 1;
    s.stride[i] = axis ? axis->stride : 1;
    s.pad[i] = axis ? axis->padding : 0;
    s.dilation[i] = axis ? axis->step : 1;
  }
  return s;
}

// Where sliding maxima are, in lists.
struct Places : MaxPlaces {
  std::vector<int64_t> base, shift, row, col;
  Places(const Plan& p, const Slide& s) {
    for (int64_t o0 = 0; o0 < p.out[0]; o0++)
      for (int64_t o1 = 0; o1 < p.out[1]; o1++) {
        const int64_t r0 = o0 * s.stride[0] - s.pad[0], r1 = o1 * s.stride[1] - s.pad[1];
        base.push_back((r0 * p.in[1] + r1) * p.in[2] - s.pad[2]);
        row.push_back((p.first[0][o0] * p.in[1] + p.first[1][o1]) * p.in[2]);
      }
    for (int64_t k0 = 0; k0 < s.kernel[0]; k0++)
      for (int64_t k1 = 0; k1 < s.kernel[1]; k1++)
        for (int64_t k2 = 0; k2 < s.kernel[2]; k2++)
          shift.push_back((k0 * s.dilation[0] * p.in[1] + k1 * s.dilation[1]) * p.in[2] +
                          k2 * s.dilation[2]);
    col.assign(p.first[2], p.first[2] + p.out[2]);
    bases = base.data();
    shifts = shift.data();
    step = s.stride[2];
    first_row = row.data();
    first_col = col.data();
  }
};

char* at(void* p, int64_t bytes) { return static_cast<char*>(p) + bytes; }

// Calls body(begin, end) on planes.
template <class F>
void each_plane(const Plan& p, int64_t reads, F body) {
  parallel_for(p.planes, 1 + kGrainReads / std::max<int64_t>(1, reads), body);
}

// Calls body(sample, first channel, last channel), with enough pieces for every thread.
template <class F>
void each_sample(const Plan& p, int64_t reads, F body) {
  const int64_t threads = num_threads();
  int64_t parts = p.samples >= threads ? 1 : (threads + p.samples - 1) / p.samples;
  parts = std::clamp<int64_t>(p.channels / 64, 1, parts);
  const int64_t width = (p.channels + parts - 1) / parts;
  const int64_t grain = 1 + kGrainReads / std::max<int64_t>(1, reads * width);
  parallel_for(p.samples * parts, grain, [&](int64_t begin, int64_t end) {
    Scratch scratch(width * 8);
    for (int64_t i = begin; i < end; i++) {
      const int64_t from = i % parts * width;
      if (from < p.channels)
        body(i / parts, from, std::min(p.channels, from + width), scratch.data);
    }
  });
}

// One window that holds everything.
bool is_whole(const Plan& p) {
  int64_t count = 1;
  for (int i = 0; i < 3; i++) {
    if (p.out[i] != 1 || p.first[i][0] != 0 || p.last[i][0] != p.in[i]) return false;
    count *= p.count[i][0];
  }
  return (p.divisor ? p.divisor : count) == p.inputs();
}
void mean_of_planes(const Tensor& y, const Tensor& x) {
  Shape dims;
  for (int i = 2; i < x.dim(); i++) dims.push_back(i);
  backend_of(x).reduce(Reduction::mean, y, x, dims, 2);
}
void spread_over_planes(const Tensor& dx, const Tensor& g, int64_t size) {
  const Tensor each = empty(g.shape(), g.dtype(), g.device());
  backend_of(g).binary(Binary::div, g.dtype(), each, {&g, nullptr, Scalar()},
                       {nullptr, nullptr, Scalar(size)});
  const Shape strides = broadcast_strides(each.shape(), each.strides(), dx.shape());
  backend_of(g).copy(dx, alias(each, dx.shape(), strides, 0));
}

}  // namespace

void CpuBackend::max_pool(const Tensor& y, const Tensor& indices, const Tensor& x,
                          const PoolWindows& windows) {
  const Dtype dtype = pooled_as(x.dtype());
  const int64_t size = item_size(dtype);
  const PoolKernelsOf& k = kernels_of(dtype);
  const Plan p(x.shape(), windows, 0);
  // Places go through 32 bits there.
  const bool last = is_channels_last(y) && p.inputs() < (int64_t(1) << 31);
  const Tensor in = laid_out(x, dtype, last);
  const Output to(y, dtype, last), places(indices, Dtype::Int64, last);
  auto* where = static_cast<int64_t*>(places.data());
  auto where_at = [&](int64_t i) { return where ? where + i : nullptr; };
  const int64_t reads = p.places() * p.taps;
  if (last) {
    each_sample(p, reads, [&](int64_t n, int64_t begin, int64_t end, void* scratch) {
      const int64_t i = n * p.inputs() * p.channels, o = n * p.places() * p.channels;
      k.max_last(p, begin, end, at(in.data(), i * size), at(to.data(), o * size), where_at(o),
                 scratch);
    });
  } else if (slides(windows)) {
    const Slide s = slide_of(p, windows);
    const Planes plan(s, k.lanes, false);
    const Places list(p, s);
    each_plane(p, reads, [&](int64_t begin, int64_t end) {
      Scratch copy(plan.size() * size);
      k.fill(copy.data, plan.size());
      for (int64_t i = begin; i < end; i++) {
        k.copy_in(plan, at(in.data(), i * p.inputs() * size), copy.data);
        k.max_sliding(plan, list, copy.data, at(to.data(), i * p.places() * size),
                      where_at(i * p.places()));
      }
    });
  } else {
    each_plane(p, reads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++)
        k.max(p, at(in.data(), i * p.inputs() * size), at(to.data(), i * p.places() * size),
              where_at(i * p.places()));
    });
  }
  to.store();
  places.store();
}

void CpuBackend::max_pool_grad(const Tensor& dx, const Tensor& g, const Tensor& indices) {
  const Dtype dtype = pooled_as(g.dtype());
  const int64_t size = item_size(dtype);
  const PoolKernelsOf& k = kernels_of(dtype);
  const bool last = is_channels_last(indices);
  const Tensor from = laid_out(g, dtype, last), where = laid_out(indices, Dtype::Int64, last);
  const Output to(dx, dtype, last);
  PoolWindows sizes;
  for (int i = 2; i < g.dim(); i++) {
    sizes.emplace_back();
    sizes.back().first.resize(size_t(g.size(i)));
    sizes.back().last.resize(size_t(g.size(i)));
  }
  const Plan p(dx.shape(), sizes, 0);
  const int64_t reads = p.places() + p.inputs();
  if (last) {
    each_sample(p, reads, [&](int64_t n, int64_t begin, int64_t end, void*) {
      const int64_t i = n * p.inputs() * p.channels, o = n * p.places() * p.channels;
      k.max_grad_last(p, begin, end, at(from.data(), o * size), where.data<int64_t>() + o,
                      at(to.data(), i * size));
    });
  } else {
    each_plane(p, reads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++)
        k.max_grad(p.inputs(), p.places(), at(from.data(), i * p.places() * size),
                   where.data<int64_t>() + i * p.places(), at(to.data(), i * p.inputs() * size));
    });
  }
  to.store();
}

void CpuBackend::mean_pool(const Tensor& y, const Tensor& x, const PoolWindows& windows,
                           int64_t divisor) {
  const Plan p(x.shape(), windows, divisor);
  const bool whole = is_whole(p);
  if (whole && is_channels_last(x) && is_floating(x.dtype())) return mean_of_planes(y, x);
  const Dtype dtype = pooled_as(x.dtype());
  const int64_t size = item_size(dtype);
  const PoolKernelsOf& k = kernels_of(dtype);
  const bool last = is_channels_last(y);
  const Tensor in = laid_out(x, dtype, last);
  const Output to(y, dtype, last);
  const int64_t reads = p.places() * p.taps;
  if (last) {
    each_sample(p, reads, [&](int64_t n, int64_t begin, int64_t end, void*) {
      const int64_t i = n * p.inputs() * p.channels, o = n * p.places() * p.channels;
      k.mean_last(p, begin, end, at(in.data(), i * size), at(to.data(), o * size));
    });
  } else {
    each_plane(p, reads, [&](int64_t begin, int64_t end) {
      Scratch scratch(mean_scratch(p) * size);
      for (int64_t i = begin; i < end && whole; i++)
        k.mean_of_all(p.inputs(), at(in.data(), i * p.inputs() * size), at(to.data(), i * size));
      for (int64_t i = begin; i < end && !whole; i++)
        k.mean(p, at(in.data(), i * p.inputs() * size), at(to.data(), i * p.places() * size),
               scratch.data);
    });
  }
  to.store();
}

void CpuBackend::mean_pool_grad(const Tensor& dx, const Tensor& g, const PoolWindows& windows,
                                int64_t divisor) {
  const Plan p(dx.shape(), windows, divisor);
  if (is_whole(p)) return spread_over_planes(dx, g, p.inputs());
  const Dtype dtype = pooled_as(g.dtype());
  const int64_t size = item_size(dtype);
  const PoolKernelsOf& k = kernels_of(dtype);
  const bool last = is_channels_last(dx);
  const Tensor from = laid_out(g, dtype, last);
  const Output to(dx, dtype, last);
  const int64_t reads = p.places() * p.taps;
  if (last) {
    each_sample(p, reads, [&](int64_t n, int64_t begin, int64_t end, void* scratch) {
      const int64_t i = n * p.inputs() * p.channels, o = n * p.places() * p.channels;
      k.mean_grad_last(p, begin, end, at(from.data(), o * size), at(to.data(), i * size), scratch);
    });
  } else {
    each_plane(p, reads, [&](int64_t begin, int64_t end) {
      Scratch scratch(mean_scratch(p) * size);
      for (int64_t i = begin; i < end; i++)
        k.mean_grad(p, at(from.data(), i * p.places() * size), at(to.data(), i * p.inputs() * size),
                    scratch.data);
    });
  }
  to.store();
}

void CpuBackend::blend(const Tensor& y, const Tensor& x, int dim, const Taps& taps) {
  cpu::blend(y, x, dim, taps);
}
void CpuBackend::blend_grad(const Tensor& dx, const Tensor& g, int dim, const Taps& taps) {
  cpu::blend_grad(dx, g, dim, taps);
}

}  // namespace ember::cpu
