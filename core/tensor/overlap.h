// Whether two tensors share memory, for ops that write to a tensor the user gave them.
#pragma once

#include "tensor/tensor.h"

namespace ember {

enum class Overlap : uint8_t {
  None,
  Full,     // the same elements at the same positions
  Partial,  // both are dense, and their memory meets otherwise
  Maybe,    // their ranges of memory meet, but there are gaps between elements (or repeats)
};

// Do the storages share memory at all? Two storages may lie over the same array.
inline bool share_storage(const Tensor& a, const Tensor& b) {
  const Storage *s = a.storage().get(), *t = b.storage().get();
  if (s == t) return s != nullptr;
  if (!s || !t || !s->data || !t->data) return false;
  if (!s->device.is_cpu() || !t->device.is_cpu()) return s->data == t->data;
  const char *p = static_cast<const char*>(s->data), *q = static_cast<const char*>(t->data);
  return p < q + t->bytes && q < p + s->bytes;
}

Overlap overlap_of(const Tensor& a, const Tensor& b);

}  // namespace ember
