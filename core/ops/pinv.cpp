// Pseudo-inverses and ranks: singular values above a tolerance count.
#include <limits>

#include "ops/linalg.h"

namespace ember {

Tensor pinv_rule(const Tensor& g, const Tensor& p, const Tensor& a) {
  // dP = -P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P (Golub and Pereyra, 1973)
  Tensor ph = adjoint_of(p), gh = adjoint_of(g);
  if (a.size(-2) <= a.size(-1)) {
    Tensor k = matmul(gh, p), kph = matmul(k, ph);
    return neg(adjoint_of(matmul(p, k))) + kph - matmul(matmul(a, p), kph) +
           matmul(matmul(ph, p), gh - matmul(k, a));
  }
  Tensor k = matmul(p, gh), phk = matmul(ph, k);
  return neg(adjoint_of(matmul(k, p))) + matmul(gh - matmul(a, k), matmul(p, ph)) + phk -
         matmul(matmul(phk, p), a);
}

namespace {

// What counts as 0: below atol, or rtol times the largest singular value. Either may be a number
// or one for each matrix; without both, rtol is what rounding makes of the size.
struct Tolerance {
  Tensor atol, rtol;

  Tensor bound(const Tensor& largest) const { return maximum(atol, rtol * largest); }
};

double default_rtol(const Tensor& a) {
  double eps = real_of(a.dtype()) == Dtype::Float64 ? std::numeric_limits<double>::epsilon()
                                                    : double(std::numeric_limits<float>::epsilon());
  return eps * double(std::max(a.size(-2), a.size(-1)));
}

Tensor number(double value, const Tensor& a) {
  return scalar_tensor(value, real_of(a.dtype()), a.device());
}

Tolerance tolerance(const char* op, const Tensor& a, const std::optional<double>& atol,
                    const std::optional<double>& rtol) {
  check_matrix(op, a);
  double relative = rtol ? *rtol : atol && *atol > 0 ? 0.0 : default_rtol(a);
  return {number(atol.value_or(0.0), a), number(relative, a)};
}

Tolerance tolerance(const char* op, const Tensor& a, const Tensor& atol, const Tensor& rtol) {
  check_matrix(op, a);
  NoGrad guard;
  auto real_number = [&](const Tensor& t, const char* name) {
    check(!is_complex(t.dtype()), Kind::Runtime, op, ": ", name,
          " tensor of complex type is not supported. Got ", t.dtype());
    return unsqueeze(to(t, real_of(a.dtype())), -1);
  };
  Tolerance t{atol ? real_number(atol, "atol") : number(0.0, a),
              rtol ? real_number(rtol, "rtol") : number(default_rtol(a), a)};
  if (!rtol && atol) t.rtol = where(t.atol > Scalar(0.0), Scalar(0.0), t.rtol);
  return t;
}

// 1 / s where s is above the bound, else 0.
Tensor inverse_values(const Tensor& s, const Tensor& sizes, const Tolerance& t) {
  Tensor keep = sizes > t.bound(amax(sizes, Dims(-1), true));
  return where(keep, reciprocal(s), Scalar(0.0));
}

Tensor pinv_value(const Tensor& a, const Tolerance& t, bool hermitian) {
  NoGrad guard;
  const char* op = "linalg.pinv";
  if (a.numel() == 0) {
    check_linalg_dtype(op, a);
    return zeros(with_sizes(batch_of(a), {a.size(-1), a.size(-2)}), a.dtype(), a.device());
  }
  if (hermitian) {
    auto [values, vectors] = eigh(a);
    Tensor inverse = inverse_values(values, abs(values), t);
    return matmul(vectors * unsqueeze(inverse, -2), adjoint_of(vectors));
  }
  Svd d = svd(a, false, op);
  return matmul(adjoint_of(d.vh) * unsqueeze(inverse_values(d.s, d.s, t), -2), adjoint_of(d.u));
}

Tensor pinv(const Tensor& a, const Tolerance& t, bool hermitian) {
  Tensor p = pinv_value(a, t, hermitian);
  if (!grad_needed(a)) return p;
  return tape(p, "linalg_pinv", wrt(a, [a = Saved(a), p = Saved::output(p)](const Tensor& g) {
                return pinv_rule(g, p.get(), a.get());
              }));
}

Tensor rank(const Tensor& a, const Tolerance& t, bool hermitian) {
  NoGrad guard;
  const char* op = "linalg.matrix_rank";
  if (hermitian) check_square(op, a);
  if (a.numel() == 0) return zeros(batch_of(a), Dtype::Int64, a.device());
  Tensor x = detach(a), s = hermitian ? abs(eigvalsh(x, "L", op)) : svdvals(x, op);
  return sum(s > t.bound(amax(s, Dims(-1), true)), Dims(-1));
}

using Real = std::optional<double>;

}  // namespace

Tensor pinv(const Tensor& a) { return pinv(a, tolerance("linalg.pinv", a, Real(), Real()), false); }

// A tensor of no dimensions would pass for a number, so that tensors come first.
EMBER_OP(
    "linalg.pinv(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> "
    "Tensor",
    ([](const Tensor& a, const Tensor& atol, const Tensor& rtol, bool hermitian) {
      return pinv(a, tolerance("linalg.pinv", a, atol, rtol), hermitian);
    }),
    Function | Out | SafeOut | Leading, "The pseudo-inverses of matrices.");
EMBER_OP(
    "linalg.pinv(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> "
    "Tensor",
    ([](const Tensor& a, Real atol, Real rtol, bool hermitian) {
      return pinv(a, tolerance("linalg.pinv", a, atol, rtol), hermitian);
    }),
    Function | Out | SafeOut | Leading, "The same, with one tolerance for all.");
EMBER_OP("linalg.pinv(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor",
         ([](const Tensor& a, const Tensor& rcond, bool hermitian) {
           return pinv(a, tolerance("linalg.pinv", a, Tensor(), rcond), hermitian);
         }),
         Function | Out | SafeOut | Leading,
         "The same, with the relative tolerance under its old name.");
EMBER_OP("linalg.pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor",
         ([](const Tensor& a, double rcond, bool hermitian) {
           return pinv(a, tolerance("linalg.pinv", a, 0.0, rcond), hermitian);
         }),
         Function | Out | SafeOut | Leading,
         "The same, with the relative tolerance under its old name.");
EMBER_OP("pinverse(Tensor self, float rcond=1e-15) -> Tensor", ([](const Tensor& a, double rcond) {
           return pinv(a, tolerance("pinverse", a, 0.0, rcond), false);
         }),
         kForms | Leading | Float32, "The pseudo-inverses of matrices.");

EMBER_OP("linalg.matrix_rank(Tensor self, Tensor tol, bool hermitian=False) -> Tensor",
         ([](const Tensor& a, const Tensor& tol, bool hermitian) {
           Tensor none = scalar_tensor(0.0, Dtype::Float64, a.device());
           return rank(a, tolerance("linalg.matrix_rank", a, tol, none), hermitian);
         }),
         Function | Out | SafeOut | Leading | Float32,
         "How many singular values are larger than `tol`.");
EMBER_OP("linalg.matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
         ([](const Tensor& a, double tol, bool hermitian) {
           return rank(a, tolerance("linalg.matrix_rank", a, tol, 0.0), hermitian);
         }),
         Function | Out | SafeOut | Leading | Float32, "The same, with one bound for all.");
EMBER_OP(
    "linalg.matrix_rank(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool "
    "hermitian=False) -> Tensor",
    ([](const Tensor& a, const Tensor& atol, const Tensor& rtol, bool hermitian) {
      return rank(a, tolerance("linalg.matrix_rank", a, atol, rtol), hermitian);
    }),
    Function | Out | SafeOut | Leading | Float32,
    "How many singular values are larger than max(atol, rtol * largest).");
EMBER_OP(
    "linalg.matrix_rank(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) "
    "-> Tensor",
    ([](const Tensor& a, Real atol, Real rtol, bool hermitian) {
      return rank(a, tolerance("linalg.matrix_rank", a, atol, rtol), hermitian);
    }),
    Function | Out | SafeOut | Leading | Float32, "The same, with one tolerance for all.");

}  // namespace ember
