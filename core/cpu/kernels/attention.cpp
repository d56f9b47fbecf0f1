// See attention_kernels.h.
#include "cpu/kernels/attention_kernels.h"

#include "cpu/kernels/line_sums.h"

namespace ember::cpu::EMBER_ISA {
namespace {

template <class T>
EMBER_INLINE void add_mask(const ScoreBlock<T>& b, int64_t r, int64_t n) {
  if (!b.mask) return;
  T* s = b.scores + r * b.stride;
  map2(static_cast<const T*>(s), b.mask + r * b.mask_stride, s, n,
       [](T v, T m) EMBER_LAMBDA { return v + m; });
}

template <class T>
EMBER_INLINE void clear_from(const ScoreBlock<T>& b, int64_t r, int64_t n) {
  T* s = b.scores + r * b.stride;
  for (int64_t i = n; i < b.columns; i++) s[i] = 0;
}

template <class T>
void accumulate(const ScoreBlock<T>& b, T* max, T* sum, T* result, int64_t width) {
  for (int64_t r = 0; r < b.rows; r++, result += width) {
    T* s = b.scores + r * b.stride;
    const int64_t n = b.limit_of(r);
    add_mask(b, r, n);
    const T top = max_of(n, s), before = max[r], now = top > before ? top : before;
    if (now == -Float<T>::infinity) {  // nothing to see yet, unless it is NaN
      map1(s, s, n, [](T v) EMBER_LAMBDA { return v == v ? T(0) : v; });
    } else {
      map1(s, s, n, [=](T v) EMBER_LAMBDA { return exp(v - now); });
      const T scale = before == -Float<T>::infinity ? T(0) : exp(before - now);
      if (scale != 1) {
        sum[r] *= scale;
        map1(result, result, width, [=](T v) EMBER_LAMBDA { return v * scale; });
      }
    }
    clear_from(b, r, n);
    sum[r] += sum_of(n, s);
    max[r] = now;
  }
}

template <class T>
void finish(int64_t rows, int64_t width, const T* max, const T* sum, const T* result, T* out,
            int64_t out_stride, T* logsumexp) {
  for (int64_t r = 0; r < rows; r++, result += width, out += out_stride) {
    const bool blind = sum[r] == 0;
    const T scale = blind ? T(0) : 1 / sum[r];
    // Infinity makes every probability of a blind row 0 in the backward pass.
    logsumexp[r] = blind ? Float<T>::infinity : max[r] + log(sum[r]);
    map1(result, out, width, [=](T v) EMBER_LAMBDA { return v * scale; });
  }
}

template <class T>
void normalize(const ScoreBlock<T>& b, const T* logsumexp) {
  for (int64_t r = 0; r < b.rows; r++) {
    T* s = b.scores + r * b.stride;
    const int64_t n = b.limit_of(r);
    add_mask(b, r, n);
    const T shift = logsumexp[r];
    map1(s, s, n, [=](T v) EMBER_LAMBDA { return exp(v - shift); });
    clear_from(b, r, n);
  }
}

template <class T>
void row_dots(int64_t rows, int64_t width, const T* g, int64_t g_stride, const T* out,
              int64_t out_stride, T* delta) {
  for (int64_t r = 0; r < rows; r++)
    delta[r] = dot_of(width, g + r * g_stride, out + r * out_stride);
}

template <class T>
void score_grads(int64_t rows, int64_t columns, const T* p, T* dp, int64_t stride, const T* delta,
                 T scale) {
  for (int64_t r = 0; r < rows; r++, p += stride, dp += stride) {
    const T shift = delta[r];
    map2(p, static_cast<const T*>(dp), dp, columns,
         [=](T a, T d) EMBER_LAMBDA { return a * (d - shift) * scale; });
  }
}

template <class T>
constexpr AttentionKernelsOf<T> kernels_of{accumulate<T>, finish<T>, normalize<T>, row_dots<T>,
                                           score_grads<T>};

}  // namespace

const AttentionTable& attention_kernels() {
  static constexpr AttentionTable table{kernels_of<float>, kernels_of<double>};
  return table;
}

}  // namespace ember::cpu::EMBER_ISA
