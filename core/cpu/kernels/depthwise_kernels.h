// Convolution of single planes, once per ISA level (kernels/depthwise.cpp). A plane is first copied
// into a larger one with zeros around it, in which column i is column i / phases of the part
// i % phases. There, neighbouring results read neighbouring inputs whatever the stride, and
// no result is at an edge.
#pragma once

#include <cstdint>

namespace ember::cpu {

struct PlanePlan {
  int64_t in_rows, in_cols;    // of the plane that is copied
  int64_t top, left;           // where its first element goes
  int64_t spread_y, spread_x;  // how far apart its neighbours go (more than 1: zeros in between)
  int64_t phases, height, width;
  int64_t rows, cols;  // of the results
  int64_t step_y;      // rows of the copy from one row of results to the next
  int64_t vectors;     // in a row of results
  int64_t taps;
  const int64_t* offsets;  // of each tap in the copy

  int64_t size() const { return phases * height * width; }
};

struct DepthwiseKernels {
  int lanes;  // results in a vector
  // Both copies are zero where nothing is put; the caller sees to that, once.
  void (*copy_in)(const PlanePlan& p, const void* x, void* copy);
  // y = start + sum over taps of w * copy
  void (*run)(const PlanePlan& p, const void* copy, const void* w, const void* start, void* y);
  // dw += sums over places of g * copy; `g` is a copy as well, of rows of whole vectors
  void (*weights)(const PlanePlan& p, const void* copy, const void* g, void* dw);
};

#define EMBER_DECLARE_LEVEL(level)                             \
  namespace level {                                            \
  const DepthwiseKernels& depthwise_kernels(bool double_wide); \
  }
EMBER_DECLARE_LEVEL(baseline)
EMBER_DECLARE_LEVEL(avx2)
EMBER_DECLARE_LEVEL(avx512)
#undef EMBER_DECLARE_LEVEL

}  // namespace ember::cpu
