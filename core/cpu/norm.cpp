// Drives the kernels of kernels/norm.cpp: shares rows, planes and blocks of columns out to threads
// and puts their sums together. float16 and bfloat16 are widened first.

#include <cmath>
#include <vector>

#include "cpu/cpu_backend.h"
#include "cpu/dispatch.h"
#include "cpu/kernels/norm_kernels.h"
#include "cpu/parallel.h"
#include "cpu/typed.h"

namespace ember::cpu {

namespace {

constexpr int64_t kNormGrain = 16384;

EMBER_TABLE_BY_LEVEL(NormTable, table, norm_kernels)

template <class T>
const NormKernelsOf<T>& kernels_for() {
  if constexpr (std::is_same_v<T, float>)
    return table().f32;
  else
    return table().f64;
}

int64_t grain_of(int64_t each) { return 1 + kNormGrain / std::max<int64_t>(1, each); }

// Calls body(begin, end, part) on a part of [0, n) for each thread; there are parts_of() of them.
int64_t parts_of(int64_t n, int64_t grain) {
  return std::clamp<int64_t>((n + grain - 1) / grain, 1, num_threads());
}
template <class F>
void in_parts(int64_t n, int64_t parts, F body) {
  const int64_t each = (n + parts - 1) / parts;
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p++)
      if (p * each < n) body(p * each, std::min(n, (p + 1) * each), p);
  });
}

// --- channels: planes of S elements, or columns --------------------------------------------------

// x (N, C, S): runs of one channel side by side, or rows of all channels.
struct Channels {
  int64_t n, c, s;
  bool columns;
  explicit Channels(const Tensor& x)
      : n(x.size(0)), c(x.size(1)), s(x.size(2)), columns(s == 1 || !x.is_contiguous()) {}
  int64_t rows() const { return n * s; }
  int64_t count() const { return n * s; }
};

// Mean and squared deviations of two sets of elements, put together (Chan et al. 1983).
struct Moments {
  double count = 0, mean = 0, squares = 0;
  void add(double more, double m, double q) {
    const double total = count + more, step = m - mean;
    mean += step * more / total;
    squares += q + step * step * count * more / total;
    count = total;
  }
};

template <class T>
void moments_of(const Channels& x, const T* data, std::vector<Moments>& to) {
  const auto& k = kernels_for<T>();
  if (!x.columns) {
    std::vector<double> mean(size_t(x.n * x.c)), squares(size_t(x.n * x.c));
    parallel_for(x.n * x.c, grain_of(x.s), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; p++)
        k.moments(x.s, data + p * x.s, &mean[size_t(p)], &squares[size_t(p)]);
    });
    for (int64_t p = 0; p < x.n * x.c; p++)
      to[size_t(p % x.c)].add(double(x.s), mean[size_t(p)], squares[size_t(p)]);
    return;
  }
  // Blocks of rows, so that sums stay short; many columns are few rows at a time, for the cache.
  const int64_t block = std::clamp<int64_t>(65536 / std::max<int64_t>(1, x.c), 8, kMomentRows);
  const int64_t blocks = (x.rows() + block - 1) / block;
  const int64_t parts = parts_of(blocks, grain_of(block * x.c));
  std::vector<std::vector<Moments>> found(size_t(parts), std::vector<Moments>(size_t(x.c)));
  in_parts(blocks, parts, [&](int64_t begin, int64_t end, int64_t part) {
    std::vector<T> near(size_t(2 * x.c));
    std::vector<double> mean(size_t(x.c)), squares(size_t(x.c));
    Moments* sum = found[size_t(part)].data();
    for (int64_t b = begin; b < end; b++) {
      const int64_t rows = std::min(block, x.rows() - b * block);
      k.column_moments(rows, x.c, data + b * block * x.c, near.data(), near.data() + x.c,
                       mean.data(), squares.data());
      for (int64_t i = 0; i < x.c; i++)
        sum[i].add(double(rows), mean[size_t(i)], squares[size_t(i)]);
    }
  });
  for (auto& part : found)
    for (size_t i = 0; i < size_t(x.c); i++)
      if (part[i].count) to[i].add(part[i].count, part[i].mean, part[i].squares);
}

