// Least squares by LAPACK's drivers, and systems solved by LDL factors.
#include <limits>

#include "ops/devices.h"
#include "ops/linalg.h"

namespace ember {

namespace {

std::string not_full_rank(int64_t code) {
  return "The least squares solution could not be computed because the input matrix does not have "
         "full rank (error code: " +
         std::to_string(code) + ").";
}

LeastSquares driver_named(const std::optional<std::string>& name) {
  if (!name || *name == "gelsy") return LeastSquares::Gelsy;
  if (*name == "gels") return LeastSquares::Gels;
  if (*name == "gelsd") return LeastSquares::Gelsd;
  check(*name == "gelss", Kind::Runtime,
        "linalg.lstsq: parameter `driver` should be one of (gels, "
        "gelsy, gelsd, gelss), got ",
        *name);
  return LeastSquares::Gelss;
}

struct Fit {
  Tensor solution, residuals, rank, values;
};

Fit fit_value(const Tensor& a, const Tensor& b, double rcond, LeastSquares driver) {
  NoGrad guard;
  const char* op = "linalg.lstsq";
  Shape batch = common_batch(op, a, b);
  int64_t m = a.size(-2), n = a.size(-1), columns = b.size(-1), k = std::min(m, n);
  Dtype real_dtype = real_of(a.dtype());
  bool ranked = driver != LeastSquares::Gels,
       valued = driver == LeastSquares::Gelsd || driver == LeastSquares::Gelss;
  Tensor x = empty_by_columns(with_sizes(batch, {std::max(m, n), columns}), a.dtype(), a.device());
  fill_(x, Scalar(0));
  copy_(narrow(x, -2, 0, m), b);
  Tensor rank = zeros(ranked ? batch : Shape{0}, Dtype::Int32, a.device());
  Tensor values = zeros(valued ? with_sizes(batch, {k}) : Shape{0}, real_dtype, a.device());
  if (Backend* kernels = columns ? kernels_for(op, a, {b}) : nullptr) {
    Tensor matrices = by_columns(spread_over(a, batch)), info = info_for(matrices);
    check_finite(op, a);
    check_finite(op, b);
    if (matrices.numel())
      kernels->least_squares(driver, matrices, x, rcond, ranked ? rank : Tensor(),
                             valued ? values : Tensor(), info);
    check_info(op, info, not_full_rank);
  }
  Tensor residuals = empty({0}, real_dtype, a.device());
  bool full = m > n && driver != LeastSquares::Gelsy;
  if (full && valued && has_values(rank)) full = item(all(rank == Scalar(n))).to<bool>();
  if (full) {
    Tensor rest = abs(narrow(x, -2, n, m - n));
    residuals = sum(rest * rest, Dims(-2));
  }
  return {clone(narrow(x, -2, 0, n)), residuals, to(rank, Dtype::Int64), values};
}

Fit fit(const Tensor& a, const Tensor& b, double rcond, LeastSquares driver) {
  Fit f = fit_value(a, b, rcond, driver);
  if (!grad_needed(a, b)) return f;
  Few<Tensor, 3> outs(2);
  outs[0] = f.solution, outs[1] = f.residuals;
  tape_list_many(outs, "linalg_lstsq", {a, b},
                 [a = Saved(a), b = Saved(b)](const Grads& g, const std::vector<bool>& needed) {
                   Tensor m = a.get(), rhs = b.get(), p = pinv(m), ga, gb;
                   auto add_to = [](Tensor& sum, const Tensor& t) { sum = sum ? sum + t : t; };
                   if (g[0]) {
                     if (needed[0]) ga = pinv_rule(matmul(g[0], adjoint_of(rhs)), p, m);
                     if (needed[1]) gb = matmul(adjoint_of(p), g[0]);
                   }
                   if (g[1] && g[1].numel()) {  // the solution is where its own share vanishes
                     Tensor x = matmul(p, rhs);
                     Tensor miss = (matmul(m, x) - rhs) * (unsqueeze(g[1], -2) * Scalar(2.0));
                     if (needed[0]) add_to(ga, matmul(miss, adjoint_of(x)));
                     if (needed[1]) add_to(gb, neg(miss));
                   }
                   return std::vector<Tensor>{ga, gb};
                 });
  return f;
}

std::tuple<Tensor, Tensor, Tensor, Tensor> lstsq(const Tensor& a, const Tensor& b,
                                                 std::optional<double> rcond,
                                                 const std::optional<std::string>& driver) {
  const char* op = "linalg.lstsq";
  check(a.dim() >= 2, Kind::Runtime, op, ": input must have at least 2 dimensions.");
  check(b.dim() >= 1, Kind::Runtime, op, ": other must have at least 1 dimension.");
  check_linalg_dtype(op, a, "input");
  check(a.dtype() == b.dtype(), Kind::Runtime, op,
        ": Expected input and other to have the same dtype, but got ", a.dtype(), ", got ",
        b.dtype());
  check(a.dim() - b.dim() == 0 || a.dim() - b.dim() == 1, Kind::Runtime, op,
        ": input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= "
        "1, got ",
        a.dim(), " and ", b.dim());
  bool vector = b.dim() == 1 || (a.dim() - 1 == b.dim() && b.shape() == batch_of(a, 1));
  Tensor rhs = vector ? unsqueeze(b, -1) : b;
  check(a.size(-2) == rhs.size(-2), Kind::Runtime, op, ": input.size(-2) should match other.size(",
        vector ? -1 : -2, "), got ", a.size(-2), " and ", rhs.size(-2));
  double eps = real_of(a.dtype()) == Dtype::Float64 ? std::numeric_limits<double>::epsilon()
                                                    : double(std::numeric_limits<float>::epsilon());
  double relative = rcond.value_or(eps * double(std::max(a.size(-2), a.size(-1))));
  Fit f = fit(a, rhs, relative, driver_named(driver));
  if (vector) {
    f.solution = squeeze(f.solution, Dims(-1));
    if (f.residuals.numel()) f.residuals = squeeze(f.residuals, Dims(-1));
  }
  return {f.solution, f.residuals, f.rank, f.values};
}

}  // namespace

EMBER_OP(
    "linalg.lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor "
    "solution, Tensor residuals, Tensor rank, Tensor singular_values)",
    &lstsq, Function | Out | Leading | Float32,
    "The X of least norm that makes the norm of A @ X - B smallest.");

// --- LDL ---------------------------------------------------------------------------------------

namespace {

struct LdlFactors {
  Tensor ld, pivots, info;
};

std::string no_diagonal(int64_t i) {
  std::string at = std::to_string(i);
  return "D[" + at + "," + at +
         "] is zero, the factorization has been completed, but using it to solve a system would "
         "result in a division by zero.";
}

LdlFactors ldl_factor(const char* op, const Tensor& a, bool hermitian, bool check_errors) {
  check_square(op, a);
  check_linalg_dtype(op, a);
  LdlFactors f{by_columns(a), zeros(batch_of(a, 1), Dtype::Int32, a.device()), info_for(a)};
  if (Backend* kernels = kernels_for(op, a)) kernels->ldl(f.ld, f.pivots, f.info, hermitian);
  NoGrad guard;
  f.ld = by_columns(tril(f.ld));
  if (check_errors) check_info(op, f.info, no_diagonal);
  return f;
}

Tensor ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian) {
  const char* op = "linalg.ldl_solve";
  check_same_device(op, ld, {&pivots, &b});
  check_square(op, ld, "LD");
  check_linalg_dtype(op, ld, "LD");
  check_matrix(op, b, "B");
  check(ld.size(-1) == b.size(-2), Kind::Runtime, op,
        ": Incompatible matrix sizes for ldl_solve: each A matrix is ", ld.size(-1), " by ",
        ld.size(-1), " but each b matrix is ", b.size(-2), " by ", b.size(-1));
  check(pivots.dim() >= 1 && pivots.shape() == batch_of(ld, 1), Kind::Runtime, op,
        ": Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape ",
        pivots.shape(), " instead");
  check(pivots.dtype() == Dtype::Int32, Kind::Runtime, op, ": Expected pivots to be int32. Got ",
        pivots.dtype());
  check_same_dtype(op, ld, b);
  NoGrad guard;
  Shape batch = common_batch(op, ld, b);
  Tensor x = by_columns(spread_over(b, batch));
  if (Backend* kernels = kernels_for(op, x, {ld, pivots})) {
    Tensor rows = contiguous(expand(pivots, with_sizes(batch, {ld.size(-1)})));
    kernels->ldl_solve(by_columns(spread_over(ld, batch)), rows, x, hermitian);
  }
  return x;
}

}  // namespace

EMBER_OP(
    "linalg.ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> "
    "(Tensor LD, Tensor pivots, Tensor info)",
    ([](const Tensor& a, bool hermitian, bool check_errors) {
      LdlFactors f = ldl_factor("linalg.ldl_factor_ex", a, hermitian, check_errors);
      return std::tuple(f.ld, f.pivots, f.info);
    }),
    Function | Out | Leading,
    "Packed LDL factors of symmetric matrices, their pivots, and the info.");
EMBER_OP("linalg.ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
         ([](const Tensor& a, bool hermitian) {
           LdlFactors f = ldl_factor("linalg.ldl_factor", a, hermitian, true);
           return std::tuple(f.ld, f.pivots);
         }),
         Function | Out | Leading,
         "Packed LDL factors of symmetric or Hermitian matrices, and their pivots.");
EMBER_OP("linalg.ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
         &ldl_solve, Function | Out | Leading,
         "The X with A @ X = B, from the packed LDL factors of A.");

}  // namespace ember
