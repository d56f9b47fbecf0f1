// Turns one family of scalar_functions.h into kernels: a struct per row, an instance per element
// type, and add_rows(), which puts them into the tables. Include it last, with EMBER_FAMILY
// defined; with EMBER_SCALAR_LOOPS too if the formulas do not vectorise.
#include <limits>

#include "cpu/kernels/complex_math.h"
#include "cpu/kernels/exact.h"
#include "cpu/kernels/log.h"
#include "cpu/kernels/loops.h"
#include "cpu/kernels/table.h"

namespace ember::cpu::EMBER_ISA {
namespace {

#ifdef EMBER_SCALAR_LOOPS
constexpr bool kScalarLoops = true;
#else
constexpr bool kScalarLoops = false;
#endif
template <class T>
constexpr bool in_blocks = !kScalarLoops && !is_complex_type<T>;

// A parameter in the type that a row computes in: integers stop at their limits, where a cast would
// be undefined.
template <class T>
EMBER_INLINE T param(double v) {
  if constexpr (is_int<T>) {
    constexpr double most = double(std::numeric_limits<T>::max());
    constexpr double least = double(std::numeric_limits<T>::min());
    if (v >= most) return std::numeric_limits<T>::max();
    if (v <= least) return std::numeric_limits<T>::min();
    return v == v ? T(v) : T(0);
  } else {
    return T(v);
  }
}

#define EMBER_PARAMS [[maybe_unused]] T p0, [[maybe_unused]] T p1, [[maybe_unused]] T p2

#define FAMILY EMBER_FAMILY
#define UNARY(name, types, keep, fwd, deriv, doc) UNARY_P(name, , types, keep, fwd, deriv, doc)
#define UNARY_P(name, params, types_, keep, fwd, deriv, doc)                         \
  struct Unary_##name {                                                              \
    static constexpr Unary id = Unary::name;                                         \
    static constexpr Types types = types_;                                           \
    static constexpr bool cut_off = cuts(#deriv);                                    \
    static constexpr bool has_grad = Keep::keep == Keep::x || Keep::keep == Keep::y; \
    template <class T>                                                               \
    static EMBER_INLINE auto forward(T x, EMBER_PARAMS) {                            \
      return fwd;                                                                    \
    }                                                                                \
    template <class T>                                                               \
    static EMBER_INLINE auto derivative([[maybe_unused]] T keep, EMBER_PARAMS) {     \
      return deriv;                                                                  \
    }                                                                                \
  };
#define PREDICATE(name, types_, expr, doc)                   \
  struct Predicate_##name {                                  \
    static constexpr Predicate id = Predicate::name;         \
    static constexpr Types types = types_;                   \
    template <class T>                                       \
    static EMBER_INLINE bool forward([[maybe_unused]] T x) { \
      return expr;                                           \
    }                                                        \
  };
#define BINARY(name, types_, fwd, grad_a, grad_b, doc) \
  struct Binary_##name {                               \
    static constexpr Binary id = Binary::name;         \
    static constexpr Types types = types_;             \
    template <class T>                                 \
    static EMBER_INLINE T forward(T a, T b) {          \
      return T(fwd);                                   \
    }                                                  \
  };
#define COMPARE(name, types_, expr, doc)                       \
  struct Compare_##name {                                      \
    static constexpr Compare id = Compare::name;               \
    static constexpr Types types = types_;                     \
    template <class T>                                         \
    static EMBER_INLINE bool forward(T a, T b, EMBER_PARAMS) { \
      return expr;                                             \
    }                                                          \
  };
#define TERNARY(name, types_, fwd, grad_a, grad_b, grad_c, doc)  \
  struct Ternary_##name {                                        \
    static constexpr Ternary id = Ternary::name;                 \
    static constexpr Types types = types_;                       \
    template <class A, class T>                                  \
    static EMBER_INLINE T forward(A a, T b, T c, EMBER_PARAMS) { \
      return T(fwd);                                             \
    }                                                            \
  };
#include "scalar_functions.h"

// abs() of a complex number is real, and so is its incoming gradient.
template <class Row, class T>
constexpr bool to_real = is_complex_type<T> && (Row::types & kToReal) != 0;
template <class Row, class T>
using Result = std::conditional_t<to_real<Row, T>, Real<T>, T>;

