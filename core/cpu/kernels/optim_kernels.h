// Optimizer steps on one stretch of memory, once per ISA level; see kernels/optim.cpp.
#pragma once

#include <cstdint>

#include "cpu/kernels/levels.h"
#include "optim_steps.h"

namespace ember::cpu {

enum OptimType { kOptimF32, kOptimF64, kOptimBF16, kOptimF16, kOptimTypes };
// Parameter, gradient, and the lists of state; null where there is none.
constexpr int kOptimRows = 5, kOptimSometimes = 2;
using OptimRows = void* const (&)[kOptimRows];
using OptimLoop = void (*)(int64_t n, OptimRows rows, const double* numbers);

// The loops of each step, by which of the lists that may be missing are there: a bit for each.
using OptimLoops = OptimLoop[kUpdates][1 << kOptimSometimes][kOptimTypes];

EMBER_DECLARE_LEVELS(const OptimLoops& optim_loops();)

}  // namespace ember::cpu
