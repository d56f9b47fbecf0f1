// The three products of a convolution (families/conv.h), each other's gradients, and what the ops
// that slide a window over axes share: conv_products.cpp, conv.cpp, pool.cpp.
#pragma once

#include "backend.h"
#include "ops/ops.h"

namespace ember {

// x (N, C, ...) with w (O, C / groups, ...), to y (N, O, size); the bias may be undefined.
Tensor convolution(const Tensor& x, const Tensor& w, const Tensor& bias, const Shape& size,
                   const Moves& moves);
// The gradient of x, which is a transposed convolution of g: to (N, C, size).
Tensor convolution_data(const Tensor& g, const Tensor& w, const Tensor& bias, const Shape& size,
                        const Moves& moves);
// The gradient of w, whose last axes have sizes `kernel`.
Tensor convolution_weights(const Tensor& g, const Tensor& x, const Shape& kernel,
                           const Moves& moves);

// The same in terms of other ops, for devices without kernels of their own.
Tensor convolution_in_steps(const Tensor& x, const Tensor& w, const Shape& size,
                            const Moves& moves);
Tensor convolution_data_in_steps(const Tensor& g, const Tensor& w, const Shape& size,
                                 const Moves& moves);

// x (N, C, ...) as columns (N, C * taps, places), and columns added up to x of (N, C, size).
Tensor unfold_windows(const Tensor& x, const Shape& kernel, const Shape& places,
                      const Moves& moves);
Tensor fold_windows(const Tensor& columns, const Shape& size, const Shape& kernel,
                    const Shape& places, const Moves& moves);
Tensor unfold_in_steps(const Tensor& x, const Shape& kernel, const Shape& places,
                       const Moves& moves);
Tensor fold_in_steps(const Tensor& columns, const Shape& size, const Shape& kernel,
                     const Shape& places, const Moves& moves);

// True if the tensor is laid out channels-last, and not ambiguously so.
bool prefers_channels_last(const Tensor& t);
// A new tensor, laid out that way or contiguous.
Tensor empty_laid_out(const Shape& shape, Dtype dtype, Device device, bool channels_last);

// An argument that is one number or one for each axis.
Shape expanded(const char* op, const char* name, const Dims& value, int axes);

// Sizes as they are written in messages: (3 x 4).
struct Product {
  const Shape& sizes;
  int first = 0;
};
std::ostream& operator<<(std::ostream& out, const Product& p);

}  // namespace ember
