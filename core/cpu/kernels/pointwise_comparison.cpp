// Kernels of the COMPARISON family: their results are bool.
#define EMBER_FAMILY COMPARISON
#include "cpu/kernels/rows.h"

namespace ember::cpu::EMBER_ISA {

void add_comparison(Kernels& k) {
  add_rows(k);
  for (auto& row : k.predicate) row[kColumnBool] = row[kColumnUInt8];
  k.unary[int(Unary::bitwise_not)][kColumnBool] =
      k.predicate[int(Predicate::logical_not)][kColumnUInt8];
}

}  // namespace ember::cpu::EMBER_ISA