template <class T>
void dots_of(const Channels& x, const T* g, const T* data, const T* mean, std::vector<double>& sum,
             std::vector<double>& dot) {
  const auto& k = kernels_for<T>();
  if (!x.columns) {
    std::vector<double> sums(size_t(x.n * x.c)), dots(size_t(x.n * x.c));
    parallel_for(x.n * x.c, grain_of(x.s), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; p++)
        k.dots(x.s, g + p * x.s, data + p * x.s, mean[p % x.c], &sums[size_t(p)], &dots[size_t(p)]);
    });
    for (int64_t p = 0; p < x.n * x.c; p++)
      sum[size_t(p % x.c)] += sums[size_t(p)], dot[size_t(p % x.c)] += dots[size_t(p)];
    return;
  }
  const int64_t blocks = (x.rows() + kMomentRows - 1) / kMomentRows;
  const int64_t parts = parts_of(blocks, grain_of(kMomentRows * x.c));
  std::vector<std::vector<double>> found(size_t(parts), std::vector<double>(size_t(2 * x.c)));
  in_parts(blocks, parts, [&](int64_t begin, int64_t end, int64_t part) {
    std::vector<T> here(size_t(2 * x.c));
    double* to = found[size_t(part)].data();
    for (int64_t b = begin; b < end; b++) {
      std::fill(here.begin(), here.end(), T(0));
      const int64_t at = b * kMomentRows, rows = std::min(kMomentRows, x.rows() - at);
      k.column_dots(rows, x.c, g + at * x.c, data + at * x.c, mean, here.data(), here.data() + x.c);
      for (int64_t i = 0; i < 2 * x.c; i++) to[i] += double(here[size_t(i)]);
    }
  });
  for (auto& part : found)
    for (size_t i = 0; i < size_t(x.c); i++) sum[i] += part[i], dot[i] += part[size_t(x.c) + i];
}

// Calls body(first element, elements or rows, channel) on runs of one channel, or on rows.
template <class F>
void each_run(const Channels& c, F body) {
  if (c.columns)
    return parallel_for(c.rows(), grain_of(c.c),
                        [&](int64_t begin, int64_t end) { body(begin * c.c, end - begin, 0); });
  parallel_for(c.n * c.c, grain_of(c.s), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p++) body(p * c.s, c.s, p % c.c);
  });
}

}  // namespace

void CpuBackend::norm_rows(const Tensor& out, const Tensor& mean, const Tensor& rstd,
                           const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  for_type(x, [&](auto type) {
    using T = decltype(type);
    Source<T> xs(x), w(weight), b(bias);
    Result<T> to(out), m(mean), r(rstd);
    const int64_t n = x.size(1);
    parallel_for(x.size(0), grain_of(n), [&](int64_t begin, int64_t end) {
      kernels_for<T>().rows(end - begin, n, xs.data + begin * n, w.data, b.data, eps,
                            to.data + begin * n, m.data ? m.data + begin : nullptr, r.data + begin);
    });
    to.store(), m.store(), r.store();
  });
}

