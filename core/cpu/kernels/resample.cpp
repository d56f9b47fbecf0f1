// Weighted sums along an axis, and their transpose.
#include "cpu/kernels/loops.h"
#include "cpu/kernels/plane_kernels.h"

namespace ember::cpu::EMBER_ISA {
namespace {

// A line, whose elements are neighbours.
template <class T>
void run_line(const BlendPlan& p, const T* x, const T* weight, T* y) {
  const int64_t* at = p.index;
  if (p.width == 1) {
    for (int64_t i = 0; i < p.out; i++) y[i] = weight[i] * x[at[i]];
  } else if (p.width == 2) {
    for (int64_t i = 0; i < p.out; i++, at += 2, weight += 2)
      y[i] = weight[0] * x[at[0]] + weight[1] * x[at[1]];
  } else {
    for (int64_t i = 0; i < p.out; i++, at += p.width, weight += p.width) {
      T sum = 0;
      for (int64_t t = 0; t < p.width; t++) sum += weight[t] * x[at[t]];
      y[i] = sum;
    }
  }
}

template <class T>
void run(const BlendPlan& p, int64_t begin, int64_t end, const void* from, void* to) {
  const T* x = static_cast<const T*>(from);
  const T* weight = static_cast<const T*>(p.weight);
  T* y = static_cast<T*>(to);
  if (p.inner == 1) return run_line(p, x, weight, y);
  const int64_t n = end - begin;
  for (int64_t i = 0; i < p.out; i++, weight += p.width) {
    const int64_t* at = p.index + i * p.width;
    T* out = y + i * p.inner + begin;
    const T* a = x + at[0] * p.inner + begin;
    const T wa = weight[0];
    if (p.width == 2) {
      const T* b = x + at[1] * p.inner + begin;
      const T wb = weight[1];
      for (int64_t j = 0; j < n; j++) out[j] = wa * a[j] + wb * b[j];
      continue;
    }
    for (int64_t j = 0; j < n; j++) out[j] = wa * a[j];
    for (int64_t t = 1; t < p.width; t++) {
      const T* more = x + at[t] * p.inner + begin;
      const T by = weight[t];
      for (int64_t j = 0; j < n; j++) out[j] += by * more[j];
    }
  }
}

template <class T>
void grad(const BlendPlan& p, int64_t begin, int64_t end, const void* from, void* to) {
  const T* g = static_cast<const T*>(from) + begin;
  const T* weight = static_cast<const T*>(p.weight);
  T* dx = static_cast<T*>(to) + begin;
  const int64_t n = end - begin;
  for (int64_t i = 0; i < p.in; i++)
    for (int64_t j = 0; j < n; j++) dx[i * p.inner + j] = 0;
  const int64_t* at = p.index;
  for (int64_t i = 0; i < p.out; i++, g += p.inner)
    for (int64_t t = 0; t < p.width; t++, at++, weight++) {
      T* into = dx + *at * p.inner;
      const T by = *weight;
      if (p.inner == 1)
        *into += by * *g;
      else
        for (int64_t j = 0; j < n; j++) into[j] += by * g[j];
    }
}

template <class T>
constexpr BlendKernels kKernels = {run<T>, grad<T>};

}  // namespace

const BlendKernels& blend_kernels(bool double_wide) {
  return double_wide ? kKernels<double> : kKernels<float>;
}

}  // namespace ember::cpu::EMBER_ISA
