// Convolution of single planes; see depthwise_kernels.h for how they lie in memory.
#include "cpu/kernels/depthwise_kernels.h"

#include "cpu/kernels/loops.h"

namespace ember::cpu::EMBER_ISA {
namespace {

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
constexpr int kLanes = kVectorBytes / int(sizeof(T));

template <class T>
EMBER_INLINE Vector<T> load(const T* p) {
  return *reinterpret_cast<const Vector<T>*>(p);
}

template <class T>
void copy_in(const PlanePlan& p, const void* from, void* to) {
  const T* x = static_cast<const T*>(from);
  T* copy = static_cast<T*>(to);
  for (int64_t y = 0; y < p.in_rows; y++, x += p.in_cols) {
    const int64_t row = p.top + y * p.spread_y;
    if (row >= p.height) break;
    T* line = copy + row * p.width;
    if (p.phases == 1) {
      const int64_t room = (p.width - p.left + p.spread_x - 1) / p.spread_x;
      const int64_t n = p.in_cols < room ? p.in_cols : room;
      if (p.spread_x == 1)
        __builtin_memcpy(line + p.left, x, uint64_t(n) * sizeof(T));
      else
        for (int64_t i = 0; i < n; i++) line[p.left + i * p.spread_x] = x[i];
      continue;
    }
    for (int64_t phase = 0; phase < p.phases; phase++) {
      const int64_t first = ((phase - p.left) % p.phases + p.phases) % p.phases;
      const int64_t at = (p.left + first) / p.phases;
      int64_t n = p.in_cols > first ? (p.in_cols - first + p.phases - 1) / p.phases : 0;
      n = n < p.width - at ? n : p.width - at;
      T* part = line + phase * p.height * p.width + at;
      const T* in = x + first;
      if (p.phases == 2)
        for (int64_t i = 0; i < n; i++) part[i] = in[2 * i];
      else
        for (int64_t i = 0; i < n; i++) part[i] = in[p.phases * i];
    }
  }
}

// N vectors of results, which need not be in one row.
template <class T, int N>
EMBER_INLINE void tiles(const PlanePlan& p, const T* copy, const T* w, T start, T* y,
                        int64_t tile) {
  constexpr int L = kLanes<T>;
  const T* from[N];
  T* to[N];
  int64_t keep[N];  // what is too much at the end of a row is overwritten by the next, if any
  Vector<T> sum[N];
#pragma GCC unroll 4
  for (int u = 0; u < N; u++) {
    const int64_t row = (tile + u) / p.vectors, col = (tile + u) % p.vectors * L;
    from[u] = copy + row * p.step_y * p.width + col;
    to[u] = y + row * p.cols + col;
    const bool last = row * p.cols + col + L > p.rows * p.cols;
    keep[u] = last && p.cols - col < L ? p.cols - col : L;
    sum[u] = start - Vector<T>{};
  }
  for (int64_t k = 0; k < p.taps; k++) {
    const int64_t offset = p.offsets[k];
    const T by = w[k];
#pragma GCC unroll 4
    for (int u = 0; u < N; u++) sum[u] += by * load(from[u] + offset);
  }
#pragma GCC unroll 4
  for (int u = 0; u < N; u++) {
    if (__builtin_expect(keep[u] == L, 1))
      *reinterpret_cast<Vector<T>*>(to[u]) = sum[u];
    else
      for (int64_t i = 0; i < keep[u]; i++) to[u][i] = sum[u][i];
  }
}

template <class T>
void run(const PlanePlan& p, const void* copy, const void* w, const void* start, void* y) {
  const T* from = static_cast<const T*>(copy);
  const T* by = static_cast<const T*>(w);
  const T first = start ? *static_cast<const T*>(start) : T(0);
  T* to = static_cast<T*>(y);
  const int64_t count = p.rows * p.vectors;
  int64_t t = 0;
  for (; t + 4 <= count; t += 4) tiles<T, 4>(p, from, by, first, to, t);
  for (; t < count; t++) tiles<T, 1>(p, from, by, first, to, t);
}

template <class T, int K>
void weight_sums(const PlanePlan& p, const T* copy, const T* g, const int64_t* offsets, T* dw) {
  constexpr int L = kLanes<T>;
  Vector<T> sum[K] = {};
  for (int64_t row = 0; row < p.rows; row++) {
    const T* from = copy + row * p.step_y * p.width;
    for (int64_t v = 0; v < p.vectors; v++, g += L, from += L) {
      const Vector<T> by = load(g);
#pragma GCC unroll 9
      for (int k = 0; k < K; k++) sum[k] += by * load(from + offsets[k]);
    }
  }
  for (int k = 0; k < K; k++) {
    T total = 0;
    for (int i = 0; i < L; i++) total += sum[k][i];
    dw[k] += total;
  }
}

template <class T>
void weights(const PlanePlan& p, const void* copy, const void* g, void* dw) {
  const T* from = static_cast<const T*>(copy);
  const T* grad = static_cast<const T*>(g);
  T* to = static_cast<T*>(dw);
  int64_t k = 0;
  for (; k + 9 <= p.taps; k += 9) weight_sums<T, 9>(p, from, grad, p.offsets + k, to + k);
  for (; k + 3 <= p.taps; k += 3) weight_sums<T, 3>(p, from, grad, p.offsets + k, to + k);
  for (; k < p.taps; k++) weight_sums<T, 1>(p, from, grad, p.offsets + k, to + k);
}

template <class T>
constexpr DepthwiseKernels kKernels = {kLanes<T>, copy_in<T>, run<T>, weights<T>};

}  // namespace

const DepthwiseKernels& depthwise_kernels(bool double_wide) {
  return double_wide ? kKernels<double> : kKernels<float>;
}

}  // namespace ember::cpu::EMBER_ISA
