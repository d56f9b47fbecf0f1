// Copies, casts and moves between devices: clone, contiguous, to, copy_, item, data.
#include "ops/create.h"
#include "ops/devices.h"
#include "ops/overlap.h"
#include "tensor/rehearsed.h"

namespace ember {

namespace {

Shape strides_for(const Tensor& t, MemoryFormat format) {
  switch (format) {
    case MemoryFormat::Contiguous: return contiguous_strides(t.shape());
    case MemoryFormat::Preserve: return preserved_strides(t.shape(), t.strides());
    case MemoryFormat::ChannelsLast:
      check(t.dim() == 4, Kind::Runtime, "required rank 4 tensor to use channels_last format, got ",
            t.dim());
      return channels_last_strides(t.shape());
    default:
      check(t.dim() == 5, Kind::Runtime,
            "required rank 5 tensor to use channels_last_3d format, got ", t.dim());
      return channels_last_strides(t.shape());
  }
}

// Copies values into `out`, whatever the devices. `later`: may return before it is done.
void copy_values(const Tensor& out, const Tensor& src, bool later = false) {
  const Device to = out.device(), from = src.device();
  if (to == from || (on_host(out) && on_host(src))) return backend_of(out).copy(out, src);
  if (!keeps_values(to)) return;
  check(keeps_values(from), Kind::NotImplemented, "Cannot copy out of meta tensor; no data!");
  if (on_host(src)) {
    Tensor there = out.is_contiguous() ? out : empty(out.shape(), out.dtype(), to);
    if (src.is_contiguous() && src.dtype() == out.dtype() && !later) {
      backend_of(there).copy_from_host(there, src.data());
    } else {
      Tensor host = empty(out.shape(), out.dtype());
      backend_of(host).copy(host, src);
      backend_of(there).send(there, host);
    }
    if (!there.same(out)) backend_of(out).copy(out, there);
    return;
  }
  Tensor dense = src;
  if (!src.is_contiguous()) {
    dense = empty(src.shape(), src.dtype(), from);
    backend_of(dense).copy(dense, src);
  }
  if (on_host(out) && out.is_contiguous() && out.dtype() == src.dtype()) {
    if (later) return backend_of(dense).receive(out, dense);
    return backend_of(dense).copy_to_host(out.data(), dense);
  }
  Tensor host = empty(src.shape(), src.dtype());
  backend_of(dense).copy_to_host(host.data(), dense);
  copy_values(out, host);
}

Tensor copied(const Tensor& self, Dtype dtype, Device device, MemoryFormat format,
              bool later = false) {
  Tensor out = format == MemoryFormat::Contiguous ||
                       (format == MemoryFormat::Preserve && self.is_contiguous())
                   ? empty(self.shape(), dtype, device)
                   : empty_strided(self.shape(), strides_for(self, format), dtype, device);
  copy_values(out, self, later);
  return out;
}

}  // namespace

Tensor clone(const Tensor& self, MemoryFormat format) {
  Tensor out = copied(self, self.dtype(), self.device(), format);
  if (!grad_needed(self)) return out;
  return tape(out, "clone", wrt(self, [](const Tensor& g) { return g; }));
}
EMBER_OP("clone(Tensor self, *, Format? memory_format=None) -> Tensor",
         ([](const Tensor& self, std::optional<MemoryFormat> format) {
           return clone(self, format.value_or(MemoryFormat::Preserve));
         }),
         kForms | Pointwise, "A copy of the tensor, recorded by the tape.");

bool is_in_format(const Tensor& t, MemoryFormat format) {
  if (format == MemoryFormat::Contiguous) return t.is_contiguous();
  if (format == MemoryFormat::Preserve) return true;
  if (t.dim() != (format == MemoryFormat::ChannelsLast ? 4 : 5)) return false;
  Shape want = channels_last_strides(t.shape());
  for (int i = 0; i < t.dim(); i++)
    if (t.shape()[i] != 1 && t.strides()[i] != want[i] && t.numel()) return false;
  return true;
}

Tensor contiguous(const Tensor& self, MemoryFormat format) {
  check(format != MemoryFormat::Preserve, Kind::Runtime,
        "preserve memory format is unsupported by the contiguous operator");
  return is_in_format(self, format) ? self : clone(self, format);
}
EMBER_OP("contiguous(Tensor self, *, Format? memory_format=None) -> Tensor",
         ([](const Tensor& self, std::optional<MemoryFormat> format) {
           return contiguous(self, format.value_or(MemoryFormat::Contiguous));
         }),
         Method | Pointwise,
         "The tensor itself if it is laid out in `memory_format`, else a copy that is.");
EMBER_OP("is_contiguous(Tensor self, *, Format? memory_format=None) -> bool",
         ([](const Tensor& self, std::optional<MemoryFormat> format) {
           return is_in_format(self, format.value_or(MemoryFormat::Contiguous));
         }),
         Method | Query, "Whether the elements lie in memory in the order of `memory_format`.");

Tensor to(const Tensor& self, std::optional<Device> device, std::optional<Dtype> dtype, bool copy,
          std::optional<MemoryFormat> format, bool non_blocking) {
  Device d = with_index(device.value_or(self.device()));
  if (d.kind == self.device().kind && d.index < 0) d = self.device();
  Dtype t = dtype.value_or(self.dtype());
  MemoryFormat f = format.value_or(MemoryFormat::Preserve);
  if (!copy && d == self.device() && t == self.dtype() && is_in_format(self, f)) return self;
  Tensor out = copied(self, t, d, f, non_blocking);
  if (!grad_needed(self) || !is_differentiable(t)) return out;
  return tape(out, "to_copy",
              wrt(self, [from = self.device(), dtype = self.dtype()](const Tensor& g) {
                return to(g, from, dtype);
              }));
}
Tensor to(const Tensor& self, Dtype dtype) { return to(self, std::nullopt, dtype); }

namespace {
using MaybeFormat = std::optional<MemoryFormat>;
}
EMBER_OP(
    "to(Tensor self, Dtype dtype, bool non_blocking=False, bool copy=False, *, Format? "
    "memory_format=None) -> Tensor",
    ([](const Tensor& self, Dtype dtype, bool, bool copy, MaybeFormat format) {
      return to(self, std::nullopt, dtype, copy, format);
    }),
    Method | Pointwise, "The tensor in another dtype.");
EMBER_OP(
    "to(Tensor self, Device? device=None, Dtype? dtype=None, bool non_blocking=False, bool "
    "copy=False, *, Format? "
    "memory_format=None) -> Tensor",
    ([](const Tensor& self, std::optional<Device> device, std::optional<Dtype> dtype, bool later,
        bool copy, MaybeFormat format) { return to(self, device, dtype, copy, format, later); }),
    Method | Pointwise,
    "The tensor on another device, in another dtype or memory format; itself if nothing changes.");
EMBER_OP(
    "to(Tensor self, Tensor other, bool non_blocking=False, bool copy=False, *, Format? "
    "memory_format=None) -> Tensor",
    ([](const Tensor& self, const Tensor& other, bool later, bool copy, MaybeFormat format) {
      return to(self, other.device(), other.dtype(), copy, format, later);
    }),
    Method | Pointwise, "The tensor with the dtype and device of `other`.");

Tensor copy_(const Tensor& self, const Tensor& src, bool non_blocking) {
  check_in_place("copy_", self);
  {
    NoGrad guard;
    // Into host memory that somebody may read at once: not later.
    const Tensor apart = beside("copy_", self, src, Sharing::Aligned);
    copy_values(self, self.shape() == src.shape() ? apart : expand(apart, self.shape()),
                non_blocking && !on_host(self));
  }
  bump_version(self);
  if (grad_needed(self, src))
    tape_inplace(
        self, "copy",
        wrt(self, [](const Tensor& g) { return zeros_like(g); }),  // zeros, not None, as in torch
        wrt(src, [device = src.device()](const Tensor& g) { return to(g, device, std::nullopt); }));
  return self;
}
EMBER_OP("copy_(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
         ([](const Tensor& self, const Tensor& src, bool later) {
           return copy_(self, src, later);
         }),
         Method | Pointwise, "Copies the elements of `src`, broadcast and cast, into the tensor.");
EMBER_OP("copy_(Tensor self, Scalar src, bool non_blocking=False) -> Tensor",
         ([](const Tensor& self, const Scalar& src, bool later) {
           return copy_(self, scalar_tensor(src, dtype_of_scalar(src), self.device()), later);
         }),
         Method | Pointwise, "Copies a number into the tensor.");

Tensor fill_(const Tensor& self, const Operand& value) {
  // A number is the same wherever it is written twice.
  check_in_place("fill_", self, value.is_tensor() ? Repeats::Refused : Repeats::Allowed);
  if (value.is_tensor()) {
    const Tensor& v = value.tensor();
    check(v.dim() == 0, Kind::Runtime,
          "fill_ only supports 0-dimension value tensor but got tensor with ", v.dim(),
          " dimensions.");
    if (grad_needed(self, v)) return copy_(self, beside("fill_", self, v, Sharing::Copied));
    backend_of(self).fill(self, has_values(v) ? item(v) : Scalar(0));
  } else {
    create::check_fits(value.scalar(), self.dtype(), true);
    backend_of(self).fill(self, value.scalar());
  }
  bump_version(self);
  if (grad_needed(self))
    tape_inplace(self, "fill", wrt(self, [](const Tensor& g) { return zeros_like(g); }));
  return self;
}
EMBER_OP("fill_(Tensor self, Number value) -> Tensor", &fill_, Function | Method | Pointwise,
         "Sets every element to `value`.");
EMBER_OP("fill(Tensor self, Number value) -> Tensor",
         ([](const Tensor& self, const Operand& value) { return fill_(clone(self), value); }),
         Function | Pointwise, "A tensor of the same shape with every element `value`.");
EMBER_OP("zero_(Tensor self) -> Tensor",
         ([](const Tensor& self) { return fill_(self, Scalar(0)); }), Function | Method | Pointwise,
         "Sets every element to 0.");

Tensor data_of(const Tensor& self) {
  Tensor t = alias(self);
  t.impl()->storage = alias_storage(self.storage());
  return t;
}

void set_data(const Tensor& self, const Tensor& value) {
  TensorImpl& impl = *self.impl();
  // A graph made before keeps its node, which wants gradients as the leaf was then.
  if (impl.autograd && (impl.dtype != value.dtype() || impl.device != value.device() ||
                        !(impl.shape == value.shape())))
    impl.autograd->accumulator = nullptr;
  impl.dtype = value.dtype();
  impl.device = value.device();
  leave_storage(impl.storage);
  impl.storage = value.storage();
  set_geometry(self, value.shape(), value.strides(), value.offset());
}

Scalar item(const Tensor& self) {
  check(self.numel() == 1, Kind::Runtime, "a Tensor with ", self.numel(),
        " elements cannot be converted to Scalar");
  alignas(16) char value[16];
  if (__builtin_expect(rehearsed.looked != nullptr, 0)) rehearsed.looked();
  if (on_host(self)) return Scalar::load(self.dtype(), self.data());
  Tensor dense = self.is_contiguous() ? self : clone(detach(self), MemoryFormat::Contiguous);
  backend_of(self).copy_to_host(value, dense);
  return Scalar::load(self.dtype(), value);
}
EMBER_OP("item(Tensor self) -> Scalar", &item, Method | DataDependent,
         "The value of a tensor with one element, as a Python number.");

EMBER_OP("detach(Tensor self) -> Tensor", &detach, kForms | Pointwise,
         "The same elements without history.");
EMBER_OP("detach_copy(Tensor self) -> Tensor",
         ([](const Tensor& self) { return clone(detach(self), MemoryFormat::Contiguous); }),
         Function | Out | Pointwise, "A copy without history.");

}  // namespace ember
