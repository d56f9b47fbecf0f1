// Kernels of the ACTIVATION family: what neural networks put between their layers.
#include <cmath>

#include "cpu/vmath_trig.h"

#define EMBER_FAMILY ACTIVATION
#include "cpu/kernels/rows.h"

namespace ember::cpu::EMBER_ISA {

void add_activation(Kernels& k) { add_rows(k); }

}  // namespace ember::cpu::EMBER_ISA
