// The loops around the formulas: out[i] = f(a[i], b[i] ...) over contiguous memory.
// Included by each pointwise_*.cpp, which is compiled once per ISA level.
//
// Note [One namespace per level]: everything in these files is in an anonymous namespace inside the
// level's own. An inline function or template with external linkage would be merged by the linker
// with that of another level, and AVX code could run where there is no AVX. For the same reason no
// inline function of the C++ library is called. Objects of these files define no weak symbols (`nm`
// marks them W).
#pragma once

#include <cstdint>
#include <type_traits>

#define EMBER_INLINE inline __attribute__((always_inline))
#define EMBER_LAMBDA __attribute__((always_inline))

namespace ember::cpu::EMBER_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// Elements per block: two vectors of the widest operand.
template <class... T>
constexpr int block_of() {
  int widest = 1;
  ((widest = int(sizeof(T)) > widest ? int(sizeof(T)) : widest), ...);
  return 2 * kVectorBytes / widest;
}

template <class T>
EMBER_INLINE const T* padded(T* buffer, const T* from, int64_t n) {
  __builtin_memcpy(buffer, from, uint64_t(n) * sizeof(T));
  return buffer;
}

template <class A, class Out>
EMBER_INLINE bool are_apart(const A* a, const Out* out, int64_t n) {
  return (const char*)(a + n) <= (const char*)out || (const char*)(out + n) <= (const char*)a;
}

// Blocks of fixed length vectorise without a remainder loop. The last one, if partial, is a whole
// one that begins earlier: some elements are computed twice. Where that can't be, because there are
// too few or `out` is an input, it goes through padded buffers. So one copy of the code serves
// every length. `out` may be an input (hence omp simd: no dependence between different elements),
// which also rules out run-time alias checks.
template <class A, class Out, class F>
EMBER_INLINE void map1(const A* a, Out* out, int64_t n, F f) {
  constexpr int W = block_of<A, Out>();
  A a_tail[W] = {};
  Out out_tail[W];
  const bool twice = n >= W && are_apart(a, out, n);
  for (int64_t i = 0; i < n; i += W) {
    if (twice && n - i < W) i = n - W;
    const A* from = a + i;
    Out* to = out + i;
    const bool partial = n - i < W;
    if (partial) from = padded(a_tail, from, n - i), to = out_tail;
#pragma omp simd
    for (int j = 0; j < W; j++) to[j] = f(from[j]);
    if (partial) padded(out + i, out_tail, n - i);
  }
}

template <class A, class B, class Out, class F>
EMBER_INLINE void map2(const A* a, const B* b, Out* out, int64_t n, F f) {
  constexpr int W = block_of<A, B, Out>();
  A a_tail[W] = {};
  B b_tail[W] = {};
  Out out_tail[W];
  const bool twice = n >= W && are_apart(a, out, n) && are_apart(b, out, n);
  for (int64_t i = 0; i < n; i += W) {
    if (twice && n - i < W) i = n - W;
    const A* pa = a + i;
    const B* pb = b + i;
    Out* to = out + i;
    const bool partial = n - i < W;
    if (partial) pa = padded(a_tail, pa, n - i), pb = padded(b_tail, pb, n - i), to = out_tail;
#pragma omp simd
    for (int j = 0; j < W; j++) to[j] = f(pa[j], pb[j]);
    if (partial) padded(out + i, out_tail, n - i);
  }
}

template <class A, class B, class C, class Out, class F>
EMBER_INLINE void map3(const A* a, const B* b, const C* c, Out* out, int64_t n, F f) {
  constexpr int W = block_of<A, B, C, Out>();
  A a_tail[W] = {};
  B b_tail[W] = {};
  C c_tail[W] = {};
  Out out_tail[W];
  const bool twice = n >= W && are_apart(a, out, n) && are_apart(b, out, n) && are_apart(c, out, n);
  for (int64_t i = 0; i < n; i += W) {
    if (twice && n - i < W) i = n - W;
    const A* pa = a + i;
    const B* pb = b + i;
    const C* pc = c + i;
    Out* to = out + i;
    const bool partial = n - i < W;
    if (partial) {
      pa = padded(a_tail, pa, n - i), pb = padded(b_tail, pb, n - i),
      pc = padded(c_tail, pc, n - i);
      to = out_tail;
    }
#pragma omp simd
    for (int j = 0; j < W; j++) to[j] = f(pa[j], pb[j], pc[j]);
    if (partial) padded(out + i, out_tail, n - i);
  }
}

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
