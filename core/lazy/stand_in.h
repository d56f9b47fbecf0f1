// What stands in the place of the CPU while a region is open: it writes pointwise primitives down,
// and hands on all others, which find what they read in memory, since Tensor::data() sees to it.
#pragma once

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

  void* allocate(int64_t bytes) override { return device_->allocate(bytes); }
  void deallocate(void* data, int64_t bytes) override { device_->deallocate(data, bytes); }
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
  template <class R, class P, class Now, class... T>
  R run(P primitive, const Now& now, const T&... given) {
    if constexpr (std::is_void_v<R>)
      if (deferring && defers(primitive, given...)) return;
    const Undeferred undeferred;
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

  Backend* device_ = nullptr;
};

}  // namespace ember::lazy
