// The loops of optimizer steps, made of the rows of optim_formulas.h. Each element is read once,
// all of its state with it.
#include "cpu/kernels/optim_kernels.h"

#include <utility>

#include "cpu/kernels/arithmetic.h"
#include "cpu/kernels/half.h"
#include "cpu/kernels/loops.h"
#include "expand.h"

namespace ember::cpu::EMBER_ISA {
namespace {

EMBER_INLINE float wide(float v) { return v; }
EMBER_INLINE double wide(double v) { return v; }
EMBER_INLINE float wide(BFloat16 v) { return to_float(v); }
EMBER_INLINE float wide(Half v) { return to_float(v); }
EMBER_INLINE void store(float* to, float v) { *to = v; }
EMBER_INLINE void store(double* to, double v) { *to = v; }
EMBER_INLINE void store(BFloat16* to, float v) { *to = to_bfloat(v); }
EMBER_INLINE void store(Half* to, float v) { *to = to_half(v); }
template <class T>
EMBER_INLINE T detach(T x) {  // this is the end of no graph
  return x;
}
template <class M>
using Wide = decltype(wide(M()));

// `given` has a bit for each of the lists that may be missing.
#define EMBER_NUMBER(name) [[maybe_unused]] const T name = T(*numbers++);
#define EMBER_ROW(name) M* const name##_row = static_cast<M*>(*row++);
#define EMBER_BIT(name) bit_##name,
#define EMBER_ROW_IF(name)                               \
  constexpr bool has_##name = (given >> bit_##name) & 1; \
  [[maybe_unused]] EMBER_ROW(name)
#define EMBER_LOAD(name) T name = wide(name##_row[i]);
#define EMBER_LOAD_IF(name)    \
  [[maybe_unused]] T name = 0; \
  if constexpr (has_##name) name = wide(name##_row[i]);
#define EMBER_STORE(name) store(name##_row + i, name);
#define EMBER_STORE_IF(name) \
  if constexpr (has_##name) store(name##_row + i, name);
namespace step {
#define STEP(name, state, sometimes, scalars, options, own, once, ...) \
  template <class M, int given>                                        \
  void name(int64_t n, OptimRows rows, const double* numbers) {        \
    using T = Wide<M>;                                                 \
    EMBER_EACH(EMBER_NUMBER, EMBER_STEP_NUMBERS)                       \
    EMBER_EACH(EMBER_NUMBER, EMBER_LIST options)                       \
    EMBER_EACH(EMBER_NUMBER, EMBER_LIST own)                           \
    enum Bits { EMBER_EACH(EMBER_BIT, EMBER_LIST sometimes) };         \
    void* const* row = rows;                                           \
    EMBER_EACH(EMBER_ROW, p, g)                                        \
    EMBER_EACH(EMBER_ROW, EMBER_LIST state)                            \
    EMBER_EACH(EMBER_ROW_IF, EMBER_LIST sometimes)                     \
    _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {              \
      T p = wide(p_row[i]), g = sign_of_g * wide(g_row[i]);            \
      if (added != 0) g += added * p;                                  \
      p *= left;                                                       \
      EMBER_EACH(EMBER_LOAD, EMBER_LIST state)                         \
      EMBER_EACH(EMBER_LOAD_IF, EMBER_LIST sometimes)                  \
      __VA_ARGS__                                                      \
      EMBER_EACH(EMBER_STORE, p)                                       \
      EMBER_EACH(EMBER_STORE, EMBER_LIST state)                        \
      EMBER_EACH(EMBER_STORE_IF, EMBER_LIST sometimes)                 \
    }                                                                  \
  }
#include "optim_formulas.h"
}  // namespace step

template <int... given, class F>
void fill(OptimLoop (&loops)[1 << kOptimSometimes][kOptimTypes],
          std::integer_sequence<int, given...>, F loop) {
  auto add = [&](auto here) {
    loops[here][kOptimF32] = loop(float(), here);
    loops[here][kOptimF64] = loop(double(), here);
    loops[here][kOptimBF16] = loop(BFloat16(), here);
    loops[here][kOptimF16] = loop(Half(), here);
  };
  (add(std::integral_constant<int, given>()), ...);
}

struct Table {
  OptimLoops loops{};

  Table() {
#define EMBER_TWICE(name) *2
#define STEP(name, state, sometimes, ...)                                                  \
  fill(loops[int(Update::name)],                                                           \
       std::make_integer_sequence<int, 1 EMBER_EACH(EMBER_TWICE, EMBER_LIST sometimes)>(), \
       [](auto m, auto given) -> OptimLoop {                                               \
         return step::name<decltype(m), decltype(given)::value>;                           \
       });
#include "optim_formulas.h"
  }
};

}  // namespace

const OptimLoops& optim_loops() {
  static const Table table;
  return table.loops;
}

}  // namespace ember::cpu::EMBER_ISA
