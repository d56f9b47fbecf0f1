// Masks: masked_fill, masked_select, masked_scatter.
#include "ops/change.h"
#include "ops/create.h"
#include "ops/devices.h"

namespace ember {

namespace {

void check_mask(const char* op, const Tensor& mask) {
  check(mask.dtype() == Dtype::Bool, Kind::Runtime, op,
        " only supports boolean masks, but got mask with dtype ", mask.dtype());
}

Tensor masked_fill_to(const Tensor& self, const Tensor& mask, const Operand& value, Dest dest) {
  check_mask("masked_fill_", mask);
  check(!value.is_tensor() || value.tensor().dim() == 0, Kind::Runtime,
        "masked_fill_ only supports a 0-dimensional value "
        "tensor, but got tensor with ",
        value.is_tensor() ? value.tensor().dim() : 0, " dimension(s).");
  if (!value.is_tensor() || has_values(value.tensor()))
    create::check_fits(value.is_tensor() ? item(value.tensor()) : value.scalar(), self.dtype(),
                       true);
  Shape shape = broadcast_shapes("masked_fill", self.shape(), mask.shape());
  Tensor out = output_for("masked_fill", dest, shape, self.dtype(), self.device());
  Tensor there =
      self.device().kind == mask.device().kind ? mask : to(mask, self.device(), std::nullopt);
  Shape mask_strides = broadcast_strides(there.shape(), there.strides(), shape);
  Shape self_strides = broadcast_strides(self.shape(), self.strides(), shape);
  Input condition{&there, &mask_strides, {}}, old{&self, &self_strides, {}}, fresh;
  Tensor one;
  Shape no_strides = Shape::filled(shape.size(), 0);
  if (value.is_tensor()) {
    NoGrad guard;
    one = to(detach(value.tensor()), self.device(), self.dtype());
    fresh = {&one, &no_strides, {}};
  } else {
    fresh.scalar = value.scalar();
  }
  backend_of(self).ternary(Ternary::where, self.dtype(), out, condition, fresh, old, {});
  if (dest.tensor) bump_version(out);
  const Tensor& v = value.is_tensor() ? value.tensor() : undefined_tensor;
  if ((dest.tensor && !dest.in_place) || !grad_needed(self, v)) return out;
  auto wrt_self =
      wrt(self, [mask = Saved(mask)](const Tensor& g) { return masked_fill(g, mask, Scalar(0)); });
  auto wrt_value = wrt(value, [mask = Saved(mask)](const Tensor& g) {
    return sum(where(mask.get(), g, Scalar(0)));
  });
  if (!dest.in_place) return tape(out, "masked_fill", std::move(wrt_self), std::move(wrt_value));
  tape_inplace(self, "masked_fill", std::move(wrt_self), std::move(wrt_value));
  return self;
}

Tensor masked_scatter_to(const Tensor& self, const Tensor& mask, const Tensor& source, Dest dest) {
  check(self.dtype() == source.dtype(), Kind::Runtime,
        "masked_scatter: expected self and source to have same dtypes but "
        "got ",
        self.dtype(), " and ", source.dtype());
  check_mask("masked_scatter_", mask);
  Change c("masked_scatter", self, dest,
           broadcast_shapes("masked_scatter", self.shape(), mask.shape()));
  Tensor wide;
  {
    NoGrad guard;
    wide = expand(detach(mask), c.out.shape());
    backend_of(self).masked_scatter(c.out, wide, source);
  }
  if (!c.needs_grad(self, source)) return c.out;
  return c.tape(
      wrt(self, [mask = Saved(wide)](const Tensor& g) { return masked_fill(g, mask, Scalar(0)); }),
      wrt(source, [mask = Saved(wide), shape = source.shape()](const Tensor& g) {
        Tensor used = masked_select(g, mask);
        int64_t rest = numel_of(shape) - used.numel();
        if (rest) used = cat({used, zeros({rest}, g.dtype(), g.device())});
        return reshape(used, shape);
      }));
}

}  // namespace

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Operand& value) {
  return masked_fill_to(self, mask, value, {});
}
EMBER_OP("masked_fill(Tensor self, Tensor mask, Number value) -> Tensor", &masked_fill_to,
         Function | Method | InPlace | Aligned | Pointwise,
         "A copy with a number where `mask` is set.");

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  check(mask.dtype() == Dtype::Bool, Kind::Runtime,
        "masked_select: expected BoolTensor for mask, but got ", mask.dtype());
  Shape shape = broadcast_shapes("masked_select", self.shape(), mask.shape());
  Tensor wide_mask, out;
  {
    NoGrad guard;
    wide_mask = mask.shape() == shape ? detach(mask) : expand(detach(mask), shape);
    Tensor wide = self.shape() == shape ? detach(self) : expand(detach(self), shape);
    out = backend_of(self).masked_select(wide, wide_mask);
  }
  if (!grad_needed(self)) return out;
  return tape(out, "masked_select", wrt(self, [mask = Saved(wide_mask)](const Tensor& g) {
                Tensor m = mask;
                return masked_scatter(zeros(m.shape(), g.dtype(), g.device()), m, g);
              }));
}
EMBER_OP("masked_select(Tensor self, Tensor mask) -> Tensor",
         ([](const Tensor& self, const Tensor& mask, Dest dest) {
           return deliver("masked_select", dest, masked_select(self, mask));
         }),
         kForms | Out | Apart | DataDependent,
         "The elements where `mask` is set, as one dimension.");

Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  return masked_scatter_to(self, mask, source, {});
}
EMBER_OP("masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", &masked_scatter_to,
         Function | Method | InPlace | Whole,
         "A copy with the elements of `source`, in order, where `mask` is set.");

}  // namespace ember
