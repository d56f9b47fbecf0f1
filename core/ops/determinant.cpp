// Determinants and their logarithms, by LU factors.
#include <limits>

#include "ops/devices.h"
#include "ops/linalg.h"

namespace ember {

namespace {

// 1 or -1: the sign of the permutation that pivots make, in the real dtype of `a`.
Tensor pivot_sign(const Tensor& pivots, const Tensor& a) {
  NoGrad guard;
  Tensor places = arange(int64_t(1), pivots.size(-1) + 1, int64_t(1), Dtype::Int32, a.device());
  Tensor swaps = to(sum(to(pivots != places, Dtype::Int64), Dims(-1)), real_of(a.dtype()));
  return Scalar(1.0) - remainder(swaps, Scalar(2.0)) * Scalar(2.0);
}

Tensor diagonal_of(const Tensor& a) { return diagonal(a, 0, -2, -1); }
Tensor as_matrices(const Tensor& t) { return unsqueeze(unsqueeze(t, -1), -1); }

double epsilon(Dtype d) {
  return real_of(d) == Dtype::Float64 ? std::numeric_limits<double>::epsilon()
                                      : double(std::numeric_limits<float>::epsilon());
}

// For each s_i the product of all others.
Tensor products_of_others(const Tensor& s) {
  int64_t n = s.size(-1);
  Tensor one = ones(with_sizes(batch_of(s, 1), {1}), s.dtype(), s.device());
  Tensor before = cumprod(cat({one, narrow(s, -1, 0, n - 1)}, -1), -1);
  Tensor after = flip(cumprod(cat({one, flip(narrow(s, -1, 1, n - 1), {-1})}, -1), -1), {-1});
  return before * after;
}

// g times the adjoint of the adjugate, which is the gradient of det(a) also where a has no inverse:
// https://nhigham.com/2020/06/16/what-is-the-adjugate-of-a-matrix/
Tensor singular_rule(const Tensor& g, const Tensor& a) {
  Svd d = svd(a, false);
  Tensor scale = conj(det(d.u) * det(d.vh)) * g;
  return matmul(d.u * unsqueeze(products_of_others(d.s) * unsqueeze(scale, -1), -2), d.vh);
}

// With a history: a and det(a) may be differentiated again.
Tensor det_rule_again(const Tensor& g, const Tensor& a, const Tensor& y) {
  auto regular = [](const Tensor& scale, const Tensor& m) {
    return solve(adjoint_of(m), as_matrices(scale) * identity(m.size(-1), m));
  };
  Tensor singular = abs(detach(y)) < Scalar(100 * epsilon(a.dtype()));
  // A look at the data: singular values are too dear to compute where no matrix needs them.
  if (!has_values(a) || !item(any(singular)).to<bool>()) return regular(g * conj(y), a);
  int64_t n = a.size(-1);
  Tensor mask = reshape(singular, {-1}), other = logical_not(mask);
  Tensor all = reshape(a, {-1, n, n}), gs = reshape(expand(g, y.shape()), {-1});
  Tensor dx = zeros_like(detach(all));
  dx = index_put(dx, {mask}, singular_rule(index(gs, {mask}), index(all, {mask})));
  if (item(any(other)).to<bool>()) {
    Tensor scale = index(gs * conj(reshape(y, {-1})), {other});
    dx = index_put(dx, {other}, regular(scale, index(all, {other})));
  }
  return reshape(dx, a.shape());
}

// A pivot of 0 is taken as very small, both in the determinant and in the inverse: their product
// stays what it should be.
Tensor det_rule(const Tensor& g, const LuFactors& f, const Tensor& a) {
  Tensor pivots = diagonal_of(f.lu);
  Tensor zero = pivots == Scalar(0);
  Tensor nudge = to(zero, a.dtype()) * Scalar(epsilon(a.dtype()));
  Tensor y = prod(pivots + nudge, Dims(-1)) * pivot_sign(f.pivots, a);
  Tensor rhs = as_matrices(g * conj(y)) * identity(a.size(-1), a);
  return solve_by_lu("linalg.det", f.lu + diag_embed(nudge), f.pivots, rhs, true, Apply::Adjoint);
}

}  // namespace

Tensor det(const Tensor& a) {
  check_linalg_dtype("linalg.det", a);
  check_square("linalg.det", a);
  LuFactors f = lu_factors("linalg.det", a);
  Tensor y;
  {
    NoGrad guard;
    y = prod(diagonal_of(f.lu), Dims(-1)) * pivot_sign(f.pivots, a);
  }
  if (!grad_needed(a)) return y;
  return tape(y, "linalg_det",
              wrt(a, [a = Saved(a), y = Saved::output(y), lu = Saved(f.lu),
                      pivots = Saved(f.pivots)](const Tensor& g) {
                Tensor x = a.get();
                if (grad_enabled()) return det_rule_again(g, x, y.get());
                return det_rule(g, {lu.get(), pivots.get(), Tensor()}, x);
              }));
}
EMBER_OP("linalg.det(Tensor A) -> Tensor", &det, Function | Out | Leading,
         "The determinants of square matrices.");
EMBER_OP("det(Tensor self) -> Tensor", &det, kForms | Leading,
         "The determinants of square matrices.");

namespace {

// a^-H times one number for each matrix.
Tensor scaled_inverse(const Tensor& scale, const Tensor& a, const Tensor& lu,
                      const Tensor& pivots) {
  Tensor rhs = as_matrices(scale) * identity(a.size(-1), a);
  if (grad_enabled()) return solve(adjoint_of(a), rhs);
  return solve_by_lu("linalg.slogdet", lu, pivots, rhs, true, Apply::Adjoint);
}

std::tuple<Tensor, Tensor> slogdet(const Tensor& a) {
  check_linalg_dtype("linalg.slogdet", a);
  check_square("linalg.slogdet", a);
  LuFactors f = lu_factors("linalg.slogdet", a);
  Tensor sign, size;
  {
    NoGrad guard;
    Tensor pivots = diagonal_of(f.lu);
    sign = prod(sgn(pivots), Dims(-1)) * pivot_sign(f.pivots, a);
    size = sum(log(abs(pivots)), Dims(-1));
  }
  if (!grad_needed(a)) return {sign, size};
  Few<Tensor, 3> outs(2);
  outs[0] = sign, outs[1] = size;
  tape_many(outs, "linalg_slogdet",
            wrt(a, [a = Saved(a), sign = Saved::output(sign), lu = Saved(f.lu),
                    pivots = Saved(f.pivots)](const Grads& g) {
              Tensor x = a.get(), scale = g[1];
              if (is_complex(x.dtype()) && g[0]) {
                // The sign turns with the imaginary part of the logarithm.
                Tensor turn = imag(conj(g[0]) * sign.get());
                scale = complex(g[1] ? g[1] : zeros_like(turn), neg(turn));
              }
              if (!scale) return zeros_like(x);
              return scaled_inverse(scale, x, lu.get(), pivots.get());
            }));
  return {sign, size};
}

}  // namespace

EMBER_OP("linalg.slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", &slogdet,
         Function | Out | Leading,
         "The sign of determinants, and the logarithm of their absolute value.");
EMBER_OP("slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", &slogdet,
         kForms | Out | Leading,
         "The sign of determinants, and the logarithm of their absolute value.");
EMBER_OP("logdet(Tensor self) -> Tensor", ([](const Tensor& self) {
           auto [sign, size] = slogdet(self);
           if (is_complex(self.dtype())) return log(sign) + size;
           Scalar nan(std::numeric_limits<double>::quiet_NaN());
           return where(sign == Scalar(-1.0), nan, size);
         }),
         kForms | Leading, "The logarithm of determinants; NaN where they are negative.");

}  // namespace ember
