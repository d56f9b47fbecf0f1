// Element types: the enum, its C++ types, properties, and a switch from one to the other.
// Promotion rules are in promote.h.
#pragma once

#include <bit>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>
#include <type_traits>

#include "check.h"
#include "tensor/float8.h"

namespace ember {

enum class Dtype : uint8_t {
  Bool,
  UInt8,
  Int8,
  Int16,
  Int32,
  Int64,
  Float16,
  BFloat16,
  Float32,
  Float64,
  Complex64,
  Complex128,
  UInt16,  // the wider unsigned types store, convert, copy and index; few ops compute in them
  UInt32,
  UInt64,
  Complex32,  // from here on stored, converted and moved; a few ops compute, in compute_of()
  Float8_e4m3fn,
  Float8_e5m2,
  Float8_e4m3fnuz,
  Float8_e5m2fnuz,
  Float8_e8m0fnu,
};
constexpr int kDtypes = 21;

// As in `torch.FloatTensor`, and in messages that programs match.
constexpr const char* kTypeNames[kDtypes] = {
    "Bool",          "Byte",          "Char",        "Short",           "Int",
    "Long",          "Half",          "BFloat16",    "Float",           "Double",
    "ComplexFloat",  "ComplexDouble", "UInt16",      "UInt32",          "UInt64",
    "ComplexHalf",   "Float8_e4m3fn", "Float8_e5m2", "Float8_e4m3fnuz", "Float8_e5m2fnuz",
    "Float8_e8m0fnu"};
constexpr const char* type_name(Dtype d) { return kTypeNames[int(d)]; }

using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

inline float half_to_float(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000) << 16, magnitude = h & 0x7fff;
  if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (magnitude << 13));
  if (magnitude >= 0x0400) return std::bit_cast<float>(sign | ((magnitude + 0x1c000) << 13));
  float subnormal = float(magnitude) * 5.9604644775390625e-8f;  // 2^-24
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(subnormal));
}

inline uint16_t float_to_half(float f) {  // round to nearest, ties to even
  uint32_t bits = std::bit_cast<uint32_t>(f), sign = (bits >> 16) & 0x8000,
           magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return uint16_t(sign | 0x7e00);
  if (magnitude >= 0x477ff000) return uint16_t(sign | 0x7c00);
  if (magnitude < 0x38800000) {  // subnormal half: let the float adder round
    float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    return uint16_t(sign | (std::bit_cast<uint32_t>(rounded) - 0x3f000000));
  }
  uint32_t odd = (magnitude >> 13) & 1;
  return uint16_t(sign | ((magnitude - 0x38000000 + 0xfff + odd) >> 13));
}

