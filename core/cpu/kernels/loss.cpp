// See loss_kernels.h. With log-probabilities p, weights w, target t and smoothing s over C classes,
// the loss of a line is -(1 - s) w_t p_t - s / C * sum(w p).
#include "cpu/kernels/loss_kernels.h"

#include "cpu/kernels/line_sums.h"
#include "cpu/kernels/once.h"

namespace ember::cpu::EMBER_ISA {
namespace {

// The target of a line, or -1 if it does not count. Targets have been checked, but may be others
// by now.
template <class T>
EMBER_INLINE int64_t target_of(const ClassLines<T>& l, int64_t i) {
  const int64_t t = read_once(l.target + i);
  return t == l.ignored || uint64_t(t) >= uint64_t(l.classes) ? -1 : t;
}

template <class T>
EMBER_INLINE T weight_of(const ClassLines<T>& l, int64_t target) {
  return l.weight ? l.weight[target] : T(1);
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
    const int64_t target = target_of(l, i);
    if (target < 0) continue;
    const T shift = l.max ? l.max[i] : T(0), rest = l.max ? l.log_sum[i] : T(0);
    const T w = weight_of(l, target);
    loss[i] = (1 - l.smoothing) * w * (rest - (x[target] - shift));
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
    const int64_t target = target_of(l, i);
    if (target < 0 || g[i] == 0) {
      for (int64_t j = 0; j < n; j++) dx[j] = 0;
      continue;
    }
    const T hit = (1 - l.smoothing) * weight_of(l, target) * g[i], spread = share * g[i];
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
    dx[target] -= hit;
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
    const int64_t target = target_of(l, j);
    if (target < 0) continue;
    const T shift = l.max ? l.max[j] : T(0), rest = l.max ? l.log_sum[j] : T(0);
    const T by = weight_of(l, target);
    loss[j] = (1 - l.smoothing) * by * (rest - (l.x[target * l.stride + j] - shift));
    if (share != 0) loss[j] += share * ((shift + rest) * l.total - sum[j]);
    count[j] = by;
  }
}

template <class T>
void across_grad(const ClassLines<T>& l, const T* g, T* dx) {
  const int64_t n = l.classes, w = l.lines;
  if (w > kLossColumns) __builtin_unreachable();
  T hit[kLossColumns], by[kLossColumns], spread[kLossColumns], shift[kLossColumns];
  int64_t target[kLossColumns];
  const T share = l.smoothing / T(n);
  for (int64_t j = 0; j < w; j++) {
    target[j] = target_of(l, j);
    const bool counts = target[j] >= 0;
    hit[j] = counts ? (1 - l.smoothing) * weight_of(l, target[j]) * g[j] : T(0);
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
    if (target[j] >= 0) dx[target[j] * l.stride + j] -= hit[j];
}

template <class T>
constexpr LossKernelsOf<T> kernels_of{rows<T>, rows_grad<T>, across<T>, across_grad<T>};

}  // namespace

const LossTable& loss_kernels() {
  static constexpr LossTable table{kernels_of<float>, kernels_of<double>};
  return table;
}

}  // namespace ember::cpu::EMBER_ISA
