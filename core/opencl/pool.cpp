// Pooling and resampling. Gradients are gathered: every element of the input asks which windows
// held it.

#include <list>

#include "opencl/device.h"
#include "opencl/launch.h"
#include "opencl/opencl_backend.h"
#include "opencl/sources.h"
#include "opencl/text.h"

namespace ember::opencl {

namespace {

constexpr int64_t kItems = 64;

struct Pool {  // the struct of kernels/pool.cl
  int64_t n = 0, channels = 1, last = 0;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, taps[3] = {1, 1, 1}, stride[3] = {1, 1, 1};
  int64_t pad[3] = {}, step[3] = {1, 1, 1}, pads[3] = {}, divisor = 0;
  struct Operand {
    int64_t at = 0, n = 0, c = 0, axis[3] = {};
  } x, y, indices;
};

void place(Pool::Operand& o, const Tensor& t) {
  if (!t) return;
  o.at = t.offset(), o.n = t.stride(0), o.c = t.stride(1);
  for (int d = 2; d < t.dim(); d++) o.axis[3 - t.dim() + d] = t.stride(d);
}

Pool pool_of(const Tensor& x, const Tensor& y, const Tensor& indices) {
  Pool s;
  for (int d = 2; d < x.dim(); d++) {
    s.in[3 - x.dim() + d] = x.size(d);
    s.out[3 - x.dim() + d] = y.size(d);
  }
  s.channels = x.size(1);
  s.last = s.channels > 1 && x.stride(1) == 1;
  place(s.x, x);
  place(s.y, y);
  place(s.indices, indices);
  return s;
}

// Lists of windows as numbers, which kernels need no memory for.
void add_windows(Pool& s, const PoolWindows& windows) {
  for (size_t k = 0; k < windows.size(); k++) {
    const PoolAxis& axis = windows[k];
    const size_t d = 3 - windows.size() + k;
    s.stride[d] = axis.stride;
    s.step[d] = axis.step;
    if (!axis.stride) continue;
    s.taps[d] = axis.kernel;
    s.pad[d] = axis.padding;
    for (size_t i = 0; i < axis.count.size(); i++)
      if (axis.count[i] != std::max<int64_t>(1, axis.last[i] - axis.first[i])) s.pads[d] = 1;
  }
}

// Elements that an item makes.
int64_t run_of_item() { return items_work_alone() ? 64 : 1; }

// Whether 32 bits are enough for places and what is calculated from them.
bool is_small(const Pool& s) {
  constexpr int64_t most = int64_t(1) << 30;
  int64_t all = s.n;
  for (int d = 0; d < 3; d++)
    all = std::max({all, (s.in[d] + 1) * (s.out[d] + 1), s.in[d] + s.pad[d] + s.taps[d] * s.step[d],
                    s.out[d] * s.stride[d]});
  return all < most;
}

std::string text_of(Dtype dtype, const char* part, bool small) {
  const Dtype acc = accumulator(dtype);
  return define("ACC", value_type(acc)) + element("", dtype, acc) + define(part, 1) +
         define("INT", small ? "i32" : "i64") + define("RUN", run_of_item()) +
         define("LOWEST", is_floating(acc) ? "(-(ACC)INFINITY)" : "((ACC)1 << 63)") + sources::pool;
}

Launch start(const char* name, Dtype dtype, const Pool& s) {
  const bool small = is_small(s);
  return Launch(name + std::to_string(int(dtype)) + (small ? "s" : "l"), name,
                [&] { return text_of(dtype, "POOL", small); });
}

void run(Launch& launch, int64_t n) {
  const int64_t each = run_of_item();
  launch.run((n + each - 1) / each, each > 1 ? 8 : kItems);
}

bool is_whole(const Tensor& x, const PoolWindows& windows) {
  for (size_t d = 0; d < windows.size(); d++)
    if (windows[d].size() != 1 || windows[d].first[0] != 0 || windows[d].step != 1 ||
        windows[d].last[0] != x.size(int64_t(d) + 2) || windows[d].count[0] != windows[d].last[0])
      return false;
  return true;
}

// --- resampling ----------------------------------------------------------------------------------

// Sums of elements along a line, in the memory of the device.
struct Sums {
  Taps taps;
  int64_t size = 0;  // of a line that is written
  bool back = false;
  Dtype dtype = Dtype::Float32;
  Device device;
  Tensor starts, places, weights;

