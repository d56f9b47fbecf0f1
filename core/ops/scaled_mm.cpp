// Products of float8 matrices with scales, as layers that keep their weights in 8 bits call them.
#include "ops/change.h"
#include "ops/ops.h"

namespace ember {

namespace {

bool is_scale(const Tensor& t) { return t.dtype() == Dtype::Float32; }

// One number for each matrix, or one for every row of `a` and every column of `b`.
void check_scales(const Tensor& a, const Tensor& b, const Tensor& scale_a, const Tensor& scale_b) {
  const Shape rows{a.size(0), 1}, columns{1, b.size(1)};
  const bool whole = scale_a.numel() == 1 && scale_b.numel() == 1;
  const bool by_lines = scale_a.shape() == rows && scale_b.shape() == columns &&
                        scale_a.is_contiguous() && scale_b.is_contiguous();
  check(is_float8(a.dtype()) && is_float8(b.dtype()) && is_scale(scale_a) && is_scale(scale_b) &&
            (whole || by_lines),
        Kind::Value,
        "Invalid scaling configuration.\n"
        "- For TensorWise scaling, a and b should be float8, scales should be float and "
        "singletons.\n"
        "- For RowWise scaling, a and b should be float8, scales should be float, scale_a should "
        "be (",
        a.size(0), ", 1) and scale_b should be (1, ", b.size(1),
        "), and both should be contiguous.\nGot a.dtype()=", type_name(a.dtype()),
        ", scale_a.dtype()=", type_name(scale_a.dtype()), ", scale_a.size()=", scale_a.shape(),
        ", b.dtype()=", type_name(b.dtype()), ", scale_b.dtype()=", type_name(scale_b.dtype()),
        ", scale_b.size()=", scale_b.shape());
}

Tensor scaled(const Tensor& t, const Tensor& scale) {
  const Tensor wide = to(t, Dtype::Float32);
  return wide * (scale.numel() == 1 ? reshape(scale, {}) : scale);
}

Tensor scaled_mm(const Tensor& self, const Tensor& mat2, const Tensor& scale_a,
                 const Tensor& scale_b, const Tensor& bias, const Tensor& scale_result,
                 std::optional<Dtype> out_dtype, bool, Dest dest) {
  check(self.dim() == 2, Kind::Runtime, "_scaled_mm(): mat1 must be a matrix");
  check(mat2.dim() == 2, Kind::Runtime, "_scaled_mm(): mat2 must be a matrix");
  check(self.size(1) == mat2.size(0), Kind::Runtime,
        "_scaled_mm(): mat_a and mat_b shapes cannot be multiplied (", self.size(0), "x",
        self.size(1), " and ", mat2.size(0), "x", mat2.size(1), ")");
  check_scales(self, mat2, scale_a, scale_b);
  check(!bias || bias.numel() == mat2.size(1), Kind::Runtime, "_scaled_mm(): Bias must be size ",
        mat2.size(1), " but got ", bias ? bias.numel() : 0);
  NoGrad guard;
  const Dtype dtype = dest.tensor ? dest.tensor->dtype() : out_dtype.value_or(self.dtype());
  Tensor out = mm(scaled(self, scale_a), scaled(mat2, scale_b), {});
  if (bias) out = out + to(bias, Dtype::Float32);
  if (scale_result && is_float8(dtype)) out = out * scale_result;
  return deliver("_scaled_mm", dest, to(out, dtype));
}
EMBER_OP(
    "_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, "
    "Tensor? scale_result=None, Dtype? out_dtype=None, bool use_fast_accum=False) -> Tensor",
    &scaled_mm, Function | Out | Apart | Whole,
    "(self * scale_a) @ (mat2 * scale_b) + bias of float8 matrices, summed in float32.");

}  // namespace

}  // namespace ember
