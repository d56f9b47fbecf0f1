// Kernels from source: built once per process, and kept on disk between processes.
#pragma once

#include <string>

#include "opencl/loader.h"

namespace ember::opencl {

// The kernel called `name` of `source` (which comes after the common header kernels/common.cl).
// Valid for ever.
Handle kernel(const std::string& source, const char* name);
// Where binaries are kept ("" for nowhere), and how many were built and loaded.
void set_cache_directory(const std::string& path);
struct BuildCounts {
  int64_t built = 0, loaded = 0;
};
BuildCounts build_counts();

}  // namespace ember::opencl
