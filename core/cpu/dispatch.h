// Which instructions this machine has, chosen once, and the pointwise kernels compiled for them.
// The environment variable EMBER_CPU_LEVEL=baseline|avx2|avx512 may lower the level, for tests;
// given one, what only some processors of it have is not used.
#pragma once

#include "cpu/kernels/table.h"
#include "tensor/dtype.h"

namespace ember::cpu {

enum class Level { Baseline, Avx2, Avx512 };
Level cpu_level();
const char* name_of(Level level);
bool have_bfloat_pairs();  // AVX512-BF16

// The statement for this machine's level, of those that were compiled.
#ifdef EMBER_HAVE_AVX512
#define EMBER_CASE_AVX512(...) \
  case Level::Avx512: __VA_ARGS__; break;
#else
#define EMBER_CASE_AVX512(...)
#endif
#ifdef EMBER_HAVE_AVX2
#define EMBER_CASE_AVX2(...) \
  case Level::Avx2: __VA_ARGS__; break;
#else
#define EMBER_CASE_AVX2(...)
#endif
#define EMBER_BY_LEVEL(in_avx512, in_avx2, otherwise) \
  switch (cpu_level()) {                              \
    EMBER_CASE_AVX512(in_avx512)                      \
    EMBER_CASE_AVX2(in_avx2)                          \
    default: otherwise;                               \
  }
// `return call`, of the namespace of this machine's level (kernels/levels.h).
#define EMBER_RETURN_BY_LEVEL(call) \
  EMBER_BY_LEVEL(return avx512::call, return avx2::call, return baseline::call)
// Defines `const Table& name()`, which asks `get` of the level once.
#define EMBER_TABLE_BY_LEVEL(Table, name, get)                                            \
  const Table& name() {                                                                   \
    static const Table& chosen = []() -> const Table& { EMBER_RETURN_BY_LEVEL(get()) }(); \
    return chosen;                                                                        \
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
  if (is_narrow(compute)) return compute_of(compute);
  if (compute <= Dtype::Int16) return Dtype::Int32;
  return compute >= Dtype::UInt16 ? Dtype::Int64 : compute;
}

}  // namespace ember::cpu
