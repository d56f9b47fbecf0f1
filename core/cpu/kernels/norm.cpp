// See norm_kernels.h. Means come before squares (two passes over what is in the cache), so that a
// large mean costs no accuracy.
#include "cpu/kernels/norm_kernels.h"

#include "cpu/kernels/line_sums.h"
#include "cpu/kernels/wide_moments.h"

namespace ember::cpu::EMBER_ISA {
namespace {

constexpr int64_t kRun = 4096;  // elements whose moments are taken at once, in the cache

template <class T>
EMBER_INLINE T squares_of(int64_t n, const T* x, T mean) {
  return folded<T>(
      n, T(0),
      [=](int64_t i, auto v) EMBER_LAMBDA {
        auto c = at(x, i, v) - mean;
        return c * c;
      },
      [](auto a, auto b) EMBER_LAMBDA { return a + b; });
}

template <class T>
void moments(int64_t n, const T* x, double* mean, double* squares) {
  double m = 0, q = 0;
  for (int64_t first = 0; first < n; first += kRun) {
    const int64_t count = n - first < kRun ? n - first : kRun;
    const T here = sum_of(count, x + first) / T(count);
    const T near = squares_of(count, x + first, here);
    double middle = here, rest = near;
    if (__builtin_expect(!holds(here, near), 0)) wide_moments(count, x + first, 1, &middle, &rest);
    const double step = middle - m;
    const double share = double(count) / double(first + count);  // of the whole up to here
    m += step * share;
    q += rest + step * step * share * double(first);
  }
  *mean = m;
  *squares = q;
}

template <class T>
EMBER_INLINE T reciprocal_root(double variance, double eps) {
  return T(1 / __builtin_sqrt(variance + eps));
}

template <class T>
void rows(int64_t count, int64_t n, const T* x, const T* w, const T* b, double eps, T* out, T* mean,
          T* rstd) {
  for (int64_t r = 0; r < count; r++, x += n, out += n) {
    double m = 0, q = 0;
    if (mean)
      moments(n, x, &m, &q);
    else
      for (int64_t i = 0; i < n; i += kRun) {
        const int64_t part = n - i < kRun ? n - i : kRun;
        q += dot_of(part, x + i, x + i);
      }
    const T shift = T(m), scale = reciprocal_root<T>(q / double(n), eps);
    if (mean) mean[r] = shift;
    rstd[r] = scale;
    if (w && b)
      map3(x, w, b, out, n,
           [=](T v, T s, T t) EMBER_LAMBDA { return (v - shift) * scale * s + t; });
    else if (w)
      map2(x, w, out, n, [=](T v, T s) EMBER_LAMBDA { return (v - shift) * scale * s; });
    else if (b)
      map2(x, b, out, n, [=](T v, T t) EMBER_LAMBDA { return (v - shift) * scale + t; });
    else
      map1(x, out, n, [=](T v) EMBER_LAMBDA { return (v - shift) * scale; });
  }
}

// dx of one row, from h = g * w: rstd * (h - mean(h) - xhat * mean(h * xhat)).
template <class T, class H>
EMBER_INLINE void row_grad(int64_t n, const T* g, const T* x, const T* w, T shift, T scale,
                           bool centred, T* dx, H h) {
  const T sum =
      centred ? folded<T>(
                    n, T(0),
                    [=](int64_t i, auto v) EMBER_LAMBDA { return h(at(g, i, v), at(w, i, v)); },
                    [](auto a, auto b) EMBER_LAMBDA { return a + b; })
              : T(0);
  const T dot = folded<T>(
      n, T(0),
      [=](int64_t i, auto v)
          EMBER_LAMBDA { return h(at(g, i, v), at(w, i, v)) * (at(x, i, v) - shift); },
      [](auto a, auto b) EMBER_LAMBDA { return a + b; });
  const T by_x = -dot * scale * scale * scale / T(n), rest = -sum * scale / T(n);
  map3(g, x, w, dx, n, [=](T gi, T xi, T wi) EMBER_LAMBDA {
    return h(gi, wi) * scale + ((xi - shift) * by_x + rest);
  });
}

template <class T>
void rows_grad(int64_t count, int64_t n, const T* g, const T* x, const T* mean, const T* rstd,
               const T* w, T* dx, T* dw, T* db) {
  for (int64_t r = 0; r < count; r++, g += n, x += n) {
    const T shift = mean ? mean[r] : T(0), scale = rstd[r];
    if (dx) {
      T* to = dx + r * n;
      if (w)
        row_grad(n, g, x, w, shift, scale, mean != nullptr, to,
                 [](auto a, auto b) EMBER_LAMBDA { return a * b; });
      else  // any line of n will do
        row_grad(n, g, x, g, shift, scale, mean != nullptr, to,
                 [](auto a, auto) EMBER_LAMBDA { return a; });
    }
    if (dw)
      map3(g, x, static_cast<const T*>(dw), dw, n,
           [=](T gi, T xi, T s) EMBER_LAMBDA { return gi * ((xi - shift) * scale) + s; });
    if (db)
      map2(g, static_cast<const T*>(db), db, n, [](T gi, T s) EMBER_LAMBDA { return gi + s; });
  }
}

template <class T>
void dots(int64_t n, const T* g, const T* x, T mean, double* sum, double* dot) {
  double s = 0, d = 0;
  for (int64_t i = 0; i < n; i += kRun) {
    const int64_t count = n - i < kRun ? n - i : kRun;
    const T *gs = g + i, *xs = x + i;
    s += sum_of(count, gs);
    d += folded<T>(
        count, T(0),
        [=](int64_t j, auto v) EMBER_LAMBDA { return at(gs, j, v) * (at(xs, j, v) - mean); },
        [](auto a, auto b) EMBER_LAMBDA { return a + b; });
  }
  *sum = s;
  *dot = d;
}

template <class T>
void scale(int64_t n, const T* x, T a, T b, T* out) {
  map1(x, out, n, [=](T v) EMBER_LAMBDA { return v * a + b; });
}
template <class T>
void combine(int64_t n, const T* g, const T* x, T a, T b, T c, T* out) {
  map2(g, x, out, n, [=](T gi, T xi) EMBER_LAMBDA { return gi * a + (xi * b + c); });
}

template <class T>
void column_moments(int64_t count, int64_t n, const T* x, T* mean, T* squares, double* wide_mean,
                    double* wide_squares) {
#pragma omp simd
  for (int64_t i = 0; i < n; i++) mean[i] = x[i], squares[i] = 0;
  for (int64_t r = 1; r < count; r++) {
    const T* row = x + r * n;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) mean[i] += row[i];
  }
  const T share = 1 / T(count);
#pragma omp simd
  for (int64_t i = 0; i < n; i++) mean[i] *= share;
  for (int64_t r = 0; r < count; r++) {
    const T* row = x + r * n;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) squares[i] += (row[i] - mean[i]) * (row[i] - mean[i]);
  }
  for (int64_t i = 0; i < n; i++) {
    wide_mean[i] = mean[i], wide_squares[i] = squares[i];
    if (__builtin_expect(!holds(mean[i], squares[i]), 0))
      wide_moments(count, x + i, n, wide_mean + i, wide_squares + i);
  }
}

