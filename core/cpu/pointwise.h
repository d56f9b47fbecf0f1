// Pointwise work of the CPU backend on raw strided operands: what CpuBackend calls.
// Any mix of dtypes is accepted; elements are converted to `compute` and back chunk by chunk.
// Shapes are the output's; inputs come broadcast to it (stride 0). `out` may be one of the inputs,
// but may not overlap them otherwise.
#pragma once

#include <cstdint>

#include "functions.h"
#include "tensor/dtype.h"

namespace ember::cpu {

struct Operand {
  void* data;
  Dtype dtype;
  const int64_t* strides;  // in elements, one per dimension of the output
};

// A number as an operand: one element, repeated. Give it strides of zeros.
extern const int64_t kZeroStrides[64];

// Unary::abs in a complex `compute` gives real numbers; its `out` should be real then.
void unary(Unary f, Dtype compute, int ndim, const int64_t* shape, Operand out, Operand x,
           const Params& p = {});
// out = g * conj(derivative(kept)), kept being what keep_of(f) says. f must keep x or y.
void unary_grad(Unary f, Dtype compute, int ndim, const int64_t* shape, Operand out, Operand g,
                Operand kept, const Params& p = {});
void predicate(Predicate f, Dtype compute, int ndim, const int64_t* shape, Operand out, Operand x,
               const Params& p = {});
// Integer division by zero raises RuntimeError("ZeroDivisionError"), as PyTorch does.
void binary(Binary f, Dtype compute, int ndim, const int64_t* shape, Operand out, Operand a,
            Operand b, const Params& p = {});
// `compute` is the type in which a and b are compared; out is bool (or whatever bool converts to).
void compare(Compare f, Dtype compute, int ndim, const int64_t* shape, Operand out, Operand a,
             Operand b, const Params& p = {});
// For Ternary::where, a is the condition (bool, or uint8 holding 0 and 1).
void ternary(Ternary f, Dtype compute, int ndim, const int64_t* shape, Operand out, Operand a,
             Operand b, Operand c, const Params& p = {});

// Element-wise copy with conversion.
void copy(int ndim, const int64_t* shape, Operand out, Operand x);
// `value` points to one element of dtype `value_dtype`.
void fill(int ndim, const int64_t* shape, Operand out, const void* value, Dtype value_dtype);

}  // namespace ember::cpu
