// Kernels of the EXPONENTIAL family: exponentials, logarithms, powers, hyperbolic functions.
#include "cpu/vmath.h"

#define EMBER_FAMILY EXPONENTIAL
#include "cpu/kernels/rows.h"

namespace ember::cpu::EMBER_ISA {

void add_exponential(Kernels& k) { add_rows(k); }

}  // namespace ember::cpu::EMBER_ISA
