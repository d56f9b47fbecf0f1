// Reductions: sum and its kin.
#include "ops/ops.h"

namespace ember {

Shape reduced_dims(const char* op, const Dims& dim, int ndim) {
  Shape dims;
  if (!dim.given || dim.values.empty()) {
    for (int i = 0; i < ndim; i++) dims.push_back(i);
    return dims;
  }
  for (int64_t d : dim.values) {
    int k = wrap_dim(op, d, ndim);
    check(!dims.contains(k), Kind::Runtime, op, "(): dim ", d, " appears multiple times in the list of dims");
    if (ndim) dims.push_back(k);
  }
  std::sort(dims.begin(), dims.end());
  return dims;
}

namespace {

Shape shape_without(const Shape& shape, const Shape& dims, bool keepdim) {
  Shape out;
  for (int i = 0; i < shape.size(); i++) {
    bool gone = dims.contains(i);
    if (!gone || keepdim) out.push_back(gone ? 1 : shape[i]);
  }
  return out;
}

// Gives a reduced gradient its lost dimensions back and repeats it along them.
Tensor expand_back(const Tensor& g, const Shape& dims, bool keepdim, const Shape& shape) {
  return expand(keepdim ? g : reshape(g, shape_without(shape, dims, true)), shape);
}

}  // namespace

Tensor sum(const Tensor& self, const Dims& dim, bool keepdim, std::optional<Dtype> dtype) {
  Shape dims = reduced_dims("sum", dim, self.dim());
  Dtype t = dtype.value_or(is_integral(self.dtype(), true) ? Dtype::Int64 : self.dtype());
  Tensor full = empty(shape_without(self.shape(), dims, true), t, self.device());
  backend_of(self).reduce(Reduction::Sum, full, self, dims);
  Tensor out = keepdim ? full : alias(full, shape_without(self.shape(), dims, false),
                                      contiguous_strides(shape_without(self.shape(), dims, false)), 0);
  if (!grad_needed(self) || !is_differentiable(t)) return out;
  return tape(out, "sum", wrt(self, [dims, keepdim, shape = self.shape()](const Tensor& g) {
                return expand_back(g, dims, keepdim, shape);
              }));
}
EMBER_OP("sum(Tensor self, Dims dim=None, bool keepdim=False, *, Dtype? dtype=None) -> Tensor", &sum, kForms | Out,
         "Sum over `dim`, or over every axis when `dim` is None.");

}  // namespace ember
