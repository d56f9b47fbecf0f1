// Convolutions of one to three axes, as a device may provide them. What an operand is to another:
//     y[n, o, p] = bias[o] + sum over c, k of w[o, c, k] * x[n, c, p * stride + k * dilation - pad]
// The three products of this sum are each other's gradients, so there is nothing else to fuse.
#pragma once

#include "tensor/tensor.h"

namespace ember {

// How the kernel moves over the input; one entry per axis. The padding after the input is whatever
// the size of y makes it.
struct Moves {
  Shape stride, padding, dilation;
  int64_t groups = 1;
};

// x (N, C, ...), w (O, C / groups, ...), y and g (N, O, ...); no size is 0. Tensors are of one
// dtype and have any strides; results are contiguous or channels-last. Any dtype but bool.
class ConvKernels {
 public:
  virtual ~ConvKernels() = default;
  virtual void forward(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias,
                       const Moves& moves) = 0;  // the bias may be undefined
  // The gradients of x, w and the bias from that of y; those not wanted are undefined. `dx` alone
  // is a transposed convolution of g, and then x is undefined.
  virtual void backward(const Tensor& dx, const Tensor& dw, const Tensor& dbias, const Tensor& g,
                        const Tensor& x, const Tensor& w, const Moves& moves) = 0;
  // columns (N, C * taps, places): the elements of x under the kernel at each place; and x as the
  // sum of the columns that hold an element. `size` is that of the last axes of y.
  virtual void unfold(const Tensor& columns, const Tensor& x, const Shape& kernel,
                      const Shape& size, const Moves& moves) = 0;
  virtual void fold(const Tensor& x, const Tensor& columns, const Shape& kernel, const Shape& size,
                    const Moves& moves) = 0;
};

}  // namespace ember
