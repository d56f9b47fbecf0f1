// The fold of one contiguous run, on one thread: what every reduction ends in. Sums of floats are
// pairwise: blocks of kBlock elements in many lanes, blocks joined as a tree. Included by kernel
// files only (Note [One namespace per level]).
#pragma once

#include <limits>
#include <type_traits>

#include "cpu/kernels/reduce_kernels.h"
#include "cpu/kernels/vector.h"

namespace ember::cpu::EMBER_ISA {
namespace {

constexpr int64_t kBlock = 1024;

template <class T>
constexpr T lowest_of = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                                    : std::numeric_limits<T>::min();
template <class T>
constexpr T highest_of = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                                     : std::numeric_limits<T>::max();

// Whether a type, or the elements of a vector of it, may be NaN: in integers nobody needs to look.
template <class V>
constexpr bool kMayBeNan = std::is_floating_point_v<V>;
template <class V>
  requires(!std::is_arithmetic_v<V>)
constexpr bool kMayBeNan<V> =
    requires(V v) { requires std::is_floating_point_v<std::remove_cvref_t<decltype(v[0])>>; };

template <class V>
EMBER_INLINE V maximum(V a, V b) {
  if constexpr (kMayBeNan<V>)
    return ((b > a) | (b != b)) ? b : a;
  else
    return b > a ? b : a;
}
template <class V>
EMBER_INLINE V minimum(V a, V b) {
  if constexpr (kMayBeNan<V>)
    return ((b < a) | (b != b)) ? b : a;
  else
    return b < a ? b : a;
}

// The folds of reduction_formulas.h; one functor serves scalars and vectors.
namespace folds {
#define FOLD(name, types, start, join)                                                       \
  template <class T>                                                                         \
  struct name {                                                                              \
    static constexpr FoldTypes takes = FoldTypes::types;                                     \
    static constexpr bool pairwise = Fold::name == Fold::sum && std::is_floating_point_v<T>; \
    static T identity() { return T(start); }                                                 \
    template <class V>                                                                       \
    static EMBER_INLINE V fold(V a, V b) {                                                   \
      return join;                                                                           \
    }                                                                                        \
    template <class V>                                                                       \
    static EMBER_INLINE V take(V x) {                                                        \
      return x;                                                                              \
    }                                                                                        \
                                                                                             \
   private:                                                                                  \
    [[maybe_unused]] static constexpr T lowest = lowest_of<T>, highest = highest_of<T>;      \
  };
#include "reduction_formulas.h"
template <class T>
struct squares : sum<T> {
  template <class V>
  static EMBER_INLINE V take(V x) {
    return x * x;
  }
};
}  // namespace folds

template <class T>
constexpr bool kVectorised = !is_complex_type<T>;

// `count` > 0 vectors from x on, folded into one.
template <class T, template <class> class Op>
Vector<T> fold_vectors(int64_t count, const T* x) {
  using O = Op<T>;
  using V = Vector<T>;
  constexpr int L = kLanes<T>, U = 8;
  if (O::pairwise && count * L > kBlock) {
    const int64_t half = (count / 2 * L + kBlock - 1) / kBlock * (kBlock / L);
    return O::fold(fold_vectors<T, Op>(half, x), fold_vectors<T, Op>(count - half, x + half * L));
  }
  V acc[U];
  const int used = count >= U ? U : 1;
  for (int u = 0; u < used; u++) acc[u] = O::take(*(const V*)(x + u * L));
  int64_t i = used;
  if (used == U) {
    for (; i + U <= count; i += U)
#pragma GCC unroll 8
      for (int u = 0; u < U; u++) acc[u] = O::fold(acc[u], O::take(*(const V*)(x + (i + u) * L)));
#pragma GCC unroll 8
    for (int step = U / 2; step; step /= 2)
#pragma GCC unroll 8
      for (int u = 0; u < step; u++) acc[u] = O::fold(acc[u], acc[u + step]);
  }
  for (; i < count; i++) acc[0] = O::fold(acc[0], O::take(*(const V*)(x + i * L)));
  return acc[0];
}

// Fewer elements than a vector has, in lanes that are otherwise neutral.
template <class T, template <class> class Op>
Vector<T> partial_vector(int64_t n, const T* x) {
  T lanes[kLanes<T>];
  for (int l = 0; l < kLanes<T>; l++) lanes[l] = Op<T>::identity();
  for (int64_t i = 0; i < n; i++) lanes[i] = x[i];
  return Op<T>::take(*(const Vector<T>*)lanes);
}

template <class T, template <class> class Op>
T run(int64_t n, const T* x) {
  using O = Op<T>;
  T result = O::identity();
  if constexpr (kVectorised<T>) {
    constexpr int L = kLanes<T>;
    if (n >= L) {
      // Loads that straddle two lines take twice as long; a long row begins with what precedes the
      // first whole one.
      const bool is_long = n >= 16 * L;
      const int64_t head = is_long ? int64_t(-uintptr_t(x) % kVectorBytes / sizeof(T)) : 0;
      const int64_t whole = (n - head) / L, tail = n - head - whole * L;
      Vector<T> all = fold_vectors<T, Op>(whole, x + head);
      if (head) all = O::fold(partial_vector<T, Op>(head, x), all);
      if (is_long && tail) all = O::fold(all, partial_vector<T, Op>(tail, x + n - tail));
      T lanes[L];
      *(Vector<T>*)lanes = all;
      for (int step = L / 2; step; step /= 2)
        for (int l = 0; l < step; l++) lanes[l] = O::fold(lanes[l], lanes[l + step]);
      for (int64_t i = is_long ? n : n - tail; i < n; i++)
        lanes[0] = O::fold(lanes[0], O::take(x[i]));
      return lanes[0];
    }
  }
  if constexpr (O::pairwise && !kVectorised<T>) {
    if (n > kBlock) {
      const int64_t half = (n / 2 + kBlock - 1) / kBlock * kBlock;
      return O::fold(run<T, Op>(half, x), run<T, Op>(n - half, x + half));
    }
  }
  for (int64_t i = 0; i < n; i++) result = O::fold(result, O::take(x[i]));
  return result;
}

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
