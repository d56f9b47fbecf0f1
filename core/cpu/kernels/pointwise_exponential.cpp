// Kernels of the EXPONENTIAL family: exponentials, logarithms, powers, hyperbolic functions.
#include "cpu/vmath.h"

#define EMBER_FAMILY EXPONENTIAL
#include "cpu/kernels/rows.h"
// It builds on rows.h.
#include "cpu/kernels/half_rows.h"

namespace ember::cpu::EMBER_ISA {

namespace {

// Products of which float16 and bfloat16 round the second factor first.
struct Xlogy {
  template <class H>
  static EMBER_INLINE float forward(float a, float b) {
    return b != b ? b : a == 0 ? 0.f : a * step<H>(log(b));
  }
};
struct Xlog1py {
  template <class H>
  static EMBER_INLINE float forward(float a, float b) {
    return b != b ? b : a == 0 ? 0.f : a * step<H>(log1p(b));
  }
};
struct Ldexp {
  template <class H>
  static EMBER_INLINE float forward(float a, float b) {
    return a * step<H>(exp2(b));
  }
};

}  // namespace

void add_exponential(Kernels& k) {
  add_rows(k);
  add_in_halves<Xlogy>(k, Binary::xlogy);
  add_in_halves<Xlog1py>(k, Binary::xlog1py);
  add_in_halves<Ldexp>(k, Binary::ldexp);
}

}  // namespace ember::cpu::EMBER_ISA
