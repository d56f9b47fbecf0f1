// A double whose functions are the C library's: for the arguments that the vector code leaves out,
// such as the sine of 1e20. A kernel with such arguments says so by `is_rare`, and evaluates its
// row with T = Exact for them.
#pragma once

#include "cpu/kernels/arithmetic.h"

namespace ember::cpu::EMBER_ISA {
namespace {

// How far the vector code reduces angles; sinc() multiplies by pi.
#ifdef EMBER_FMA
constexpr double kTurnLimit = 1e5;
#else
constexpr double kTurnLimit = 4096;
#endif

struct Exact {
  double v;
  constexpr Exact(double value) : v(value) {}
  explicit operator float() const { return float(v); }
  explicit operator double() const { return v; }
  friend Exact operator-(Exact a) { return -a.v; }
  friend Exact operator+(Exact a, Exact b) { return a.v + b.v; }
  friend Exact operator-(Exact a, Exact b) { return a.v - b.v; }
  friend Exact operator*(Exact a, Exact b) { return a.v * b.v; }
  friend Exact operator/(Exact a, Exact b) { return a.v / b.v; }
  friend bool operator==(Exact a, Exact b) { return a.v == b.v; }
  friend bool operator!=(Exact a, Exact b) { return a.v != b.v; }
  friend bool operator<(Exact a, Exact b) { return a.v < b.v; }
  friend bool operator>(Exact a, Exact b) { return a.v > b.v; }
};

inline Exact sin(Exact x) { return __builtin_sin(x.v); }
inline Exact cos(Exact x) { return __builtin_cos(x.v); }
inline Exact tan(Exact x) { return __builtin_tan(x.v); }
inline Exact sinc(Exact x) {
  double u = 3.14159265358979323846 * x.v;
  return x.v == 0 ? 1 : __builtin_sin(u) / u;
}

inline Exact floor(Exact x) { return __builtin_floor(x.v); }
inline Exact copysign(Exact a, Exact b) { return __builtin_copysign(a.v, b.v); }
inline Exact modulo(Exact a, Exact b) { return __builtin_fmod(a.v, b.v); }

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
