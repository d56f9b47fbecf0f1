// Smallest and largest elements: min, max, amin, amax, aminmax, argmin, argmax.
#include "ops/reduce.h"

namespace ember {

namespace {

void check_not_empty(const char* op, const Tensor& self, const Shape& dims) {
  if (self.numel()) return;
  for (int64_t d : dims)
    check(self.shape()[d] != 0, Kind::Index, op, "(): Expected reduction dim ", d,
          " to have non-zero size.");
}

void check_ordered(const char* op, const Tensor& self) {
  if (self.numel() == 0) return;  // nothing to compare
  check(!is_complex(self.dtype()), Kind::NotImplemented, op, "(): not implemented for dtype ",
        self.dtype());
}

// amin and amax; gradients are shared among ties. Of min and max, which have no dimension, a NaN
// that wins gets them too.
Tensor extreme(const char* op, bool most, const Tensor& self, const Dims& dim, bool keepdim,
               bool nan_counts = false) {
  check_ordered(op, self);
  Shape dims = reduced_dims(op, dim, self.dim());
  check(self.numel() || (dim.given && !dim.values.empty()), Kind::Runtime, op,
        "(): Expected reduction dim to be "
        "specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.");
  check_not_empty(op, self, dims);
  Tensor full = reduced_like(self, dims, self.dtype());
  backend_of(self).reduce(most ? Reduction::max : Reduction::min, full, self, dims, 2);
  Tensor out = drop_dims(full, dims, keepdim);
  if (!grad_needed(self)) return out;
  return tape(
      out, op,
      wrt(self,
          [x = Saved(self), y = Saved::output(out), dims, keepdim, nan_counts](const Tensor& g) {
            Tensor kept = x.get(), most = restore_dims(y.get(), dims, keepdim, kept.shape());
            Tensor same = kept == most;
            if (nan_counts) same = same | (kept != kept);
            Tensor hit = to(same, g.dtype());
            Tensor each = restore_dims(g, dims, keepdim, kept.shape()) / sum(hit, Dims(dims), true);
            // As in PyTorch, only those without a dimension keep inf and NaN to the winners.
            return nan_counts ? where(same, each, Scalar(0.)) : hit * each;
          }));
}

std::tuple<Tensor, Tensor> extreme_along(const char* op, bool most, const Tensor& self, int64_t dim,
                                         bool keepdim) {
  int d = wrap_dim(op, dim, self.dim());
  check_ordered(op, self);
  Shape dims = self.dim() ? Shape{d} : Shape{};
  check_not_empty(op, self, dims);
  Tensor values = reduced_like(self, dims, self.dtype()),
         indices = reduced_like(self, dims, Dtype::Int64);
  backend_of(self).extremes(values, indices, self, d, most);
  values = drop_dims(values, dims, keepdim);
  indices = drop_dims(indices, dims, keepdim);
  if (grad_needed(self))
    values = tape(
        values, op,
        wrt(self, [indices = Saved(indices), shape = self.shape(), d, keepdim](const Tensor& g) {
          return select_back(g, indices.get(), shape, d, keepdim);
        }));
  return {values, indices};
}

Tensor arg_extreme(const char* op, bool most, const Tensor& self, std::optional<int64_t> dim,
                   bool keepdim) {
  check(self.dtype() != Dtype::Bool && !is_complex(self.dtype()), Kind::Runtime, op,
        "(): does not support ", self.dtype() == Dtype::Bool ? "bool" : "complex", " input");
  if (!dim) {
    check(self.numel(), Kind::Index, op,
          "(): Expected reduction dim to be specified for input.numel() == 0. Specify "
          "the reduction dim with the 'dim' argument.");
    Tensor flat = reshape(detach(self), {-1});
    Tensor index = empty({1}, Dtype::Int64, self.device());
    backend_of(self).extremes(Tensor(), index, flat, 0, most);
    return alias(index, Shape::filled(keepdim ? self.dim() : 0, 1),
                 Shape::filled(keepdim ? self.dim() : 0, 1), 0);
  }
  int d = wrap_dim(op, *dim, self.dim());
  Shape dims = self.dim() ? Shape{d} : Shape{};
  check_not_empty(op, self, dims);
  Tensor index = reduced_like(self, dims, Dtype::Int64);
  backend_of(self).extremes(Tensor(), index, self, d, most);
  return drop_dims(index, dims, keepdim);
}

}  // namespace

Tensor select_back(const Tensor& g, const Tensor& indices, const Shape& shape, int64_t dim,
                   bool keepdim) {
  if (shape.empty()) return reshape(g, {});
  Tensor full = zeros(shape, g.dtype(), g.device());
  return scatter(full, dim, keepdim ? indices : unsqueeze(indices, dim),
                 keepdim ? g : unsqueeze(g, dim));
}

Tensor amin(const Tensor& self, const Dims& dim, bool keepdim) {
  return extreme("amin", false, self, dim, keepdim);
}
Tensor amax(const Tensor& self, const Dims& dim, bool keepdim) {
  return extreme("amax", true, self, dim, keepdim);
}
EMBER_OP("amin(Tensor self, Dims dim=None, bool keepdim=False) -> Tensor", &amin,
         kForms | Out | ExactOut | Along,
         "Smallest element over `dim`; the gradient is shared among ties.");
EMBER_OP("amax(Tensor self, Dims dim=None, bool keepdim=False) -> Tensor", &amax,
         kForms | Out | ExactOut | Along,
         "Largest element over `dim`; the gradient is shared among ties.");

Tensor argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return arg_extreme("argmin", false, self, dim, keepdim);
}
Tensor argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return arg_extreme("argmax", true, self, dim, keepdim);
}
EMBER_OP("argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", &argmin,
         kForms | Out | ExactOut | Along, "Index of the smallest element, of all or along `dim`.");
