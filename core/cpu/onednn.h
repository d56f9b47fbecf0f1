// oneDNN, opened on first use: its C functions by name, one engine, and our own cache of primitives
// keyed by shape (asking oneDNN for a primitive again costs 30-90 us even when its own cache has
// it). This header needs onednn-devel-cpu-gomp's headers; nothing is linked.
#pragma once

#include <dnnl.h>

#include <cstring>
#include <initializer_list>
#include <memory>

#include "cpu/library.h"
#include "tensor/dtype.h"

namespace ember::cpu {

// Every C function that ember calls; a missing one is an error at load.
// clang-format off
#define EMBER_ONEDNN_FUNCTIONS(F) \
  F(engine_create) F(stream_create) F(memory_create) F(memory_destroy) \
  F(memory_set_data_handle) F(memory_desc_create_with_strides) \
  F(memory_desc_create_with_tag) F(memory_desc_clone) F(memory_desc_destroy) \
  F(memory_desc_equal) F(memory_desc_get_size) F(primitive_desc_destroy) \
  F(primitive_desc_query_md) F(primitive_create) F(primitive_execute) F(primitive_destroy) \
  F(primitive_attr_create) F(primitive_attr_destroy) F(primitive_attr_set_scratchpad_mode) \
  F(primitive_attr_set_post_ops) F(post_ops_create) F(post_ops_destroy) \
  F(post_ops_append_sum) F(post_ops_append_eltwise) F(reorder_primitive_desc_create) \
  F(matmul_primitive_desc_create) F(convolution_forward_primitive_desc_create) \
  F(convolution_backward_data_primitive_desc_create) \
  F(convolution_backward_weights_primitive_desc_create) \
  F(deconvolution_forward_primitive_desc_create) F(pooling_forward_primitive_desc_create) \
  F(pooling_backward_primitive_desc_create) F(lstm_forward_primitive_desc_create) \
  F(lstm_backward_primitive_desc_create) F(gru_forward_primitive_desc_create) \
  F(gru_backward_primitive_desc_create)
// clang-format on

struct OneDnn {
#define EMBER_FIELD(name) decltype(&::dnnl_##name) name;
  EMBER_ONEDNN_FUNCTIONS(EMBER_FIELD)
#undef EMBER_FIELD
  dnnl_engine_t engine;
};
const OneDnn& onednn();
dnnl_stream_t onednn_stream();  // this thread's
void onednn_check(dnnl_status_t status, const char* what);

constexpr dnnl_data_type_t onednn_type(Dtype d) {
  switch (d) {
    case Dtype::Float32: return dnnl_f32;
    case Dtype::Float16: return dnnl_f16;
    case Dtype::BFloat16: return dnnl_bf16;
    case Dtype::Int32: return dnnl_s32;
    case Dtype::Int8: return dnnl_s8;
    case Dtype::UInt8: return dnnl_u8;
    default: return dnnl_data_type_undef;
  }
}

// What a primitive depends on, as a row of numbers: kind, dtype, sizes, strides, paddings ...
class PrimitiveKey {
 public:
  static constexpr int kMost = 48;
  PrimitiveKey(int64_t kind, Dtype dtype) { *this << kind << int64_t(dtype); }
  PrimitiveKey& operator<<(int64_t v) {
    internal_check(count_ < kMost, "a primitive's key is too long");
    words_[count_++] = v;
    hash_ = (hash_ ^ uint64_t(v)) * 0x9e3779b97f4a7c15u;
    hash_ ^= hash_ >> 29;
    return *this;
  }
  PrimitiveKey& add(const int64_t* values, int n) {
    for (int i = 0; i < n; i++) *this << values[i];
    return *this;
  }
  uint64_t hash() const { return hash_; }
  bool operator==(const PrimitiveKey& o) const {
    return hash_ == o.hash_ && count_ == o.count_ &&
           !std::memcmp(words_, o.words_, size_t(count_) * sizeof(int64_t));
  }

 private:
  int64_t words_[kMost];
  int count_ = 0;
  uint64_t hash_ = 0x243f6a8885a308d3u;
};

// A created primitive with the layouts it wants. Immutable, so threads may share it; scratch memory
// is per call.
class Primitive {
 public:
  explicit Primitive(dnnl_primitive_desc_t desc);  // takes `desc`
  ~Primitive();
  Primitive(const Primitive&) = delete;
  Primitive& operator=(const Primitive&) = delete;

  struct Argument {
    int index;  // DNNL_ARG_SRC ...
    const_dnnl_memory_desc_t layout;
    const void* data;
  };
  void run(std::initializer_list<Argument> arguments) const;
  const_dnnl_memory_desc_t layout(int argument) const;  // what it expects for DNNL_ARG_SRC ...

 private:
  dnnl_primitive_desc_t desc_;
  dnnl_primitive_t primitive_ = nullptr;
  size_t scratch_ = 0;
};
using PrimitivePtr = std::shared_ptr<const Primitive>;

// The attributes every primitive is made with: scratch memory comes from us, so that runs may
// overlap.
dnnl_primitive_attr_t onednn_attributes();

namespace detail {
PrimitivePtr find_primitive(const PrimitiveKey&);
PrimitivePtr keep_primitive(const PrimitiveKey&, PrimitivePtr);
}  // namespace detail

// The primitive under `key`; make() returns a dnnl_primitive_desc_t when it is new. At most 1024
// are kept, the least recently used go first.
template <class Make>
PrimitivePtr cached_primitive(const PrimitiveKey& key, Make&& make) {
  if (PrimitivePtr found = detail::find_primitive(key)) return found;
  return detail::keep_primitive(key, std::make_shared<const Primitive>(make()));
}

// A layout given by sizes and strides in elements; freed with its owner.
class Layout {
 public:
  Layout(Dtype dtype, int ndim, const int64_t* shape, const int64_t* strides);
  Layout(Dtype dtype, int ndim, const int64_t* shape);  // whatever the primitive likes best
  ~Layout();
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  operator const_dnnl_memory_desc_t() const { return desc_; }

 private:
  dnnl_memory_desc_t desc_ = nullptr;
};

// Copies between layouts (plain to blocked and back).
void onednn_reorder(const_dnnl_memory_desc_t from, const void* x, const_dnnl_memory_desc_t to,
                    void* y);
inline bool same_layout(const_dnnl_memory_desc_t a, const_dnnl_memory_desc_t b) {
  return onednn().memory_desc_equal(a, b) != 0;
}
inline size_t layout_bytes(const_dnnl_memory_desc_t d) { return onednn().memory_desc_get_size(d); }

}  // namespace ember::cpu
