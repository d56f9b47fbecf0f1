// The tables of reduction kernels that kernels/reduce.cpp and kernels/load.cpp fill once per ISA
// level. They compute in five types (float, double, int32, int64, complex128); loaders bring
// everything else to those.
#pragma once

#include <cstdint>

#include "cpu/kernels/levels.h"
#include "reductions.h"
#include "tensor/dtype.h"

namespace ember::cpu {

// After the folds: the sum of squares, squared in registers.
constexpr int kSquares = kFolds, kFoldKernels = kFolds + 1;

// `index` is the first place of the extreme, or of the first NaN.
template <class T>
struct Extreme {
  T value;
  int64_t index;
};

// Of n values: their mean and the sum of squared distances from it.
struct Moments {
  double count, mean, squares;
};

// Partial results meet in this type: float sums in double.
template <class T>
struct WideOf {
  using type = int64_t;
};
template <>
struct WideOf<float> {
  using type = double;
};
template <>
struct WideOf<double> {
  using type = double;
};
template <>
struct WideOf<complex128> {
  using type = complex128;
};
template <class T>
using Wide = typename WideOf<T>::type;

template <class T>
struct ReduceKernelsOf {
  // out[i] = fold of x[i * row_stride + 0 .. n): one contiguous run for each of `rows`.
  void (*inner[kFoldKernels])(int64_t rows, int64_t n, const T* x, int64_t row_stride, T* out);
  // acc[j] = fold of acc[j] and x[r * row_stride + j] over `rows`.
  void (*outer[kFoldKernels])(int64_t rows, int64_t n, const T* x, int64_t row_stride, T* acc);
  // acc[i] = fold of acc[i] and x[i].
  void (*join[kFolds])(int64_t n, const T* x, Wide<T>* acc);
  // The extreme of one contiguous run; `most` picks the maximum. n > 0.
  Extreme<T> (*extreme)(bool most, int64_t n, const T* x);
  // best[j], where[j] over rows first, first + 1, ...; `start` overwrites them.
  void (*extremes)(bool most, bool start, int64_t first, int64_t rows, int64_t n, const T* x,
                   int64_t row_stride, T* best, int64_t* where);
  Moments (*moments)(int64_t n, const T* x);  // real types only
  void (*moments_outer)(int64_t rows, int64_t n, const T* x,
                        int64_t row_stride,                             // adds to mean and squares,
                        double before, double* mean, double* squares);  // which hold `before` rows
};

// y[i] = f(x[i * step]), converted to the table's type; p is the order of a norm.
using Loader = void (*)(int64_t n, const void* x, int64_t step, double p, void* y);

// y[i * step] = f(x[i]), which has been folded of `count` elements.
template <class A>
using Storer = void (*)(int64_t n, const A* x, double count, double p, void* y, int64_t step);

struct LoadKernels {
  Storer<double> store_f64[kDtypes][kFinishes];
  Storer<int64_t> store_i64[kDtypes][kFinishes];
  Storer<complex128> store_c128[kDtypes][kFinishes];
  Loader f32[kDtypes][kMaps], f64[kDtypes][kMaps], i32[kDtypes][kMaps], i64[kDtypes][kMaps],
      c128[kDtypes][kMaps];
};

struct ReduceKernels {
  ReduceKernelsOf<float> f32;
  ReduceKernelsOf<double> f64;
  ReduceKernelsOf<int32_t> i32;
  ReduceKernelsOf<int64_t> i64;
  ReduceKernelsOf<complex128> c128;
};

EMBER_DECLARE_LEVELS(const ReduceKernels& reduce_kernels(); const LoadKernels& load_kernels();)

}  // namespace ember::cpu
