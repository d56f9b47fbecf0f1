// The CPU's optimizer steps (families/optim.h).
#pragma once

#include "families/optim.h"

namespace ember::cpu {

OptimKernels* optim_kernels();
// OptimKernels::pointwise (foreach.cpp).
bool list_pointwise(const ListCall& call);

}  // namespace ember::cpu
