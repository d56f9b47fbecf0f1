// Strided elements of any dtype into a contiguous chunk of a type that kernels compute in, with a
// function applied on the way (absolute value, power ...). Chunks are short, so what is written
// here is read from L1.
#include <immintrin.h>

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

template <class To, class From, Map M>
inline To mapped(From v, [[maybe_unused]] double power) {
  if constexpr (M == Map::Nonzero) {
    if constexpr (is_complex_type<From>)
      return To(v.real() != 0 || v.imag() != 0);
    else if constexpr (IsReduced<From>::value)
      return To(float(v) != 0);
    else
      return To(v != From(0));
  } else if constexpr (is_complex_type<From>) {
    if constexpr (M == Map::Value)
      return To(v.real(), v.imag());
    else if constexpr (M == Map::Square)
      return To(v.real()) * To(v.real()) + To(v.imag()) * To(v.imag());
    else if constexpr (M == Map::Abs)
      return To(__builtin_hypot(double(v.real()), double(v.imag())));
    else if constexpr (M == Map::AbsPower)
      return To(__builtin_pow(__builtin_hypot(double(v.real()), double(v.imag())), power));
    else
      return To((v.real() == v.real() && v.imag() == v.imag()) ? v : From(0));
  } else {
    To x = IsReduced<From>::value ? To(float(v)) : To(v);
    if constexpr (M == Map::Abs)
      return x < 0 ? To(-x) : x;
    else if constexpr (M == Map::Square)
      return x * x;
    else if constexpr (M == Map::AbsPower) {
      if constexpr (sizeof(To) == 4)
        return __builtin_powf(__builtin_fabsf(x), float(power));
      else
        return __builtin_pow(__builtin_fabs(x), power);
    } else if constexpr (M == Map::NanToZero)
      return x == x ? x : To(0);
    else
      return x;
  }
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
void load(int64_t n, const void* from, int64_t step, double power, void* to) {
  const From* x = static_cast<const From*>(from);
  To* y = static_cast<To*>(to);
  if (step == 1) {
    int64_t i = 0;
#if defined(__F16C__)
    if constexpr (std::is_same_v<From, Half> && std::is_same_v<To, float>) {
      for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(x + i))));
      if constexpr (M != Map::Value)
        for (int64_t j = 0; j < i; j++) y[j] = mapped<float, float, M>(y[j], power);
    }
#endif
    for (; i < n; i++) y[i] = mapped<To, From, M>(element(x + i), power);
  } else {
    for (int64_t i = 0; i < n; i++) y[i] = mapped<To, From, M>(element(x + i * step), power);
  }
}

template <class A, class To>
void store(int64_t n, const A* x, [[maybe_unused]] double scale, [[maybe_unused]] double root,
           void* y, int64_t step) {
  To* to = static_cast<To*>(y);
  if constexpr (std::is_same_v<A, double>) {
    if (root != 1) {
      for (int64_t i = 0; i < n; i++)
        to[i * step] =
            To((root == 2 ? __builtin_sqrt(x[i]) : __builtin_pow(x[i], 1 / root)) * scale);
      return;
    }
  }
  if constexpr (std::is_integral_v<A>) {
    for (int64_t i = 0; i < n; i++) to[i * step] = convert<To>(x[i]);
  } else if (step == 1) {
    for (int64_t i = 0; i < n; i++) to[i] = convert<To>(A(x[i] * scale));
  } else {
    for (int64_t i = 0; i < n; i++) to[i * step] = convert<To>(A(x[i] * scale));
  }
}

template <class A>
constexpr void fill_stores(Storer<A> (&table)[kDtypes]) {
  table[8] = store<A, float>;
  table[9] = store<A, double>;
  table[10] = store<A, complex64>;
  table[11] = store<A, complex128>;
  if constexpr (!is_complex_type<A>) {
    table[0] = store<A, bool>;
    table[1] = store<A, uint8_t>;
    table[2] = store<A, int8_t>;
    table[3] = store<A, int16_t>;
    table[4] = store<A, int32_t>;
    table[5] = store<A, int64_t>;
    table[6] = store<A, Half>;
    table[7] = store<A, BFloat16>;
    table[12] = store<A, uint16_t>;
    table[13] = store<A, uint32_t>;
    table[14] = store<A, uint64_t>;
  }
}

// What makes sense; the rest stays null and is never asked for.
template <class To, class From, Map M>
constexpr Loader pick() {
  constexpr bool floating = std::is_floating_point_v<To>, from_integer = std::is_integral_v<From>;
  if constexpr (is_complex_type<To>) {
    if constexpr (is_complex_type<From> && (M == Map::Value || M == Map::NanToZero))
      return load<To, From, M>;
  } else if constexpr (M == Map::Nonzero) {
    if constexpr (!floating) return load<To, From, M>;
  } else if constexpr (is_complex_type<From>) {
    if constexpr (floating && M != Map::Value && M != Map::NanToZero) return load<To, From, M>;
  } else if constexpr (floating) {
    if constexpr (M == Map::Value || !from_integer) return load<To, From, M>;
  } else if constexpr (from_integer && M == Map::Value) {
    return load<To, From, M>;
  }
  return nullptr;
}

template <class To, class From>
constexpr void fill(Loader (&row)[kMaps]) {
  row[0] = pick<To, From, Map(0)>();
  row[1] = pick<To, From, Map(1)>();
  row[2] = pick<To, From, Map(2)>();
  row[3] = pick<To, From, Map(3)>();
  row[4] = pick<To, From, Map(4)>();
  row[5] = pick<To, From, Map(5)>();
}

template <class To>
constexpr void fill_all(Loader (&table)[kDtypes][kMaps]) {
  fill<To, bool>(table[0]);
  fill<To, uint8_t>(table[1]);
  fill<To, int8_t>(table[2]);
  fill<To, int16_t>(table[3]);
  fill<To, int32_t>(table[4]);
  fill<To, int64_t>(table[5]);
  fill<To, Half>(table[6]);
  fill<To, BFloat16>(table[7]);
  fill<To, float>(table[8]);
  fill<To, double>(table[9]);
  fill<To, complex64>(table[10]);
  fill<To, complex128>(table[11]);
  fill<To, uint16_t>(table[12]);
  fill<To, uint32_t>(table[13]);
  fill<To, uint64_t>(table[14]);
}

constexpr LoadKernels make_table() {
  LoadKernels t{};
  fill_all<float>(t.f32);
  fill_all<double>(t.f64);
  fill_all<int32_t>(t.i32);
  fill_all<int64_t>(t.i64);
  fill_all<complex128>(t.c128);
  fill_stores<double>(t.store_f64);
  fill_stores<int64_t>(t.store_i64);
  fill_stores<complex128>(t.store_c128);
  return t;
}

}  // namespace

const LoadKernels& load_kernels() {
  static constexpr LoadKernels table = make_table();
  return table;
}

}  // namespace ember::cpu::EMBER_ISA
