// What ops may ask about devices: whether operands are on one, and whether there are values.
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

// Whether there are elements to look at: the meta device has none.
inline bool has_values(const Tensor& t) { return t.numel() != 0 && !t.device().is_meta(); }

}  // namespace ember
