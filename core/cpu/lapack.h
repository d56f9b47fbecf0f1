// Dense linear algebra on tensors of the CPU, by OpenBLAS's LAPACK, and what its callers share.
#pragma once

#include <algorithm>
#include <vector>

#include "cpu/blas.h"
#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"

namespace ember::cpu {

// --- calling LAPACK -----------------------------------------------------------------------------

template <class T>
struct Lapack;
template <>
struct Lapack<float> {
  using Real = float;
  static constexpr char letter = 's';
};
template <>
struct Lapack<double> {
  using Real = double;
  static constexpr char letter = 'd';
};
template <>
struct Lapack<complex64> {
  using Real = float;
  static constexpr char letter = 'c';
};
template <>
struct Lapack<complex128> {
  using Real = double;
  static constexpr char letter = 'z';
};

// The routine for T by its name without the letter: routine<double, Getrf>("getrf"). Where real and
// complex ones have different names (orgqr, ungqr), both are given.
template <class T, class F>
F* routine(const char* real_name, const char* complex_name = nullptr) {
  const char* name = is_complex_type<T> && complex_name ? complex_name : real_name;
  return lapack<F>((std::string(1, Lapack<T>::letter) + name).c_str());
}

template <class F>
void with_lapack_dtype(const char* op, Dtype d, F&& f) {
  switch (d) {
    case Dtype::Float32: return f(Tag<float>{});
    case Dtype::Float64: return f(Tag<double>{});
    case Dtype::Complex64: return f(Tag<complex64>{});
    case Dtype::Complex128: return f(Tag<complex128>{});
    default: fail(Kind::NotImplemented, op, "(): not implemented for dtype ", d);
  }
}

// LAPACK's integers are 32 bits wide.
inline int lapack_int(const char* op, int64_t n) {
  check(n <= INT32_MAX, Kind::Runtime, op, "(): a matrix with ", n,
        " rows or columns is too large for LAPACK");
  return int(n);
}

// The size of workspace that a query (lwork = -1) left in its first element. As a float it may be
// rounded down, so a little more is taken.
template <class T>
int workspace(T answer) {
  double n;
  if constexpr (is_complex_type<T>)
    n = double(answer.real());
  else
    n = double(answer);
  return int(std::min(n * (sizeof(T) % 8 ? 1.0000002 : 1.0) + 1, 2147483647.0));
}

// Calls body(begin, end) on pieces of the batch, with `steps` of arithmetic for each matrix. The
// host's lock is given up where that is worth it, so the body sees raw memory only.
template <class F>
void over_batch(int64_t count, double steps, F&& body) {
  constexpr double kSteps = 4.0 * kGrain;
  int64_t grain = std::max<int64_t>(1, int64_t(kSteps / std::max(1.0, steps)));
  UnlockedKernel unlocked(count <= grain && double(count) * steps > kSteps);
  parallel_for(count, grain, body);
}

}  // namespace ember::cpu
