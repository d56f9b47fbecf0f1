// Complex numbers in kernels: OpenCL C has no operators for them, so formulas become calls.
#pragma once

#include <string>
#include <string_view>

#include "backend.h"

namespace ember::opencl {

// The formula with calls of kernels/complex.cl in the place of operators:
// "1 - y * y" is "c_sub(c_of(1), c_mul(y, y))".
std::string complex_formula(std::string_view formula);
// The text that a program of complex numbers starts with: T, R and kernels/complex.cl.
std::string complex_functions(Dtype complex);
// The real (0) or imaginary (1) parts of a complex tensor, as a view.
Tensor part(const Tensor& t, int which);

// The primitives of complex tensors, made of those of their parts where these suffice.
void complex_reduce(Reduction f, const Tensor& out, const Tensor& x, const Shape& dims, double p);
void complex_matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha,
                    const Scalar& beta);

}  // namespace ember::opencl
