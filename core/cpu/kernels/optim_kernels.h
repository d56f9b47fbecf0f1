// Optimizer steps on one stretch of memory, once per ISA level; see kernels/optim.cpp.
#pragma once

#include <cstdint>

#include "cpu/kernels/levels.h"
#include "optim_steps.h"

namespace ember::cpu {

enum OptimType { kOptimF32, kOptimF64, kOptimBF16, kOptimF16, kOptimTypes };
// Parameter, gradient, and up to three rows of state; null where there is none.
constexpr int kOptimRows = 5;
using OptimRows = void* const (&)[kOptimRows];

struct OptimLoops {
  void (*sgd[kOptimTypes])(int64_t n, OptimRows rows, const SgdStep& step);
  void (*adam[kOptimTypes])(int64_t n, OptimRows rows, double count, const AdamStep& step);
  void (*rmsprop[kOptimTypes])(int64_t n, OptimRows rows, const RmspropStep& step);
  void (*adagrad[kOptimTypes])(int64_t n, OptimRows rows, double count, const AdagradStep& step);
};

EMBER_DECLARE_LEVELS(const OptimLoops& optim_loops();)

}  // namespace ember::cpu
