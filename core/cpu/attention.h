// The CPU's kernels of families/attention.h; raw loops in kernels/attention.cpp.
#pragma once

#include "families/attention.h"

namespace ember::cpu {

AttentionKernels* attention_family();

}  // namespace ember::cpu
