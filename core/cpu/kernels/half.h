// float16 and bfloat16 in the kernels: conversion to and from float, branch-free.
#pragma once

#include <cstdint>

namespace ember::cpu::EMBER_ISA {
namespace {

struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

inline float bits_to_float(uint32_t b) { return __builtin_bit_cast(float, b); }
inline uint32_t float_to_bits(float f) { return __builtin_bit_cast(uint32_t, f); }

inline float to_float(BFloat16 v) { return bits_to_float(uint32_t(v.bits) << 16); }

inline float to_float(Half v) {
  uint32_t sign = uint32_t(v.bits & 0x8000) << 16, magnitude = v.bits & 0x7fff;
  uint32_t normal = (magnitude + 0x1c000) << 13;
  uint32_t special = (magnitude << 13) | 0x7f800000;
  uint32_t subnormal = float_to_bits(float(int32_t(magnitude)) * 5.9604644775390625e-8f);  // 2^-24
  uint32_t bits = magnitude >= 0x0400 ? normal : subnormal;
  return bits_to_float(sign | (magnitude >= 0x7c00 ? special : bits));
}

inline BFloat16 to_bfloat(float f) {  // to nearest, halves to even
  uint32_t bits = float_to_bits(f);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return {uint16_t(f != f ? 0x7fc0 : rounded)};
}

inline Half to_half(float f) {
  uint32_t bits = float_to_bits(f), sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff;
  uint32_t normal = (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  // The float adder does the rounding of what becomes subnormal.
  uint32_t subnormal = float_to_bits(bits_to_float(magnitude) + 0.5f) - 0x3f000000;
  uint32_t half = magnitude < 0x38800000 ? subnormal : normal;
  half = magnitude >= 0x477ff000 ? 0x7c00 : half;
  half = magnitude > 0x7f800000 ? 0x7e00 : half;
  return {uint16_t(sign | half)};
}

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
