// Kernels of the TRIGONOMETRIC family: sines, their inverses, angles.
#include "cpu/vmath_trig.h"

#define EMBER_FAMILY TRIGONOMETRIC
#include "cpu/kernels/rows.h"

namespace ember::cpu::EMBER_ISA {

void add_trigonometric(Kernels& k) { add_rows(k); }

}  // namespace ember::cpu::EMBER_ISA
