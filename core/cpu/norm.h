// The CPU's kernels of families/norm.h; raw loops in kernels/norm.cpp.
#pragma once

#include "families/norm.h"

namespace ember::cpu {

NormKernels* norm_family();

}  // namespace ember::cpu
