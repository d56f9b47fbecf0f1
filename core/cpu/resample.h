// Resampling along one axis (primitives.h); the kernels are kernels/resample.cpp.
#pragma once

#include "operands.h"

namespace ember::cpu {

void blend(const Tensor& y, const Tensor& x, int dim, const Taps& taps);
void blend_grad(const Tensor& dx, const Tensor& g, int dim, const Taps& taps);

}  // namespace ember::cpu