template <class A, class Out, class F>
EMBER_INLINE void apply(const A* a, Out* out, int64_t n, F f) {
  if constexpr (in_blocks<A>) {
    map1(a, out, n, f);
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = f(a[i]);
  }
}
template <class A, class B, class Out, class F>
EMBER_INLINE void apply(const A* a, const B* b, Out* out, int64_t n, F f) {
  if constexpr (in_blocks<B>) {
    map2(a, b, out, n, f);
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = f(a[i], b[i]);
  }
}

// Arguments that the vector code gets wrong: huge ones of sin and the like, huge quotients of fmod.
// Where a span holds some, those elements are computed with Exact.
template <class Row, class T>
constexpr bool turns = is_real<T> && (Row::types & kTurns) != 0;
template <class Row, class T>
constexpr bool takes_modulo = is_real<T> && (Row::types & kModulo) != 0;
constexpr int64_t kSpan = 512;

template <class T>
EMBER_INLINE bool turns_too_far(T x) {
  return fabs_(x) > T(kTurnLimit);
}

template <class Rare, class Fast, class Slow>
EMBER_INLINE void in_spans(int64_t n, Rare is_rare, Fast fast, Slow slow) {
  for (int64_t i = 0; i < n; i += kSpan) {
    const int64_t end = n - i < kSpan ? n : i + kSpan;
    int any = 0;
    for (int64_t j = i; j < end; j++) any |= is_rare(j);
    if (!any)
      fast(i, end - i);
    else
      for (int64_t j = i; j < end; j++) slow(j);
  }
}

template <class Row, class T>
void unary_kernel(const void* x_, void* out_, int64_t n, const Params& p) {
  using Out = Result<Row, T>;
  const T* x = static_cast<const T*>(x_);
  Out* out = static_cast<Out*>(out_);
  const T p0 = param<T>(p.p0), p1 = param<T>(p.p1), p2 = param<T>(p.p2);
  auto f = [=](T v) EMBER_LAMBDA { return Out(Row::forward(v, p0, p1, p2)); };
  if constexpr (turns<Row, T>) {
    auto exact = [](T v) { return T(Row::forward(Exact(v), Exact(0), Exact(0), Exact(0))); };
    in_spans(
        n, [=](int64_t i) EMBER_LAMBDA { return turns_too_far(x[i]); },
        [=](int64_t i, int64_t m) EMBER_LAMBDA { apply(x + i, out + i, m, f); },
        [=](int64_t i) EMBER_LAMBDA { out[i] = turns_too_far(x[i]) ? exact(x[i]) : f(x[i]); });
#if defined(__AVX512F__)
  } else if constexpr (Row::id == Unary::log && std::is_same_v<T, float>) {
    log_floats(x, out, n);
#endif
  } else if constexpr (Row::id == Unary::pow_scalar && is_real<T>) {
    if (p.p0 == 3)
      apply(x, out, n, [](T v) EMBER_LAMBDA { return v * v * v; });
    else
      apply(x, out, n, f);
  } else {
    apply(x, out, n, f);
  }
}

template <class Row, class T>
void unary_grad_kernel(const void* g_, const void* kept_, void* out_, int64_t n, const Params& p) {
  using G = Result<Row, T>;
  const G* g = static_cast<const G*>(g_);
  const T* kept = static_cast<const T*>(kept_);
  T* out = static_cast<T*>(out_);
  const T p0 = param<T>(p.p0), p1 = param<T>(p.p1), p2 = param<T>(p.p2);
  auto f = [=](G dy, T v) EMBER_LAMBDA {
    const T d = T(Row::derivative(v, p0, p1, p2));
    const T product = T(T(dy) * conj(d));
    if constexpr (Row::cut_off)
      return d == T(0) ? T(0) : product;
    else
      return product;
  };
  if constexpr (turns<Row, T>) {
    auto exact = [](G dy, T v) {
      return T(dy * T(Row::derivative(Exact(v), Exact(0), Exact(0), Exact(0))));
    };
    in_spans(
        n, [=](int64_t i) EMBER_LAMBDA { return turns_too_far(kept[i]); },
        [=](int64_t i, int64_t m) EMBER_LAMBDA { apply(g + i, kept + i, out + i, m, f); },
        [=](int64_t i) EMBER_LAMBDA {
          out[i] = turns_too_far(kept[i]) ? exact(g[i], kept[i]) : f(g[i], kept[i]);
        });
  } else if constexpr (Row::id == Unary::pow_scalar && is_real<T>) {
    if (p.p0 == 3)
      apply(g, kept, out, n, [](T dy, T v) EMBER_LAMBDA { return dy * (3 * v * v); });
    else
      apply(g, kept, out, n, f);
  } else {
    apply(g, kept, out, n, f);
  }
}

