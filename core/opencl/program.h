// Kernels from source: built once per device and process, and kept on disk between processes.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "opencl/device.h"

namespace ember::opencl {

struct Kernel {
  Handle handle = nullptr;
  std::string name;
  size_t group = 0;  // items of a work-group
  std::mutex mutex;  // arguments are part of a kernel: held from giving them until it is enqueued
  std::string last;  // the arguments it has, see launch.cpp
  int last_count = -1;
};

// The kernel called `name` of `source`, which comes after kernels/common.cl, for work-groups of
// that size. Lives for ever. Other threads run meanwhile, as compilers take seconds. A kernel that
// the driver's compiler does not manage (it ends its process, or goes over the limits of helper.h)
// is built anew with EMBER_PLAIN defined, for which its text may have a simpler form.
Kernel* kernel(Context& device, const std::string& source, const char* name, size_t group);
// Where binaries are kept ("" for nowhere) and how many bytes of them; how many binaries were built
// and loaded.
void set_cache(const std::string& directory, int64_t most);
struct BuildCounts {
  int64_t built = 0, loaded = 0;
};
BuildCounts build_counts();
// What is called with notices for the user.
void set_notice(void (*notice)(const std::string& text));

// The pieces, as the process that compiles needs them. `place` is that of a device in the list of
// all; what describes the device and its driver; a program, and its binary; an Error with the
// compiler's log if there is one.
std::string identity_of(const Properties& p);
Handle build_program(Handle context, Handle device, const std::string& source,
                     const std::string& options);
std::vector<char> binary_of(Handle program);

}  // namespace ember::opencl
