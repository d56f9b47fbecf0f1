// Kernels of float16 and bfloat16 themselves for the few rows that have some: because they are
// common, or because they round on the way. Include it after rows.h.
#pragma once

#include "cpu/kernels/half.h"

namespace ember::cpu::EMBER_ISA {
namespace {

inline void narrow_to(float f, Half& to) { to = to_half(f); }
inline void narrow_to(float f, BFloat16& to) { to = to_bfloat(f); }

// Rounded to the digits of H.
template <class H>
EMBER_INLINE float step(float f) {
  H h;
  narrow_to(f, h);
  return to_float(h);
}

template <class Formula, class H>
void half_kernel(const void* a, const void* b, void* out, int64_t n, const Params&) {
  map2(static_cast<const H*>(a), static_cast<const H*>(b), static_cast<H*>(out), n,
       [](H u, H v) EMBER_LAMBDA {
         H y;
         narrow_to(Formula::template forward<H>(to_float(u), to_float(v)), y);
         return y;
       });
}
template <class Formula>
void add_in_halves(Kernels& k, Binary f) {
  k.binary[int(f)][kColumnFloat16] = half_kernel<Formula, Half>;
  k.binary[int(f)][kColumnBFloat16] = half_kernel<Formula, BFloat16>;
}

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
