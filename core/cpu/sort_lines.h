// Tensors as rows: the dimension to sort comes last and is contiguous, by a copy if need be.
#pragma once

#include "backend.h"
#include "cpu/layout.h"

namespace ember::cpu {

// A view with `dim` last, of a tensor that may be undefined.
inline Tensor dim_last(const Tensor& t, int dim) {
  if (!t) return t;
  if (t.dim() == 0) return alias(t, {1}, {1}, t.offset());
  Shape shape = t.shape(), strides = t.strides();
  int64_t size = shape[dim], stride = strides[dim];
  shape.erase(dim);
  strides.erase(dim);
  shape.push_back(size);
  strides.push_back(stride);
  return alias(t, shape, strides, t.offset());
}

struct Rows {
  Tensor dense;
  int64_t rows, n;
  Rows(const Tensor& t, int dim)
      : dense(cpu::dense(dim_last(t, dim), t.dtype())), rows(1), n(dense.size(-1)) {
    for (int d = 0; d + 1 < dense.dim(); d++) rows *= dense.size(d);
  }
  template <class T>
  const T* data() const {
    return dense.data<T>();
  }
};

}  // namespace ember::cpu
