// Texts that programs of different kernels have in common.
#include "opencl/text.h"

#include <cctype>
#include <cstring>
#include <string_view>

#include "opencl/complex.h"
#include "opencl/device.h"
#include "opencl/sources.h"

namespace ember::opencl {

namespace {

bool calls(std::string_view formula, std::string_view name) {
  for (size_t at = formula.find(name); at != formula.npos; at = formula.find(name, at + 1)) {
    auto is_name = [&](size_t i) {
      return i < formula.size() && (std::isalnum((unsigned char)formula[i]) || formula[i] == '_');
    };
    if (!(at > 0 && is_name(at - 1)) && !is_name(at + name.size())) return true;
  }
  return false;
}
// Whether a formula calls a function of this text that the common ones are without. Programs hold
// such texts only if they do.
bool calls_into(std::string_view text, std::string_view formula) {
  constexpr std::string_view head = "inline REAL ";
  for (size_t at = text.find(head); at != text.npos; at = text.find(head, at)) {
    at += head.size();
    const std::string_view name = text.substr(at, text.find('(', at) - at);
    if (calls(formula, name) &&
        !std::strstr(sources::functions, ("DEVICE T " + std::string(name) + "(").c_str()))
      return true;
  }
  return false;
}

}  // namespace

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

std::string functions_for(Dtype compute, std::string_view formula) {
  const Dtype d = compute_of(compute);
  if (is_complex(d)) return complex_functions(d);
  const std::string type = value_type(d);
  const std::string bits = std::to_string(item_size(d) * 8);
  std::string text = "typedef " + type + " T;\n";
  if (is_floating(d))
    text += "#define T_FLOAT 1\n#define T_BITS " + bits + "\n";
  else
    text += "#define " + std::string(is_signed(d) ? "T_SIGNED" : "T_UNSIGNED") + " 1\ntypedef u" +
            bits + " U;\n#define T_BITS " + bits + "\n";
  if (d == Dtype::Bool) text += "#define T_BOOL 1\n";
  const bool special = is_floating(d) && calls_into(sources::special_functions, formula);
  if (special || (is_floating(d) && calls_into(sources::recurrences, formula))) {
    text += special
                ? "#ifdef EMBER_DOUBLE\n#define REAL double\n#else\n#define REAL float\n#endif\n"
                : "#define REAL T\n";
    text += "#define inline static\n";
    text += sources::recurrences;
    if (special) text += std::string("#define SPECIAL 1\n") + sources::special_functions;
    text += "#undef inline\n";
  }
  return text + sources::functions;
}

Dtype accumulator(Dtype d) { return is_floating(d) ? compute_of(d) : Dtype::Int64; }

bool items_work_alone() {
  constexpr uint64_t kCpu = 2;  // CL_DEVICE_TYPE_CPU
  const Properties& p = context().properties;
  return !p.staged && (p.type & kCpu) != 0;
}

}  // namespace ember::opencl
