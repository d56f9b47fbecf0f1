// Scans: running sums, products, extremes and logarithms of sums of exponentials.
#include "cpu/kernels/line_kernels.h"
#include "cpu/kernels/loops.h"
#include "cpu/vmath.h"

namespace ember::cpu::EMBER_ISA {
namespace {

template <class T>
struct WideOf {
  using type = T;
};
template <>
struct WideOf<float> {
  using type = double;
};
template <>
struct WideOf<Complex<float>> {
  using type = Complex<double>;
};
template <class T>
using Wide = typename WideOf<T>::type;

// The folds of reduction_formulas.h. What cannot be large adds up in its own type.
#define FOLD(name, types, start, join)                                                    \
  struct name##_fold {                                                                    \
    template <class T>                                                                    \
    using Acc = std::conditional_t<FoldTypes::types == FoldTypes::every, Wide<T>, T>;     \
    template <class A>                                                                    \
    static A identity() {                                                                 \
      [[maybe_unused]] const double lowest = -__builtin_inf(), highest = __builtin_inf(); \
      return A(start);                                                                    \
    }                                                                                     \
    template <class V>                                                                    \
    static EMBER_INLINE V fold(V a, V b) {                                                \
      return join;                                                                        \
    }                                                                                     \
  };
#include "reduction_formulas.h"

template <class A>
A& value_of(Carry& c) {
  return *reinterpret_cast<A*>(c.value);
}

// Integers wrap around.
template <class T, class Op>
struct Compute {
  using type = T;
};
template <class Op>
struct Compute<int64_t, Op> {
  using type = uint64_t;
};

#if defined(__AVX2__)
// Eight elements at a time: three steps give the scan within them, then the carry joins. The only
// chain from one eight to the next is a broadcast and one addition.
template <class A>
struct Eight {
  typedef A type __attribute__((vector_size(8 * sizeof(A)), aligned(alignof(A)), may_alias));
};
template <class T, class A, class Op>
EMBER_INLINE int64_t run_eights(int64_t n, const T* x, T* out, A& carry) {
  using V = typename Eight<A>::type;
  using Narrow = typename Eight<T>::type;
  V before = Op::template identity<A>() - V{}, all = carry - V{};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    V v = __builtin_convertvector(*reinterpret_cast<const Narrow*>(x + i), V);
    v = Op::fold(v, __builtin_shufflevector(before, v, 0, 8, 9, 10, 11, 12, 13, 14));
    v = Op::fold(v, __builtin_shufflevector(before, v, 0, 0, 8, 9, 10, 11, 12, 13));
    v = Op::fold(v, __builtin_shufflevector(before, v, 0, 0, 0, 0, 8, 9, 10, 11));
    V sum = Op::fold(all, v);
    *reinterpret_cast<Narrow*>(out + i) = __builtin_convertvector(sum, Narrow);
    all = Op::fold(all, __builtin_shufflevector(v, v, 7, 7, 7, 7, 7, 7, 7, 7));
  }
  carry = all[0];
  return i;
}
#endif

template <class T, class Op>
void run(int64_t n, const void* from, void* to, int64_t*, int64_t, Carry& carry) {
  using U = typename Compute<T, Op>::type;
  using A = typename Op::template Acc<U>;
  const U* x = static_cast<const U*>(from);
  U* out = static_cast<U*>(to);
  A acc = carry.started ? value_of<A>(carry) : Op::template identity<A>();
  int64_t i = 0;
#if defined(__AVX2__)
  if constexpr (!is_complex_type<U>) i = run_eights<U, A, Op>(n, x, out, acc);
#endif
  for (; i < n; i++) out[i] = U(acc = Op::fold(acc, A(x[i])));
  value_of<A>(carry) = acc;
  carry.started = true;
}

// What has been seen is m + log(1 + t), with m the largest element. Only m and t must be found one
// after another, and that is cheap; exponentials and logarithms are taken a chunk at a time.
template <class T>
void run_logsumexp(int64_t n, const void* from, void* to, int64_t*, int64_t, Carry&) {
  using A = Wide<T>;
  constexpr int64_t kChunk = 256;
  const T* x = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  T top = -Float<T>::infinity;
  A t = -1;
  for (int64_t first = 0; first < n; first += kChunk) {
    const int64_t w = n - first < kChunk ? n - first : kChunk;
    T m[kChunk], e[kChunk];
    bool higher[kChunk];
    for (int64_t i = 0; i < w; i++) {
      T v = x[first + i];
      higher[i] = v > top;
      e[i] = higher[i] ? top - v : v == top ? T(0) : v - top;
      if (v == -Float<T>::infinity) e[i] = v;
      m[i] = top = higher[i] ? v : top;
    }
    map1(e, e, w, [](T v) EMBER_LAMBDA { return exp(v); });
    for (int64_t i = 0; i < w; i++) {
      t = higher[i] ? (t + 1) * A(e[i]) : t + A(e[i]);
      e[i] = T(t);
    }
    map2(m, e, out + first, w, [](T a, T b) EMBER_LAMBDA { return a + log1p(b); });
  }
}

