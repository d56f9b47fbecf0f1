// The OpenCL device that ember computes on: its context, its in-order queue and what it can do.
#pragma once

#include <string>
#include <vector>

#include "opencl/loader.h"

namespace ember::opencl {

struct Properties {
  std::string name, vendor, platform, version, driver, extensions;
  uint64_t type = 0, memory = 0, largest_buffer = 0, local_memory = 0;
  uint32_t compute_units = 0;
  size_t group_size = 0;
  bool has_double = false, has_long_atomics = false;
  uint32_t vector_bytes = 16;  // of a register, as the device likes vectors
  bool staged = true;          // kernels stage what they share in local memory (see properties_of)
};

struct Context {
  Handle device = nullptr, context = nullptr, queue = nullptr;
  Properties properties;
};

// The devices of all platforms; empty (and `why` says more) if there are none.
std::vector<Handle> devices(std::string& why);
Properties properties_of(Handle device);
// Makes `device` the one that ember uses; once per process.
void use_device(Handle device);
bool in_use();
// The context in use. Raises in a process forked from one that used it.
const Context& context();
void finish();

}  // namespace ember::opencl
