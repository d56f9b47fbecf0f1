// The inner loops of normalization, once per ISA level: over rows that have their own statistics
// (layer norm), over runs that share a scale (a channel of an image), and over columns (channels
// last).
#pragma once

#include <cstdint>

#include "cpu/kernels/levels.h"

namespace ember::cpu {

constexpr int64_t kMomentRows = 64;  // of columns whose moments are taken together

template <class T>
struct NormKernelsOf {
  // out = (x - mean) * rstd * w + b for each of `rows` rows of n. Without `mean` the statistic is
  // the mean square, and nothing is subtracted. w and b may be null.
  void (*rows)(int64_t rows, int64_t n, const T* x, const T* w, const T* b, double eps, T* out,
               T* mean, T* rstd);
  // The gradients of rows(); what is null is not wanted. dw and db are added to.
  void (*rows_grad)(int64_t rows, int64_t n, const T* g, const T* x, const T* mean, const T* rstd,
                    const T* w, T* dx, T* dw, T* db);

  // Mean and sum of squared deviations of a run.
  void (*moments)(int64_t n, const T* x, double* mean, double* squares);
  // The sums of g and of g * (x - mean).
  void (*dots)(int64_t n, const T* g, const T* x, T mean, double* sum, double* dot);
  void (*scale)(int64_t n, const T* x, T a, T b, T* out);  // a * x + b
  // a * g + b * x + c
  void (*combine)(int64_t n, const T* g, const T* x, T a, T b, T c, T* out);

  // The same for every column of contiguous rows of n; moments of at most kMomentRows rows.
  // Takes room for n each of `mean` and `squares`; the results are the wide ones.
  void (*column_moments)(int64_t rows, int64_t n, const T* x, T* mean, T* squares,
                         double* wide_mean, double* wide_squares);
  // Added to what is in `sum` and `dot`.
  void (*column_dots)(int64_t rows, int64_t n, const T* g, const T* x, const T* mean, T* sum,
                      T* dot);
  void (*column_scale)(int64_t rows, int64_t n, const T* x, const T* a, const T* b, T* out);
  void (*column_combine)(int64_t rows, int64_t n, const T* g, const T* x, const T* a, const T* b,
                         const T* c, T* out);
};

struct NormTable {
  NormKernelsOf<float> f32;
  NormKernelsOf<double> f64;
};

EMBER_DECLARE_LEVELS(const NormTable& norm_kernels();)

}  // namespace ember::cpu
