// The 8-bit floating-point formats: what a byte means, and the byte nearest to a float.
// Light enough for the kernels: nothing here is emitted as a function (loops.h, Note [One namespace
// per level]).
#pragma once

#include <cstdint>
#include <type_traits>

namespace ember {

// What a format does with numbers above its largest.
enum class Above : uint8_t { Largest, Infinity, Nan };

// `kSigned` formats have a sign, `7 - kDigits` bits of exponent and kDigits of significand.
// kNan is the byte of what is not a number; with Above::Nan it is the one byte without a sign, and
// there is no negative zero.
struct E4M3fn {
  static constexpr int kDigits = 3, kBias = 7;
  static constexpr uint8_t kMost = 0x7e, kNan = 0x7f;
  static constexpr Above kAbove = Above::Largest;
};
struct E5M2 {
  static constexpr int kDigits = 2, kBias = 15;
  static constexpr uint8_t kMost = 0x7b, kNan = 0x7f;
  static constexpr Above kAbove = Above::Infinity;
};
struct E4M3fnuz {
  static constexpr int kDigits = 3, kBias = 8;
  static constexpr uint8_t kMost = 0x7f, kNan = 0x80;
  static constexpr Above kAbove = Above::Nan;
};
struct E5M2fnuz {
  static constexpr int kDigits = 2, kBias = 16;
  static constexpr uint8_t kMost = 0x7f, kNan = 0x80;
  static constexpr Above kAbove = Above::Nan;
};
// Powers of two, without a sign: the exponent of a float alone.
struct E8M0fnu {
  static constexpr int kDigits = 0, kBias = 127;
  static constexpr uint8_t kMost = 0xfe, kNan = 0xff;
  static constexpr Above kAbove = Above::Nan;
};

#define EMBER_FLOAT8_INLINE inline __attribute__((always_inline))

// To the nearest, ties to the even one. Free of branches: it is called in vector loops.
template <class Format>
EMBER_FLOAT8_INLINE uint8_t float_to_float8(float f) {
  constexpr int drop = 23 - Format::kDigits;
  constexpr uint32_t rebias = uint32_t(127 - Format::kBias) << 23;
  constexpr uint32_t normal_from = rebias + (1u << 23);
  // The float whose last digit is worth as much as that of the format's subnormal numbers.
  constexpr uint32_t steps = uint32_t(127 + 1 - Format::kBias + drop) << 23;
  const uint32_t bits = __builtin_bit_cast(uint32_t, f), magnitude = bits & 0x7fffffff;
  uint32_t sign = (bits >> 24) & 0x80;
  const uint32_t odd = (magnitude >> drop) & 1;
  const uint32_t normal = (magnitude - rebias + (1u << (drop - 1)) - 1 + odd) >> drop;
  // The float adder does the rounding of what becomes subnormal.
  const float sum = __builtin_bit_cast(float, magnitude) + __builtin_bit_cast(float, steps);
  const uint32_t subnormal = __builtin_bit_cast(uint32_t, sum) - steps;
  uint32_t code = magnitude < normal_from ? subnormal : normal;
  constexpr uint32_t above = Format::kAbove == Above::Largest    ? Format::kMost
                             : Format::kAbove == Above::Infinity ? Format::kMost + 1
                                                                 : Format::kNan;
  code = code > Format::kMost ? above : code;
  code = magnitude > 0x7f800000 ? Format::kNan : code;
  if constexpr (Format::kAbove == Above::Nan) sign = code ? sign : 0;
  return uint8_t(sign | code);
}

template <>
EMBER_FLOAT8_INLINE uint8_t float_to_float8<E8M0fnu>(float f) {
  const uint32_t magnitude = __builtin_bit_cast(uint32_t, f) & 0x7fffffff;
  const uint32_t nearest = (magnitude + 0x400000) >> 23;  // halves up
  const uint32_t code = magnitude <= 0x400000 ? 0 : nearest;
  return uint8_t(magnitude >= 0x7f800000 ? E8M0fnu::kNan : code);
}

// All 256 values.
struct Float8Values {
  float value[256];
};

template <class Format>
constexpr Float8Values float8_values() {
  Float8Values all{};
  constexpr bool has_sign = Format::kDigits > 0;
  for (uint32_t byte = 0; byte < 256; byte++) {
    const uint32_t sign = has_sign ? (byte & 0x80) << 24 : 0, code = has_sign ? byte & 0x7f : byte;
    const uint32_t exponent = code >> Format::kDigits;
    uint32_t bits = (exponent + 127 - Format::kBias) << 23 | (code & ((1u << Format::kDigits) - 1))
                                                                 << (23 - Format::kDigits);
    if (exponent == 0) {  // 0.f or below the smallest normal number
      float subnormal = has_sign ? float(code) : 1.f;
      for (int i = 0; i < Format::kBias + Format::kDigits - 1; i++) subnormal /= 2;
      if (!has_sign) subnormal /= 2;
      bits = __builtin_bit_cast(uint32_t, subnormal);
    }
    const bool no_sign = Format::kAbove == Above::Nan;
    const bool nan = no_sign ? byte == Format::kNan : code > Format::kMost;
    if (nan) bits = 0x7fc00000 | (bits & 0x7fffff);
    if (Format::kAbove == Above::Infinity && code == Format::kMost + 1) bits = 0x7f800000;
    all.value[byte] = __builtin_bit_cast(float, bits | (nan && no_sign ? 0 : sign));
  }
  return all;
}
template <class Format>
inline constexpr Float8Values kFloat8Values = float8_values<Format>();

// An element of memory: arithmetic happens in float, through the implicit conversion.
template <class Format>
struct Float8 {
  uint8_t bits;
  Float8() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Float8(T value) : bits(float_to_float8<Format>(float(value))) {}
  operator float() const { return kFloat8Values<Format>.value[bits]; }
};

}  // namespace ember
