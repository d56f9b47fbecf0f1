// Chooses the ISA level. EMBER_HAVE_AVX2 and EMBER_HAVE_AVX512 say which levels were compiled.
#include "cpu/dispatch.h"

#include <cstdlib>
#include <cstring>

namespace ember::cpu {

static_assert(int(kColumns) == kDtypes && int(kColumnFloat32) == int(Dtype::Float32) &&
              int(kColumnComplex128) == int(Dtype::Complex128) &&
              int(kColumnUInt64) == int(Dtype::UInt64) &&
              int(kColumnFloat8_e8m0fnu) == int(Dtype::Float8_e8m0fnu));

namespace {

Level best_level() {
  Level best = Level::Baseline;
#if defined(__x86_64__)
  __builtin_cpu_init();
  // A build may leave out avx2 and still have avx512 ("baseline;avx512").
  [[maybe_unused]] const bool avx2 = __builtin_cpu_supports("avx2") &&
                                     __builtin_cpu_supports("fma") &&
                                     __builtin_cpu_supports("f16c");
#ifdef EMBER_HAVE_AVX2
  if (avx2) best = Level::Avx2;
#endif
#ifdef EMBER_HAVE_AVX512
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd"))
    best = Level::Avx512;
#endif
#endif
  if (const char* wish = std::getenv("EMBER_CPU_LEVEL"))
    for (Level level : {Level::Baseline, Level::Avx2})
      if (std::strcmp(wish, name_of(level)) == 0 && level < best) best = level;
  return best;
}

Kernels table;

#define EMBER_ADD(level)             \
  do {                               \
    level::add_arithmetic(table);    \
    level::add_comparison(table);    \
    level::add_exponential(table);   \
    level::add_trigonometric(table); \
    level::add_activation(table);    \
    baseline::add_special(table);    \
    level::add_cast(table);          \
    add_stored_casts(table);         \
    level::add_move(table);          \
  } while (0)

}  // namespace

Level cpu_level() {
  static const Level level = best_level();
  return level;
}

bool have_bfloat_pairs() {
#if defined(__x86_64__)
  static const bool have = cpu_level() == Level::Avx512 && !std::getenv("EMBER_CPU_LEVEL") &&
                           __builtin_cpu_supports("avx512bf16");
  return have;
#else
  return false;
#endif
}

const char* name_of(Level level) {
  return level == Level::Baseline ? "baseline" : level == Level::Avx2 ? "avx2" : "avx512";
}

const Kernels* detail::loaded = nullptr;

const Kernels& detail::load_kernels() {
  static const bool done = [] {
    EMBER_BY_LEVEL(EMBER_ADD(avx512), EMBER_ADD(avx2), EMBER_ADD(baseline))
    return true;
  }();
  (void)done;
  loaded = &table;
  return table;
}

}  // namespace ember::cpu
