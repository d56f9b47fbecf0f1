// Kernels that slide a window over planes (or volumes), once per ISA level: depthwise convolution
// and maxima of windows. A plane is first copied into a larger one with something neutral around
// it, in which column i is column i / phases of the part i % phases. There, neighbouring results
// read neighbouring inputs whatever the stride, and no result is at an edge.
#pragma once

#include <cstdint>

#include "cpu/kernels/levels.h"

namespace ember::cpu {

struct PlanePlan {
  int64_t in_rows, in_cols;  // of what is copied
  const int64_t* in_places;  // where each of its rows goes in the copy; -1: nowhere
  int64_t left, spread;      // where its first column goes, and how far apart columns go
  int64_t phases, part;      // parts of the copy, and the size of one
  int64_t width;             // of a row of the copy
  int64_t rows, cols;        // of the results
  int64_t vectors;           // in a row of results
  const int64_t* starts;     // what the first result of each row reads first
  int64_t taps;              // elements of a window
  const int64_t* offsets;    // of each in the copy

  int64_t size() const { return phases * part; }
};

// Where maxima are in the plane: base of the row + column * step + shift of the tap.
struct MaxPlaces {
  const int64_t *bases, *shifts;
  int64_t step;
  // The first element of a window, for when nothing is larger than the smallest value there is.
  const int64_t *first_row, *first_col;
};

struct DepthwiseKernels {
  int lanes;  // results in a vector
  // The copy keeps what is around the plane, so that it need be filled in once only.
  void (*copy_in)(const PlanePlan& p, const void* x, void* copy);
  // y = start + sum over taps of w * copy
  void (*run)(const PlanePlan& p, const void* copy, const void* w, const void* start, void* y);
  // dw += sums over places of g * copy; `g` is a copy as well, of rows of whole vectors
  void (*weights)(const PlanePlan& p, const void* copy, const void* g, void* dw);
};

// Windows of any kind on three axes, as lists (primitives.h).
struct PoolPlan {
  int64_t in[3], out[3];
  const int64_t *first[3], *last[3], *count[3];
  int64_t step[3];
  int64_t kernel, stride, padding;  // of the last axis, if the windows slide; else stride is 0
  int64_t divisor;                  // 0: the product of counts
  int64_t channels;                 // of channels-last tensors
};

struct PoolKernelsOf {
  int lanes;
  void (*copy_in)(const PlanePlan& p, const void* x, void* copy);
  void (*fill)(void* copy, int64_t n);  // with the smallest value there is
  // One plane. `indices` may be null.
  void (*max_sliding)(const PlanePlan& p, const MaxPlaces& at, const void* copy, void* y,
                      int64_t* indices);
  void (*max)(const PoolPlan& p, const void* x, void* y, int64_t* indices);
  void (*max_grad)(int64_t inputs, int64_t places, const void* g, const int64_t* indices, void* dx);
  void (*mean_of_all)(int64_t inputs, const void* x, void* y);
  void (*mean)(const PoolPlan& p, const void* x, void* y, void* scratch);
  void (*mean_grad)(const PoolPlan& p, const void* g, void* dx, void* scratch);
  // One sample, channels last: the channels [begin, end) of it.
  void (*max_last)(const PoolPlan& p, int64_t begin, int64_t end, const void* x, void* y,
                   int64_t* indices, void* scratch);
  void (*max_grad_last)(const PoolPlan& p, int64_t begin, int64_t end, const void* g,
                        const int64_t* indices, void* dx);
  void (*mean_last)(const PoolPlan& p, int64_t begin, int64_t end, const void* x, void* y);
  void (*mean_grad_last)(const PoolPlan& p, int64_t begin, int64_t end, const void* g, void* dx,
                         void* scratch);
};

// Weighted sums along the middle axis of (outer, n, inner), for one `outer` and the columns [begin,
// end) of `inner`.
struct BlendPlan {
  int64_t in, out, inner, width;
  const int64_t* index;
  const void* weight;
};
struct BlendKernels {
  void (*run)(const BlendPlan& p, int64_t begin, int64_t end, const void* x, void* y);
  void (*grad)(const BlendPlan& p, int64_t begin, int64_t end, const void* g, void* dx);
};
enum PoolType { kPoolF32, kPoolF64, kPoolI32, kPoolI64, kPoolTypes };

// Room for one line of sums, in elements.
inline int64_t mean_scratch(const PoolPlan& p) {
  const int64_t wide = p.in[2] + p.padding, reach = (p.out[2] - 1) * p.stride + p.kernel;
  return (wide > reach ? wide : reach) + p.out[2];
}

EMBER_DECLARE_LEVELS(const DepthwiseKernels& depthwise_kernels(bool double_wide);
                     const PoolKernelsOf& pool_kernels(PoolType type);
                     const BlendKernels& blend_kernels(bool double_wide);)

}  // namespace ember::cpu
