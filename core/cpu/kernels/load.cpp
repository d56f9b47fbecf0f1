// Strided elements of any dtype into a contiguous chunk of a type that kernels compute in, with a
// function applied on the way (absolute value, power ...), and folded values back into elements.
// Chunks are short, so what is written here is read from L1.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cmath>

#include "cpu/kernels/reduce_kernels.h"

namespace ember::cpu::EMBER_ISA {
namespace {

template <class T>
struct IsReduced {
  static constexpr bool value = false;
};
template <>
struct IsReduced<Half> {
  static constexpr bool value = true;
};
template <>
struct IsReduced<BFloat16> {
  static constexpr bool value = true;
};

// What the formulas of reduction_formulas.h call.
template <class T>
inline auto abs(T x) {
  if constexpr (is_complex_type<T>)
    return __builtin_hypot(double(x.real()), double(x.imag()));
  else if constexpr (std::is_unsigned_v<T>)
    return x;
  else
    return x < 0 ? T(-x) : x;
}
template <class T>
inline auto abs_squared(T x) {
  if constexpr (is_complex_type<T>)
    return x.real() * x.real() + x.imag() * x.imag();
  else
    return T(x * x);
}
template <class T>
inline auto pow(T x, double p) {
  if constexpr (std::is_same_v<T, float>)
    return __builtin_powf(x, float(p));
  else
    return __builtin_pow(double(x), p);
}
template <class T>
inline T where(bool condition, T a, T b) {
  return condition ? a : b;
}
inline double sqrt(double x) { return __builtin_sqrt(x); }

template <Map M>
struct Mapping;
#define MAP(name, text)                              \
  template <>                                        \
  struct Mapping<Map::name> {                        \
    template <class T>                               \
    static auto of(T x, [[maybe_unused]] double p) { \
      return text;                                   \
    }                                                \
  };
#include "reduction_formulas.h"

template <Finish F>
struct Finishing;
#define FINISH(name, text)                                                      \
  template <>                                                                   \
  struct Finishing<Finish::name> {                                              \
    template <class T>                                                          \
    static auto of(T a, [[maybe_unused]] double n, [[maybe_unused]] double p) { \
      return text;                                                              \
    }                                                                           \
  };
#include "reduction_formulas.h"

// The type that an element is mapped in: that of the result, but whether a number is not 0 must be
// asked before it becomes an integer, and complex numbers stay complex.
template <class To, class From>
constexpr auto mapped_type() {
  if constexpr (is_complex_type<From> && !is_complex_type<To> && std::is_floating_point_v<To>)
    return std::complex<To>();
  else if constexpr (std::is_floating_point_v<To> || is_complex_type<To>)
    return To();
  else if constexpr (IsReduced<From>::value)
    return float();
  else if constexpr (std::is_same_v<From, bool>)
    return uint8_t();
  else
    return From();
}
template <class To, class From, Map M>
inline To mapped(From v, double p) {
  using T = decltype(mapped_type<To, From>());
  if constexpr (is_complex_type<From>)
    return To(Mapping<M>::of(T(v.real(), v.imag()), p));
  else if constexpr (IsReduced<From>::value)
    return To(Mapping<M>::of(T(float(v)), p));
  else
    return To(Mapping<M>::of(T(v), p));
}

// Any byte but 0 is true, though C++ would have only 1.
template <class From>
inline From element(const From* x) {
  if constexpr (std::is_same_v<From, bool>)
    return *reinterpret_cast<const uint8_t*>(x) != 0;
  else
    return *x;
}

template <class To, class From, Map M>
void load(int64_t n, const void* from, int64_t step, double p, void* to) {
  const From* x = static_cast<const From*>(from);
  To* y = static_cast<To*>(to);
  if (step == 1) {
    int64_t i = 0;
#if defined(__F16C__)
    if constexpr (std::is_same_v<From, Half> && std::is_same_v<To, float>) {
      for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(x + i))));
      if constexpr (M != Map::value)
        for (int64_t j = 0; j < i; j++) y[j] = mapped<float, float, M>(y[j], p);
    }
#endif
    for (; i < n; i++) y[i] = mapped<To, From, M>(element(x + i), p);
  } else {
    for (int64_t i = 0; i < n; i++) y[i] = mapped<To, From, M>(element(x + i * step), p);
  }
}

