// Norms of matrices, linalg.norm, which takes vectors too, and condition numbers.
#include <cmath>

#include "ops/linalg.h"

namespace ember {

namespace {

using MaybeDtype = std::optional<Dtype>;

struct Axes {
  int row, column;
};

Axes axes_of(const char* op, const Tensor& self, const Shape& dim) {
  check_matrix(op, self);
  check(dim.size() == 2, Kind::Runtime, op, ": matrix_norm: dim must be a 2-tuple. Got ", dim);
  Axes a{wrap_dim(op, dim[0], self.dim()), wrap_dim(op, dim[1], self.dim())};
  check(a.row != a.column, Kind::Runtime, op, ": dims must be different. Got (", dim[0], ", ",
        dim[1], ")");
  return a;
}

Tensor converted(const char* op, const Tensor& self, MaybeDtype dtype) {
  check(is_differentiable(self.dtype()), Kind::Runtime, op,
        ": Expected a floating point or complex tensor as input. Got ", self.dtype());
  check(!dtype || is_differentiable(*dtype), Kind::Runtime, op,
        ": dtype should be floating point or complex, but got ", *dtype);
  check(!dtype || is_complex(*dtype) == is_complex(self.dtype()), Kind::Runtime, op,
        ": dtype should be ", is_complex(self.dtype()) ? "complex" : "real",
        " for such inputs, but got ", *dtype);
  return dtype ? to(self, *dtype) : self;
}

// The singular values of the matrices along two dimensions, and the result without or with these.
Tensor values_along(const char* op, const Tensor& x, const Axes& at) {
  return svdvals(movedim(x, {at.row, at.column}, {-2, -1}), op);
}
Tensor with_axes(const Tensor& t, const Axes& at, bool keepdim) {
  if (!keepdim) return t;
  int first = std::min(at.row, at.column), second = std::max(at.row, at.column);
  return unsqueeze(unsqueeze(t, first), second);
}

Tensor matrix_norm(const char* op, const Tensor& self, double order, const Shape& dim, bool keepdim,
                   MaybeDtype dtype) {
  Axes at = axes_of(op, self, dim);
  double size = std::abs(order);
  check(size == 1 || size == 2 || std::isinf(size), Kind::Runtime, "linalg.matrix_norm: Order ",
        order, " not supported.");
  Tensor x = converted(op, self, dtype);
  auto extreme = [&](const Tensor& t, int64_t d, bool keep) {
    if (order > 0 && t.size(d) == 0) return sum(t, Dims(d), keep);  // the norm of nothing is 0
    return order > 0 ? amax(t, Dims(d), keep) : amin(t, Dims(d), keep);
  };
  if (size == 2) return with_axes(extreme(values_along(op, x, at), -1, false), at, keepdim);
  int along = size == 1 ? at.row : at.column, across = size == 1 ? at.column : at.row;
  Tensor sums = norm_over(op, x, 1, Dims(along), keepdim, std::nullopt);
  if (!keepdim && across > along) across--;
  return extreme(sums, across, keepdim);
}

Tensor matrix_norm(const char* op, const Tensor& self, const std::string& order, const Shape& dim,
                   bool keepdim, MaybeDtype dtype) {
  Axes at = axes_of(op, self, dim);
  if (order == "fro")
    return norm_over(op, converted(op, self, dtype), 2, Dims(Shape{at.row, at.column}), keepdim,
                     std::nullopt);
  check(order == "nuc", Kind::Runtime, op, ": matrix_norm: Order ", order, " not supported.");
  Tensor s = values_along(op, converted(op, self, dtype), at);
  return with_axes(sum(s, Dims(-1)), at, keepdim);
}

Shape size_of(const Dims& dim) { return dim.given ? dim.values : Shape{-2, -1}; }

}  // namespace

Tensor nuclear_norm(const char* op, const Tensor& self, const Dims& dim, bool keepdim,
                    MaybeDtype dtype) {
  return matrix_norm(op, self, "nuc", size_of(dim), keepdim, dtype);
}

EMBER_OP(
    "linalg.matrix_norm(Tensor self, Scalar ord, Dims dim=[-2,-1], bool keepdim=False, *, Dtype? "
    "dtype=None) -> Tensor",
    ([](const Tensor& self, const Scalar& order, const Dims& dim, bool keepdim, MaybeDtype dtype) {
      check_real_order("linalg.matrix_norm", order);
      return matrix_norm("linalg.matrix_norm", self, order.to<double>(), size_of(dim), keepdim,
                         dtype);
    }),
    Function | Out | Along, "Norms of matrices: order 1, -1, 2, -2, inf or -inf.");
EMBER_OP(
    "linalg.matrix_norm(Tensor self, str ord='fro', Dims dim=[-2,-1], bool keepdim=False, *, "
    "Dtype? dtype=None) -> Tensor",
    ([](const Tensor& self, const std::string& order, const Dims& dim, bool keepdim,
        MaybeDtype dtype) {
      return matrix_norm("linalg.matrix_norm", self, order, size_of(dim), keepdim, dtype);
    }),
    Function | Out | Along, "Frobenius ('fro') or nuclear ('nuc') norms of matrices.");

EMBER_OP(
    "linalg.norm(Tensor self, Scalar? ord=None, Dims dim=None, bool keepdim=False, *, Dtype? "
    "dtype=None) -> Tensor",
    ([](const Tensor& self, const std::optional<Scalar>& order, const Dims& dim, bool keepdim,
        MaybeDtype dtype) {
      const char* op = "linalg.norm";
      if (order) check_real_order(op, *order);
      if (dim.given)
        check(dim.values.size() == 1 || dim.values.size() == 2, Kind::Runtime, op,
              ": If dim is specified, it must be of length 1 or 2. Got ", dim.values);
      else if (order)
        check(self.dim() == 1 || self.dim() == 2, Kind::Runtime, op,
              ": If dim is not specified but ord is, the input must be 1D or 2D. Got ", self.dim(),
              "D.");
      bool matrix = order && (dim.given ? dim.values.size() == 2 : self.dim() == 2);
      if (matrix) return matrix_norm(op, self, order->to<double>(), size_of(dim), keepdim, dtype);
      return norm_over(op, self, order ? order->to<double>() : 2.0, dim, keepdim, dtype);
    }),
    Function | Out | Along, "Norms of vectors or of matrices, over `dim`.");
EMBER_OP(
    "linalg.norm(Tensor self, str ord, Dims dim=None, bool keepdim=False, *, Dtype? dtype=None) -> "
    "Tensor",
    ([](const Tensor& self, const std::string& order, const Dims& dim, bool keepdim,
        MaybeDtype dtype) {
      check(dim.given || self.dim() != 1, Kind::Runtime,
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions, got 1.");
      check(dim.given || self.dim() == 2, Kind::Runtime,
            "linalg.norm: If dim is not specified but ord is, the input must be 2D. Got ",
            self.dim(), "D.");
      return matrix_norm("linalg.norm", self, order, size_of(dim), keepdim, dtype);
    }),
    Function | Out | Along, "Frobenius ('fro') or nuclear ('nuc') norms of matrices.");

// --- condition numbers -------------------------------------------------------------------------

namespace {

// The norm of a matrix times that of its inverse, which is infinite where there is none.
template <class Norm>
Tensor cond_by_inverse(const Tensor& self, Norm&& norm) {
  check_square("linalg.cond", self);
  auto [inverse, info] = inv_ex(self);
  const Tensor singular = info > Scalar(0);
  // Whatever stands for the inverse there need not be finite.
  Tensor outer_norm = norm(masked_fill(inverse, unsqueeze(unsqueeze(singular, -1), -1), Scalar(0)));
  return masked_fill(norm(self) * outer_norm, singular, Scalar(INFINITY));
}

Tensor cond_by_values(const Tensor& self, bool inverted) {
  Tensor s = svdvals(self, "linalg.cond");
  Tensor most = select(s, -1, 0), least = select(s, -1, -1);
  return inverted ? least / most : most / least;
}

Tensor cond_of_nothing(const Tensor& self) {
  return zeros(batch_of(self), real_of(self.dtype()), self.device());
}

}  // namespace

EMBER_OP("linalg.cond(Tensor self, Scalar? p=None) -> Tensor",
         ([](const Tensor& self, const std::optional<Scalar>& p) {
           const char* op = "linalg.cond";
           check_matrix(op, self);
           check_linalg_dtype(op, self);
           double order = p ? p->to<double>() : 2.0, size = std::abs(order);
           check(size == 1 || size == 2 || std::isinf(size), Kind::Runtime, op,
                 " got an invalid norm type: ", order);
           if (self.numel() == 0) return cond_of_nothing(self);
           if (size == 2) return cond_by_values(self, order < 0);
           return cond_by_inverse(self, [&](const Tensor& m) {
             return matrix_norm(op, m, order, {-2, -1}, false, std::nullopt);
           });
         }),
         Function | Out | SafeOut | Leading | Float32,
         "Condition numbers of matrices, with the norm of order `p`.");
EMBER_OP("linalg.cond(Tensor self, str p) -> Tensor",
         ([](const Tensor& self, const std::string& p) {
           const char* op = "linalg.cond";
           check(p == "fro" || p == "nuc", Kind::Runtime, op, " got an invalid norm type: ", p);
           check_square(op, self);
           check_linalg_dtype(op, self);
           if (self.numel() == 0) return cond_of_nothing(self);
           return cond_by_inverse(self, [&](const Tensor& m) {
             return matrix_norm(op, m, p, {-2, -1}, false, std::nullopt);
           });
         }),
         Function | Out | SafeOut | Leading | Float32,
         "Condition numbers of matrices, with the Frobenius or nuclear norm.");

}  // namespace ember
