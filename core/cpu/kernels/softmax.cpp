// softmax, log_softmax, logsumexp and their gradients. A line is read from memory once and then
// stays in the cache: its maximum, the exponentials and their sum, the scaling.
#include "cpu/kernels/line_kernels.h"
#include "cpu/kernels/line_sums.h"

namespace ember::cpu::EMBER_ISA {
namespace {

// Rows shorter than a few vectors: the exponentials of many are taken together.
template <class T>
EMBER_INLINE void short_rows(int64_t rows, int64_t n, const T* x, T* out, bool log_) {
  T buffer[kChunk], max[kChunk], sum[kChunk];
  const int64_t most = kChunk / n;
  for (int64_t first = 0; first < rows; first += most) {
    const int64_t count = rows - first < most ? rows - first : most;
    for (int64_t r = 0; r < count; r++) {
      T top = -Float<T>::infinity;
      for (int64_t i = 0; i < n; i++) top = x[r * n + i] > top ? x[r * n + i] : top;
      for (int64_t i = 0; i < n; i++) buffer[r * n + i] = x[r * n + i] - top;
      max[r] = top;
    }
    map1(buffer, buffer, count * n, [](T v) EMBER_LAMBDA { return exp(v); });
    for (int64_t r = 0; r < count; r++) {
      T s = 0;
      for (int64_t i = 0; i < n; i++) s += buffer[r * n + i];
      sum[r] = s;
    }
    if (log_) map1(sum, sum, count, [](T v) EMBER_LAMBDA { return log(v); });
    for (int64_t r = 0; r < count; r++) {
      const T scale = log_ ? sum[r] : 1 / sum[r], top = max[r];
      for (int64_t i = 0; i < n; i++)
        out[r * n + i] = log_ ? (x[r * n + i] - top) - scale : buffer[r * n + i] * scale;
    }
    x += count * n;
    out += count * n;
  }
}

template <class T, bool log_>
void run(int64_t rows, int64_t n, const void* from, void* to) {
  const T* x = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  if (n <= 3 * kLanes<T>) return short_rows(rows, n, x, out, log_);
  for (int64_t r = 0; r < rows; r++, x += n, out += n) {
    const T max = max_of(n, x);
    if constexpr (log_) {
      const T rest = log(exp_sum(n, x, max));
      map1(x, out, n, [=](T v) EMBER_LAMBDA { return (v - max) - rest; });
    } else {
      map1(x, out, n, [=](T v) EMBER_LAMBDA { return exp(v - max); });
      const T scale = 1 / sum_of(n, out);
      map1(out, out, n, [=](T v) EMBER_LAMBDA { return v * scale; });
    }
  }
}

template <class T, bool log_>
void run_grad(int64_t rows, int64_t n, const void* gs, const void* ys, void* to) {
  const T* g = static_cast<const T*>(gs);
  const T* y = static_cast<const T*>(ys);
  T* out = static_cast<T*>(to);
  for (int64_t r = 0; r < rows; r++, g += n, y += n, out += n) {
    if constexpr (log_) {
      const T sum = sum_of(n, g);
      map2(g, y, out, n, [=](T a, T b) EMBER_LAMBDA { return a - exp(b) * sum; });
    } else {
      const T sum = dot_of(n, g, y);
      map2(g, y, out, n, [=](T a, T b) EMBER_LAMBDA { return (a - sum) * b; });
    }
  }
}

// Where the maximum is infinite, nothing is taken off: log(sum) is right by itself.
template <class T>
EMBER_INLINE T finite_shift(T max) {
  return isinf(max) ? T(0) : max;
}

template <class T>
void logsumexp(int64_t rows, int64_t n, const void* from, void* to) {
  const T* x = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  for (int64_t r = 0; r < rows; r++, x += n) {
    const T shift = finite_shift(max_of(n, x));
    out[r] = log(exp_sum(n, x, shift)) + shift;
  }
}

template <class T, bool log_>
void across(int64_t n, int64_t w, const void* from, void* to, int64_t stride) {
  const T* x = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  if (w > kSoftmaxColumns) __builtin_unreachable();
  T max[kSoftmaxColumns], sum[kSoftmaxColumns];
  max_across(n, w, x, stride, max);
  if constexpr (log_) {
    exp_sum_across(n, w, x, stride, max, sum);
    map1(sum, sum, w, [](T v) EMBER_LAMBDA { return log(v); });
    for (int64_t i = 0; i < n; i++, x += stride, out += stride)
      map3(x, max, sum, out, w, [](T v, T m, T s) EMBER_LAMBDA { return (v - m) - s; });
  } else {
    for (int64_t j = 0; j < w; j++) sum[j] = 0;
    for (int64_t i = 0; i < n; i++) {
      T* line = out + i * stride;
      map2(x + i * stride, max, line, w, [](T v, T m) EMBER_LAMBDA { return exp(v - m); });
      map2(line, static_cast<const T*>(sum), sum, w, [](T v, T s) EMBER_LAMBDA { return v + s; });
    }
    map1(sum, sum, w, [](T v) EMBER_LAMBDA { return 1 / v; });
    for (int64_t i = 0; i < n; i++, out += stride)
      map2(static_cast<const T*>(out), static_cast<const T*>(sum), out, w,
           [](T v, T s) EMBER_LAMBDA { return v * s; });
  }
}

template <class T, bool log_>
void across_grad(int64_t n, int64_t w, const void* gs, const void* ys, void* to, int64_t stride) {
  const T* g = static_cast<const T*>(gs);
  const T* y = static_cast<const T*>(ys);
  T* out = static_cast<T*>(to);
  if (w > kSoftmaxColumns) __builtin_unreachable();
  T sum[kSoftmaxColumns];
  for (int64_t j = 0; j < w; j++) sum[j] = 0;
  const T* total = sum;
  for (int64_t i = 0; i < n; i++)
    map3(g + i * stride, y + i * stride, total, sum, w,
         [](T a, T b, T s) EMBER_LAMBDA { return log_ ? s + a : s + a * b; });
  for (int64_t i = 0; i < n; i++)
    map3(g + i * stride, y + i * stride, total, out + i * stride, w,
         [](T a, T b, T s) EMBER_LAMBDA {
           if constexpr (log_)
             return a - exp(b) * s;
           else
             return (a - s) * b;
         });
}

template <class T>
void logsumexp_across(int64_t n, int64_t w, const void* from, void* to, int64_t stride) {
  const T* x = static_cast<const T*>(from);
  if (w > kSoftmaxColumns) __builtin_unreachable();
  T shift[kSoftmaxColumns], sum[kSoftmaxColumns];
  max_across(n, w, x, stride, shift);
  for (int64_t j = 0; j < w; j++) shift[j] = finite_shift(shift[j]);
  exp_sum_across(n, w, x, stride, shift, sum);
  map2(static_cast<const T*>(sum), static_cast<const T*>(shift), static_cast<T*>(to), w,
       [](T s, T m) EMBER_LAMBDA { return log(s) + m; });
}

template <class T>
void add_type(SoftmaxKernels& k, LineType type) {
  k.run[kSoftmax][type] = run<T, false>;
  k.run[kLogSoftmax][type] = run<T, true>;
  k.run_grad[kSoftmax][type] = run_grad<T, false>;
  k.run_grad[kLogSoftmax][type] = run_grad<T, true>;
  k.logsumexp[type] = logsumexp<T>;
  k.across[kSoftmax][type] = across<T, false>;
  k.across[kLogSoftmax][type] = across<T, true>;
  k.across_grad[kSoftmax][type] = across_grad<T, false>;
  k.across_grad[kLogSoftmax][type] = across_grad<T, true>;
  k.logsumexp_across[type] = logsumexp_across<T>;
}

SoftmaxKernels make() {
  SoftmaxKernels k{};
  add_type<float>(k, kLineF32);
  add_type<double>(k, kLineF64);
  return k;
}

}  // namespace

const SoftmaxKernels& softmax_kernels() {
  static const SoftmaxKernels k = make();
  return k;
}

}  // namespace ember::cpu::EMBER_ISA
