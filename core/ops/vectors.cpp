// Products of vectors along a dimension, Vandermonde matrices, covariances.
#include "ops/devices.h"
#include "ops/linalg.h"

namespace ember {

// --- products ----------------------------------------------------------------------------------

namespace {

Tensor cross_along(const char* op, const Tensor& self, const Tensor& other, int64_t dim) {
  check(self.dim() == other.dim(), Kind::Runtime, op,
        ": inputs must have the same number of dimensions, got ", self.dim(), " and ", other.dim());
  int d = wrap_dim(op, dim, self.dim());
  check(self.dim() > 0 && self.size(d) == 3 && other.size(d) == 3, Kind::Runtime, op,
        ": inputs dimension ", dim, " must have length 3. Got ", self.dim() ? self.size(d) : 0,
        " and ", other.dim() ? other.size(d) : 0);
  check(!(self.dtype() == Dtype::Bool && other.dtype() == Dtype::Bool), Kind::NotImplemented, op,
        ": not implemented for bool");
  auto part = [&](int i, int j) {
    return select(self, d, i) * select(other, d, j) - select(self, d, j) * select(other, d, i);
  };
  return stack({part(1, 2), part(2, 0), part(0, 1)}, d);
}

}  // namespace

EMBER_OP("linalg.cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
         ([](const Tensor& self, const Tensor& other, int64_t dim) {
           return cross_along("linalg.cross", self, other, dim);
         }),
         Function | Out | Apart | Along, "Cross products of vectors of three along `dim`.");
EMBER_OP("cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
         ([](const Tensor& self, const Tensor& other, std::optional<int64_t> dim) {
           if (dim) return cross_along("cross", self, other, *dim);
           int d = 0;
           while (d < self.dim() && self.size(d) != 3) d++;
           check(d < self.dim(), Kind::Runtime,
                 "cross(): no dimension of size 3 in input of shape ", self.shape());
           return cross_along("cross", self, other, d);
         }),
         kForms | Out | Apart | Along,
         "Cross products of vectors along `dim`, or the first dimension of size 3.");

EMBER_OP("linalg.vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
         ([](const Tensor& x, const Tensor& y, int64_t dim) {
           const char* op = "linalg.vecdot";
           check(is_differentiable(x.dtype()), Kind::Runtime, op,
                 ": Expected a floating point or complex tensor as input. Got ", x.dtype());
           check(x.dtype() == y.dtype(), Kind::Runtime, op,
                 ": Expected vectors of same dtype, got ", x.dtype(), " and ", y.dtype());
           return sum(conj(x) * y, Dims(dim));
         }),
         Function | Out | Along | Lower,
         "Dot products of vectors along `dim`, the first conjugated.");
EMBER_OP("linalg.diagonal(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
         ([](const Tensor& a, int64_t offset, int64_t dim1, int64_t dim2) {
           return diagonal(a, offset, dim1, dim2);
         }),
         Function | Along | Rearranges, "A view of the diagonals of matrices.");
EMBER_OP("linalg.matmul(Tensor self, Tensor other) -> Tensor", &matmul,
         Function | Out | Leading | Lower, "The same as matmul.");

EMBER_OP("linalg.vander(Tensor x, *, int? N=None) -> Tensor",
         ([](const Tensor& x, std::optional<int64_t> n) {
           const char* op = "linalg.vander";
           check(x.dtype() != Dtype::Bool, Kind::Runtime, op, ": not implemented for bool");
           check(n || x.dim(), Kind::Runtime, op, ": N must be given for a 0-d tensor");
           int64_t columns = n ? *n : x.size(-1);
           check(columns > 1, Kind::Runtime, op, ": N must be greater than 1, got ", columns);
           Tensor base = atleast(is_integral(x.dtype(), true) ? to(x, Dtype::Int64) : x, 1);
           Shape shape = with_sizes(base.shape(), {columns - 1});
           Tensor powers = cumprod(expand(unsqueeze(base, -1), shape), -1);
           shape.back() = 1;
           return cat({ones(shape, base.dtype(), x.device()), powers}, -1);
         }),
         Function | Leading, "Powers 0, 1 ... N - 1 of each element, in a new last dimension.");

// --- covariance --------------------------------------------------------------------------------

namespace {

void check_weights(const char* name, const Tensor& w, int64_t observations) {
  check(w.dim() <= 1, Kind::Runtime, "cov(): expected ", name,
        " to have one or fewer dimensions but got ", name, " with ", w.dim(), " dimensions");
  check(w.numel() == observations, Kind::Runtime, "cov(): expected ", name,
        " to have the same numel as there are observations in the input but got ", w.numel(),
        " != ", observations);
  check(!has_values(w) || item(amin(w)).to<double>() >= 0, Kind::Runtime, "cov(): ", name,
        " cannot be negative");
}

Tensor cov(const Tensor& self, int64_t correction, const Tensor& fweights, const Tensor& aweights) {
  check(self.dim() <= 2, Kind::Runtime,
        "cov(): expected input to have two or fewer dimensions but got an input with ", self.dim(),
        " dimensions");
  check(self.dtype() != Dtype::Bool, Kind::Runtime, "cov(): bool dtype is not supported for input");
  Tensor x = self.dim() < 2 ? reshape(self, {1, -1}) : self;
  int64_t n = x.size(1);
  if (fweights) {
    check_weights("fweights", fweights, n);
    check(is_integral(fweights.dtype(), false), Kind::Runtime,
          "cov(): expected fweights to have integral dtype but got fweights with ",
          fweights.dtype());
  }
  if (aweights) {
    check_weights("aweights", aweights, n);
    check(is_floating(aweights.dtype()), Kind::Runtime,
          "cov(): expected aweights to have floating point dtype but got aweights with ",
          aweights.dtype());
  }
  Tensor w = fweights && aweights ? fweights * aweights : fweights ? fweights : aweights;
  if (!is_differentiable(x.dtype())) x = to(x, default_dtype());
  Tensor total = w ? sum(w) : scalar_tensor(n, Dtype::Int64, x.device());
  check(!w || !has_values(w) || item(total).to<double>() != 0, Kind::Runtime,
        "cov(): weights sum to zero, can't be normalized");
  Tensor mean = w ? sum(x * w, Dims(1)) / total : sum(x, Dims(1)) / total;
  Tensor scale = total;
  if (w && correction != 0 && aweights) {
    Tensor shares = fweights ? sum(w * aweights) : sum(w * w);
    scale = total - shares / total * Scalar(correction);
  } else {
    scale = total - Scalar(correction);
  }
  if (has_values(scale) && item(scale).to<double>() <= 0) {
    if (host_warn)
      host_warn(
          "cov(): degrees of freedom is <= 0. Correction should be strictly "
          "less than the number of observations.");
    scale = zeros_like(scale);
  }
  x = x - unsqueeze(mean, 1);
  Tensor weighted = w ? x * w : x;
  Tensor c = matmul(weighted, conj(t(x))) / scale;
  return squeeze(c);
}

}  // namespace

EMBER_OP(
    "cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor",
    &cov, kForms | Whole,
    "Covariances of the variables in rows, over the observations in columns.");
EMBER_OP("corrcoef(Tensor self) -> Tensor", ([](const Tensor& self) {
           check(
               self.dim() <= 2, Kind::Runtime,
               "corrcoef(): expected input to have two or fewer dimensions but got an input with ",
               self.dim(), " dimensions");
           Tensor c = cov(self, 1, Tensor(), Tensor());
           if (c.dim() == 0) return c / c;
           Tensor d = diagonal(c), s = sqrt(is_complex(d.dtype()) ? real(d) : d);
           c = c / unsqueeze(s, -1) / unsqueeze(s, 0);
           if (!is_complex(c.dtype())) return clamp(c, Scalar(-1.0), Scalar(1.0));
           return complex(clamp(real(c), Scalar(-1.0), Scalar(1.0)),
                          clamp(imag(c), Scalar(-1.0), Scalar(1.0)));
         }),
         kForms | Whole,
         "Correlations of the variables in rows: covariances scaled by deviations.");

}  // namespace ember
