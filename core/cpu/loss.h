// The CPU's kernels of families/loss.h; raw loops in kernels/loss.cpp.
#pragma once

#include "families/loss.h"

namespace ember::cpu {

LossKernels* loss_family();

}  // namespace ember::cpu
