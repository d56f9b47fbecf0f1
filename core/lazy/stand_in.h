// What stands in the place of the CPU while a region is open: it writes pointwise primitives down,
// and hands on all others, which find what they read in memory, since Tensor::data() sees to it.
#pragma once

#include "lazy/arena.h"
#include "lazy/region.h"
#include "tensor/deferred.h"

namespace ember::lazy {

class StandIn final : public Backend {
 public:
  // There is one, for ever: storages remember the backend they have their memory of.
  static StandIn& get();
  void install();
  void remove();
  Backend& device() { return *device_; }
  // Another device behind it, if it is this one.
  void replace(const Backend* device, Backend* by) {
    if (device_ == device) device_ = by;
  }

  void* allocate(int64_t bytes) override { return device_->allocate(bytes); }
  void deallocate(void* data, int64_t bytes) override {
    if (!Arena::give_back(data)) device_->deallocate(data, bytes);
  }
  void copy_bytes(void* to, const void* from, int64_t bytes) override {
    device_->copy_bytes(to, from, bytes);
  }
  void copy_from_host(const Tensor& to, const void* from) override {
    const Undeferred undeferred;
    device_->copy_from_host(to, from);
  }
  void copy_to_host(void* to, const Tensor& from) override {
    const Undeferred undeferred;
    device_->copy_to_host(to, from);
  }

#define PRIMITIVE(need, result, name, ...)                                    \
  result name(EMBER_PARAMETERS(__VA_ARGS__)) override {                       \
    auto now = [&] { return device_->name(EMBER_NAMES(__VA_ARGS__)); };       \
    return run<result>(Is<Primitive::name>(), now, EMBER_NAMES(__VA_ARGS__)); \
  }
#include "primitives.h"

 protected:
  bool takes(Primitive p, Dtype dtype) const override { return device_->has(p, dtype); }

 private:
  template <Primitive>
  struct Is {};

  // Kernels ask for memory on threads of their own, where nothing can be run: it is all there
  // before. What stays pending for one operand may read another, and then may not stay.
  template <class T>
  static bool awaited(const T& given) {
    return each_storage(given, [](Storage& s) { return (s.watch & kAwaited) != 0; });
  }
  template <class T>
  static bool watched(const T& given) {
    return each_storage(given, [](Storage& s) { return s.watch != 0; });
  }
  template <class T>
  static void settle(const T& given) {
    each_storage(given, [](Storage& s) {
      s.settle();
      return false;
    });
  }
  // Whether f is true of a storage of an argument.
  template <class T, class F>
  static bool each_storage(const T& given, const F& f) {
    if constexpr (std::is_same_v<T, Tensor>) {
      return given && given.storage() && f(*given.storage());
    } else if constexpr (std::is_same_v<T, Input>) {
      return given.tensor && each_storage(*given.tensor, f);
    } else if constexpr (std::is_same_v<T, TensorList>) {
      for (const Tensor& t : given)
        if (each_storage(t, f)) return true;
      return false;
    } else if constexpr (HasFields<T>) {
      bool found = false;
      fields(given, [&](Role, const char*, const auto& field) {
        found = found || each_storage(field, f);
      });
      return found;
    } else {
      return false;
    }
  }
  template <class R, class P, class Now, class... T>
  R run(P primitive, const Now& now, const T&... given) {
    if constexpr (std::is_void_v<R>)
      if (deferring && defers(primitive, given...)) return;
    const Undeferred undeferred;
    if (__builtin_expect((watched(given) | ...), 0)) {
      (settle(given), ...);
      if ((awaited(given) || ...)) flush();
    }
    return now();
  }
  // Whether a call has been written down.
  template <class P, class... T>
  bool defers(P, const T&...) {
    return false;
  }
  bool defers(Is<Primitive::copy>, const Tensor& out, const Tensor& x);
  bool defers(Is<Primitive::fill>, const Tensor& out, const Scalar& value);
  bool defers(Is<Primitive::unary>, Unary f, Dtype compute, const Tensor& out, const Input& x,
              const Params& params);
  bool defers(Is<Primitive::unary_grad>, Unary f, Dtype compute, const Tensor& out, const Input& g,
              const Input& keep, const Params& params);
  bool defers(Is<Primitive::predicate>, Predicate f, Dtype compute, const Tensor& out,
              const Input& x);
  bool defers(Is<Primitive::binary>, Binary f, Dtype compute, const Tensor& out, const Input& a,
              const Input& b);
  bool defers(Is<Primitive::compare>, Compare f, Dtype compute, const Tensor& out, const Input& a,
              const Input& b, const Params& params);
  bool defers(Is<Primitive::ternary>, Ternary f, Dtype compute, const Tensor& out, const Input& a,
              const Input& b, const Input& c, const Params& params);

  bool defers(Is<Primitive::reduce>, Reduction f, const Tensor& out, const Tensor& x,
              const Shape& dims, double p);
  bool defers(Is<Primitive::variance>, const Tensor& out, const Tensor& mean, const Tensor& x,
              const Shape& dims, double correction, bool root);
  bool defers(Is<Primitive::join>, const Tensor& out, const TensorList& parts, int dim);
  bool defers(Is<Primitive::list_pointwise>, ListRow f, const TensorList& out, const TensorList& a,
              const TensorList& b, const TensorList& c, const std::vector<double>& numbers);
  bool defers(Is<Primitive::softmax>, const Tensor& out, const Tensor& x, int dim, bool log);
  bool defers(Is<Primitive::softmax_grad>, const Tensor& out, const Tensor& g, const Tensor& y,
              int dim, bool log);
  bool defers(Is<Primitive::logsumexp>, const Tensor& out, const Tensor& x, int dim);
  bool norm(const Tensor& out, const Tensor& x, const Shape& dims, double p);

  Backend* device_ = nullptr;
};

}  // namespace ember::lazy