template <class T, class Op>
void total(int64_t n, const void* from, Carry& carry) {
  using U = typename Compute<T, Op>::type;
  using A = typename Op::template Acc<U>;
  const U* x = static_cast<const U*>(from);
  constexpr int kWays = 16;
  A acc[kWays];
  for (int k = 0; k < kWays; k++) acc[k] = Op::template identity<A>();
  int64_t i = 0;
  for (; i + kWays <= n; i += kWays)
    for (int k = 0; k < kWays; k++) acc[k] = Op::fold(acc[k], A(x[i + k]));
  for (; i < n; i++) acc[0] = Op::fold(acc[0], A(x[i]));
  for (int k = 1; k < kWays; k++) acc[0] = Op::fold(acc[0], acc[k]);
  value_of<A>(carry) = acc[0];
  carry.started = true;
}

template <class T, class Op>
void across(int64_t rows, int64_t columns, const void* from, void* to, int64_t*, int64_t stride) {
  using U = typename Compute<T, Op>::type;
  using A = typename Op::template Acc<U>;
  A acc[kScanColumns];
  for (int64_t j = 0; j < columns; j++) acc[j] = Op::template identity<A>();
  for (int64_t i = 0; i < rows; i++) {
    const U* x = static_cast<const U*>(from) + i * stride;
    U* out = static_cast<U*>(to) + i * stride;
#pragma GCC ivdep
    for (int64_t j = 0; j < columns; j++) {
      A v = Op::fold(acc[j], A(x[j]));
      acc[j] = v;
      out[j] = U(v);
    }
  }
}

// The latest of equals wins, and NaN over everything.
template <bool most, class T>
EMBER_INLINE bool takes(T x, T best) {
  bool better = most ? x >= best : x <= best;
  if constexpr (is_real<T>) better = (better & (best == best)) | (x != x);
  return better;
}

template <class T, bool most>
void run_extreme(int64_t n, const void* from, void* to, int64_t* indices, int64_t first,
                 Carry& carry) {
  const T* x = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  if (n == 0) return;
  T best = carry.started ? value_of<T>(carry) : x[0];
  int64_t at = carry.started ? carry.index : first;
  for (int64_t i = 0; i < n; i++) {
    bool take = takes<most>(x[i], best);
    best = take ? x[i] : best;
    at = take ? first + i : at;
    out[i] = best;
    indices[i] = at;
  }
  value_of<T>(carry) = best;
  carry.index = at;
  carry.started = true;
}

template <class T, bool most>
void across_extreme(int64_t rows, int64_t columns, const void* from, void* to, int64_t* indices,
                    int64_t stride) {
  T best[kScanColumns];
  int64_t at[kScanColumns];
  for (int64_t i = 0; i < rows; i++) {
    const T* x = static_cast<const T*>(from) + i * stride;
    T* out = static_cast<T*>(to) + i * stride;
    int64_t* where = indices + i * stride;
    if (i == 0)
      for (int64_t j = 0; j < columns; j++) best[j] = x[j], at[j] = 0;
#pragma GCC ivdep
    for (int64_t j = 0; j < columns; j++) {
      bool take = takes<most>(x[j], best[j]);
      best[j] = take ? x[j] : best[j];
      at[j] = take ? i : at[j];
      out[j] = best[j];
      where[j] = at[j];
    }
  }
}

template <class T, class Op>
constexpr void add_fold(ScanKernels& k, Fold fold, LineType type) {
  k.run[int(fold)][type] = run<T, Op>;
  k.total[int(fold)][type] = total<T, Op>;
  k.across[int(fold)][type] = across<T, Op>;
}
template <class T>
constexpr void add_type(ScanKernels& k, LineType type) {
#define FOLD(name, types, start, join) \
  if constexpr (FoldTypes::types == FoldTypes::every) add_fold<T, name##_fold>(k, Fold::name, type);
#include "reduction_formulas.h"
  if constexpr (is_real<T>) {
    k.run[int(Fold::logsumexp)][type] = run_logsumexp<T>;
    k.across[int(Fold::logsumexp)][type] = across<T, logsumexp_fold>;
  }
  if constexpr (!is_complex_type<T>) {
    k.run[int(Fold::max)][type] = run_extreme<T, true>;
    k.run[int(Fold::min)][type] = run_extreme<T, false>;
    k.across[int(Fold::max)][type] = across_extreme<T, true>;
    k.across[int(Fold::min)][type] = across_extreme<T, false>;
  }
}

ScanKernels make() {
  ScanKernels k{};
  add_type<float>(k, kLineF32);
  add_type<double>(k, kLineF64);
  add_type<int64_t>(k, kLineI64);
  add_type<Complex<float>>(k, kLineC64);
  add_type<Complex<double>>(k, kLineC128);
  return k;
}

}  // namespace

const ScanKernels& scan_kernels() {
  static const ScanKernels k = make();
  return k;
}

}  // namespace ember::cpu::EMBER_ISA
