// Reductions over any set of dimensions of a strided array in raw memory.
// Planning is in reduce_plan.h, loops in kernels/reduce.cpp.
#pragma once

#include "reductions.h"
#include "tensor/dtype.h"

namespace ember::cpu {

// Strides count elements. An output has `ndim` strides too; those of reduced dimensions are not
// looked at.
struct ReduceInput {
  Dtype dtype;
  int ndim;
  const int64_t *shape, *strides;
  const void* data;
  uint64_t reduced;  // bit d: dimension d goes
};
struct ReduceOutput {
  Dtype dtype;
  const int64_t* strides;
  void* data;  // null: not wanted
};

// Integers add up in int64, floats in lanes joined pairwise (float32) and then in float64.
// An empty sum is 0, product 1, mean NaN; Min and Max of nothing is for the caller to refuse.
void reduce(Reduction f, const ReduceInput& x, const ReduceOutput& y, double p = 2);

// The extremes along one dimension, the first place on ties, NaN before all. Values have the
// input's dtype, indices are int64; either may be absent.
void extremes(bool most, const ReduceInput& x, int dim, const ReduceOutput& values,
              const ReduceOutput& indices);

// Variance (or its root) with `correction` (1: Bessel's), and the mean. Floating input.
void variance(const ReduceInput& x, double correction, bool root, const ReduceOutput& variance,
              const ReduceOutput& mean);

}  // namespace ember::cpu
