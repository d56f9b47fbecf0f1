// Convolution of single planes; see plane_kernels.h for how they lie in memory.
#include "cpu/kernels/planes.h"

namespace ember::cpu::EMBER_ISA {
namespace {

// N vectors of results, which need not be in one row.
template <class T, int N>
EMBER_INLINE void tiles(const PlanePlan& p, const T* copy, const T* w, T start, T* y,
                        int64_t first) {
  Tile<T> tile[N];
  Vector<T> sum[N];
#pragma GCC unroll 4
  for (int u = 0; u < N; u++) {
    tile[u].set(p, copy, first + u);
    sum[u] = start - Vector<T>{};
  }
  for (int64_t k = 0; k < p.taps; k++) {
    const int64_t offset = p.offsets[k];
    const T by = w[k];
#pragma GCC unroll 4
    for (int u = 0; u < N; u++) sum[u] += by * load(tile[u].from + offset);
  }
#pragma GCC unroll 4
  for (int u = 0; u < N; u++) tile[u].store(p, y, sum[u]);
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
    const T* from = copy + p.starts[row];
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
