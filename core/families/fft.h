// Discrete Fourier transforms along one dimension, as a family of kernels (see backend.h). Nothing
// is scaled but by `scale`, nothing padded: the ops do that.
#pragma once

#include "backend.h"

namespace ember {

class FftKernels {
 public:
  virtual ~FftKernels() = default;
  // out[k] = scale * sum_j x[j] exp(-+ 2 pi i j k / n), with + if `inverse`. Both complex, of one
  // shape and dtype; any strides.
  virtual void complex_to_complex(const Tensor& out, const Tensor& x, int dim, bool inverse,
                                  double scale) = 0;
  // The first n / 2 + 1 of the n results for real x, forward.
  virtual void real_to_complex(const Tensor& out, const Tensor& x, int dim, double scale) = 0;
  // The n real results, inverse, for x of which the first n / 2 + 1 are given; n is the size of
  // `out`. Imaginary parts of x[0] and, for even n, x[n / 2] count as 0.
  virtual void complex_to_real(const Tensor& out, const Tensor& x, int dim, double scale) = 0;
};

}  // namespace ember
