// The contiguous kernels that one ISA level offers, as tables of function pointers.
// A null entry means: convert to a wider type first (see native_of() in dispatch.h).
#pragma once

#include <cstdint>

#include "functions.h"

namespace ember::cpu {

// One column per Dtype, without the weight of its header; dispatch.cpp checks that they agree.
enum Column {
  kColumnBool,
  kColumnUInt8,
  kColumnInt8,
  kColumnInt16,
  kColumnInt32,
  kColumnInt64,
  kColumnFloat16,
  kColumnBFloat16,
  kColumnFloat32,
  kColumnFloat64,
  kColumnComplex64,
  kColumnComplex128,
  kColumnUInt16,
  kColumnUInt32,
  kColumnUInt64,
  kColumnComplex32,
  kColumnFloat8_e4m3fn,
  kColumnFloat8_e5m2,
  kColumnFloat8_e4m3fnuz,
  kColumnFloat8_e5m2fnuz,
  kColumnFloat8_e8m0fnu,
  kColumns
};

using Kernel1 = void (*)(const void* x, void* out, int64_t n, const Params& p);
using Kernel2 = void (*)(const void* a, const void* b, void* out, int64_t n, const Params& p);
using Kernel3 = void (*)(const void* a, const void* b, const void* c, void* out, int64_t n,
                         const Params& p);
using Cast = void (*)(const void* x, void* out, int64_t n);
// Copies n1 rows of n0 elements; strides are in bytes.
using Move = void (*)(const char* src, int64_t src0, int64_t src1, char* dst, int64_t dst0,
                      int64_t dst1, int64_t n0, int64_t n1);
using Fill = void (*)(const void* value, void* out, int64_t n);

constexpr int kSizes = 5;  // element sizes 1, 2, 4, 8, 16
constexpr int size_index(int64_t bytes) { return __builtin_ctzll(uint64_t(bytes)); }

struct Kernels {
  Kernel1 unary[kUnaryRows][kColumns];
  Kernel2 unary_grad[kUnaryRows][kColumns];  // (g, kept)
  Kernel1 predicate[kPredicateRows][kColumns];
  Kernel2 binary[kBinaryRows][kColumns];
  Kernel2 binary_number[kBinaryRows][kColumns];  // b is one element; only for the common rows
  Kernel2 compare[kCompareRows][kColumns];
  Kernel3 ternary[kTernaryRows][kColumns];
  Cast cast[kColumns][kColumns];  // [from][to]
  Move move[kSizes];
  Fill fill[kSizes];
};

// One function per family and level fills in its part.
#define EMBER_LEVEL(level)            \
  namespace level {                   \
  void add_arithmetic(Kernels& k);    \
  void add_comparison(Kernels& k);    \
  void add_exponential(Kernels& k);   \
  void add_trigonometric(Kernels& k); \
  void add_activation(Kernels& k);    \
  void add_special(Kernels& k);       \
  void add_cast(Kernels& k);          \
  void add_move(Kernels& k);          \
  }
EMBER_LEVEL(baseline)
EMBER_LEVEL(avx2)
EMBER_LEVEL(avx512)
#undef EMBER_LEVEL

// Conversions that are two of others, for all levels (stored_casts.cpp).
void add_stored_casts(Kernels& k);

}  // namespace ember::cpu
