// The three Fourier transforms that all others are made of, differentiable, without padding.
#pragma once

#include "ops/ops.h"

namespace ember::fft {

// `inverse` is the sign of the exponent; nothing is divided but by `scale`.
Tensor complex_to_complex(const Tensor& x, const Shape& dims, bool inverse, double scale);
// Real x, forward; of the last of `dims` the first half.
Tensor real_to_complex(const Tensor& x, const Shape& dims, double scale);
// Back, to a size of n along the last of `dims`.
Tensor complex_to_real(const Tensor& x, const Shape& dims, int64_t n, double scale);

// Raises for dtypes that no transform takes.
void check_precision(const char* op, Dtype dtype);

// Zeros behind, or a part left out, to make the size along `dim` n.
Tensor resized(const Tensor& x, int dim, int64_t n);

}  // namespace ember::fft
