// What kernels along one dimension share: where lines are, and the texts of their types.
#pragma once

#include <string>

#include "opencl/launch.h"

namespace ember::opencl {

// The lines of up to three tensors along `dim`; a 0-d tensor is one line of one element.
struct Lines {
  Geometry g;
  int64_t n = 1, step[3] = {0, 0, 0};
  Lines(const Tensor& like, int dim, std::initializer_list<const Tensor*> tensors);
};

// ACC, KEY, M_IN, M_OUT, LOAD, READ (which converts to ACC) and STORE.
std::string line_types(Dtype acc, Dtype in, Dtype out);
std::string dtype_ids(std::initializer_list<Dtype> dtypes);  // for keys of kernels

}  // namespace ember::opencl
