// A block of memory on a device, counted, with the version that guards in-place changes.
#pragma once

#include "tensor/device.h"
#include "tensor/ref.h"

namespace ember {

class Backend;

struct Storage final : Pooled<Storage> {
  std::atomic<uint32_t> refs{0};
  uint32_t version = 0;  // raised by every in-place change; see autograd/saved.h
  void* data = nullptr;  // host memory, or a handle of the device
  int64_t bytes = 0;
  Device device;
  bool resizable = true;
  bool shared = false;                  // mapped by other processes too
  Backend* owner = nullptr;             // frees `data` if there is no `release`
  void (*release)(Storage*) = nullptr;  // for memory that belongs to somebody else
  void* context = nullptr;              // what `release` needs: a PyObject, a mapping ...
  Ref<Storage> root;                    // for x.data: the same memory under its own version counter
  bool aliased = false;  // is the root of another: its memory must stay after resizing, too ...
  Ref<Storage> retired;  // ... and is kept here
  void* host_object = nullptr;  // the Python object, while there is one

  void destroy();  // not for use by hand
};

// `bytes` of memory of the backend of `device`.
Ref<Storage> new_storage(int64_t bytes, Device device);
// Memory owned by someone else, given back by calling `release`.
Ref<Storage> wrap_memory(void* data, int64_t bytes, Device device, void (*release)(Storage*),
                         void* context);
// The same memory with a version counter of its own (x.data).
Ref<Storage> alias_storage(const Ref<Storage>& storage);
// Grows or shrinks in place, keeping what fits.
void resize_storage(Storage& storage, int64_t bytes);

}  // namespace ember
