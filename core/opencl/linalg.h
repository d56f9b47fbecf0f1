// Factorisations on the device (primitives.h), and what their files share.
#pragma once

#include <algorithm>

#include "opencl/launch.h"
#include "opencl/opencl_backend.h"

namespace ember::opencl {

// The kernel `name` of `text` (kernels/*.cl) for numbers of dtype d. Raises if the device cannot
// calculate in it.
Launch number_kernel(const char* op, const char* name, const char* text, Dtype d);
// Work-items per matrix of `size` rows or columns: a power of two, within the device's limit and
// the kernels' (GROUP). There are two only, as some devices compile a kernel for each size.
int64_t group_for(int64_t size);
// Starts a kernel whose work-items do not know of each other.
void run_items(Launch& launch, int64_t items);

inline Tensor scratch(std::initializer_list<int64_t> shape, Dtype d, const Tensor& like) {
  return empty(Shape(shape), d, like.device());
}

}  // namespace ember::opencl
