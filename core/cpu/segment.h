// Products with sparse matrices on the CPU; families/segment.h says what they compute.
#pragma once

#include "families/segment.h"

namespace ember::cpu {

SegmentKernels* segment_kernels();

}  // namespace ember::cpu
