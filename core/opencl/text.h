// Texts that programs of different kernels have in common: types of elements, and how a device
// likes its work to be shared.
#pragma once

#include <string>
#include <string_view>

#include "opencl/launch.h"

namespace ember::opencl {

std::string define(const char* name, const std::string& value);
std::string define(const char* name, int64_t value);

// The type in memory M, LOAD and STORE of a dtype, each followed by `suffix`; ACC is the type of
// the values that are stored.
std::string element(const char* suffix, Dtype memory, Dtype acc);

// The type T that formulas compute in, for this dtype, and the functions that one may call.
std::string functions_for(Dtype compute, std::string_view formula);

// The type that sums of this dtype are kept in.
Dtype accumulator(Dtype d);

// Whether a work-group should be one item with a large piece of work and long vectors, as on CPUs,
// rather than many items that share it.
bool items_work_alone();

}  // namespace ember::opencl
