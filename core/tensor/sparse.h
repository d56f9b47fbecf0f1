// Sparse tensors, as the core sees them. Their indices and values, and what ops make of them, are
// Python's (ember/sparse): the core only carries a sparse tensor about as a gradient, and knows it
// by its device, which has no memory and refuses every primitive (sparse_backend.cpp). So a sparse
// tensor that reaches an op by an unforeseen way is an error, never a read of what is not there.
#pragma once

#include "tensor/tensor.h"

namespace ember {

inline uint8_t sparse_kind = 255;  // the kind of that device, once there is a sparse tensor
inline bool is_sparse(const Tensor& t) {
  return __builtin_expect(t.device().kind == sparse_kind, 0);
}

// A tensor of the given size without elements in memory.
Tensor empty_sparse(const Shape& shape, Dtype dtype);

// Set by the Python layer. a + b, of which one or both are sparse; `in_place`: in the memory of `a`
// if that can be. An undefined `a` stands for a copy of b.
inline Tensor (*sparse_add)(const Tensor& a, const Tensor& b, bool in_place) = nullptr;
inline Tensor (*sparse_to_dense)(const Tensor& t) = nullptr;

}  // namespace ember