template <class Row, class T>
void predicate_kernel(const void* x, void* out, int64_t n, const Params&) {
  apply(static_cast<const T*>(x), static_cast<uint8_t*>(out), n,
        [](T v) EMBER_LAMBDA { return uint8_t(Row::forward(v)); });
}

template <class Row, class T>
constexpr bool may_trap = is_int<T> && (Row::types & kDivides) != 0;

template <class Row, class T>
void binary_kernel(const void* a_, const void* b_, void* out_, int64_t n,
                   [[maybe_unused]] const Params& p) {
  const T* a = static_cast<const T*>(a_);
  const T* b = static_cast<const T*>(b_);
  T* out = static_cast<T*>(out_);
  auto f = [](T u, T v) EMBER_LAMBDA { return Row::forward(u, v); };
  if constexpr (may_trap<Row, T>) {
    int zero = 0;
    for (int64_t i = 0; i < n; i++) zero |= b[i] == 0;
    if (zero)
      __atomic_store_n(p.zero_division, true, __ATOMIC_RELAXED);
    else
      for (int64_t i = 0; i < n; i++) out[i] = f(a[i], b[i]);
  } else if constexpr (takes_modulo<Row, T>) {
    in_spans(
        n, [=](int64_t i) EMBER_LAMBDA { return modulo_is_rare(a[i], b[i]); },
        [=](int64_t i, int64_t m) EMBER_LAMBDA { apply(a + i, b + i, out + i, m, f); },
        [=](int64_t i) EMBER_LAMBDA {
          out[i] = modulo_is_rare(a[i], b[i]) ? T(Row::forward(Exact(a[i]), Exact(b[i])))
                                              : f(a[i], b[i]);
        });
  } else {
    apply(a, b, out, n, f);
  }
}

template <class Row, class T>
void binary_number_kernel(const void* a, const void* b, void* out, int64_t n, const Params&) {
  const T v = *static_cast<const T*>(b);
  apply(static_cast<const T*>(a), static_cast<T*>(out), n,
        [=](T u) EMBER_LAMBDA { return Row::forward(u, v); });
}

template <class Row, class T>
void compare_kernel(const void* a, const void* b, void* out, int64_t n, const Params& p) {
  const T p0 = param<T>(p.p0), p1 = param<T>(p.p1), p2 = param<T>(p.p2);
  apply(static_cast<const T*>(a), static_cast<const T*>(b), static_cast<uint8_t*>(out), n,
        [=](T u, T v) EMBER_LAMBDA { return uint8_t(Row::forward(u, v, p0, p1, p2)); });
}

// Any byte but 0 is true.
template <class Row>
void binary_bool_kernel(const void* a, const void* b, void* out, int64_t n, const Params&) {
  apply(static_cast<const uint8_t*>(a), static_cast<const uint8_t*>(b), static_cast<uint8_t*>(out),
        n, [](uint8_t u, uint8_t v) EMBER_LAMBDA {
          return Row::forward(uint8_t(u != 0), uint8_t(v != 0));
        });
}
template <class Row>
void compare_bool_kernel(const void* a, const void* b, void* out, int64_t n, const Params&) {
  apply(static_cast<const uint8_t*>(a), static_cast<const uint8_t*>(b), static_cast<uint8_t*>(out),
        n, [](uint8_t u, uint8_t v) EMBER_LAMBDA {
          const uint8_t p = u != 0, q = v != 0, none = 0;
          return uint8_t(Row::forward(p, q, none, none, none));
        });
}

