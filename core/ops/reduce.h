// What the files of the reduction family share.
#pragma once

#include "ops/ops.h"

namespace ember {

// The shape without the reduced dimensions, or with size 1 in their place.
Shape reduced_shape(const Shape& shape, const Shape& dims, bool keepdim);
// Room for a reduction of `self`, with size 1 where it reduces. Expanded tensors whose elements
// would not fit into any memory are refused: to go over them would not end.
Tensor reduced_like(const Tensor& self, const Shape& dims, Dtype dtype);
// A fresh, contiguous reduction result that still has its reduced dimensions, without them.
Tensor drop_dims(const Tensor& full, const Shape& dims, bool keepdim);
// A reduced tensor with its lost dimensions put back, of size 1; `shape` is the shape before the
// reduction.
Tensor restore_dims(const Tensor& t, const Shape& dims, bool keepdim, const Shape& shape);
// The same, repeated to the full shape: the gradient of a sum.
Tensor expand_back(const Tensor& g, const Shape& dims, bool keepdim, const Shape& shape);
int64_t reduced_count(const Shape& shape, const Shape& dims);

}  // namespace ember
