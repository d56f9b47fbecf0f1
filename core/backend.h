// Devices. A device is a Backend: memory, and the primitives of primitives.h. Read that table
// first; every row is a method here.
#pragma once

#include <bitset>
#include <concepts>
#include <string>

#include "operands.h"

namespace ember {

// Every primitive by name, how many there are, and the type of each as a function.
enum class Primitive : uint8_t {
#define PRIMITIVE(need, result, name, ...) name,
#include "primitives.h"
};
constexpr int kPrimitives = 0
#define PRIMITIVE(...) +1
#include "primitives.h"
    ;
using Primitives = std::bitset<kPrimitives>;
const char* name_of(Primitive p);

namespace primitive {
#define PRIMITIVE(need, result, name, ...) using name = result(EMBER_PARAMETERS(__VA_ARGS__));
#include "primitives.h"
}  // namespace primitive

class Backend {
 public:
  virtual ~Backend() = default;

  // --- memory ---------------------------------------------------------------------------------
  virtual void* allocate(int64_t bytes) = 0;
  virtual void deallocate(void* data, int64_t bytes) = 0;
  virtual void copy_bytes(void* to, const void* from, int64_t bytes) = 0;
  virtual void copy_from_host(const Tensor& to, const void* from) = 0;  // `to` is contiguous
  virtual void copy_to_host(void* to, const Tensor& from) = 0;          // `from` is contiguous
  // As these two, but may return before the copy is done; it comes in order with other work of the
  // device. `host` is contiguous, nobody changes it meanwhile, and the backend keeps it that long.
  virtual void send(const Tensor& to, const Tensor& host) { copy_from_host(to, host.data()); }
  virtual void receive(const Tensor& host, const Tensor& from) { copy_to_host(host.data(), from); }
  virtual void synchronize() {}

  // --- several devices of one kind --------------------------------------------------------------
  virtual int current_index() { return -1; }  // this thread's; -1: there is one device only
  // The calls that follow in this thread are for this device; backend_of() says so.
  virtual void select(int /*index*/) {}

  // --- primitives -------------------------------------------------------------------------------
  // Here is the default of each: it decomposes into others, or raises refuse(). A kernel that does
  // not take a case (a dtype, a layout) calls it.
#define PRIMITIVE(need, result, name, ...) virtual result name(EMBER_PARAMETERS(__VA_ARGS__));
#include "primitives.h"

  // Whether the device has a primitive of its own: for ops that keep other things for the backward
  // pass if it has not. With a dtype: for tensors of this dtype.
  template <std::same_as<Primitive>... P>
  bool has(P... all) const {
    return (has_[size_t(all)] && ...);
  }
  bool has(Primitive p, Dtype dtype) const { return has(p) && takes(p, dtype); }
  // "Could not run 'sort' on device 'x'"
  [[noreturn]] void refuse(const char* primitive) const;

  // The device behind a recorder (recorder.h).
  virtual Backend& innermost() { return *this; }
  const std::string& name() const { return name_; }
  uint8_t kind() const { return kind_; }

 protected:
  virtual bool takes(Primitive, Dtype) const { return true; }
  // For what stands before a device: to be taken for it.
  void pass_for(const Backend& device) {
    name_ = device.name_, kind_ = device.kind_, has_ = device.has_;
  }

 private:
  friend void register_backend(const std::string& name, Backend* backend, Primitives has);
  std::string name_;
  uint8_t kind_ = 0;
  Primitives has_;
};

// What the element loops of a step need, row_of(f).numbers for each of the `params` parameters,
// from the options and the scalars of update(), which are made those after the step.
std::vector<double> step_numbers(Update f, size_t params, const TensorList& scalars,
                                 const std::vector<double>& options);

// The primitives that a class of devices overrides.
template <class Device>
Primitives primitives_of() {
  Primitives found;
#define PRIMITIVE(need, result, name, ...) \
  found[size_t(Primitive::name)] =         \
      !std::is_same_v<decltype(&Device::name), decltype(&Backend::name)>;
#include "primitives.h"
  return found;
}

// Makes `backend` the device named `name`; it lives for ever.
void register_backend(const std::string& name, Backend* backend, Primitives has);
template <class Device>
void register_backend(const std::string& name, Device* backend) {
  register_backend(name, backend, primitives_of<Device>());
}
inline Backend* backends[256] = {};
// Raises what says why nothing can be done on this device, and what to do.
[[noreturn]] void refuse_device(Device device);
inline Backend& backend_of(Device device) {
  Backend* b = backends[device.kind];
  if (__builtin_expect(!b, 0)) refuse_device(device);
  if (device.index >= 0) b->select(device.index);
  return *b;
}
// The device with its index: that of the current device if it has none.
Device with_index(Device device);
inline Backend& backend_of(const Tensor& t) { return backend_of(t.device()); }

}  // namespace ember