template <class T>
void column_dots(int64_t count, int64_t n, const T* g, const T* x, const T* mean, T* sum, T* dot) {
  for (int64_t r = 0; r < count; r++, g += n, x += n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
      sum[i] += g[i];
      dot[i] += g[i] * (x[i] - mean[i]);
    }
  }
}

template <class T>
void column_scale(int64_t count, int64_t n, const T* x, const T* a, const T* b, T* out) {
  for (int64_t r = 0; r < count; r++, x += n, out += n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = x[i] * a[i] + b[i];
  }
}

template <class T>
void column_combine(int64_t count, int64_t n, const T* g, const T* x, const T* a, const T* b,
                    const T* c, T* out) {
  for (int64_t r = 0; r < count; r++, g += n, x += n, out += n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = g[i] * a[i] + (x[i] * b[i] + c[i]);
  }
}

template <class T>
constexpr NormKernelsOf<T> kernels_of{
    rows<T>,    rows_grad<T>,      moments<T>,     dots<T>,         scale<T>,
    combine<T>, column_moments<T>, column_dots<T>, column_scale<T>, column_combine<T>};

}  // namespace

const NormTable& norm_kernels() {
  static constexpr NormTable table{kernels_of<float>, kernels_of<double>};
  return table;
}

}  // namespace ember::cpu::EMBER_ISA
