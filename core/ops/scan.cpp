// Running totals along a dimension: cumsum, cumprod, cummax, cummin, logcumsumexp; differences and
// trapezoids.
#include <limits>

#include "ops/devices.h"
#include "ops/ops.h"

namespace ember {

namespace {

using MaybeDtype = std::optional<Dtype>;

Tensor scan(Fold f, const Tensor& self, int dim, Dtype dtype) {
  Tensor out = empty(self.shape(), dtype, self.device());
  backend_of(self).scan(f, out, Tensor(), self, dim);
  return out;
}

Tensor flipped(const Tensor& t, int dim) { return t.dim() ? flip(t, {dim}) : t; }

// Sum of each element and all that follow it.
Tensor sum_from(const Tensor& g, int dim) { return flipped(cumsum(flipped(g, dim), dim), dim); }

Dtype total_dtype(const Tensor& self, MaybeDtype dtype) {
  return dtype.value_or(is_integral(self.dtype(), true) ? Dtype::Int64 : self.dtype());
}

}  // namespace

Tensor cumsum(const Tensor& self, int64_t dim, MaybeDtype dtype) {
  int d = wrap_dim("cumsum", dim, self.dim());
  Dtype t = total_dtype(self, dtype);
  if (is_complex(self.dtype()) != is_complex(t)) return cumsum(to(self, t), dim, t);
  Tensor out = scan(Fold::sum, self, d, t);
  if (!grad_needed(self) || !is_differentiable(t)) return out;
  return tape(out, "cumsum", wrt(self, [d](const Tensor& g) { return sum_from(g, d); }));
}
EMBER_OP("cumsum(Tensor self, int dim, *, Dtype? dtype=None) -> Tensor", &cumsum,
         kAllForms | DtypeOut | Along, "Sum of each element along `dim` and all before it.");

// --- cumprod -------------------------------------------------------------------------------------

namespace {

// Without a division, so zeros are fine. The gradient of x_k is p_k s_k, with p_k the product of
// what comes before and s_k = g_k + x_(k+1) s_(k+1).
Tensor cumprod_rule_with_zeros(const Tensor& g, const Tensor& x, int dim) {
  int64_t n = x.size(dim);
  auto at = [dim](const Tensor& t, int64_t k) { return slice(t, dim, k, k + 1, 1); };
  TensorList parts(static_cast<size_t>(n));
  Tensor s = at(g, n - 1);
  for (int64_t k = n - 1; k >= 0; k--) {
    if (k < n - 1) s = at(g, k) + conj(at(x, k + 1)) * s;
    parts[size_t(k)] = s;
  }
  Tensor p;
  for (int64_t k = 1; k < n; k++) {
    p = k == 1 ? conj(at(x, 0)) : p * conj(at(x, k - 1));
    parts[size_t(k)] = parts[size_t(k)] * p;
  }
  return cat(parts, dim);
}

Tensor cumprod_rule(const Tensor& g, const Tensor& x, const Tensor& y, int dim) {
  if (x.numel() <= 1 || x.dim() == 0 || x.size(dim) == 1) return g;
  if (grad_enabled()) {
    // To be differentiated again, which asks for a look at the data: the way that is right where
    // there are zeros has as many steps as there are elements.
    bool has_zero = has_values(x) && item(any(detach(x) == Scalar(0))).to<bool>();
    if (has_zero) return cumprod_rule_with_zeros(g, x, dim);
    return sum_from(conj(y) * g, dim) / conj(x);
  }
  // The products are 0 from the first zero on: what comes after has no gradient, and the zero
  // itself that of the products without it.
  Tensor zero = x == Scalar(0), zeros = cumsum(zero, dim);
  Tensor first = zero & (zeros == Scalar(1));
  Tensor others = cumprod(masked_fill(x, first, Scalar(1)), dim);
  Tensor at_zero = where(first, sum_from(conj(others) * g, dim), Scalar(0));
  return where(zeros == Scalar(0), sum_from(conj(y) * g, dim) / conj(x), at_zero);
}

}  // namespace

Tensor cumprod(const Tensor& self, int64_t dim, MaybeDtype dtype) {
  int d = wrap_dim("cumprod", dim, self.dim());
  Dtype t = total_dtype(self, dtype);
  Tensor x = self.dtype() == t || !grad_needed(self) ? self : to(self, t);
  if (is_complex(x.dtype()) != is_complex(t)) x = to(self, t);
  Tensor out = scan(Fold::prod, x, d, t);
  if (!grad_needed(x) || !is_differentiable(t)) return out;
  return tape(out, "cumprod", wrt(x, [d, x = Saved(x), y = Saved::output(out)](const Tensor& g) {
                return cumprod_rule(g, x.get(), y.get(), d);
              }));
}
EMBER_OP("cumprod(Tensor self, int dim, *, Dtype? dtype=None) -> Tensor", &cumprod,
         kAllForms | DtypeOut | Along, "Product of each element along `dim` and all before it.");

// --- cummax, cummin ------------------------------------------------------------------------------

namespace {

std::tuple<Tensor, Tensor> running_extreme(const char* op, Fold f, const Tensor& self,
                                           int64_t dim) {
  check(!is_complex(self.dtype()), Kind::NotImplemented, op, "(): not implemented for ",
        self.dtype());
  check(self.dim() || dim == 0 || dim == -1, Kind::Index, op,
        "(): Expected reduction dim -1 or 0 for scalar but got ", dim);
  int d = wrap_dim(op, dim, self.dim());
  Tensor values = empty(self.shape(), self.dtype(), self.device());
  Tensor indices = empty(self.shape(), Dtype::Int64, self.device());
  backend_of(self).scan(f, values, indices, self, d);
  if (grad_needed(self))
    values = tape(values, op,
                  wrt(self, [d, indices = Saved(indices), shape = self.shape()](const Tensor& g) {
                    return scatter_add(zeros(shape, g.dtype(), g.device()), d, indices.get(), g);
                  }));
  return {values, indices};
}

}  // namespace

EMBER_OP("cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
         ([](const Tensor& self, int64_t dim) {
           return running_extreme("cummax", Fold::max, self, dim);
         }),
         kForms | Out | ExactOut | Along,
         "Largest of each element along `dim` and all before it, and where it is.");
EMBER_OP("cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
         ([](const Tensor& self, int64_t dim) {
           return running_extreme("cummin", Fold::min, self, dim);
         }),
         kForms | Out | ExactOut | Along,
         "Smallest of each element along `dim` and all before it, and where it is.");

// --- logcumsumexp --------------------------------------------------------------------------------

namespace {

Tensor logcumsumexp_from(const Tensor& t, int dim) {
  return flipped(logcumsumexp(flipped(t, dim), dim), dim);
}

// The sum over j >= i of g_j exp(x_i - y_j), in logarithms: positive and negative g apart.
Tensor logcumsumexp_rule(const Tensor& g, const Tensor& x, const Tensor& y, int dim) {
  if (is_complex(g.dtype())) return conj(exp(logcumsumexp_from(log(conj(g)) - y, dim) + x));
  double lowest = g.dtype() == Dtype::Float64   ? std::numeric_limits<double>::lowest()
                  : g.dtype() == Dtype::Float16 ? -65504.0
                                                : -3.38e38;
  auto side = [&](const Tensor& size) {
    Tensor there = size > Scalar(0);
    Tensor logs = where(there, log(where(there, size, Scalar(1.0))), Scalar(lowest));
    return exp(logcumsumexp_from(logs - y, dim) + x);
  };
  return side(g) - side(-g);
}

}  // namespace

Tensor logcumsumexp(const Tensor& self, int64_t dim) {
  int d = wrap_dim("logcumsumexp", dim, self.dim());
  check(is_differentiable(self.dtype()), Kind::NotImplemented,
        "logcumsumexp(): not implemented for ", self.dtype());
  Tensor out = scan(Fold::logsumexp, self, d, self.dtype());
  if (!grad_needed(self)) return out;
  return tape(out, "logcumsumexp",
              wrt(self, [d, x = Saved(self), y = Saved::output(out)](const Tensor& g) {
                return logcumsumexp_rule(g, x.get(), y.get(), d);
              }));
}
EMBER_OP("logcumsumexp(Tensor self, int dim) -> Tensor", &logcumsumexp,
         kForms | Out | Aligned | ExactOut | Along,
         "Logarithm of the sum of exponentials of each element along `dim` and all before it.");

// --- differences ---------------------------------------------------------------------------------

namespace {

void check_fits_beside(const Tensor& self, const Tensor& other, int dim) {
  check(other.dim() == self.dim(), Kind::Runtime,
        "diff expects prepend or append to be the same dimension as input, got ", other.dim(),
        " and ", self.dim());
  for (int d = 0; d < self.dim(); d++)
    check(d == dim || other.size(d) == self.size(d), Kind::Runtime,
          "diff expects the shape of tensor to prepend or append to match that of input except "
          "along the differencing "
          "dimension; input.size(",
          d, ") = ", self.size(d), ", but got tensor.size(", d, ") = ", other.size(d));
}

}  // namespace

Tensor diff(const Tensor& self, int64_t n, int64_t dim, const Tensor& prepend,
            const Tensor& append) {
  check(self.dim() > 0, Kind::Runtime, "diff expects input to be at least one-dimensional");
  check(n >= 0, Kind::Runtime, "order must be non-negative but got ", n);
  int d = wrap_dim("diff", dim, self.dim());
  if (n == 0) return clone(self);
  Tensor x = self;
  if (prepend || append) {
    TensorList parts;
    if (prepend) check_fits_beside(self, prepend, d), parts.push_back(prepend);
    parts.push_back(self);
    if (append) check_fits_beside(self, append, d), parts.push_back(append);
    x = cat(parts, d);
  }
  for (int64_t i = 0; i < n; i++) {
    int64_t last = std::max<int64_t>(0, x.size(d) - 1);
    Tensor a = slice(x, d, 0, last, 1),
           b = slice(x, d, std::min<int64_t>(1, x.size(d)), x.size(d), 1);
    x = x.dtype() == Dtype::Bool ? ne(b, a) : b - a;
    if (x.size(d) == 0) break;
  }
  return x;
}
EMBER_OP(
    "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
    &diff, kForms | Out | Along, "The `n`-th difference of neighbours along `dim`.");

// --- trapezoids ----------------------------------------------------------------------------------

namespace {

Tensor all_but_last(const Tensor& t, int64_t dim) {
  return slice(t, dim, 0, std::max<int64_t>(0, t.size(dim) - 1), 1);
}
Tensor all_but_first(const Tensor& t, int64_t dim) {
  return slice(t, dim, std::min<int64_t>(1, t.size(dim)), t.size(dim), 1);
}

// The widths of the strips under y, in a shape that goes with its.
Tensor strip_widths(const char* op, const Tensor& y, const Tensor& x, int dim) {
  check(x.dtype() != Dtype::Bool, Kind::Runtime, op,
        ": received a bool input for `x`, but bool is not supported");
  Tensor points = x;
  if (x.dim() == 1) {
    check(x.size(0) == y.size(dim), Kind::Runtime, op,
          ": There must be one `x` value for each sample point, got ", x.size(0), " for ",
          y.size(dim));
    Shape shape = Shape::filled(y.dim(), 1);
    shape[dim] = x.size(0);
    points = reshape(x, shape);
  } else if (x.dim() < y.dim()) {
    Shape shape = Shape::filled(y.dim() - x.dim(), 1);
    for (int64_t s : x.shape()) shape.push_back(s);
    points = reshape(x, shape);
  }
  return all_but_first(points, dim) - all_but_last(points, dim);
}

int check_samples(const char* op, const Tensor& y, int64_t dim) {
  check(y.dtype() != Dtype::Bool, Kind::Runtime, op,
        ": received a bool input for `y`, but bool is not supported");
  return wrap_dim(op, dim, y.dim());
}
void check_real(const char* op, const Scalar& dx) {
  check(!dx.is_complex() && !dx.is_bool(), Kind::Runtime, op,
        ": Currently, we only support dx as a real number.");
}

Tensor trapezoid_at(const Tensor& y, const Tensor& x, int64_t dim) {
  int d = check_samples("trapezoid", y, dim);
  if (y.dim() && y.size(d) == 0) return sum(zeros_like(y), Dims(d));
  Tensor widths = strip_widths("trapezoid", y, x, d);
  return sum(widths * (all_but_last(y, d) + all_but_first(y, d)), Dims(d)) / Scalar(2.0);
}
Tensor trapezoid_by(const Tensor& y, const Scalar& dx, int64_t dim) {
  int d = check_samples("trapezoid", y, dim);
  check_real("trapezoid", dx);
  if (y.dim() && y.size(d) == 0) return sum(zeros_like(y), Dims(d));
  return (sum(y, Dims(d)) - (select(y, d, 0) + select(y, d, -1)) * Scalar(0.5)) *
         Scalar(dx.to<double>());
}
Tensor cumulative_trapezoid_at(const Tensor& y, const Tensor& x, int64_t dim) {
  int d = check_samples("cumulative_trapezoid", y, dim);
  Tensor widths = strip_widths("cumulative_trapezoid", y, x, d);
  return cumsum(widths * (all_but_last(y, d) + all_but_first(y, d)), d) / Scalar(2.0);
}
Tensor cumulative_trapezoid_by(const Tensor& y, const Scalar& dx, int64_t dim) {
  int d = check_samples("cumulative_trapezoid", y, dim);
  check_real("cumulative_trapezoid", dx);
  return cumsum(all_but_last(y, d) + all_but_first(y, d), d) * Scalar(dx.to<double>() / 2);
}

}  // namespace

EMBER_OP("trapezoid(Tensor y, Tensor x, *, int dim=-1) -> Tensor", &trapezoid_at, Function | Along,
         "Area under the samples `y` at `x` by the trapezoidal rule.");
EMBER_OP("trapezoid(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", &trapezoid_by,
         Function | Along, "Area under samples `dx` apart by the trapezoidal rule.");
EMBER_OP("trapz(Tensor y, Tensor x, *, int dim=-1) -> Tensor", &trapezoid_at, Function | Along,
         "The same as trapezoid.");
EMBER_OP("trapz(Tensor y, *, float dx=1, int dim=-1) -> Tensor",
         ([](const Tensor& y, double dx, int64_t dim) { return trapezoid_by(y, dx, dim); }),
         Function | Along, "The same as trapezoid.");
EMBER_OP("cumulative_trapezoid(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
         &cumulative_trapezoid_at, Function | Along,
         "Areas under the samples `y` at `x` up to each by the trapezoidal rule.");
EMBER_OP("cumulative_trapezoid(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
         &cumulative_trapezoid_by, Function | Along,
         "Areas under samples `dx` apart up to each by the trapezoidal rule.");

}  // namespace ember
