// Operands and results of fused kernels as dense memory of one type; either may be missing.
#pragma once

#include "cpu/index_support.h"

namespace ember::cpu {

template <class T>
struct Source {
  Tensor kept;
  const T* data = nullptr;
  explicit Source(const Tensor& t) {
    if (t) kept = dense(t, dtype_of<T>), data = kept.data<T>();
  }
};

// store() delivers what was written to `data`.
template <class T>
struct Result {
  const Tensor& out;
  Tensor kept;
  T* data = nullptr;
  explicit Result(const Tensor& t) : out(t) {
    if (!t) return;
    kept = t.is_contiguous() && t.dtype() == dtype_of<T> ? t : empty(t.shape(), dtype_of<T>);
    data = kept.data<T>();
  }
  void store() const {
    if (out && !kept.same(out)) backend_of(out).copy(out, kept);
  }
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
