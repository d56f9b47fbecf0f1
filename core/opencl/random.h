// Random numbers drawn on the device.
#pragma once

#include "backend.h"

namespace ember::opencl {

// The generator that the device's numbers come from when none is named: each draw takes 64 bits
// of it as the key of a Philox sequence.
Generator& device_generator();

}  // namespace ember::opencl
