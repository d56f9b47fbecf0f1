// gradient(): derivatives of samples by finite differences, second order inside, first or second at
// the edges.
#include <cmath>

#include "ops/ops.h"

namespace ember {

namespace {

constexpr const char* kOp = "gradient";

Tensor from(const Tensor& t, int d, int64_t start, int64_t end) {
  int64_t n = t.size(d);
  return slice(t, d, start < 0 ? n + start : start, end <= 0 ? n + end : end, 1);
}

// Samples `h` apart.
Tensor equally_spaced(const Tensor& y, int d, const Scalar& h, int64_t edge_order) {
  const Scalar twice =
      h.is_complex() ? Scalar(2.0 * h.to<complex128>()) : Scalar(2 * h.to<double>());
  Tensor inside = (from(y, d, 2, 0) - from(y, d, 0, -2)) / twice;
  Tensor first, last;
  if (edge_order == 1) {
    first = (from(y, d, 1, 2) - from(y, d, 0, 1)) / h;
    last = (from(y, d, -1, 0) - from(y, d, -2, -1)) / h;
  } else {
    first = (from(y, d, 0, 1) * Scalar(-1.5) + from(y, d, 1, 2) * Scalar(2) -
             from(y, d, 2, 3) * Scalar(0.5)) /
            h;
    last = (from(y, d, -1, 0) * Scalar(1.5) - from(y, d, -2, -1) * Scalar(2) +
            from(y, d, -3, -2) * Scalar(0.5)) /
           h;
  }
  return cat({first, inside, last}, d);
}

// Samples at `x`: the derivative of the parabola through three neighbours.
Tensor at_points(const Tensor& y, int d, const Tensor& x, int64_t edge_order) {
  Shape shape = Shape::filled(y.dim(), 1);
  shape[d] = x.numel() - 1;
  Tensor h = reshape(diff(x, 1, 0), shape);
  Tensor a = from(h, d, 0, -1), b = from(h, d, 1, 0);  // to the left and to the right
  Tensor inside = from(y, d, 0, -2) * (-b / (a * (a + b))) +
                  from(y, d, 1, -1) * ((b - a) / (a * b)) + from(y, d, 2, 0) * (a / (b * (a + b)));
  Tensor first, last;
  if (edge_order == 1) {
    first = (from(y, d, 1, 2) - from(y, d, 0, 1)) / from(h, d, 0, 1);
    last = (from(y, d, -1, 0) - from(y, d, -2, -1)) / from(h, d, -1, 0);
  } else {
    a = from(h, d, 0, 1), b = from(h, d, 1, 2);
    first = from(y, d, 0, 1) * (-(a * Scalar(2) + b) / (a * (a + b))) +
            from(y, d, 1, 2) * ((a + b) / (a * b)) + from(y, d, 2, 3) * (-a / (b * (a + b)));
    a = from(h, d, -2, -1), b = from(h, d, -1, 0);
    last = from(y, d, -3, -2) * (b / (a * (a + b))) + from(y, d, -2, -1) * (-(a + b) / (a * b)) +
           from(y, d, -1, 0) * ((b * Scalar(2) + a) / (b * (a + b)));
  }
  return cat({first, inside, last}, d);
}

Shape checked_dims(const Tensor& self, const Dims& dim, int64_t edge_order) {
  check(edge_order == 1 || edge_order == 2, Kind::Runtime,
        "torch.gradient only supports edge_order=1 and edge_order=2, got ", edge_order);
  check(self.dtype() != Dtype::UInt8, Kind::Runtime,
        "torch.gradient does not support uint8 input.");
  Shape dims;
  if (dim.given)
    for (int64_t d : dim.values) {
      int k = wrap_dim(kOp, d, self.dim());
      check(!dims.contains(k), Kind::Runtime, kOp, "(): dim ", d,
            " appears multiple times in the list of dims");
      dims.push_back(k);
    }
  else
    for (int d = 0; d < self.dim(); d++) dims.push_back(d);
  for (int64_t d : dims)
    check(self.dim() && self.size(d) > edge_order, Kind::Runtime,
          "torch.gradient expected each dimension size to be at least edge_order+1, got ",
          self.shape());
  return dims;
}
void check_count(size_t given, const Shape& dims) {
  check(given == size_t(dims.size()), Kind::Runtime,
        "torch.gradient expected spacing to be unspecified, a scalar or a list of "
        "length equal to the number of dimensions (",
        dims.size(), "), got a list of length ", given);
}

TensorList gradient_by(const Tensor& self, const std::optional<Scalar>& spacing, const Dims& dim,
                       int64_t edge_order) {
  TensorList out;
  const Scalar h = !spacing                ? Scalar(1.0)
                   : spacing->is_complex() ? *spacing
                                           : Scalar(spacing->to<double>());
  for (int64_t d : checked_dims(self, dim, edge_order))
    out.push_back(equally_spaced(self, int(d), h, edge_order));
  return out;
}
TensorList gradient_by_each(const Tensor& self, const std::vector<double>& spacing, const Dims& dim,
                            int64_t edge_order) {
  Shape dims = checked_dims(self, dim, edge_order);
  check_count(spacing.size(), dims);
  TensorList out;
  for (int i = 0; i < dims.size(); i++)
    out.push_back(equally_spaced(self, int(dims[i]), spacing[size_t(i)], edge_order));
  return out;
}
TensorList gradient_at(const Tensor& self, const TensorList& spacing, const Dims& dim,
                       int64_t edge_order) {
  Shape dims = checked_dims(self, dim, edge_order);
  check_count(spacing.size(), dims);
  TensorList out;
  for (int i = 0; i < dims.size(); i++) {
    const Tensor& x = spacing[size_t(i)];
    check(x && x.dim() == 1, Kind::Runtime,
          "torch.gradient expected each element of spacing to have one dimension");
    check(x.size(0) == self.size(dims[i]), Kind::Runtime,
          "torch.gradient expected spacing of size ", self.size(dims[i]), " along dimension ",
          dims[i], ", got ", x.size(0));
    check(x.device() == self.device(), Kind::Runtime,
          "torch.gradient expected each tensor to be on the same device, but got ", self.device(),
          " and ", x.device());
    out.push_back(at_points(self, int(dims[i]), x, edge_order));
  }
  return out;
}

}  // namespace

EMBER_OP(
    "gradient(Tensor self, *, Scalar? spacing=None, Dims dim=None, int edge_order=1) -> Tensor[]",
    &gradient_by, Function | Along,
    "Derivatives of samples along each of `dim`, by finite differences.");
EMBER_OP("gradient(Tensor self, *, float[] spacing, Dims dim=None, int edge_order=1) -> Tensor[]",
         &gradient_by_each, Function | Along,
         "Derivatives of samples, with the distance between them for each dimension.");
EMBER_OP("gradient(Tensor self, *, Tensor[] spacing, Dims dim=None, int edge_order=1) -> Tensor[]",
         &gradient_at, Function | Along,
         "Derivatives of samples, with their coordinates for each dimension.");

}  // namespace ember
