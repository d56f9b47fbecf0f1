// Convolutions on raw memory, for conv.cpp to choose from: oneDNN's for float32, products of
// columns for every dtype, and loops of their own where each channel has its own kernel.
#pragma once

#include "cpu/planes.h"
#include "operands.h"

namespace ember::cpu {

// One convolution in numbers.
struct ConvSizes : Slide {
  int axes;
  int64_t n, c, o, groups;
  bool channels_last = false;  // how x, dx, y and g lie in memory
  bool weights_last = false;   // how w does; both only for oneDNN

  ConvSizes(const Shape& x, const Shape& w, const Shape& y, const Moves& moves);
  int64_t work() const { return n * o * (c / groups) * taps() * places(); }
  // Less than 0 where the last inputs are not read.
  int64_t pad_after(int i) const {
    return (out[i] - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1 - in[i] - pad[i];
  }
  // Every place reads one input and no input is skipped: a plain matrix product.
  bool pointwise() const;
  // Each channel has a kernel of its own.
  bool depthwise() const { return groups == c && groups == o && c > 1; }
};

// What is not wanted is null. Results are overwritten.
struct ConvGrads {
  void *dx, *dw, *dbias;
};

bool has_onednn();  // whether ember was built with it

namespace onednn_conv {
void forward(const ConvSizes& s, const float* x, const float* w, const float* bias, float* y);
void backward(const ConvSizes& s, const float* g, const float* x, const float* w, ConvGrads to);
}  // namespace onednn_conv

// The bias is left to the caller; `dbias` is not written.
namespace column_conv {
void forward(Dtype dtype, const ConvSizes& s, const void* x, const void* w, void* y, bool add);
void backward_data(Dtype dtype, const ConvSizes& s, const void* g, const void* w, void* dx);
// `parts` has room for part_count(s) tensors like w, which are to be added up.
int part_count(const ConvSizes& s);
void backward_weights(Dtype dtype, const ConvSizes& s, const void* g, const void* x, void* parts);
// One group. All columns of a sample lie together.
void unfold(Dtype dtype, const ConvSizes& s, const void* x, void* columns);
void fold(Dtype dtype, const ConvSizes& s, const void* columns, void* x);
}  // namespace column_conv

}  // namespace ember::cpu
