// All that ops may ask about devices: whether operands are on one, whether there are values, and
// whether this process can address them. How something is computed never depends on the answers:
// that is the backend's choice.
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

// Whether elements exist: the meta device has none.
inline bool keeps_values(Device d) { return !d.is_meta(); }
// Whether there are elements to look at.
inline bool has_values(const Tensor& t) { return t.numel() != 0 && keeps_values(t.device()); }

// Whether elements lie where this process reads and writes them by their addresses.
inline bool on_host(const Tensor& t) { return t.device().is_cpu(); }
// A tensor that stands for a number: it may meet tensors of any device.
inline bool is_host_number(const Tensor& t) { return t.dim() == 0 && on_host(t); }

}  // namespace ember
