// Pooling on the CPU; the kernels are kernels/pool.cpp.
#pragma once

#include "families/pool.h"

namespace ember::cpu {

PoolKernels* pool_kernels();

}  // namespace ember::cpu