void CpuBackend::norm_rows_grad(const Tensor& dx, const Tensor& dweight, const Tensor& dbias,
                                const Tensor& g, const Tensor& x, const Tensor& mean,
                                const Tensor& rstd, const Tensor& weight) {
  for_type(x, [&](auto type) {
    using T = decltype(type);
    Source<T> gs(g), xs(x), m(mean), r(rstd), w(weight);
    Result<T> to(dx), dw(dweight), db(dbias);
    const int64_t rows = x.size(0), n = x.size(1);
    const bool sums = dw.data || db.data;
    const int64_t parts = parts_of(rows, grain_of(n));
    std::vector<T> part(size_t(sums ? 2 * n * parts : 0));
    in_parts(rows, parts, [&](int64_t begin, int64_t end, int64_t p) {
      T* own = part.data() + 2 * n * p;
      kernels_for<T>().rows_grad(end - begin, n, gs.data + begin * n, xs.data + begin * n,
                                 m.data ? m.data + begin : nullptr, r.data + begin, w.data,
                                 to.data ? to.data + begin * n : nullptr, dw.data ? own : nullptr,
                                 db.data ? own + n : nullptr);
    });
    for (int64_t i = 0; sums && i < n; i++) {
      T by_w = 0, by_b = 0;
      for (int64_t p = 0; p < parts; p++)
        by_w += part[size_t(2 * n * p + i)], by_b += part[size_t(2 * n * p + n + i)];
      if (dw.data) dw.data[i] = by_w;
      if (db.data) db.data[i] = by_b;
    }
    to.store(), dw.store(), db.store();
  });
}

void CpuBackend::norm_groups(const Tensor& out, const Tensor& mean, const Tensor& rstd,
                             const Tensor& x, const Tensor& weight, const Tensor& bias,
                             double eps) {
  for_type(x, [&](auto type) {
    using T = decltype(type);
    Source<T> xs(x), w(weight), b(bias);
    Result<T> to(out), m(mean), r(rstd);
    const Channels c(x);
    const int64_t groups = mean.numel() / c.n, each = c.c / groups, size = each * c.s;
    const auto& k = kernels_for<T>();
    parallel_for(c.n * groups, grain_of(size), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        double middle, squares;
        k.moments(size, xs.data + i * size, &middle, &squares);
        const T scale = T(1 / std::sqrt(squares / double(size) + eps)), shift = T(middle);
        m.data[i] = shift;
        r.data[i] = scale;
        for (int64_t j = 0; j < each; j++) {
          const int64_t channel = i % groups * each + j, at = i * size + j * c.s;
          const T a = w.data ? scale * w.data[channel] : scale;
          const T rest = (b.data ? b.data[channel] : T(0)) - shift * a;
          k.scale(c.s, xs.data + at, a, rest, to.data + at);
        }
      }
    });
    to.store(), m.store(), r.store();
  });
}

void CpuBackend::norm_groups_grad(const Tensor& dx, const Tensor& dweight, const Tensor& dbias,
                                  const Tensor& g, const Tensor& x, const Tensor& mean,
                                  const Tensor& rstd, const Tensor& weight) {
  for_type(x, [&](auto type) {
    using T = decltype(type);
    Source<T> gs(g), xs(x), m(mean), r(rstd), w(weight);
    Result<T> to(dx), dw(dweight), db(dbias);
    const Channels c(x);
    const int64_t groups = mean.numel() / c.n, each = c.c / groups, size = each * c.s;
    const auto& k = kernels_for<T>();
    std::vector<double> sums(size_t(c.n * c.c)), dots(size_t(c.n * c.c));
    parallel_for(c.n * groups, grain_of(size), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        double sum = 0, dot = 0;
        const T shift = m.data[i], scale = r.data[i];
        for (int64_t j = 0; j < each; j++) {
          const size_t plane = size_t(i * each + j);
          k.dots(c.s, gs.data + i * size + j * c.s, xs.data + i * size + j * c.s, shift,
                 &sums[plane], &dots[plane]);
          const double by = w.data ? double(w.data[i % groups * each + j]) : 1;
          sum += sums[plane] * by, dot += dots[plane] * by;
        }
        if (!to.data) continue;
        const double s = double(scale), by_x = -s * s * s * dot / double(size);
        const T b = T(by_x), rest = T(-s * sum / double(size) - double(shift) * by_x);
        for (int64_t j = 0; j < each; j++) {
          const int64_t at = i * size + j * c.s;
          const T a = w.data ? scale * w.data[i % groups * each + j] : scale;
          k.combine(c.s, gs.data + at, xs.data + at, a, b, rest, to.data + at);
        }
      }
    });
    for (int64_t i = 0; (dw.data || db.data) && i < c.c; i++) {
      double by_w = 0, by_b = 0;
      for (int64_t n = 0; n < c.n; n++) {
        const size_t plane = size_t(n * c.c + i);
        by_b += sums[plane], by_w += dots[plane] * double(r.data[n * groups + i / each]);
      }
      if (dw.data) dw.data[i] = T(by_w);
      if (db.data) db.data[i] = T(by_b);
    }
    to.store(), dw.store(), db.store();
  });
}

