// Cholesky factors and triangular systems.
#include "ops/linalg.h"

namespace ember {

namespace {

// The lower triangle with half the diagonal.
Tensor half_lower(const Tensor& x) { return (tril(x) + tril(x, -1)) * Scalar(0.5); }

struct Factor {
  Tensor lower, info;
};

Factor lower_factor(const char* op, const Tensor& self) {
  check_square(op, self);
  check_linalg_dtype(op, self);
  Tensor lower = clone(detach(self), MemoryFormat::Contiguous);
  Tensor info = zeros(Shape(self.shape().data(), self.dim() - 2), Dtype::Int32, self.device());
  if (self.numel()) backend_of(self).cholesky(lower, info);
  lower = column_major(tril(lower));
  if (grad_needed(self))
    lower =
        tape(lower, "linalg_cholesky_ex", wrt(self, [l = Saved::output(lower)](const Tensor& g) {
               // Murray, "Differentiation of the Cholesky decomposition" (2016)
               Tensor factor = l.get();
               Tensor inner = half_lower(matmul(adjoint_of(factor), g));
               Tensor left = solve_triangular(adjoint_of(factor), inner, true, true, false);
               Tensor dx = solve_triangular(factor, left, false, false, false);
               return (dx + adjoint_of(dx)) * Scalar(0.5);
             }));
  return {lower, info};
}

std::string not_positive(int64_t minor) {
  return "The factorization could not be completed because the input is not positive-definite "
         "(the leading minor of order " +
         std::to_string(minor) + " is not positive-definite).";
}

// Laid out by columns, as the lower factor is.
Tensor upper_of(const Tensor& lower) { return transpose(contiguous(conj(lower)), -2, -1); }

}  // namespace

std::tuple<Tensor, Tensor> cholesky_ex(const Tensor& self, bool upper, bool check_errors) {
  Factor f = lower_factor("linalg.cholesky_ex", self);
  if (check_errors) check_info("linalg.cholesky_ex", f.info, not_positive);
  return {upper ? upper_of(f.lower) : f.lower, f.info};
}
EMBER_OP(
    "linalg.cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, "
    "Tensor info)",
    &cholesky_ex, Function | Out | Leading | Float32,
    "Cholesky factors of matrices, and which of them have none.");

EMBER_OP("linalg.cholesky(Tensor self, *, bool upper=False) -> Tensor",
         ([](const Tensor& self, bool upper) {
           Factor f = lower_factor("linalg.cholesky", self);
           check_info("linalg.cholesky", f.info, not_positive);
           return upper ? upper_of(f.lower) : f.lower;
         }),
         Function | Out | ExactOut | Leading | Float32,
         "The lower triangular L with L @ L.mH equal to the matrix, or its adjoint.");

Tensor solve_triangular(const Tensor& self, const Tensor& b, bool upper, bool left, bool unit) {
  const char* op = "linalg.solve_triangular";
  check_square(op, self);
  check_linalg_dtype(op, self);
  check(b.dim() >= 2, Kind::Runtime, op, ": B must have at least 2 dimensions, got ", b.dim());
  check(self.dtype() == b.dtype(), Kind::Runtime, op,
        ": Expected A and B to have the same dtype, but found ", self.dtype(), " and ", b.dtype());
  int64_t n = self.size(-1);
  check(b.size(left ? -2 : -1) == n, Kind::Runtime, op,
        ": Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B", " (", n,
        "x", n, " and ", b.size(-2), "x", b.size(-1), ")");
  Shape batch = common_batch(op, self, b);
  Tensor a = spread_over(self, batch);
  Tensor x = clone(detach(spread_over(b, batch)), MemoryFormat::Contiguous);
  if (x.numel()) backend_of(x).solve_triangular(contiguous(detach(a)), x, upper, left, unit);
  x = column_major(x);
  if (!grad_needed(self, b)) return x;
  auto grad_b = [upper, left, unit](const Tensor& a, const Tensor& g) {
    return solve_triangular(adjoint_of(a), g, !upper, left, unit);
  };
  return tape(x, "linalg_solve_triangular",
              wrt(a,
                  [a = Saved(a), x = Saved::output(x), grad_b, upper, left, unit](const Tensor& g) {
                    Tensor h = grad_b(a.get(), g);
                    Tensor full =
                        left ? matmul(h, adjoint_of(x.get())) : matmul(adjoint_of(x.get()), h);
                    return neg(upper ? triu(full, unit ? 1 : 0) : tril(full, unit ? -1 : 0));
                  }),
              wrt(b, [a = Saved(a), grad_b](const Tensor& g) { return grad_b(a.get(), g); }));
}
EMBER_OP(
    "linalg.solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool "
    "unitriangular=False) -> Tensor",
    &solve_triangular, Function | Out | Leading,
    "The X with A @ X = B (or X @ A = B), A being triangular.");

// --- under older names -------------------------------------------------------------------------

EMBER_OP("cholesky(Tensor self, bool upper=False) -> Tensor", ([](const Tensor& self, bool upper) {
           Factor f = lower_factor("cholesky", self);
           check_info("cholesky", f.info, not_positive);
           return upper ? upper_of(f.lower) : f.lower;
         }),
         kForms | Out | ExactOut | Leading | Float32,
         "The lower triangular L with L @ L.mH equal to the matrix, or its adjoint.");

namespace {

// The x with (L L^H) x = b, or (U^H U) x = b.
Tensor cholesky_solve(const Tensor& b, const Tensor& factor, bool upper) {
  check_matrix("cholesky_solve", b, "B");
  Tensor other = adjoint_of(factor);
  const Tensor &l = upper ? other : factor, &u = upper ? factor : other;
  return solve_triangular(u, solve_triangular(l, b, false, true, false), true, true, false);
}

std::tuple<Tensor, Tensor> triangular_solve(const Tensor& b, const Tensor& a, bool upper,
                                            bool transpose_a, bool unit) {
  check_matrix("triangular_solve", b, "b");
  check_square("triangular_solve", a);
  Tensor m = transpose_a ? transpose(a, -2, -1) : a;
  Tensor x = solve_triangular(m, b, upper != transpose_a, true, unit);
  Shape batch = common_batch("triangular_solve", a, b);
  Tensor copy =
      transpose(clone(transpose(spread_over(a, batch), -2, -1), MemoryFormat::Contiguous), -2, -1);
  return {x, copy};
}

}  // namespace

namespace {

// The place, counted from 1, of the first zero in each line; 0 if there is none.
Tensor first_zero(const Tensor& lines) {
  if (lines.numel() == 0) return zeros({}, Dtype::Int32, lines.device());
  const Tensor zero = lines == Scalar(0);
  const Tensor at = argmax(to(zero, Dtype::Int32), -1, false) + Scalar(1);
  return to(where(any(zero, Dims(-1)), at, Scalar(0)), Dtype::Int32);
}

}  // namespace

EMBER_OP("cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor", &cholesky_solve,
         kForms | Out | SafeOut | Leading | Float32,
         "The X with A @ X = self, from a Cholesky factor of A.");
EMBER_OP("cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
         ([](const Tensor& factor, bool upper) {
           check_linalg_dtype("cholesky_inverse", factor);
           check_square("cholesky_inverse", factor);
           check_info("cholesky_inverse", first_zero(diagonal(detach(factor), 0, -2, -1)),
                      [](int64_t at) {
                        return "The diagonal element " + std::to_string(at) +
                               " is zero, the inversion could not be completed because the input "
                               "matrix is singular.";
                      });
           return cholesky_solve(identity(factor.size(-1), factor), factor, upper);
         }),
         kForms | Out | SafeOut | Leading | Float32,
         "The inverse of a matrix from its Cholesky factor.");
EMBER_OP(
    "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool "
    "unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
    &triangular_solve, kForms | Out | ExactOut | Leading | Float32,
    "The X with A @ X = self, A being triangular, and a copy of A.");

}  // namespace ember
