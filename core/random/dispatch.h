// From this processor and a dtype to the code that serves them.
#pragma once

#include <cstdlib>
#include <string_view>

#include "cpu/kernels/random_kernels.h"
#include "tensor/dtype.h"

namespace ember::random {

inline const cpu::RandomKernels& choose_kernels() {
#if EMBER_HAVE_AVX2  // bound by memory and by the twister: 512 bits would not help
  const char* level = std::getenv("EMBER_CPU_LEVEL");  // as in cpu/dispatch.h
  bool lowered = level && std::string_view(level) == "baseline";
  if (!lowered && __builtin_cpu_supports("x86-64-v3")) return cpu::avx2::random_kernels();
#endif
  return cpu::baseline::random_kernels();
}

inline const cpu::RandomKernels& kernels() {
  static const cpu::RandomKernels& chosen = choose_kernels();
  return chosen;
}

// As with_dtype(), for the dtypes that a distribution has; `name` is the op's, for the error.
template <class F>
void with_floating(const char* name, Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::Float16: return f(Tag<Half>{});
    case Dtype::BFloat16: return f(Tag<BFloat16>{});
    case Dtype::Float32: return f(Tag<float>{});
    case Dtype::Float64: return f(Tag<double>{});
    default: fail(Kind::NotImplemented, name, "(): not implemented for ", dtype);
  }
}

template <class F>
void with_real(const char* name, Dtype dtype, F&& f) {
  check(!is_complex(dtype), Kind::NotImplemented, name, "(): not implemented for ", dtype);
  with_dtype(dtype, [&](auto tag) {
    if constexpr (!is_complex_type<typename decltype(tag)::type>) f(tag);
  });
}

}  // namespace ember::random
