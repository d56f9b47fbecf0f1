// The CPU's optimizer steps (families/optim.h).
#pragma once

#include "families/optim.h"

namespace ember::cpu {

OptimKernels* optim_kernels();

}  // namespace ember::cpu
