// Texts that programs of different kernels have in common.
#include "opencl/text.h"

#include "opencl/device.h"

namespace ember::opencl {

std::string define(const char* name, const std::string& value) {
  return std::string("#define ") + name + " " + value + "\n";
}
std::string define(const char* name, int64_t value) { return define(name, std::to_string(value)); }

std::string element(const char* suffix, Dtype memory, Dtype acc) {
  const std::string end = suffix;
  return define(("M" + end).c_str(), memory_type(memory)) +
         define(("LOAD" + end).c_str(), load_macro(memory)) +
         define(("STORE" + end + "(p, i, v)").c_str(),
                std::string(store_macro(memory)) + "(p, i, " + stored(acc, memory, "v") + ")");
}

Dtype accumulator(Dtype d) { return is_floating(d) ? compute_of(d) : Dtype::Int64; }

bool items_work_alone() {
  constexpr uint64_t kCpu = 2;  // CL_DEVICE_TYPE_CPU
  const Properties& p = context().properties;
  return !p.staged && (p.type & kCpu) != 0;
}

}  // namespace ember::opencl