EMBER_OP("argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", &argmax,
         kForms | Out | ExactOut | Along, "Index of the largest element, of all or along `dim`.");

// min and max have three meanings each: of all elements, of two tensors (tried before the next, as
// a 0-d tensor could be an int), and along a dimension.
#define EMBER_EXTREME(name, most, pair, what)                                                     \
  EMBER_OP(#name "(Tensor self) -> Tensor", ([](const Tensor& self) {                             \
             check(self.numel(), Kind::Runtime,                                                   \
                   #name                                                                          \
                   "(): Expected reduction dim to be specified for "                              \
                   "input.numel() == 0. Specify the reduction dim with the 'dim' argument.");     \
             return extreme(#name, most, self, {}, false, true);                                  \
           }),                                                                                    \
           kForms | Out | ExactOut | Along, what " of all elements.");                            \
  EMBER_OP(#name "(Tensor self, Tensor other) -> Tensor",                                         \
           ([](const Tensor& self, const Tensor& other) { return pair(self, other); }),           \
           kForms | Out | Pointwise, what " of two tensors, element by element.");                \
  EMBER_OP(#name "(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", \
           ([](const Tensor& self, int64_t dim, bool keepdim) {                                   \
             return extreme_along(#name, most, self, dim, keepdim);                               \
           }),                                                                                    \
           kForms | Out | ExactOut | Along, what " along `dim`, and where it is.")
EMBER_EXTREME(min, false, minimum, "Smallest");
EMBER_EXTREME(max, true, maximum, "Largest");

EMBER_OP("aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
         ([](const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
           check(self.numel() || dim, Kind::Runtime,
                 "aminmax(): cannot compute aminmax over an empty dimension as the operation has "
                 "no identity.");
           Dims dims = dim ? Dims(*dim) : Dims();
           return std::make_tuple(amin(self, dims, keepdim), amax(self, dims, keepdim));
         }),
         kForms | Out | ExactOut | Along, "Smallest and largest element, of all or along `dim`.");

}  // namespace ember
