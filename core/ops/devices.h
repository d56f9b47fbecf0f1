// A check for ops that hand several tensors to one kernel.
#pragma once

#include <initializer_list>

#include "tensor/tensor.h"

namespace ember {

// Undefined tensors do not count.
inline void check_same_device(const char* op, const Tensor& first,
                              std::initializer_list<const Tensor*> others) {
  for (const Tensor* t : others)
    if (t->defined() && !(t->device() == first.device()))
      fail(Kind::Runtime, op, "(): Expected all tensors to be on the same device, but found ",
           first.device(), " and ", t->device());
}

}  // namespace ember
