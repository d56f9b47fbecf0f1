// Products with quantized weights. A weight is scale * q + offset, with one scale, and maybe one
// offset, for a group of columns of a row. q is int8; or two of 4 bits share a byte of uint8, laid
// out as cpu/kernels/weight_kernels.h says.
#include "ops/ops.h"

namespace ember {

namespace {

constexpr int64_t kUnit = 32;  // columns whose 4 bits are packed together

bool has_bytes(const Tensor& weight) { return weight.dtype() == Dtype::Int8; }
int64_t columns_of(const Tensor& weight) { return weight.size(1) * (has_bytes(weight) ? 1 : 2); }

// The weights in float32.
Tensor widened(const Tensor& weight, const Tensor& scales, const Tensor& offsets) {
  const int64_t rows = weight.size(0), k = columns_of(weight), groups = scales.size(1);
  Tensor q = weight;
  if (!has_bytes(weight)) {
    const Tensor pairs = view(contiguous(weight), {rows, k / kUnit, 1, kUnit / 2});
    q = cat({pairs & Scalar(15), floor_divide(pairs, Scalar(16))}, 2);
  }
  // Without columns there are no groups either.
  if (rows == 0 || k == 0) return zeros({rows, k}, Dtype::Float32, weight.device());
  Tensor wide = to(reshape(q, {rows, groups, k / groups}), Dtype::Float32) * unsqueeze(scales, 2);
  if (offsets) wide = wide + unsqueeze(offsets, 2);
  return reshape(wide, {rows, k});
}

void check_weights(const char* op, const Tensor& self, const Tensor& weight, const Tensor& scales,
                   const Tensor& offsets) {
  check(self.dim() == 2 && weight.dim() == 2, Kind::Runtime, op,
        "(): expect self and weight to be matrices, got ", self.dim(), "-D and ", weight.dim(),
        "-D");
  check(self.dtype() == Dtype::Float32 || is_reduced(self.dtype()), Kind::Runtime, op,
        "(): expect self to be either a 32-bit or a 16-bit float tensor, got ", self.dtype());
  check(has_bytes(weight) || weight.dtype() == Dtype::UInt8, Kind::Runtime, op,
        "(): expect weight to be int8, or uint8 for two of 4 bits, got ", weight.dtype());
  const int64_t k = columns_of(weight);
  check(self.size(1) == k, Kind::Runtime, op, "(): expect weight to have ", self.size(1),
        " columns as self has, got ", k);
  for (const Tensor& t : {scales, offsets})
    check(!t || (t.dtype() == Dtype::Float32 && t.dim() == 2 && t.size(0) == weight.size(0) &&
                 t.size(1) == scales.size(1)),
          Kind::Runtime, op, "(): expect scales and offsets to be float32, of shape (",
          weight.size(0), ", groups), got ", t ? t.dtype() : Dtype::Float32, " of shape ",
          t ? t.shape() : Shape{});
  const int64_t groups = scales.size(1);
  check(has_bytes(weight) ? groups == 1 || (groups > 0 && k % (groups * kUnit) == 0)
                          : groups > 0 && k % (groups * kUnit) == 0,
        Kind::Runtime, op, "(): ", k, " columns make no ", groups,
        " groups of a multiple of 32 columns");
}

// self @ weights.T, summed in float32.
Tensor product(const Tensor& self, const Tensor& weight, const Tensor& scales,
               const Tensor& offsets) {
  Tensor out = empty({self.size(0), weight.size(0)}, self.dtype(), self.device());
  Backend& backend = backend_of(self);
  if (backend.has(Primitive::weights_matmul)) {
    backend.weights_matmul(out, self, contiguous(weight), contiguous(scales),
                           offsets ? contiguous(offsets) : offsets);
    return out;
  }
  const Tensor wide = widened(weight, scales, offsets);
  return to(mm(to(self, Dtype::Float32), transpose(wide, 0, 1), {}), self.dtype());
}

Tensor weights_mm(const Tensor& self, const Tensor& weight, const Tensor& scales,
                  const Tensor& offsets) {
  check_weights("_weights_mm", self, weight, scales, offsets);
  Tensor out;
  {
    NoGrad guard;
    out = product(self, weight, scales, offsets);
  }
  if (!grad_needed(self)) return out;
  return tape(out, "weights_mm",
              wrt(self, [weight = Saved(weight), scales = Saved(scales),
                         offsets = offsets ? Saved(offsets) : Saved()](const Tensor& g) {
                const Tensor w = widened(weight.get(), scales.get(), offsets.get());
                return mm(g, to(w, g.dtype()), {});
              }));
}
EMBER_OP("_weights_mm(Tensor self, Tensor weight, Tensor scales, Tensor? offsets=None) -> Tensor",
         &weights_mm, Function | Whole,
         "self @ W.T with W = scales * weight + offsets, of groups of columns; weight is int8, or "
         "uint8 with two numbers of 4 bits each.");
EMBER_OP("_widened_weights(Tensor weight, Tensor scales, Tensor? offsets=None) -> Tensor",
         ([](const Tensor& weight, const Tensor& scales, const Tensor& offsets) {
           check(weight.dim() == 2, Kind::Runtime,
                 "_widened_weights(): expect weight to be a matrix, got ", weight.dim(), "-D");
           const Tensor none = empty({0, columns_of(weight)}, Dtype::Float32, weight.device());
           check_weights("_widened_weights", none, weight, scales, offsets);
           NoGrad guard;
           return widened(weight, scales, offsets);
         }),
         Function | Whole, "W = scales * weight + offsets in float32; see _weights_mm().");

Tensor weight_int8pack_mm(const Tensor& self, const Tensor& mat2, const Tensor& scales) {
  const char* op = "_weight_int8pack_mm";
  check(self.dim() == 2 && mat2.dim() == 2, Kind::Runtime, op,
        "(): expect self and mat2 to be matrices, got ", self.dim(), "-D and ", mat2.dim(), "-D");
  check(mat2.dtype() == Dtype::Int8, Kind::Runtime, op, "(): expect mat2 to be int8, got ",
        mat2.dtype());
  check(scales.dim() == 1 && scales.size(0) == mat2.size(0), Kind::Runtime, op,
        "(): expect scales to be 1d tensor with size ", mat2.size(0), ", got ", scales.shape());
  check(scales.dtype() == self.dtype(), Kind::Runtime, op, "(): expect scales to be ", self.dtype(),
        " as self is, got ", scales.dtype());
  NoGrad guard;
  const Tensor wide = unsqueeze(to(scales, Dtype::Float32), 1);
  check_weights(op, self, mat2, wide, {});
  return product(self, mat2, wide, {});
}
EMBER_OP("_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor",
         &weight_int8pack_mm, Function | Whole,
         "self @ (mat2 * scales[:, None]).T with mat2 of int8, summed in float32.");

}  // namespace

}  // namespace ember
