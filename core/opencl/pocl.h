// What PoCL's driver needs to be told.
#pragma once

namespace ember::opencl {

// For a device of PoCL 3.0: names the processor to its compiler where that does not know it.
void name_processor(void* device);

}  // namespace ember::opencl