void CpuBackend::channel_moments(const Tensor& mean, const Tensor& variance, const Tensor& x) {
  for_type(x, [&](auto type) {
    using T = decltype(type);
    Tensor xs = laid_out(x, dtype_of<T>, x.strides());
    Result<T> m(mean), v(variance);
    const Channels c(x);
    std::vector<Moments> found(size_t(c.c));
    moments_of<T>(c, xs.data<T>(), found);
    for (int64_t i = 0; i < c.c; i++) {
      m.data[i] = T(found[size_t(i)].mean);
      v.data[i] = T(found[size_t(i)].squares / double(c.count()));
    }
    m.store(), v.store();
  });
}

void CpuBackend::channel_scale(const Tensor& out, const Tensor& x, const Tensor& scale,
                               const Tensor& shift) {
  for_type(x, [&](auto type) {
    using T = decltype(type);
    Tensor xs = laid_out(x, dtype_of<T>, x.strides());
    const T* from = xs.data<T>();
    Source<T> a(scale), b(shift);
    const Output to(out, dtype_of<T>, x.strides());
    T* result = to.data<T>();
    const Channels c(x);
    const auto& k = kernels_for<T>();
    each_run(c, [&](int64_t at, int64_t n, int64_t i) {
      if (c.columns)
        k.column_scale(n, c.c, from + at, a.data, b.data, result + at);
      else
        k.scale(n, from + at, a.data[i], b.data[i], result + at);
    });
    to.store();
  });
}

void CpuBackend::channel_dots(const Tensor& sum, const Tensor& dot, const Tensor& g,
                              const Tensor& x, const Tensor& mean) {
  for_type(x, [&](auto type) {
    using T = decltype(type);
    Tensor xs = laid_out(x, dtype_of<T>, x.strides()), gs = laid_out(g, dtype_of<T>, x.strides());
    Source<T> m(mean);
    Result<T> s(sum), d(dot);
    const Channels c(x);
    std::vector<double> sums(size_t(c.c)), dots(size_t(c.c));
    dots_of<T>(c, gs.data<T>(), xs.data<T>(), m.data, sums, dots);
    for (int64_t i = 0; i < c.c; i++)
      s.data[i] = T(sums[size_t(i)]), d.data[i] = T(dots[size_t(i)]);
    s.store(), d.store();
  });
}

void CpuBackend::channel_combine(const Tensor& dx, const Tensor& g, const Tensor& x,
                                 const Tensor& by_g, const Tensor& by_x, const Tensor& rest) {
  for_type(x, [&](auto type) {
    using T = decltype(type);
    Tensor xs = laid_out(x, dtype_of<T>, x.strides()), gs = laid_out(g, dtype_of<T>, x.strides());
    const T *from = xs.data<T>(), *up = gs.data<T>();
    Source<T> a(by_g), b(by_x), r(rest);
    const Output to(dx, dtype_of<T>, x.strides());
    T* result = to.data<T>();
    const Channels c(x);
    const auto& k = kernels_for<T>();
    each_run(c, [&](int64_t at, int64_t n, int64_t i) {
      if (c.columns)
        k.column_combine(n, c.c, up + at, from + at, a.data, b.data, r.data, result + at);
      else
        k.combine(n, up + at, from + at, a.data[i], b.data[i], r.data[i], result + at);
    });
    to.store();
  });
}

}  // namespace ember::cpu