template <class Row, class A, class T>
void ternary_kernel(const void* a_, const void* b_, const void* c_, void* out_, int64_t n,
                    const Params& p) {
  const A* a = static_cast<const A*>(a_);
  const T* b = static_cast<const T*>(b_);
  const T* c = static_cast<const T*>(c_);
  T* out = static_cast<T*>(out_);
  const T p0 = param<T>(p.p0), p1 = param<T>(p.p1), p2 = param<T>(p.p2);
  auto f = [=](A u, T v, T w) EMBER_LAMBDA { return Row::forward(u, v, w, p0, p1, p2); };
  if constexpr (in_blocks<T>) {
    map3(a, b, c, out, n, f);
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = f(a[i], b[i], c[i]);
  }
}

// Calls add(Tag<T>, column) for each type that a row has kernels of its own for. Narrow integers
// widen to int32 except in the rows that are common on masks and images.
template <class T>
struct Tag {
  using type = T;
};
template <Types types, class F>
EMBER_INLINE void each_type(F add) {
  if constexpr ((types & kHasFloat) != 0)
    add(Tag<float>(), kColumnFloat32), add(Tag<double>(), kColumnFloat64);
  if constexpr ((types & kHasComplex) != 0)
    add(Tag<complex64>(), kColumnComplex64), add(Tag<complex128>(), kColumnComplex128);
  if constexpr ((types & kHasInt) != 0)
    add(Tag<int32_t>(), kColumnInt32), add(Tag<int64_t>(), kColumnInt64);
  if constexpr ((types & kHasInt) != 0 && (types & kNarrow) != 0)
    add(Tag<uint8_t>(), kColumnUInt8), add(Tag<int8_t>(), kColumnInt8),
        add(Tag<int16_t>(), kColumnInt16);
}

template <class Row>
void add_unary(Kernels& k) {
  each_type<Row::types>([&](auto tag, int column) {
    using T = typename decltype(tag)::type;
    k.unary[int(Row::id)][column] = unary_kernel<Row, T>;
    if constexpr (Row::has_grad && !is_int<T>)
      k.unary_grad[int(Row::id)][column] = unary_grad_kernel<Row, T>;
  });
}
template <class Row>
void add_predicate(Kernels& k) {
  each_type<Row::types>([&](auto tag, int column) {
    k.predicate[int(Row::id)][column] = predicate_kernel<Row, typename decltype(tag)::type>;
  });
}
template <class Row>
void add_binary(Kernels& k) {
  each_type<Row::types>([&](auto tag, int column) {
    using T = typename decltype(tag)::type;
    k.binary[int(Row::id)][column] = binary_kernel<Row, T>;
    if constexpr ((Row::types & kByNumber) != 0 && is_real<T>)
      k.binary_number[int(Row::id)][column] = binary_number_kernel<Row, T>;
  });
}
template <class Row>
void add_compare(Kernels& k) {
  each_type<Row::types>([&](auto tag, int column) {
    k.compare[int(Row::id)][column] = compare_kernel<Row, typename decltype(tag)::type>;
  });
  if constexpr ((Row::types & kNarrow) != 0)
    k.compare[int(Row::id)][kColumnBool] = compare_bool_kernel<Row>;
}
template <class Row>
void add_ternary(Kernels& k) {
  if constexpr ((Row::types & kChooses) == 0)
    each_type<Row::types>([&](auto tag, int column) {
      using T = typename decltype(tag)::type;
      k.ternary[int(Row::id)][column] = ternary_kernel<Row, T, T>;
    });
}

[[maybe_unused]] void add_rows(Kernels& k) {
#define FAMILY EMBER_FAMILY
#define UNARY(name, ...) add_unary<Unary_##name>(k);
#define UNARY_P(name, ...) add_unary<Unary_##name>(k);
#define PREDICATE(name, ...) add_predicate<Predicate_##name>(k);
#define BINARY(name, ...) add_binary<Binary_##name>(k);
#define COMPARE(name, ...) add_compare<Compare_##name>(k);
#define TERNARY(name, ...) add_ternary<Ternary_##name>(k);
#include "scalar_functions.h"
}

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
