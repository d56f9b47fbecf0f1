// Which instructions this machine has, chosen once, and the pointwise kernels compiled for them.
// The environment variable EMBER_CPU_LEVEL=baseline|avx2|avx512 may lower the level, for tests.
#pragma once

#include "cpu/kernels/table.h"
#include "tensor/dtype.h"

namespace ember::cpu {

enum class Level { Baseline, Avx2, Avx512 };
Level cpu_level();
const char* name_of(Level level);

namespace detail {
extern const Kernels* loaded;
const Kernels& load_kernels();
}  // namespace detail

inline const Kernels& kernels() {
  return detail::loaded ? *detail::loaded : detail::load_kernels();
}

// The type in which a row of a table computes what is asked for in `compute`: itself, or a wider
// one whose results, converted back, are the same.
template <class K>
inline Dtype native_of(const K (&row)[kColumns], Dtype compute) {
  if (row[int(compute)]) return compute;
  if (is_reduced(compute)) return Dtype::Float32;
  if (compute <= Dtype::Int16) return Dtype::Int32;
  return compute >= Dtype::UInt16 ? Dtype::Int64 : compute;
}

}  // namespace ember::cpu
