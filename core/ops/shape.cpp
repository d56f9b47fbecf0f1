// The ground that views stand on: what a view is to its base, and as_strided.
#include "autograd/engine.h"
#include "ops/view_op.h"

namespace ember {

Tensor make_view(const Tensor& self, Shape shape, Shape strides, int64_t offset) {
  Tensor out = alias(self, std::move(shape), std::move(strides), offset);
  TensorImpl& impl = *out.impl();
  if (self.impl()->inference) return out;
  impl.base = self.is_view() ? self.impl()->base : self.ref();
  impl.view_version = impl.storage->version;
  bool differentiable =
      self.impl()->view_kind == ViewKind::None || self.impl()->view_kind == ViewKind::Plain;
  impl.view_kind = !differentiable    ? self.impl()->view_kind
                   : inference_mode() ? ViewKind::Inference
                   : grad_enabled()   ? ViewKind::Plain
                                      : ViewKind::NoGrad;
  return out;
}

Tensor view_alias(const Tensor& self) {
  Tensor out = make_view(self, self.shape(), self.strides(), self.offset());
  if (!grad_needed(self)) return out;
  return tape(out, "alias", wrt(self, [](const Tensor& g) { return g; }));
}

Tensor as_strided(const Tensor& self, const Shape& size, const Shape& stride,
                  std::optional<int64_t> offset) {
  int64_t start = offset.value_or(self.offset());
  from_storage(self.storage(), self.dtype(), size, stride, start);  // checks the bounds
  Tensor out = make_view(self, size, stride, start);
  if (!grad_needed(self)) return out;
  return tape(out, "as_strided",
              wrt(self, [base = Geometry(self), view = Geometry(out)](const Tensor& g) {
                return engine_ops.region_grad(g, base, view);
              }));
}
EMBER_VIEW("as_strided",
           "(Tensor self, Size size, Size stride, int? storage_offset=None) -> Tensor", &as_strided,
           kForms | kRenews | kCopies | Whole | Rearranges,
           "A view of the storage with the given size, strides and offset.");

Tensor sum_to(const Tensor& t, const Shape& shape) {
  int extra = t.dim() - shape.size();
  Shape dims;
  for (int i = 0; i < t.dim(); i++)
    if (i < extra || (shape[i - extra] == 1 && t.shape()[i] != 1)) dims.push_back(i);
  Tensor s = dims.empty() ? t : sum(t, Dims(dims), true);
  return extra ? reshape(s, shape) : s;
}

}  // namespace ember
