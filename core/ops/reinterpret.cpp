// Views of the same bytes under another dtype: complex as real and back, view(dtype); and the
// conjugate.
#include "ops/view_op.h"

namespace ember {

Tensor view_as_real(const Tensor& self) {
  check(is_complex(self.dtype()), Kind::Runtime,
        "view_as_real is only supported for complex tensors");
  Shape shape = self.shape(), strides = self.strides();
  for (int64_t& s : strides) s *= 2;
  shape.push_back(2);
  strides.push_back(1);
  Tensor out = make_view(self, std::move(shape), std::move(strides), 2 * self.offset());
  out.impl()->dtype = real_of(self.dtype());
  if (!grad_needed(self)) return out;
  return tape(out, "view_as_real",
              wrt(self, [](const Tensor& g) { return view_as_complex(contiguous(g)); }));
}
EMBER_VIEW("view_as_real", "(Tensor self) -> Tensor", &view_as_real, Function | kCopies | Leading,
           "A real view of a complex tensor, with a last dimension of size 2.");

Tensor view_as_complex(const Tensor& self) {
  check(is_floating(self.dtype()) && self.dtype() != Dtype::BFloat16, Kind::Runtime,
        "view_as_complex is only supported for half, float and double tensors, but got a tensor of "
        "scalar type: ",
        type_name(self.dtype()));
  check(self.dim(), Kind::Runtime,
        "view_as_complex(): Input tensor must have one or more dimensions");
  check(self.size(-1) == 2, Kind::Runtime,
        "view_as_complex(): Tensor must have a last dimension of size 2, got ", self.shape());
  check(self.stride(-1) == 1, Kind::Runtime,
        "view_as_complex(): Tensor must have a last dimension with stride 1, got ", self.strides());
  Shape shape = self.shape(), strides = self.strides();
  shape.pop_back();
  strides.pop_back();
  for (int64_t& s : strides) {
    check(s % 2 == 0, Kind::Runtime,
          "view_as_complex(): Tensor must have a stride divisible by 2 for all but last dimension, "
          "got ",
          self.strides());
    s /= 2;
  }
  check(self.offset() % 2 == 0, Kind::Runtime,
        "view_as_complex(): the storage offset must be even, got ", self.offset());
  Tensor out = make_view(self, std::move(shape), std::move(strides), self.offset() / 2);
  out.impl()->dtype = complex_of(self.dtype());
  if (!grad_needed(self)) return out;
  return tape(out, "view_as_complex", wrt(self, [](const Tensor& g) { return view_as_real(g); }));
}
EMBER_VIEW("view_as_complex", "(Tensor self) -> Tensor", &view_as_complex,
           Function | kCopies | Leading | Float32,
           "A complex view of a real tensor whose last dimension has size 2.");

Tensor real(const Tensor& self) {
  if (!is_complex(self.dtype())) return self;
  return select(view_as_real(self), -1, 0);
}
Tensor imag(const Tensor& self) {
  check(is_complex(self.dtype()), Kind::Runtime,
        "imag is not implemented for tensors with non-complex dtypes.");
  return select(view_as_real(self), -1, 1);
}
EMBER_OP("real(Tensor self) -> Tensor", &real, Function | Pointwise,
         "The real part, as a view; a real tensor itself.");
EMBER_OP("imag(Tensor self) -> Tensor", &imag, Function | Pointwise,
         "The imaginary part of a complex tensor, as a view.");

Tensor view_dtype(const Tensor& self, Dtype dtype) {
  int64_t from = item_size(self.dtype()), to = item_size(dtype);
  Shape shape = self.shape(), strides = self.strides();
  int64_t offset = self.offset();
  if (from != to) {
    check(self.dim() > 0, Kind::Runtime, "self.dim() cannot be 0 to view ", self.dtype(), " as ",
          dtype, " (different element sizes)");
    check(strides.back() == 1, Kind::Runtime, "self.stride(-1) must be 1 to view ", self.dtype(),
          " as ", dtype, " (different element sizes), but got ", strides.back());
    int64_t by = std::max(from, to) / std::min(from, to);
    if (from > to) {
      // A step that is never taken may be of any length.
      for (int64_t& s : strides) (void)__builtin_mul_overflow(s, by, &s);
      strides.back() = 1;
      shape.back() *= by;
      offset *= by;
    } else {
      check(shape.back() % by == 0, Kind::Runtime, "self.size(-1) must be divisible by ", by,
            " to view ", self.dtype(), " as ", dtype, " (different element sizes), but got ",
            shape.back());
      check(offset % by == 0, Kind::Runtime, "self.storage_offset() must be divisible by ", by,
            " to view ", self.dtype(), " as ", dtype, " (different element sizes), but got ",
            offset);
      for (int d = 0; d < self.dim() - 1; d++) {
        check(strides[d] % by == 0, Kind::Runtime, "self.stride(", d, ") must be divisible by ", by,
              " to view ", self.dtype(), " as ", dtype, " (different element sizes), but got ",
              strides[d]);
        strides[d] /= by;
      }
      shape.back() /= by;
      offset /= by;
    }
  }
  Tensor out = make_view(self, std::move(shape), std::move(strides), offset);
  out.impl()->dtype = dtype;
  return out;  // bits have no gradient
}
EMBER_VIEW("view", "(Tensor self, Dtype dtype) -> Tensor", &view_dtype,
           Method | kCopies | Whole | Rearranges, "The same bytes under another dtype.");

// Conjugates are computed at once: there are no lazy ones to resolve.
EMBER_OP("conj(Tensor self) -> Tensor", &conj, kForms | Pointwise,
         "The complex conjugate; a real tensor itself.");
namespace {
Tensor itself(const Tensor& self) { return self; }
bool never_lazy(const Tensor&) { return false; }
}  // namespace
EMBER_OP("resolve_conj(Tensor self) -> Tensor", &itself, kForms | Pointwise,
         "The tensor itself: conjugates are never lazy.");
EMBER_OP("resolve_neg(Tensor self) -> Tensor", &itself, kForms | Pointwise,
         "The tensor itself: negatives are never lazy.");
EMBER_OP("is_conj(Tensor self) -> bool", &never_lazy, kForms | Query,
         "False: conjugates are never lazy.");
EMBER_OP("is_neg(Tensor self) -> bool", &never_lazy, kForms | Query,
         "False: negatives are never lazy.");

}  // namespace ember
