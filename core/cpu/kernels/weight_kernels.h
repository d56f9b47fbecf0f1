// The table of kernels for products with weights of 8 or 4 bits, filled once per ISA level by
// kernels/weights.cpp. Everything here is one thread's work on raw memory.
#pragma once

#include <cstdint>

#include "cpu/kernels/levels.h"

namespace ember::cpu {

// A weight is scale * q + offset, with a scale and an offset for each `group` of columns of a row.
// q of 8 bits is signed. Of 4 bits it is not, and 32 of them share 16 bytes: byte i has column i in
// its low half and column 16 + i in its high one.
struct Weights {
  const uint8_t* q;
  int64_t row;  // in bytes
  const float *scales, *offsets;
  int64_t k, group, groups;  // columns, in a group, groups of a row
  Weights from(int64_t r) const {
    return {q + r * row, row,   scales + r * groups, offsets ? offsets + r * groups : nullptr, k,
            group,       groups};
  }
};

struct WeightKernels {
  // y[i][r] = the sum over j of x[i][j] * weight[r][j]. Rows of x have zeros up to a whole unit;
  // sums[i][g] is the sum of x[i] over group g, read where there are offsets.
  void (*dots)(const Weights& w, int64_t rows, int64_t few, const float* x, int64_t x_row,
               const float* sums, float* y, int64_t y_row);
  void (*widen)(const Weights& w, int64_t rows, float* out, int64_t out_row);
};

constexpr int64_t kWeightUnit = 32;  // columns

struct WeightTables {
  WeightKernels of_8_bits, of_4_bits;
};

EMBER_DECLARE_LEVELS(const WeightTables& weight_kernels();)

}  // namespace ember::cpu
