// Operands and results of fused kernels as dense memory of one type; either may be missing.
#pragma once

#include "cpu/layout.h"

namespace ember::cpu {

template <class T>
struct Source {
  Tensor kept;
  const T* data = nullptr;
  explicit Source(const Tensor& t) {
    if (t) kept = dense(t, dtype_of<T>), data = kept.data<T>();
  }
};

// The same for a result: store() delivers what was written to `data`.
template <class T>
struct Result : Output {
  T* data;
  explicit Result(const Tensor& t) : Output(t, dtype_of<T>), data(Output::data<T>()) {}
};

// Calls body(T()) with the type that a floating tensor is computed in.
template <class F>
void for_type(const Tensor& x, F body) {
  if (x.dtype() == Dtype::Float64)
    body(double());
  else
    body(float());
}

}  // namespace ember::cpu
