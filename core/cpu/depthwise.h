// Convolutions in which each channel has a kernel of its own (kernels/depthwise.cpp).
#pragma once

#include "cpu/conv.h"

namespace ember::cpu::depthwise {

bool can(Dtype dtype, const ConvSizes& s);  // float32 and float64, contiguous
void forward(Dtype dtype, const ConvSizes& s, const void* x, const void* w, const void* bias,
             void* y);
void backward_data(Dtype dtype, const ConvSizes& s, const void* g, const void* w, void* dx);
void backward_weights(Dtype dtype, const ConvSizes& s, const void* g, const void* x, void* dw);

}  // namespace ember::cpu::depthwise
