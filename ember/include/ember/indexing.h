// x.index({Slice(), None, 0, "..."}), and memory of others as tensors.
#pragma once

#include <functional>

#include "ember/tensor.h"

namespace at {

namespace indexing {
struct Slice {
  std::optional<int64_t> start, stop, step;
  Slice(std::optional<int64_t> start_ = nullopt, std::optional<int64_t> stop_ = nullopt,
        std::optional<int64_t> step_ = nullopt)
      : start(start_), stop(stop_), step(step_) {}
};
struct EllipsisIndexType {};
constexpr EllipsisIndexType Ellipsis;
using std::nullopt;
constexpr std::nullopt_t None = std::nullopt;
}  // namespace indexing

class TensorIndex {
 public:
  TensorIndex(std::nullopt_t) : make_([] { return py::object(py::none()); }) {}
  TensorIndex(indexing::EllipsisIndexType) : make_([] { return py::object(py::ellipsis()); }) {}
  TensorIndex(const char* dots) : TensorIndex(indexing::Ellipsis) {
    if (std::strcmp(dots, "...")) throw ValueError(str("index(): \"", dots, "\" is no index"));
  }
  TensorIndex(int64_t i) : make_([i] { return py::object(py::int_(i)); }) {}
  TensorIndex(int i) : TensorIndex(int64_t(i)) {}
  TensorIndex(bool b) : make_([b] { return py::object(py::bool_(b)); }) {}
  TensorIndex(indexing::Slice s)
      : make_([s] { return py::object(py::slice(as(s.start), as(s.stop), as(s.step))); }) {}
  TensorIndex(const Tensor& t)
      : make_([t] { return py::reinterpret_borrow<py::object>(t.ptr()); }) {}
  py::object object() const { return make_(); }

 private:
  static py::object as(std::optional<int64_t> v) {
    return v ? py::object(py::int_(*v)) : py::object(py::none());
  }
  std::function<py::object()> make_;
};

inline py::tuple index_tuple(std::initializer_list<TensorIndex> where) {
  py::list list;
  for (const TensorIndex& i : where) list.append(i.object());
  return py::tuple(list);
}
inline Tensor Tensor::index(std::initializer_list<TensorIndex> where) const {
  py::gil_scoped_acquire lock;
  return of(py::handle(ptr())[index_tuple(where)]);
}
inline Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> where, const Arg& value) {
  py::gil_scoped_acquire lock;
  py::reinterpret_borrow<py::object>(ptr())[index_tuple(where)] = value.object();
  return *this;
}
inline Tensor Tensor::slice(int64_t d, std::optional<int64_t> from, std::optional<int64_t> to,
                            int64_t step) const {
  py::gil_scoped_acquire lock;
  py::list list;
  for (size_t i = 0; i < wrap(d); i++) list.append(TensorIndex(indexing::Slice()).object());
  list.append(TensorIndex(indexing::Slice(from, to, step)).object());
  return of(py::handle(ptr())[py::tuple(list)]);
}

// A tensor over memory that stays the caller's; `deleter` is called when nobody uses it any more.
inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides,
                        std::function<void(void*)> deleter, const TensorOptions& options = {}) {
  py::gil_scoped_acquire lock;
  auto* done = new std::function<void(void*)>(std::move(deleter));
  struct Owner {
    void* data;
    std::function<void(void*)>* done;
  };
  py::capsule owner(new Owner{data, done}, [](void* p) {
    auto* o = static_cast<Owner*>(p);
    if (*o->done) (*o->done)(o->data);
    delete o->done;
    delete o;
  });
  py::object make = py::module_::import("ember.utils._cpp_calls").attr("from_blob");
  return Tensor::of(make(reinterpret_cast<uintptr_t>(data), sizes.vec(), strides.vec(),
                         object_of(options.dtype()), owner));
}
inline Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {}) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i > 1; i--) strides[i - 2] = strides[i - 1] * sizes[i - 1];
  return from_blob(data, sizes, strides, nullptr, options);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter,
                        const TensorOptions& options = {}) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i > 1; i--) strides[i - 2] = strides[i - 1] * sizes[i - 1];
  return from_blob(data, sizes, strides, std::move(deleter), options);
}

// Ops inside are not recorded.
class NoGradGuard {
 public:
  NoGradGuard() {
    py::gil_scoped_acquire lock;
    before_ = ember().attr("is_grad_enabled")().cast<bool>();
    ember().attr("_C").attr("_set_grad_enabled")(false);
  }
  ~NoGradGuard() {
    py::gil_scoped_acquire lock;
    ember().attr("_C").attr("_set_grad_enabled")(before_);
  }
  NoGradGuard(const NoGradGuard&) = delete;
  NoGradGuard& operator=(const NoGradGuard&) = delete;

 private:
  bool before_;
};
using AutoDispatchBelowADInplaceOrView = NoGradGuard;
using AutoDispatchBelowAutograd = NoGradGuard;

}  // namespace at
