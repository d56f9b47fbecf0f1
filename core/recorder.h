// Writes down which primitives a device is asked for, with the tensors they read and write, while
// the device runs them at once. Made of the table: a new row is recorded without a line here.
#pragma once

#include <mutex>
#include <sstream>

#include "backend.h"

namespace ember {

// Where a tensor lies: equal places are the same elements.
struct Place {
  const Storage* storage;
  int64_t offset;
  Dtype dtype;
  Shape shape, strides;
  explicit Place(const Tensor& t)
      : storage(t.storage().get()),
        offset(t.offset()),
        dtype(t.dtype()),
        shape(t.shape()),
        strides(t.strides()) {}
};

// One call. `attributes` is everything else, numbers in the place of operands too, as text: two
// calls that do the same have the same.
struct Step {
  Primitive primitive;
  std::vector<Place> reads, writes;  // what is changed is in both
  std::string attributes;
};

// Takes a call apart: visit.tensor(role, t) for each tensor that is there, and
// visit.attribute(name, value) for all else, structs field by field.
template <class Visitor>
class Parts {
 public:
  Parts(Visitor& visit, const Tensor* first) : visit_(visit), first_(first) {}

  void part(Role role, const char*, const Tensor& t) {
    if (t) visit_.tensor(role, t);
  }
  void part(Role role, const char* name, const TensorList& list) {
    visit_.attribute(name, list.size());
    for (const Tensor& t : list) part(role, name, t);
  }
  void part(Role role, const char* name, const Input& in) {
    if (in.tensor)
      visit_.tensor(role, in.spread(first_->shape()));
    else
      visit_.attribute(name, in.scalar);
  }
  void part(Role role, const char* name, const PoolWindows& windows) {
    for (const PoolAxis& axis : windows) part(role, name, axis);
  }
  void part(Role, const char*, const Generator&) {}  // its state is no part of the call
  template <class T>
  void part(Role, const char* name, const T& value) {
    if constexpr (HasFields<T>)
      fields(value, [this](Role r, const char* n, const auto& field) { part(r, n, field); });
    else
      visit_.attribute(name, value);
  }

 private:
  Visitor& visit_;
  const Tensor* first_;  // the tensor whose shape operands are broadcast to
};

template <class Visitor, class... G>
void take_apart(Visitor& visit, const G&... given) {
  const Tensor* first = nullptr;
  auto look = [&]<class T>(const T& value) {
    if constexpr (std::is_same_v<T, Tensor>)
      if (!first && value) first = &value;
  };
  (look(given.value), ...);
  Parts<Visitor> parts(visit, first);
  (parts.part(G::role, given.name, given.value), ...);
}

// Stands before a device. What a primitive asks of other primitives is part of it, and not written
// down.
class Recorder final : public Backend {
 public:
  // From start() to stop() all calls of a kind of device are recorded.
  static void start(uint8_t kind);
  static std::vector<Step> stop(uint8_t kind);

  void* allocate(int64_t bytes) override { return inner_.allocate(bytes); }
  void deallocate(void* data, int64_t bytes) override { inner_.deallocate(data, bytes); }
  void copy_bytes(void* to, const void* from, int64_t bytes) override {
    inner_.copy_bytes(to, from, bytes);
  }
  void copy_from_host(const Tensor& to, const void* from) override {
    inner_.copy_from_host(to, from);
  }
  void copy_to_host(void* to, const Tensor& from) override { inner_.copy_to_host(to, from); }
  void send(const Tensor& to, const Tensor& host) override { inner_.send(to, host); }
  void receive(const Tensor& host, const Tensor& from) override { inner_.receive(host, from); }
  void synchronize() override { inner_.synchronize(); }
  int current_index() override { return inner_.current_index(); }
  void select(int index) override { inner_.select(index); }
  Backend& innermost() override { return inner_.innermost(); }

#define PRIMITIVE(need, result, name, ...)                                  \
  result name(EMBER_PARAMETERS(__VA_ARGS__)) override {                     \
    const Nested nested;                                                    \
    if (nested.outermost) write(Primitive::name, EMBER_GIVEN(__VA_ARGS__)); \
    return inner_.name(EMBER_NAMES(__VA_ARGS__));                           \
  }
#include "primitives.h"

 protected:
  bool takes(Primitive p, Dtype dtype) const override { return inner_.has(p, dtype); }

 private:
  struct Nested {
    static inline thread_local int depth = 0;
    bool outermost = depth++ == 0;
    ~Nested() { depth--; }
  };
  explicit Recorder(Backend& inner);
  template <class... G>
  void write(Primitive p, const G&... given);

  Backend& inner_;
  std::mutex mutex_;
  std::vector<Step> steps_;
};

}  // namespace ember
