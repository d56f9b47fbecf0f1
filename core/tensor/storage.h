// A block of memory on a device, counted, with the version that guards in-place changes.
#pragma once

#include "tensor/device.h"
#include "tensor/ref.h"

namespace ember {

class Backend;

// Why Tensor::data() has to look closer at a storage.
enum Watch : uint8_t {
  kShrunk = 1,       // below `peak`, so that tensors made before may reach past the end
  kUnallocated = 2,  // nobody has asked for its memory yet: provide()
  kAwaited = 4,      // work that was put off reads or writes it: deferred.h
};

struct Storage final : Pooled<Storage> {
  std::atomic<uint32_t> refs{0};
  uint32_t version = 0;  // raised by every in-place change; see autograd/saved.h
  void* data = nullptr;  // host memory, or a handle of the device
  int64_t bytes = 0;
  Device device;
  bool resizable = true;
  uint8_t watch = 0;         // bits of Watch
  bool shared = false;       // mapped by other processes too
  bool exposed = false;      // somebody asked for its address, and may look at it any time
  Backend* owner = nullptr;  // frees `data` if there is no `release`
  void (*release)(Storage*) = nullptr;  // for memory that belongs to somebody else
  void* context = nullptr;              // what `release` needs: a PyObject, a mapping ...
  Ref<Storage> root;                    // for x.data: the same memory under its own version counter
  Storage* aliases = nullptr;           // of a root: those that follow it; see alias_storage
  Storage *alias_before = nullptr, *alias_after = nullptr;
  Ref<Storage> retired;         // memory that was left while others had pointers to it
  void* host_object = nullptr;  // the Python object, while there is one
  bool host_owned = false;      // it survives only through us: Note [Identity], tensor_type.cpp
  int64_t peak = 0;             // the most bytes it has had, while it is shrunk
  uint32_t pins = 0;            // pointers to the memory that others hold; see Pin
  uint32_t slot = 0;            // its place in the trace, while it is awaited (lazy/trace.h)

  // For those who read `data` themselves: the memory is there and holds what it should.
  void settle() {
    if (__builtin_expect(watch & (kUnallocated | kAwaited), 0)) settle_now();
  }
  // For those who hand the address out and keep no Pin: from now on it always does.
  void* expose() {
    settle();
    exposed = true;
    return data;
  }
  // Gets the memory of an unallocated storage.
  void provide();

  void destroy();  // not for use by hand

 private:
  void settle_now();
};

// As give_back_to_host, for a storage.
inline void (*give_back_storage)(Storage*) = nullptr;

// `bytes` of memory of the backend of `device`.
Ref<Storage> new_storage(int64_t bytes, Device device);
// Memory owned by someone else, given back by calling `release`.
Ref<Storage> wrap_memory(void* data, int64_t bytes, Device device, void (*release)(Storage*),
                         void* context);
// The same memory with a version counter of its own (x.data). It follows where the memory moves.
Ref<Storage> alias_storage(const Ref<Storage>& storage);
// Grows or shrinks in place, keeping what fits.
void resize_storage(Storage& storage, int64_t bytes);
// Tells the aliases of a root where its memory is now.
void update_aliases(Storage& root);
// For ever: the memory is not moved while the storage lives.
void pin_storage(const Ref<Storage>& storage);
// What a tensor calls that is about to have another storage: a kernel may be using this one.
void leave_storage(Ref<Storage> storage);

// The right of somebody else (an array, a consumer of DLPack) to a pointer into a storage: it lives
// as long as this does, and its memory stays where it is, whatever happens to the tensor. Made and
// dropped by threads that hold the host's lock.
class Pin {
 public:
  explicit Pin(const Ref<Storage>& storage)
      : owner_(storage->root ? storage->root : storage), held_(storage) {
    owner_->pins++;
  }
  ~Pin() { owner_->pins--; }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

 private:
  Ref<Storage> owner_, held_;
};

}  // namespace ember
