// Norms of vectors: linalg.vector_norm, norm, dist, renorm.
#include <cmath>

#include "ops/linalg.h"
#include "ops/reduce.h"

namespace ember {

namespace {

using MaybeDtype = std::optional<Dtype>;

// Where the norm is 0 its gradient is taken as 0, like torch's.
Tensor norm_rule(const Tensor& g, const Tensor& x, const Tensor& y, double p, const Shape& dims) {
  if (p == 0) return zeros_like(x);
  if (p == 1) return sgn(x) * g;
  if (p == 2 && grad_enabled())  // in an order that keeps the gradient of g finite
    return g * where(y == Scalar(0), Scalar(0.0), x / y);
  if (p == 2) return x * where(y == Scalar(0), Scalar(0.0), g / y);
  Tensor size = abs(x);
  if (std::isinf(p)) {  // equal parts to all extremes
    Tensor hit = to(size == y, y.dtype());
    return sgn(x) * (hit * (g / sum(hit, Dims(dims), true)));
  }
  if (p < 1) {
    Tensor t = sgn(x) * where(size == Scalar(0), Scalar(0.0), pow(size, Scalar(p - 1)));
    return t * (g * pow(y, Scalar(1 - p)));
  }
  Tensor scale = where(y == Scalar(0), Scalar(0.0), g / pow(y, Scalar(p - 1)));
  if (p < 2) return sgn(x) * pow(size, Scalar(p - 1)) * scale;
  return x * pow(size, Scalar(p - 2)) * scale;
}

}  // namespace

Tensor norm_over(const char* op, const Tensor& self, double p, const Dims& dim, bool keepdim,
                 MaybeDtype dtype) {
  check(!dtype || is_differentiable(*dtype), Kind::Runtime, op,
        "(): dtype should be floating point or complex, but got ", *dtype);
  check(!dtype || is_complex(*dtype) || !is_complex(self.dtype()), Kind::Runtime, op,
        "(): dtype should be complex for complex inputs, but got ", *dtype);
  Tensor x = dtype && *dtype != self.dtype() ? to(self, *dtype) : self;
  check(is_differentiable(x.dtype()), Kind::Runtime, op,
        "(): Expected a floating point or complex tensor as input. Got ", x.dtype());
  Shape dims = reduced_dims(op, dim, x.dim());
  check(!(std::isinf(p) || p < 0) || reduced_count(x.shape(), dims), Kind::Runtime, op,
        " cannot compute the norm of order ", p, " on an empty tensor as it has no identity");
  Tensor full = reduced_like(x, dims, real_of(x.dtype()));
  backend_of(x).reduce(Reduction::norm, full, x, dims, p);
  Tensor out = drop_dims(full, dims, keepdim);
  if (!grad_needed(x)) return out;
  return tape(out, op,
              wrt(x, [x = Saved(x), y = Saved::output(out), dims, keepdim, p](const Tensor& g) {
                Tensor kept = x.get();
                return norm_rule(restore_dims(g, dims, keepdim, kept.shape()), kept,
                                 restore_dims(y.get(), dims, keepdim, kept.shape()), p, dims);
              }));
}
EMBER_OP(
    "linalg.vector_norm(Tensor self, Scalar ord=2, Dims dim=None, bool keepdim=False, *, Dtype? "
    "dtype=None) -> Tensor",
    ([](const Tensor& self, const Scalar& ord, const Dims& dim, bool keepdim, MaybeDtype dtype) {
      check_real_order("linalg.vector_norm", ord);
      return norm_over("linalg.vector_norm", self, ord.to<double>(), dim, keepdim, dtype);
    }),
    Function | Out | ExactOut | Along, "Norm of order `ord` of vectors over `dim`.");

EMBER_OP(
    "norm(Tensor self, Scalar? p=2, Dims dim=None, bool keepdim=False, *, Dtype? dtype=None) -> "
    "Tensor",
    ([](const Tensor& self, const std::optional<Scalar>& p, const Dims& dim, bool keepdim,
        MaybeDtype dtype) {
      return norm_over("norm", self, p ? p->to<double>() : 2.0, dim, keepdim, dtype);
    }),
    kForms | Out | ExactOut | Along, "Norm of order `p` over `dim`, or of all elements.");
EMBER_OP(
    "norm(Tensor self, str p, Dims dim=None, bool keepdim=False, *, Dtype? dtype=None) -> Tensor",
    ([](const Tensor& self, const std::string& p, const Dims& dim, bool keepdim, MaybeDtype dtype) {
      if (p == "inf" || p == "-inf")
        return norm_over("norm", self, p[0] == '-' ? -INFINITY : INFINITY, dim, keepdim, dtype);
      if (p == "nuc") return nuclear_norm("norm", self, dim, keepdim, dtype);
      check(p == "fro", Kind::Runtime, "norm(): order '", p,
            "' is unknown; expected a number, 'fro' or 'nuc'");
      return norm_over("norm", self, 2.0, dim, keepdim, dtype);
    }),
    kForms | Out | ExactOut | Along, "Frobenius norm over `dim`, or of all elements.");

EMBER_OP("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
         ([](const Tensor& self, const Tensor& other, const Scalar& p) {
           return norm_over("dist", self - other, p.to<double>(), {}, false, std::nullopt);
         }),
         kForms | Whole, "Norm of order `p` of the difference of two tensors.");

EMBER_OP("renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
         ([](const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
           check(p.to<double>() > 0, Kind::Runtime, "renorm(): non-positive norm degree: ", p);
           check(maxnorm.to<double>() >= 0, Kind::Runtime,
                 "renorm(): expected maxnorm to be >= 0 but got ", maxnorm);
           check(self.dim() > 1, Kind::Runtime, "renorm(): input needs at least 2 dimensions, got ",
                 self.dim(), " dimensions");
           int d = wrap_dim("renorm", dim, self.dim());
           Shape others;
           for (int i = 0; i < self.dim(); i++)
             if (i != d) others.push_back(i);
           Tensor norms =
               norm_over("renorm", self, p.to<double>(), Dims(others), true, std::nullopt);
           Tensor scale = where(norms > maxnorm, maxnorm / (norms + Scalar(1e-7)), Scalar(1.0));
           return contiguous(self) * to(scale, real_of(self.dtype()));
         }),
         kAllForms | Aligned | Whole,
         "Slices along `dim` scaled down so that their norms are at most `maxnorm`.");

EMBER_OP(
    "sum_to_size(Tensor self, Size size) -> Tensor", ([](const Tensor& self, const Shape& size) {
      bool fits = size.size() <= self.dim();
      for (int i = 1; fits && i <= size.size(); i++)
        fits = size[size.size() - i] == 1 || size[size.size() - i] == self.size(-i);
      check(fits, Kind::Runtime, "size {", size, "} is not expandable to size {", self.shape(),
            "}.");
      if (size.empty()) return sum(self);
      if (self.shape() == size) return self;
      return sum_to(is_integral(self.dtype(), true) ? to(self, Dtype::Int64) : self, size);
    }),
    Method | Whole,
    "The sum over the dimensions along which `size` would be broadcast to the tensor's shape.");

}  // namespace ember
