// Kernels from source: built once per device and process, and kept on disk between processes.
#pragma once

#include <mutex>
#include <string>

#include "opencl/device.h"

namespace ember::opencl {

struct Kernel {
  Handle handle = nullptr;
  std::string name;
  std::mutex mutex;  // arguments are part of a kernel: held from giving them until it is enqueued
  std::string last;  // the arguments it has, see launch.cpp
  int last_count = -1;
};

// The kernel called `name` of `source`, which comes after kernels/common.cl. Lives for ever.
// Other threads run meanwhile, as compilers take seconds.
Kernel* kernel(Context& device, const std::string& source, const char* name);
// Where binaries are kept ("" for nowhere) and how many bytes of them; how many binaries were built
// and loaded.
void set_cache(const std::string& directory, int64_t most);
struct BuildCounts {
  int64_t built = 0, loaded = 0;
};
BuildCounts build_counts();

}  // namespace ember::opencl
