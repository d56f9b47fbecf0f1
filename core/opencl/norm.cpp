// Normalization: statistics by work-groups (rows and planes) or by items across columns (channels
// last), everything else in one pass.

#include "opencl/device.h"
#include "opencl/launch.h"
#include "opencl/opencl_backend.h"
#include "opencl/sources.h"
#include "opencl/text.h"

namespace ember::opencl {

namespace {

constexpr int64_t kItems = 64;

// How work is shared: a CPU has few threads with wide vectors, a GPU many narrow ones.
struct Sharing {
  int64_t group = 64, lanes = 1, run = 1;
  Sharing() {
    if (items_work_alone()) group = 1, lanes = 16, run = 512;
  }
};

std::string text_of(Dtype data, Dtype weight, bool small, const char* part) {
  const Dtype acc = compute_of(data);
  const Sharing by;
  return define("ACC", value_type(acc)) + element("", data, acc) + element("_W", weight, acc) +
         define("GROUP", by.group) + define("LANES", by.lanes) + define("RUN", by.run) +
         define("INDEX", small ? "u32" : "i64") + define(part, 1) + sources::fold + sources::norm;
}

// A launch, to which tensors are added with where they begin.
struct Call {
  Launch launch;
  Call(const char* name, const char* part, Dtype data, Dtype weight, bool small = true)
      : launch(name + std::to_string(int(data)) + ',' + std::to_string(int(weight)) +
                   (small ? "s" : "l"),
               name, [&] { return text_of(data, weight, small, part); }) {}
  Call& at(const Tensor& t) {  // may be undefined
    launch.tensor(t).value(t ? t.offset() : int64_t(0));
    return *this;
  }
  Call& all(const Tensor& t) {  // of this file's own: begins at 0
    launch.tensor(t);
    return *this;
  }
  template <class T>
  Call& value(const T& v) {
    launch.value(v);
    return *this;
  }
};

// A contiguous vector of that dtype.
Tensor vector(const Tensor& t, Dtype d) {
  if (!t || (t.dtype() == d && t.is_contiguous())) return t;
  Tensor out = empty(t.shape(), d, t.device());
  own().copy(out, t);
  return out;
}

// `t` with the dtype and the strides of `like`.
Tensor laid_out(const Tensor& t, const Tensor& like) {
  if (t.dtype() == like.dtype() && t.strides() == like.strides()) return t;
  Tensor out = empty_strided(like.shape(), like.strides(), like.dtype(), like.device());
  own().copy(out, t);
  return out;
}

Dtype weight_dtype(const Tensor& w, const Tensor& b, const Tensor& x) {
  return w ? w.dtype() : b ? b.dtype() : x.dtype();
}

// Chunks of rows for sums over columns, so that there is work for every unit.
int64_t chunk_of(int64_t rows, int64_t n) {
  const Sharing by;
  const int64_t blocks = (n + by.lanes - 1) / by.lanes;
  const int64_t units = std::max<int64_t>(context().properties.compute_units, 4);
  const int64_t wanted = std::max<int64_t>(1, units * by.group * 4 / blocks);
  return std::max<int64_t>(16, (rows + wanted - 1) / wanted);
}

// Sums (parts, n) over the parts, into a vector of any dtype.
void add_parts(const Tensor& out, const Tensor& parts) {
  own().reduce(Reduction::sum, alias(out, {1, out.numel()}, {0, 1}, out.offset()), parts, {0}, 2);
}

// x (N, C, S): planes of a channel, or rows of all channels.
struct Channels {
  int64_t n, c, s;
  bool columns;
  explicit Channels(const Tensor& x)
      : n(x.size(0)), c(x.size(1)), s(x.size(2)), columns(s == 1 || !x.is_contiguous()) {}
};

struct Parts {
  Tensor sums, dots;  // (count, channels)
  int64_t count, each, last;
};

// Of each part of every channel: mean and squared deviations (moments), or sums of g and of g * (x
// - mean). `div`: how many planes share a mean.
Parts fold_channels(const Tensor& g, const Tensor& x, const Tensor& mean, bool moments,
                    int64_t div = 1) {
  const Channels c(x);
  const Dtype acc = compute_of(x.dtype());
  const int32_t flagged = moments;
  Parts p{{}, {}, c.n, c.s, c.s};
  if (c.columns) {
    const int64_t rows = c.n * c.s;
    p.each = std::min(rows, chunk_of(rows, c.c));
    p.count = (rows + p.each - 1) / p.each;
    p.last = rows - (p.count - 1) * p.each;
  }
  p.sums = empty({p.count, c.c}, acc, x.device());
  p.dots = empty({p.count, c.c}, acc, x.device());
  const Sharing by;
  if (c.columns) {
    const int64_t blocks = (c.c + by.lanes - 1) / by.lanes;
    Call call("channel_columns", "COLUMNS", x.dtype(), x.dtype());
    call.all(p.sums).all(p.dots).at(g).at(x).at(mean).value(c.n * c.s).value(c.c);
    call.value(p.each).value(flagged).launch.run(blocks * p.count, by.group);
  } else {
    Call call("channel_planes", "PLANES", x.dtype(), x.dtype());
    call.all(p.sums).all(p.dots).at(g).at(x).at(mean).value(c.s).value(c.c);
    call.value(div).value(flagged).launch.run(c.n * c.c * by.group, by.group);
  }
  return p;
}

// out = g * by_g + x * by_x + rest for each channel, x and by_x maybe undefined.
void combine(const Tensor& out, const Tensor& g, const Tensor& x, const Tensor& by_g,
             const Tensor& by_x, const Tensor& rest) {
  const Channels c(out);
  const Dtype acc = compute_of(out.dtype());
  const Tensor a = vector(by_g, acc), b = vector(by_x, acc), r = vector(rest, acc);
  const int64_t total = out.numel(), s = c.columns ? 0 : c.s;
  const bool small = total < (int64_t(1) << 31) - 4096;
  Call call("channel_combine", "RUNS", out.dtype(), out.dtype(), small);
  call.at(out).at(g).at(x).at(a).at(b).at(r);
  for (int64_t v : {total, c.c, s}) {
    if (small)
      call.value(uint32_t(v));
    else
      call.value(v);
  }
  const int32_t has_x = x ? 1 : 0;
  const Sharing by;
  call.value(has_x).launch.run((total + by.run - 1) / by.run, by.run > 1 ? 1 : kItems);
}

Tensor as_planes(const Tensor& t, int64_t planes, int64_t s) {
  return alias(t, {1, planes, s}, {planes * s, s, 1}, t.offset());
}
// Of m rows of n elements; written scaled if `out` is defined.
void statistics(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x,
                int64_t m, int64_t n, const Tensor& weight, const Tensor& bias, double eps) {
  check_computes("layer_norm", x.dtype());
  const Dtype type = weight_dtype(weight, bias, x);
  const Tensor w = vector(weight, type), b = vector(bias, type);
  const int32_t has_mean = mean ? 1 : 0, has_w = weight ? 1 : 0, has_b = bias ? 1 : 0,
                writes = out ? 1 : 0;
  Call call("norm_rows", "LINES", x.dtype(), type);
  call.at(out).all(mean).all(rstd).at(x).at(w).at(b).value(n);
  call.launch.scalar(compute_of(x.dtype()), Scalar(eps));
  call.value(has_mean).value(has_w).value(has_b).value(writes);
  const Sharing by;
  call.launch.run(m * by.group, by.group);
}

}  // namespace

void OpenClBackend::norm_rows(const Tensor& out, const Tensor& mean, const Tensor& rstd,
                              const Tensor& x, const Tensor& weight, const Tensor& bias,
                              double eps) {
  statistics(out, mean, rstd, x, x.size(0), x.size(1), weight, bias, eps);
}

void OpenClBackend::norm_rows_grad(const Tensor& dx, const Tensor& dweight, const Tensor& dbias,
                                   const Tensor& g, const Tensor& x, const Tensor& mean,
                                   const Tensor& rstd, const Tensor& weight) {
  check_computes("layer_norm", x.dtype());
  const int64_t m = x.size(0), n = x.size(1);
  const Dtype acc = compute_of(x.dtype());
  const Tensor up = laid_out(g, x);
  const int32_t has_mean = mean ? 1 : 0, has_w = weight ? 1 : 0;
  const Sharing by;
  if (dx) {
    Call call("norm_rows_grad", "LINES", x.dtype(), weight_dtype(weight, {}, x));
    call.at(dx).at(up).at(x).at(mean).at(rstd).at(weight).value(n).value(has_mean).value(has_w);
    call.launch.run(m * by.group, by.group);
  }
  if (!dweight && !dbias) return;
  const int64_t chunk = chunk_of(m, n), parts = (m + chunk - 1) / chunk;
  Tensor dw = empty({parts, n}, acc, x.device()), db = empty({parts, n}, acc, x.device());
  {
    Call call("norm_weights", "COLUMNS", x.dtype(), x.dtype());
    call.all(dw).all(db).at(up).at(x).at(mean).at(rstd).value(m).value(n).value(chunk);
    call.value(has_mean).launch.run((n + by.lanes - 1) / by.lanes * parts, by.group);
  }
  if (dweight) add_parts(dweight, dw);
  if (dbias) add_parts(dbias, db);
}

void OpenClBackend::norm_groups(const Tensor& out, const Tensor& mean, const Tensor& rstd,
                                const Tensor& x, const Tensor& weight, const Tensor& bias,
                                double eps) {
  const int64_t n = x.size(0), c = x.size(1), s = x.size(2), planes = n * c;
  const int64_t each = planes / mean.numel();
  statistics({}, mean, rstd, x, mean.numel(), each * s, {}, {}, eps);
  const Dtype acc = compute_of(x.dtype()), type = weight_dtype(weight, bias, x);
  const Tensor w = vector(weight, type), b = vector(bias, type);
  Tensor scale = empty({planes}, acc, x.device()), shift = empty({planes}, acc, x.device());
  {
    const int32_t has_w = weight ? 1 : 0, has_b = bias ? 1 : 0;
    Call call("group_scale", "VECTORS", x.dtype(), type);
    call.all(scale).all(shift).all(mean).all(rstd).at(w).at(b).value(planes).value(c);
    call.value(each).value(has_w).value(has_b).launch.run(planes, kItems);
  }
  combine(as_planes(out, planes, s), as_planes(x, planes, s), {}, scale, {}, shift);
}

void OpenClBackend::norm_groups_grad(const Tensor& dx, const Tensor& dweight, const Tensor& dbias,
                                     const Tensor& g, const Tensor& x, const Tensor& mean,
                                     const Tensor& rstd, const Tensor& weight) {
  check_computes("group_norm", x.dtype());
  const int64_t n = x.size(0), c = x.size(1), s = x.size(2), planes = n * c;
  const int64_t groups = mean.numel(), each = planes / groups;
  const Dtype acc = compute_of(x.dtype()), type = weight_dtype(weight, dweight, x);
  const Tensor w = vector(weight, type), m = vector(mean, acc), r = vector(rstd, acc);
  const Tensor up = laid_out(g, x);
  Tensor sums = empty({planes}, acc, x.device()), dots = empty({planes}, acc, x.device());
  {
    const Sharing by;
    const int32_t moments = 0;
    Call call("channel_planes", "PLANES", x.dtype(), x.dtype());
    call.all(sums).all(dots).at(up).at(x).at(m).value(s).value(planes).value(each);
    call.value(moments).launch.run(planes * by.group, by.group);
  }
  if (dx) {
    Tensor by_g = empty({planes}, acc, x.device()), by_x = empty({planes}, acc, x.device());
    Tensor rest = empty({planes}, acc, x.device());
    {
      const int32_t has_w = weight ? 1 : 0;
      Call call("group_terms", "VECTORS", x.dtype(), type);
      call.all(by_g).all(by_x).all(rest).all(sums).all(dots).at(m).at(r).at(w).value(groups);
      call.value(c).value(each).value(s).value(has_w).launch.run(groups, kItems);
    }
    combine(as_planes(dx, planes, s), as_planes(up, planes, s), as_planes(x, planes, s), by_g, by_x,
            rest);
  }
  if (!dweight && !dbias) return;
  const int32_t wants = (dweight ? 1 : 0) | (dbias ? 2 : 0);
  Call call("group_weights", "VECTORS", x.dtype(), type);
  call.at(dweight).at(dbias).all(sums).all(dots).at(r).value(n).value(c).value(each);
  call.value(wants).launch.run(c, kItems);
}

void OpenClBackend::channel_moments(const Tensor& mean, const Tensor& variance, const Tensor& x) {
  check_computes("batch_norm", x.dtype());
  const Parts p = fold_channels(x, x, {}, true);
  Call call("join_moments", "VECTORS", x.dtype(), x.dtype());
  call.at(mean).at(variance).all(p.sums).all(p.dots).value(p.count).value(x.size(1));
  call.value(p.each).value(p.last).launch.run(x.size(1), kItems);
}
void OpenClBackend::channel_scale(const Tensor& out, const Tensor& x, const Tensor& scale,
                                  const Tensor& shift) {
  check_computes("batch_norm", x.dtype());
  combine(out, laid_out(x, out), {}, scale, {}, shift);
}
void OpenClBackend::channel_dots(const Tensor& sum, const Tensor& dot, const Tensor& g,
                                 const Tensor& x, const Tensor& mean) {
  check_computes("batch_norm", x.dtype());
  const Parts p = fold_channels(laid_out(g, x), x, vector(mean, compute_of(x.dtype())), false);
  add_parts(sum, p.sums);
  add_parts(dot, p.dots);
}
void OpenClBackend::channel_combine(const Tensor& dx, const Tensor& g, const Tensor& x,
                                    const Tensor& by_g, const Tensor& by_x, const Tensor& rest) {
  combine(dx, laid_out(g, dx), laid_out(x, dx), by_g, by_x, rest);
}

}  // namespace ember::opencl
