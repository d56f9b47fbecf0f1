// EMBER_OPENCL_FALLBACK=1: what the device cannot do is done by the CPU, with operands moved there
// and back.
#pragma once

#include "backend.h"

namespace ember::opencl {

// `device`, or, if the environment asks for it, a backend that turns to the host where `device`
// raises NotImplementedError or lacks float64.
Backend* with_fallback(Backend* device);

}  // namespace ember::opencl