  bool is(const Taps& t, int64_t n, bool b, Dtype d, Device on) const {
    return size == n && back == b && dtype == d && device == on && taps.width == t.width &&
           taps.index == t.index && taps.weight == t.weight;
  }
};

Tensor uploaded(const std::vector<int64_t>& values, Device device) {
  Tensor t = empty({int64_t(values.size())}, Dtype::Int64, device);
  backend_of(t).copy_from_host(t, values.data());
  return t;
}

Sums make_sums(const Taps& taps, int64_t size, bool back, Dtype dtype, Device device) {
  Sums s{taps, size, back, dtype, device, {}, {}, {}};
  std::vector<int64_t> starts(size_t(size) + 1, 0), places(taps.index.size());
  std::vector<double> weights(taps.weight.size());
  if (back) {  // sorted by where they came from
    for (int64_t at : taps.index) starts[size_t(at) + 1]++;
    for (size_t i = 1; i < starts.size(); i++) starts[i] += starts[i - 1];
    std::vector<int64_t> next = starts;
    for (size_t e = 0; e < taps.index.size(); e++) {
      const size_t to = size_t(next[size_t(taps.index[e])]++);
      places[to] = int64_t(e) / taps.width;
      weights[to] = taps.weight[e];
    }
  } else {
    for (size_t i = 0; i < starts.size(); i++) starts[i] = int64_t(i) * taps.width;
    places = taps.index;
    weights = taps.weight;
  }
  s.starts = uploaded(starts, device);
  s.places = uploaded(places, device);
  Tensor host = empty({int64_t(weights.size())}, Dtype::Float64), narrow = host;
  std::copy(weights.begin(), weights.end(), host.data<double>());
  if (dtype == Dtype::Float32) {
    narrow = empty(host.shape(), dtype);
    backend_of(host).copy(narrow, host);
  }
  s.weights = empty(host.shape(), dtype, device);
  backend_of(s.weights).copy_from_host(s.weights, narrow.data());
  return s;
}

// The same few are asked for again and again: writing them to the device would wait for it.
Sums sums_of(const Taps& taps, int64_t size, bool back, Dtype dtype, Device device) {
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::list<Sums>;
  constexpr size_t kKept = 32;
  std::lock_guard lock(mutex);
  for (auto it = known.begin(); it != known.end(); ++it)
    if (it->is(taps, size, back, dtype, device)) {
      known.splice(known.begin(), known, it);
      return *it;
    }
  known.push_front(make_sums(taps, size, back, dtype, device));
  if (known.size() > kKept) known.pop_back();
  return known.front();
}

void blend_lines(const Tensor& out, const Tensor& x, int dim, const Taps& taps, bool back) {
  check_computes("interpolate", x.dtype());
  const Sums s = sums_of(taps, out.size(dim), back, compute_of(x.dtype()), x.device());
  Shape shape = out.shape();
  const int64_t size = shape[dim];
  shape[dim] = 1;
  Walk walk(shape);
  walk.add(out);
  walk.add(x);
  const Geometry g = walk.geometry();
  const int32_t inner = out.stride(dim) == 1;
  Launch launch("blend" + std::to_string(int(x.dtype())), "blend",
                [&] { return text_of(x.dtype(), "BLEND", true); });
  launch.tensor(out).tensor(x).tensor(s.starts).tensor(s.places).tensor(s.weights).value(g);
  launch.value(size).value(out.stride(dim)).value(x.stride(dim)).value(inner);
  launch.run(g.n * size, kItems);
}

}  // namespace

void OpenClBackend::max_pool(const Tensor& y, const Tensor& indices, const Tensor& x,
                             const PoolWindows& windows) {
  check_computes("max_pool", x.dtype());
  Pool s = pool_of(x, y, indices);
  add_windows(s, windows);
  s.n = y.numel();
  const int32_t wants = indices ? 1 : 0;
  Launch launch = start("pool_max", x.dtype(), s);
  launch.tensor(y).tensor(indices ? indices : y).tensor(x).value(s).value(wants);
  run(launch, s.n);
}
void OpenClBackend::max_pool_grad(const Tensor& dx, const Tensor& g, const Tensor& indices) {
  check_computes("max_pool", g.dtype());
  const Dtype acc = accumulator(g.dtype());
  Tensor sums = dx;
  if (acc != dx.dtype()) sums = empty(dx.shape(), acc, dx.device());
  own().fill(sums, Scalar(0));
  Pool s = pool_of(sums, g, indices);
  s.n = dx.size(0) * dx.size(1);
  Launch launch = start("pool_max_grad", g.dtype(), s);
  launch.tensor(sums).tensor(g).tensor(indices).value(s).run(s.n, s.n > 1024 ? kItems : 8);
  if (!sums.same(dx)) own().copy(dx, sums);
}
void OpenClBackend::mean_pool(const Tensor& y, const Tensor& x, const PoolWindows& windows,
                              int64_t divisor) {
  check_computes("avg_pool", x.dtype());
  if (!divisor && is_floating(x.dtype()) && is_whole(x, windows)) {
    Shape dims;
    for (int d = 2; d < x.dim(); d++) dims.push_back(d);
    return own().reduce(Reduction::mean, y, x, dims, 2);
  }
  Pool s = pool_of(x, y, {});
  add_windows(s, windows);
  s.divisor = divisor;
  s.n = y.numel();
  Launch launch = start("pool_mean", x.dtype(), s);
  launch.tensor(y).tensor(x).value(s);
  run(launch, s.n);
}
void OpenClBackend::mean_pool_grad(const Tensor& dx, const Tensor& g, const PoolWindows& windows,
                                   int64_t divisor) {
  check_computes("avg_pool", g.dtype());
  if (!divisor && is_whole(dx, windows)) {  // the same for all
    Shape strides = g.strides();
    for (int d = 2; d < g.dim(); d++) strides[d] = 0;
    Input up, by;
    up.tensor = &g, up.strides = &strides;
    by.scalar = Scalar(double(dx.numel() / (dx.size(0) * dx.size(1))));
    return own().binary(Binary::div, compute_of(dx.dtype()), dx, up, by);
  }
  Pool s = pool_of(dx, g, {});
  add_windows(s, windows);
  s.divisor = divisor;
  s.n = dx.numel();
  Launch launch = start("pool_mean_grad", g.dtype(), s);
  launch.tensor(dx).tensor(g).value(s);
  run(launch, s.n);
}
void OpenClBackend::blend(const Tensor& y, const Tensor& x, int dim, const Taps& taps) {
  blend_lines(y, x, dim, taps, false);
}
void OpenClBackend::blend_grad(const Tensor& dx, const Tensor& g, int dim, const Taps& taps) {
  blend_lines(dx, g, dim, taps, true);
}

}  // namespace ember::opencl
