// See loss_kernels.h. With log-probabilities p, weights w, target t and smoothing s over C classes,
// the loss of a line is -(1 - s) w_t p_t - s / C * sum(w p).
#include "cpu/kernels/loss_kernels.h"

#include "cpu/kernels/fold.h"

namespace ember::cpu::EMBER_ISA {
namespace {

template <class T>
EMBER_INLINE T weight_of(const ClassLines<T>& l, int64_t i) {
  return l.weight ? l.weight[l.target[i]] : T(1);
}

template <class T>
void rows(const ClassLines<T>& l, T* loss, T* count) {
  const int64_t n = l.classes;
  const T share = l.smoothing / T(n);
  for (int64_t i = 0; i < l.lines; i++) {
    const T* x = l.x + i * n;
    if (l.max) {
      l.max[i] = max_of(n, x);
      l.log_sum[i] = log(exp_sum(n, x, l.max[i]));
    }
    loss[i] = count[i] = 0;
    if (l.target[i] == l.ignored) continue;
    const T shift = l.max ? l.max[i] : T(0), rest = l.max ? l.log_sum[i] : T(0);
    const T w = weight_of(l, i);
    loss[i] = (1 - l.smoothing) * w * (rest - (x[l.target[i]] - shift));
    if (share != 0) {
      const T sum = l.weight ? dot_of(n, l.weight, x) : sum_of(n, x);
      loss[i] += share * ((shift + rest) * l.total - sum);
    }
    count[i] = w;
  }
}

template <class T>
void rows_grad(const ClassLines<T>& l, const T* g, T* dx) {
  const int64_t n = l.classes;
  const T share = l.smoothing / T(n);
  for (int64_t i = 0; i < l.lines; i++, dx += n) {
    if (l.target[i] == l.ignored || g[i] == 0) {
      for (int64_t j = 0; j < n; j++) dx[j] = 0;
      continue;
    }
    const T hit = (1 - l.smoothing) * weight_of(l, i) * g[i], spread = share * g[i];
    if (l.max) {
      const T shift = l.max[i], rest = l.log_sum[i], by = hit + spread * l.total;
      const T* x = l.x + i * n;
      if (spread == 0)
        map1(x, dx, n, [=](T v) EMBER_LAMBDA { return exp((v - shift) - rest) * by; });
      else if (l.weight)
        map2(x, l.weight, dx, n,
             [=](T v, T w) EMBER_LAMBDA { return exp((v - shift) - rest) * by - spread * w; });
      else
        map1(x, dx, n, [=](T v) EMBER_LAMBDA { return exp((v - shift) - rest) * by - spread; });
    } else {
      for (int64_t j = 0; j < n; j++) dx[j] = -spread * (l.weight ? l.weight[j] : T(1));
    }
    dx[l.target[i]] -= hit;
  }
}

template <class T>
void across(const ClassLines<T>& l, T* loss, T* count) {
  const int64_t n = l.classes, w = l.lines;
  if (w > kLossColumns) __builtin_unreachable();
  T sum[kLossColumns];
  const T share = l.smoothing / T(n);
  if (l.max) {
    max_across(n, w, l.x, l.stride, l.max);
    exp_sum_across(n, w, l.x, l.stride, l.max, l.log_sum);
    map1(l.log_sum, l.log_sum, w, [](T v) EMBER_LAMBDA { return log(v); });
  }
  if (share != 0) {
    for (int64_t j = 0; j < w; j++) sum[j] = 0;
    for (int64_t c = 0; c < n; c++) {
      const T by = l.weight ? l.weight[c] : T(1);
      map2(l.x + c * l.stride, static_cast<const T*>(sum), sum, w,
           [=](T v, T s) EMBER_LAMBDA { return v * by + s; });
    }
  }
  for (int64_t j = 0; j < w; j++) {
    loss[j] = count[j] = 0;
    if (l.target[j] == l.ignored) continue;
    const T shift = l.max ? l.max[j] : T(0), rest = l.max ? l.log_sum[j] : T(0);
    const T by = weight_of(l, j);
    loss[j] = (1 - l.smoothing) * by * (rest - (l.x[l.target[j] * l.stride + j] - shift));
    if (share != 0) loss[j] += share * ((shift + rest) * l.total - sum[j]);
    count[j] = by;
  }
}

template <class T>
void across_grad(const ClassLines<T>& l, const T* g, T* dx) {
  const int64_t n = l.classes, w = l.lines;
  if (w > kLossColumns) __builtin_unreachable();
  T hit[kLossColumns], by[kLossColumns], spread[kLossColumns], shift[kLossColumns];
  const T share = l.smoothing / T(n);
  for (int64_t j = 0; j < w; j++) {
    const bool counts = l.target[j] != l.ignored;
    hit[j] = counts ? (1 - l.smoothing) * weight_of(l, j) * g[j] : T(0);
    spread[j] = counts ? share * g[j] : T(0);
    by[j] = hit[j] + spread[j] * l.total;
    shift[j] = 0;
  }
  for (int64_t c = 0; c < n; c++) {
    T* to = dx + c * l.stride;
    const T weight = l.weight ? l.weight[c] : T(1);
    if (l.max) {
      const T *max = l.max, *rest = l.log_sum;
      map3(l.x + c * l.stride, max, rest, shift, w,
           [](T v, T m, T r) EMBER_LAMBDA { return exp((v - m) - r); });
    }
    map3(static_cast<const T*>(shift), static_cast<const T*>(by), static_cast<const T*>(spread), to,
         w, [=](T p, T b, T s) EMBER_LAMBDA { return p * b - s * weight; });
  }
  for (int64_t j = 0; j < w; j++)
    if (l.target[j] != l.ignored) dx[l.target[j] * l.stride + j] -= hit[j];
}

template <class T>
constexpr LossKernelsOf<T> kernels_of{rows<T>, rows_grad<T>, across<T>, across_grad<T>};

}  // namespace

const LossTable& loss_kernels() {
  static constexpr LossTable table{kernels_of<float>, kernels_of<double>};
  return table;
}

}  // namespace ember::cpu::EMBER_ISA
