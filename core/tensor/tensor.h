// Tensor: a strided view of a storage. A handle of one pointer, cheap to copy.
// Gradients are the business of autograd/; a tensor only carries a pointer to them.
#pragma once

#include <vector>

#include "tensor/dtype.h"
#include "tensor/scalar.h"
#include "tensor/shape.h"
#include "tensor/storage.h"

namespace ember {

struct Autograd;  // autograd/node.h

// How a view came about: what an in-place change of it may do to its base.
enum class ViewKind : uint8_t { None, Plain, NoGrad, Inference, MultiOutput, CustomFunction };

class Tensor;

struct TensorImpl final : Pooled<TensorImpl> {
  std::atomic<uint32_t> refs{0};
  Dtype dtype = Dtype::Float32;
  Device device;
  ViewKind view_kind = ViewKind::None;
  bool contiguous = true;
  bool inference = false;     // made in inference mode: no versions, no tape
  bool host_owned = false;    // the host object survives only through us (python/tensor_type.cpp)
  uint32_t view_version = 0;  // the storage's when a view's history was last brought up to date
  int64_t numel = 0;
  int64_t offset = 0;    // in elements
  Shape shape, strides;  // strides in elements
  Ref<Storage> storage;
  Autograd* autograd = nullptr;
  Ref<TensorImpl> base;         // the tensor this is a view of
  void* host_object = nullptr;  // the Python object, while there is one

  void destroy();  // in autograd/node.cpp
};

// For a tensor that owned its host object and has lost its last other owner: the object owns the
// tensor again, and dies with it unless someone has got hold of it meanwhile. Set by the Python
// layer.
inline void (*give_back_to_host)(TensorImpl*) = nullptr;

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  explicit operator bool() const { return bool(impl_); }  // defined at all? (not: its value)
  bool defined() const { return bool(impl_); }
  TensorImpl* impl() const { return impl_.get(); }
  const Ref<TensorImpl>& ref() const { return impl_; }
  Ref<TensorImpl> take() && { return std::move(impl_); }
  bool same(const Tensor& o) const { return impl_ == o.impl_; }

  Dtype dtype() const { return impl_->dtype; }
  Device device() const { return impl_->device; }
  const Shape& shape() const { return impl_->shape; }
  const Shape& strides() const { return impl_->strides; }
  int dim() const { return impl_->shape.size(); }
  int64_t size(int64_t d) const { return impl_->shape[d < 0 ? d + dim() : d]; }
  int64_t stride(int64_t d) const { return impl_->strides[d < 0 ? d + dim() : d]; }
  int64_t numel() const { return impl_->numel; }
  int64_t offset() const { return impl_->offset; }
  int64_t item_size() const { return ember::item_size(dtype()); }
  bool is_contiguous() const { return impl_->contiguous; }
  bool is_view() const { return bool(impl_->base); }
  const Ref<Storage>& storage() const { return impl_->storage; }
  uint32_t version() const { return impl_->storage->version; }

  // Address of the first element; meaningful on devices with host memory only.
  void* data() const {
    check_memory();
    return address();
  }
  template <class T>
  T* data() const {
    return static_cast<T*>(data());
  }

  // The same for those who do not look at the elements.
  void* address() const {
    return static_cast<char*>(impl_->storage->data) + offset() * item_size();
  }
  // Sees to it that the memory is there, holds what it should, and is large enough: an error if the
  // storage has been made too small for the elements.
  void check_memory() const {
    if (__builtin_expect(impl_->storage->watch, 0)) look_closer();
  }

  // Defined with the tape: autograd/node.h
  bool requires_grad() const;
  bool is_leaf() const;

 private:
  void look_closer() const;
  Ref<TensorImpl> impl_;
};

using TensorList = std::vector<Tensor>;

// A tensor or a Python number: the operand of pointwise ops.
class Operand {
 public:
  Operand(const Tensor& t) : tensor_(&t) {}
  Operand(const Scalar& s) : scalar_(s) {}
  Operand(double s) : scalar_(s) {}
  Operand(int s) : scalar_(int64_t(s)) {}
  Operand(int64_t s) : scalar_(s) {}
  bool is_tensor() const { return tensor_ != nullptr; }
  const Tensor& tensor() const { return *tensor_; }
  const Scalar& scalar() const { return scalar_; }

 private:
  const Tensor* tensor_ = nullptr;
  Scalar scalar_;
};

// --- making tensors without going through ops ---

// Uninitialised memory.
Tensor empty(const Shape& shape, Dtype dtype, Device device = {});
Tensor empty_strided(const Shape& shape, const Shape& strides, Dtype dtype, Device device = {});
// Like `t` in dtype and device (and, if dense, in the order of its strides).
Tensor empty_like(const Tensor& t);
Tensor empty_like(const Tensor& t, Dtype dtype);
// A second tensor over the storage; no view relation is recorded.
Tensor alias(const Tensor& t);
Tensor alias(const Tensor& t, Shape shape, Shape strides, int64_t offset);
Tensor from_storage(Ref<Storage> storage, Dtype dtype, Shape shape, Shape strides, int64_t offset);
// Gives an existing tensor new geometry (resize_, set_).
void set_geometry(const Tensor& t, Shape shape, Shape strides, int64_t offset);
// Gives it another shape, in more memory if it needs more (resize_, out=).
void resize(const Tensor& t, const Shape& shape, const Shape& strides);

// True if no two elements share memory and the elements fill their range (in some order of dims).
bool is_dense(const Shape& shape, const Shape& strides);
// True if two indices may reach the same element (expanded tensors).
bool has_internal_overlap(const Tensor& t);
Shape channels_last_strides(const Shape& shape);
// Strides of a dense tensor with the dimension order of `strides` (torch's "preserve" format).
Shape preserved_strides(const Shape& shape, const Shape& strides);

// --- defaults ---
Dtype default_dtype();
void set_default_dtype(Dtype dtype);
Device default_device();
void set_default_device(Device device);

// The dtype that a number has by itself.
inline Dtype dtype_of_scalar(const Scalar& s) {
  switch (s.type()) {
    case Scalar::Type::Bool: return Dtype::Bool;
    case Scalar::Type::Int: return Dtype::Int64;
    case Scalar::Type::UInt: return Dtype::UInt64;
    case Scalar::Type::Float: return default_dtype();
    default: return complex_of(default_dtype());
  }
}

std::ostream& operator<<(std::ostream& out, const Tensor& t);  // "float32[2, 3]", for messages

}  // namespace ember
