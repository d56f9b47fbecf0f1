// The CPU's recurrent layers (families/recurrent.h).
#pragma once

#include "families/recurrent.h"

namespace ember::cpu {

RecurrentKernels* recurrent_kernels();

}  // namespace ember::cpu