template <class A, class To, Finish F>
void store(int64_t n, const A* x, double count, double p, void* y, int64_t step) {
  To* to = static_cast<To*>(y);
  if (step == 1) {
    for (int64_t i = 0; i < n; i++) to[i] = convert<To>(A(Finishing<F>::of(x[i], count, p)));
  } else {
    for (int64_t i = 0; i < n; i++) to[i * step] = convert<To>(A(Finishing<F>::of(x[i], count, p)));
  }
}

// What makes sense; the rest stays null and is never asked for.
template <class A, class To, Finish F>
constexpr Storer<A> pick_store() {
  constexpr bool rounds = F != Finish::whole, real = F == Finish::root || F == Finish::unpower;
  if constexpr (!(std::is_integral_v<A> && rounds) && !(is_complex_type<A> && real) &&
                !(is_complex_type<A> && !is_complex_type<To>))
    return store<A, To, F>;
  return nullptr;
}
template <class To, class From, Map M>
constexpr Loader pick() {
  using T = decltype(mapped_type<To, From>());
  constexpr bool from_complex = is_complex_type<From>, from_integer = std::is_integral_v<From>;
  if constexpr (is_complex_type<To> && !from_complex) {
    return nullptr;
  } else {
    using Result = decltype(Mapping<M>::of(T(), 0.0));
    constexpr bool to_integer = std::is_integral_v<To>, truth = std::is_same_v<Result, bool>;
    if constexpr (is_complex_type<Result> == is_complex_type<To> &&
                  (truth ? to_integer
                         : (from_integer || !to_integer) &&
                               !(to_integer && std::is_floating_point_v<Result>) &&
                               (!from_integer || M == Map::value || sizeof(To) == 8)))
      return load<To, From, M>;
    return nullptr;
  }
}

template <class A, class To>
constexpr void fill(Storer<A> (&row)[kFinishes]) {
#define FINISH(name, text) row[int(Finish::name)] = pick_store<A, To, Finish::name>();
#include "reduction_formulas.h"
}
template <class To, class From>
constexpr void fill(Loader (&row)[kMaps]) {
#define MAP(name, text) row[int(Map::name)] = pick<To, From, Map::name>();
#include "reduction_formulas.h"
}

template <class Other, class Row>
constexpr void fill_all(Row (&table)[kDtypes]) {
  fill<Other, bool>(table[0]);
  fill<Other, uint8_t>(table[1]);
  fill<Other, int8_t>(table[2]);
  fill<Other, int16_t>(table[3]);
  fill<Other, int32_t>(table[4]);
  fill<Other, int64_t>(table[5]);
  fill<Other, Half>(table[6]);
  fill<Other, BFloat16>(table[7]);
  fill<Other, float>(table[8]);
  fill<Other, double>(table[9]);
  fill<Other, complex64>(table[10]);
  fill<Other, complex128>(table[11]);
  fill<Other, uint16_t>(table[12]);
  fill<Other, uint32_t>(table[13]);
  fill<Other, uint64_t>(table[14]);
}

constexpr LoadKernels make_table() {
  LoadKernels t{};
  fill_all<float>(t.f32);
  fill_all<double>(t.f64);
  fill_all<int32_t>(t.i32);
  fill_all<int64_t>(t.i64);
  fill_all<complex128>(t.c128);
  fill_all<double>(t.store_f64);
  fill_all<int64_t>(t.store_i64);
  fill_all<complex128>(t.store_c128);
  return t;
}

}  // namespace

const LoadKernels& load_kernels() {
  static constexpr LoadKernels table = make_table();
  return table;
}

}  // namespace ember::cpu::EMBER_ISA
