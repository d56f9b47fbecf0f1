// Which instructions this machine has, chosen once, and the pointwise kernels compiled for them.
// The environment variable EMBER_CPU_LEVEL=baseline|avx2|avx512 may lower the level, for tests.
#pragma once

#include "cpu/kernels/table.h"
#include "tensor/dtype.h"

namespace ember::cpu {

enum class Level { Baseline, Avx2, Avx512 };
Level cpu_level();
const char* name_of(Level level);

// Defines `const Table& name()`: the table that `get`, which each level has in its namespace
// (kernels/levels.h), gives at this machine's level.
#ifdef EMBER_HAVE_AVX512
#define EMBER_CASE_AVX512(get) \
  case Level::Avx512: return avx512::get();
#else
#define EMBER_CASE_AVX512(get)
#endif
#ifdef EMBER_HAVE_AVX2
#define EMBER_CASE_AVX2(get) \
  case Level::Avx2: return avx2::get();
#else
#define EMBER_CASE_AVX2(get)
#endif
#define EMBER_CHOOSE_LEVEL(Table, name, get)                   \
  const Table& name() {                                        \
    static const Table& chosen = []() -> const Table& {        \
      switch (cpu_level()) {                                   \
        EMBER_CASE_AVX512(get)                                 \
        EMBER_CASE_AVX2(get) default : return baseline::get(); \
      }                                                        \
    }();                                                       \
    return chosen;                                             \
  }

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
