// The device "opencl".
#pragma once

namespace ember::opencl {

// Makes the device known, computing on what use_device() opened; once per process.
void register_device();

}  // namespace ember::opencl