inline uint16_t float_to_bfloat(float f) {
  uint32_t bits = std::bit_cast<uint32_t>(f);
  if ((bits & 0x7fffffff) > 0x7f800000) return uint16_t((bits >> 16) | 0x40);
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// Storage types: arithmetic happens in float, through the implicit conversion.
struct Half {
  uint16_t bits;
  Half() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Half(T value) : bits(float_to_half(float(value))) {}
  operator float() const { return half_to_float(bits); }
};

struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  BFloat16(T value) : bits(float_to_bfloat(float(value))) {}
  operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

struct complex32 {
  using value_type = Half;
  Half re, im;
  complex32() = default;
  complex32(Half real, Half imag) : re(real), im(imag) {}
  Half real() const { return re; }
  Half imag() const { return im; }
  operator complex64() const { return {re, im}; }
};

using float8_e4m3fn = Float8<E4M3fn>;
using float8_e5m2 = Float8<E5M2>;
using float8_e4m3fnuz = Float8<E4M3fnuz>;
using float8_e5m2fnuz = Float8<E5M2fnuz>;
using float8_e8m0fnu = Float8<E8M0fnu>;

namespace detail {
constexpr uint8_t kItemSizes[kDtypes] = {1,  1, 1, 2, 4, 8, 2, 2, 4, 8, 8,
                                         16, 2, 4, 8, 4, 1, 1, 1, 1, 1};
constexpr const char* kNames[kDtypes] = {
    "bool",          "uint8",         "int8",        "int16",           "int32",
    "int64",         "float16",       "bfloat16",    "float32",         "float64",
    "complex64",     "complex128",    "uint16",      "uint32",          "uint64",
    "complex32",     "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "float8_e8m0fnu"};
}  // namespace detail

constexpr int64_t item_size(Dtype d) { return detail::kItemSizes[int(d)]; }
constexpr const char* name_of(Dtype d) { return detail::kNames[int(d)]; }
// The floating-point dtypes that ops compute in; is_any_floating() has those of 8 bits as well.
constexpr bool is_floating(Dtype d) { return d >= Dtype::Float16 && d <= Dtype::Float64; }
constexpr bool is_float8(Dtype d) { return d >= Dtype::Float8_e4m3fn; }
constexpr bool is_any_floating(Dtype d) { return is_floating(d) || is_float8(d); }
constexpr bool is_complex(Dtype d) {
  return d == Dtype::Complex64 || d == Dtype::Complex128 || d == Dtype::Complex32;
}
constexpr bool is_wide_unsigned(Dtype d) { return d >= Dtype::UInt16 && d <= Dtype::UInt64; }
constexpr bool is_integral(Dtype d, bool include_bool = false) {
  return d == Dtype::Bool ? include_bool : d <= Dtype::Int64 || is_wide_unsigned(d);
}
constexpr bool is_reduced(Dtype d) { return d == Dtype::Float16 || d == Dtype::BFloat16; }
// Whether there are casts and copies, and next to nothing else.
constexpr bool is_stored_only(Dtype d) { return d >= Dtype::Complex32; }
constexpr bool is_differentiable(Dtype d) { return is_any_floating(d) || is_complex(d); }
constexpr bool is_signed(Dtype d) {
  return d != Dtype::Bool && d != Dtype::UInt8 && !is_wide_unsigned(d) &&
         d != Dtype::Float8_e8m0fnu;
}
// The dtype of abs(), real(), var() ... of a complex tensor; others stay as they are.
constexpr Dtype real_of(Dtype d) {
  return d == Dtype::Complex64    ? Dtype::Float32
         : d == Dtype::Complex128 ? Dtype::Float64
         : d == Dtype::Complex32  ? Dtype::Float16
                                  : d;
}
constexpr Dtype complex_of(Dtype d) {
  return d == Dtype::Float64 || d == Dtype::Complex128  ? Dtype::Complex128
         : d == Dtype::Float16 || d == Dtype::Complex32 ? Dtype::Complex32
                                                        : Dtype::Complex64;
}
// Has numbers of fewer than 32 bits, so that arithmetic runs in another dtype.
constexpr bool is_narrow(Dtype d) { return is_reduced(d) || is_stored_only(d); }
constexpr Dtype compute_of(Dtype d) {
  if (!is_narrow(d)) return d;
  return d == Dtype::Complex32 ? Dtype::Complex64 : Dtype::Float32;
}

template <class T>
struct DtypeOf;
#define EMBER_DTYPE(type, name)                 \
  template <>                                   \
  struct DtypeOf<type> {                        \
    static constexpr Dtype value = Dtype::name; \
  };
EMBER_DTYPE(bool, Bool)
EMBER_DTYPE(uint8_t, UInt8)
EMBER_DTYPE(int8_t, Int8)
EMBER_DTYPE(int16_t, Int16)
EMBER_DTYPE(int32_t, Int32)
EMBER_DTYPE(int64_t, Int64)
EMBER_DTYPE(Half, Float16)
EMBER_DTYPE(BFloat16, BFloat16)
EMBER_DTYPE(float, Float32)
EMBER_DTYPE(double, Float64)
EMBER_DTYPE(complex64, Complex64)
EMBER_DTYPE(complex128, Complex128)
EMBER_DTYPE(uint16_t, UInt16)
EMBER_DTYPE(uint32_t, UInt32)
EMBER_DTYPE(uint64_t, UInt64)
EMBER_DTYPE(complex32, Complex32)
EMBER_DTYPE(float8_e4m3fn, Float8_e4m3fn)
EMBER_DTYPE(float8_e5m2, Float8_e5m2)
EMBER_DTYPE(float8_e4m3fnuz, Float8_e4m3fnuz)
EMBER_DTYPE(float8_e5m2fnuz, Float8_e5m2fnuz)
EMBER_DTYPE(float8_e8m0fnu, Float8_e8m0fnu)
#undef EMBER_DTYPE
template <class T>
constexpr Dtype dtype_of = DtypeOf<T>::value;

template <class T>
constexpr bool is_complex_type =
    std::is_same_v<T, complex64> || std::is_same_v<T, complex128> || std::is_same_v<T, complex32>;
// Types that become a float before anything else is done with them.
template <class T>
constexpr bool widens_to_float =
    std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> || is_float8(dtype_of<T>);

template <class T>
struct Tag {
  using type = T;
};

// The errors of what does not compute in a dtype, as PyTorch words them. Not inlined: they stand at
// the end of every switch over dtypes.
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_dtype(Dtype d) {
  fail(Kind::NotImplemented, "not implemented for '", type_name(d), "'");
}
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_dtype(const char* op, Dtype d) {
  fail(Kind::NotImplemented, "\"", op, "\" not implemented for '", type_name(d), "'");
}
inline void refuse_stored_only(const char* op, Dtype d) {
  if (__builtin_expect(is_stored_only(d), 0)) fail_dtype(op, d);
}

// Calls f(Tag<T>{}) with the C++ type of `d`: with_dtype(d, [&](auto tag) { using T = ... });
// Dtypes that are only stored are errors.
template <class F>
decltype(auto) with_dtype(Dtype d, F&& f) {
  switch (d) {
    case Dtype::Bool: return f(Tag<bool>{});
    case Dtype::UInt8: return f(Tag<uint8_t>{});
    case Dtype::Int8: return f(Tag<int8_t>{});
    case Dtype::Int16: return f(Tag<int16_t>{});
    case Dtype::Int32: return f(Tag<int32_t>{});
    case Dtype::Int64: return f(Tag<int64_t>{});
    case Dtype::Float16: return f(Tag<Half>{});
    case Dtype::BFloat16: return f(Tag<BFloat16>{});
    case Dtype::Float32: return f(Tag<float>{});
    case Dtype::Float64: return f(Tag<double>{});
    case Dtype::Complex64: return f(Tag<complex64>{});
    case Dtype::Complex128: return f(Tag<complex128>{});
    case Dtype::UInt16: return f(Tag<uint16_t>{});
    case Dtype::UInt32: return f(Tag<uint32_t>{});
    case Dtype::UInt64: return f(Tag<uint64_t>{});
    default: fail_dtype(d);
  }
}

// The same for all dtypes.
template <class F>
decltype(auto) with_any_dtype(Dtype d, F&& f) {
  if (!is_stored_only(d)) return with_dtype(d, std::forward<F>(f));
  switch (d) {
    case Dtype::Complex32: return f(Tag<complex32>{});
    case Dtype::Float8_e4m3fn: return f(Tag<float8_e4m3fn>{});
    case Dtype::Float8_e5m2: return f(Tag<float8_e5m2>{});
    case Dtype::Float8_e4m3fnuz: return f(Tag<float8_e4m3fnuz>{});
    case Dtype::Float8_e5m2fnuz: return f(Tag<float8_e5m2fnuz>{});
    default: return f(Tag<float8_e8m0fnu>{});
  }
}

// The same for kernels that only move elements: one instance per size, not per type.
template <class F>
decltype(auto) with_item_size(int64_t size, F&& f) {
  switch (size) {
    case 1: return f(Tag<uint8_t>{});
    case 2: return f(Tag<uint16_t>{});
    case 4: return f(Tag<uint32_t>{});
    case 8: return f(Tag<uint64_t>{});
    default: return f(Tag<complex128>{});
  }
}

// Value conversion between any two element types, as C++ casts do, complex -> real taking the real
// part.
template <class To, class From>
inline To convert(From v) {
  if constexpr (std::is_same_v<From, complex32> && !std::is_same_v<To, complex32>) {
    return convert<To>(complex64(v));
  } else if constexpr (is_complex_type<To>) {
    using R = typename To::value_type;
    if constexpr (is_complex_type<From>)
      return To(R(v.real()), R(v.imag()));
    else
      return To(convert<R>(v), R(0));
  } else if constexpr (is_complex_type<From>) {
    if constexpr (std::is_same_v<To, bool>)
      return v != From(0);
    else
      return convert<To>(v.real());
  } else if constexpr (widens_to_float<From>) {
    return convert<To>(float(v));
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Out-of-range casts are undefined in C++; go through int64 as torch's CPU code does.
    if constexpr (std::is_same_v<To, uint64_t>)
      return v >= From(9223372036854775808.0) ? uint64_t(v) : uint64_t(int64_t(v));
    else
      return To(int64_t(v));
  } else {
    return To(v);
  }
}

inline std::ostream& operator<<(std::ostream& out, Dtype d) { return out << name_of(d); }

}  // namespace ember
