// The inner loops of losses over classes, once per ISA level. Lines of classes are contiguous
// (rows), or lie side by side (across), `stride` elements from class to class.
#pragma once

#include <cstdint>

#include "cpu/kernels/levels.h"

namespace ember::cpu {

constexpr int64_t kLossColumns = 256;  // the most lines side by side

template <class T>
struct ClassLines {
  int64_t lines, classes, stride;
  const T* x;
  const int64_t* target;  // checked
  const T* weight;        // of classes, or null
  T total;                // of the weights
  int64_t ignored;
  T smoothing;
  // Of each line: its maximum, and the logarithm of the sum of exponentials below it. Null if x are
  // log-probabilities.
  T *max, *log_sum;
};

template <class T>
struct LossKernelsOf {
  void (*rows)(const ClassLines<T>& l, T* loss, T* count);
  void (*rows_grad)(const ClassLines<T>& l, const T* g, T* dx);
  void (*across)(const ClassLines<T>& l, T* loss, T* count);
  void (*across_grad)(const ClassLines<T>& l, const T* g, T* dx);
};

struct LossTable {
  LossKernelsOf<float> f32;
  LossKernelsOf<double> f64;
};

EMBER_DECLARE_LEVELS(const LossTable& loss_kernels();)

}  // namespace ember::cpu
