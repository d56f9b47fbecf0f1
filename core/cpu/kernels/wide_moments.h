// Means and squares of distances from them in double, for the few that float does not hold.
#pragma once

#include <cstdint>

namespace ember::cpu::EMBER_ISA {
namespace {

// Does the type hold these? Float has no squares of numbers beyond 1e18, and few digits for those
// of numbers below 1e-15.
template <class T>
inline bool holds([[maybe_unused]] T mean, [[maybe_unused]] T squares) {
  if constexpr (sizeof(T) == 8)
    return true;
  else
    return (mean - mean == 0) & (squares > T(1e-24)) & (squares < T(1e37));
}

template <class T>
void wide_moments(int64_t n, const T* x, int64_t step, double* mean, double* squares) {
  double sum = 0, q = 0;
  for (int64_t i = 0; i < n; i++) sum += double(x[i * step]);
  const double middle = sum / double(n);
  for (int64_t i = 0; i < n; i++) {
    const double d = double(x[i * step]) - middle;
    q += d * d;
  }
  *mean = middle;
  *squares = q;
}

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
