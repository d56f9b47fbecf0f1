// What the ops of linear algebra share: checks, layouts, the way to the kernels.
#include "ops/linalg.h"
#include "ops/devices.h"

namespace ember {

void check_matrix(const char* op, const Tensor& a, const char* name) {
  check(a.dim() >= 2, Kind::Runtime, op, ": The input tensor ", name,
        " must have at least 2 dimensions, got ", a.dim(),
        " (expected a tensor with 2 or more dimensions).");
}

void check_square(const char* op, const Tensor& a, const char* name) {
  check_matrix(op, a, name);
  check(a.size(-1) == a.size(-2), Kind::Runtime, op, ": ", name,
        " must be batches of square matrices, but they are ", a.size(-2), " by ", a.size(-1),
        " matrices");
}

void check_linalg_dtype(const char* op, const Tensor& a, const char* name) {
  check(is_differentiable(a.dtype()), Kind::Runtime, op,
        ": Expected a floating point or complex tensor as ", name, ". Got ", a.dtype());
  check(!is_narrow(a.dtype()), Kind::Runtime, op, ": Low precision dtypes not supported. Got ",
        a.dtype());
}

void check_same_dtype(const char* op, const Tensor& a, const Tensor& b) {
  check(a.dtype() == b.dtype(), Kind::Runtime, op,
        ": Expected A and B to have the same dtype, but found ", a.dtype(), " and ", b.dtype());
  check(a.device().kind == b.device().kind, Kind::Runtime, op,
        ": Expected all tensors to be on the same device, but found ", a.device(), " and ",
        b.device());
}

void check_info(const char* op, const Tensor& info, std::string (*why)(int64_t)) {
  if (!has_values(info)) return;
  Tensor codes = reshape(detach(info), {-1});
  if (!item(any(codes)).to<bool>()) return;
  for (int64_t i = 0; i < codes.numel(); i++) {
    int64_t code = item(select(codes, 0, i)).to<int64_t>();
    if (!code) continue;
    std::string where = info.dim() ? "(Batch element " + std::to_string(i) + "): " : "";
    fail(Kind::LinAlg, op, ": ", where, why(code));
  }
}

void check_finite(const char* op, const Tensor& a) {
  if (!has_values(a)) return;
  NoGrad guard;
  Tensor finite = all(isfinite(a), Dims(Shape{-2, -1}));
  if (item(all(finite)).to<bool>()) return;
  check_info(op, to(logical_not(finite), Dtype::Int32), [](int64_t) -> std::string {
    return "The algorithm failed to converge because the input matrix contained non-finite values.";
  });
}

Tensor spread_over(const Tensor& t, const Shape& batch) {
  Shape shape = with_sizes(batch, {t.size(-2), t.size(-1)});
  return shape == t.shape() ? t : expand(t, shape);
}

Shape common_batch(const char* op, const Tensor& a, const Tensor& b) {
  return broadcast_shapes(op, batch_of(a), batch_of(b));
}

Tensor empty_by_columns(const Shape& shape, Dtype dtype, Device device) {
  Shape swapped = shape;
  int n = shape.size();
  std::swap(swapped[n - 1], swapped[n - 2]);
  Shape strides = contiguous_strides(swapped);
  std::swap(strides[n - 1], strides[n - 2]);
  return empty_strided(shape, strides, dtype, device);
}

Tensor by_columns(const Tensor& t) {
  Tensor out = empty_by_columns(t.shape(), t.dtype(), t.device());
  if (t.numel()) backend_of(t).copy(out, t);
  return out;
}

Tensor transposed(const Tensor& t) {
  Shape shape = t.shape(), strides = t.strides();
  int n = shape.size();
  std::swap(shape[n - 1], shape[n - 2]);
  std::swap(strides[n - 1], strides[n - 2]);
  return alias(t, shape, strides, t.offset());
}

Backend* kernels_for(const char* op, const Tensor& x, std::initializer_list<Tensor> others) {
  if (!has_values(x)) return nullptr;
  for (const Tensor& t : others)
    check(t.device().kind == x.device().kind, Kind::Runtime, op,
          ": Expected all tensors to be on the same device, but found at least two devices, ",
          x.device(), " and ", t.device());
  return &backend_of(x);
}

Tensor identity(int64_t n, const Tensor& like) {
  return diag_embed(ones({n}, like.dtype(), like.device()));
}

}  // namespace ember
