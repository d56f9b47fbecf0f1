// What torch/extension.h is here: PyTorch's C++ interface for extensions, as far as it goes
// (tensors and their memory, ops, PYBIND11_MODULE, TORCH_LIBRARY). It is compiled against pybind11
// alone.
#pragma once

#include "ember/checks.h"
#include "ember/indexing.h"
#include "ember/library.h"
#include "ember/tensor.h"

namespace py = pybind11;  // which programs take for granted

namespace torch {
using namespace at;
using at::Tensor;
namespace indexing {
using namespace at::indexing;
using at::TensorIndex;
}  // namespace indexing
namespace autograd {
using Variable = at::Tensor;
using variable_list = std::vector<at::Tensor>;
}  // namespace autograd
}  // namespace torch
