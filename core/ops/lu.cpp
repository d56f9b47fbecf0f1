// LU factors, packed (lu_factor) or apart (lu, lu_unpack), and systems solved with them.
#include "ops/devices.h"
#include "ops/linalg.h"

namespace ember {

LuFactors lu_factors(const char* op, const Tensor& a) {
  check_matrix(op, a);
  check_linalg_dtype(op, a);
  LuFactors f{by_columns(a),
              zeros(with_sizes(batch_of(a), {smaller_size(a)}), Dtype::Int32, a.device()),
              info_for(a)};
  if (Backend* kernels = kernels_for(op, a)) kernels->lu(f.lu, f.pivots, f.info);
  return f;
}

Tensor solve_by_lu(const char* op, const Tensor& lu, const Tensor& pivots, const Tensor& b,
                   bool left, Apply apply) {
  NoGrad guard;
  Shape batch = common_batch(op, lu, b);
  Tensor factors = detach(spread_over(lu, batch));
  // x op(a) = b is op(a)^T x^T = b^T; where that asks for conj(a), both sides are conjugated.
  bool conjugate = !left && apply == Apply::Adjoint && is_complex(b.dtype());
  Tensor rhs = detach(spread_over(conjugate ? conj(b) : b, batch));
  if (!left) apply = apply == Apply::Plain ? Apply::Transpose : Apply::Plain;
  Tensor x = by_columns(left ? rhs : transposed(rhs));
  if (Backend* kernels = kernels_for(op, x, {lu, pivots})) {
    Shape columns = empty_by_columns(factors.shape(), Dtype::Bool, Device()).strides();
    if (!(factors.strides() == columns)) factors = by_columns(factors);
    Tensor rows = contiguous(expand(detach(pivots), with_sizes(batch, {pivots.size(-1)})));
    kernels->lu_solve(factors, rows, x, apply);
  }
  if (!left) x = transposed(x);
  return conjugate ? conj(x) : x;
}

Tensor pivot_matrix(const Tensor& pivots, int64_t m, Dtype dtype) {
  NoGrad guard;
  Tensor rows = zeros(with_sizes(batch_of(pivots, 1), {m}), Dtype::Int64, pivots.device());
  if (Backend* kernels = kernels_for("lu_unpack", rows))
    kernels->pivot_order(contiguous(pivots), rows);
  Tensor places = arange(int64_t(0), m, int64_t(1), Dtype::Int64, pivots.device());
  return to(unsqueeze(rows, -2) == unsqueeze(places, -1), dtype);
}

namespace {

struct Triangles {
  Tensor l, u;
};

// L (m, k) and U (k, n) of packed factors, with their history.
Triangles unpacked(const Tensor& lu) {
  int64_t m = lu.size(-2), n = lu.size(-1), k = std::min(m, n);
  Tensor lower = tril(narrow(lu, -1, 0, k), -1);
  Tensor unit = m == k ? identity(k, lu)
                       : cat({identity(k, lu), zeros({m - k, k}, lu.dtype(), lu.device())}, 0);
  return {lower + unit, triu(narrow(lu, -2, 0, k))};
}

// The gradient of a = P L U from that of the packed factors. With m = n it is
// P L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H; what sticks out of a square is solved for apart.
Tensor lu_rule(const Tensor& g, const Tensor& lu, const Tensor& pivots) {
  int64_t m = lu.size(-2), n = lu.size(-1), k = std::min(m, n);
  auto [l, u] = unpacked(lu);
  Tensor l1 = narrow(l, -2, 0, k), u1 = narrow(u, -1, 0, k), square = narrow(g, -2, 0, k);
  Tensor g1 = narrow(square, -1, 0, k);
  Tensor lower = matmul(adjoint_of(l1), tril(g1, -1)), upper = matmul(triu(g1), adjoint_of(u1));
  Tensor g2;
  if (n > k) {
    g2 = narrow(g, -1, k, n - k);
    lower = lower - matmul(g2, adjoint_of(narrow(u, -1, k, n - k)));
  } else if (m > k) {
    g2 = narrow(g, -2, k, m - k);
    upper = upper - matmul(adjoint_of(narrow(l, -2, k, m - k)), g2);
  }
  auto over_u = [&](const Tensor& t) {
    return solve_triangular(adjoint_of(u1), t, false, false, false);
  };
  auto under_l = [&](const Tensor& t) {
    return solve_triangular(adjoint_of(l1), t, true, true, true);
  };
  Tensor da = under_l(over_u(tril(lower, -1) + triu(upper)));
  if (n > k) da = cat({da, under_l(g2)}, -1);
  if (m > k) da = cat({da, over_u(g2)}, -2);
  return matmul(pivot_matrix(pivots, m, g.dtype()), da);
}

std::string no_pivot(int64_t i) {
  std::string at = std::to_string(i);
  return "U[" + at + "," + at +
         "] is zero and using it on lu_solve would result in a division by zero. If you still want "
         "to perform the factorization, consider calling linalg.lu(A, pivot) or "
         "linalg.lu_factor_ex(A, pivot)";
}

LuFactors lu_factor(const char* op, const Tensor& a, bool pivot, bool check_errors) {
  check_matrix(op, a);
  check(pivot, Kind::Runtime, op, ": LU without pivoting is not implemented on the CPU");
  LuFactors f = lu_factors(op, a);
  if (check_errors) check_info(op, f.info, no_pivot);
  if (grad_needed(a))
    f.lu = tape(f.lu, "linalg_lu_factor_ex",
                wrt(a, [lu = Saved::output(f.lu), pivots = Saved(f.pivots)](const Tensor& g) {
                  return lu_rule(g, lu.get(), pivots.get());
                }));
  return f;
}

std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& lu, const Tensor& pivots,
                                             bool unpack_data, bool unpack_pivots) {
  check_matrix("lu_unpack", lu, "LU");
  check(!unpack_pivots || pivots.dtype() == Dtype::Int32, Kind::Runtime,
        "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype. "
        "Note: this function is intended to be used with the output produced by "
        "torch.linalg.lu_factor");
  Tensor none = empty({0}, lu.dtype(), lu.device());
  if (unpack_pivots)
    check(pivots.dim() >= 1 && pivots.size(-1) == smaller_size(lu) &&
              batch_of(pivots, 1) == batch_of(lu),
          Kind::Value, "lu_unpack: Expected LU_pivots to have shape of the factors, ", lu.shape(),
          ", without a dimension, got ", pivots.shape());
  Tensor p = unpack_pivots ? pivot_matrix(pivots, lu.size(-2), lu.dtype()) : none;
  if (!unpack_data) return {p, none, empty({0}, lu.dtype(), lu.device())};
  Triangles parts = unpacked(lu);
  return {p, parts.l, parts.u};
}

}  // namespace

EMBER_OP(
    "linalg.lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, "
    "Tensor pivots, Tensor info)",
    ([](const Tensor& a, bool pivot, bool check_errors) {
      LuFactors f = lu_factor("linalg.lu_factor_ex", a, pivot, check_errors);
      return std::tuple(f.lu, f.pivots, f.info);
    }),
    Function | Out | Leading,
    "Packed LU factors of matrices, their pivots, and which of them are singular.");
EMBER_OP("linalg.lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
         ([](const Tensor& a, bool pivot) {
           LuFactors f = lu_factor("linalg.lu_factor", a, pivot, true);
           return std::tuple(f.lu, f.pivots);
         }),
         Function | Out | Leading, "Packed LU factors of matrices, and their pivots.");
EMBER_OP("linalg.lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
         ([](const Tensor& a, bool pivot) {
           LuFactors f = lu_factor("linalg.lu", a, pivot, false);
           return lu_unpack(f.lu, f.pivots, true, true);
         }),
         Function | Out | Leading,
         "The permutation, lower and upper triangular factors of matrices.");
EMBER_OP(
    "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) "
    "-> (Tensor P, Tensor L, Tensor U)",
    &lu_unpack, Function | Out | Leading,
    "The factors that `linalg.lu_factor` has packed into one matrix.");
EMBER_OP(
    "_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor "
    "pivots, Tensor info)",
    ([](const Tensor& a, bool pivot, bool check_errors) {
      LuFactors f = lu_factor("lu", a, pivot, check_errors);
      return std::tuple(f.lu, f.pivots, f.info);
    }),
    Function | Leading, "What `lu` returns, with the info.");

// --- systems ------------------------------------------------------------------------------------

namespace {

// The gradient of the matrix itself, not of its factors, from that of b.
Tensor matrix_rule(const Tensor& gb, const Tensor& x, bool left, bool adjoint) {
  if (left) return neg(adjoint ? matmul(x, adjoint_of(gb)) : matmul(gb, adjoint_of(x)));
  return neg(adjoint ? matmul(adjoint_of(gb), x) : matmul(adjoint_of(x), gb));
}

Tensor factors_rule(const Tensor& ga, const Tensor& lu, const Tensor& pivots) {
  auto [l, u] = unpacked(lu);
  Tensor p = pivot_matrix(pivots, lu.size(-2), lu.dtype());
  Tensor rows = matmul(transpose(p, -2, -1), ga);
  return tril(matmul(rows, adjoint_of(u)), -1) + triu(matmul(adjoint_of(l), rows));
}

Tensor lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left, bool adjoint) {
  const char* op = "linalg.lu_solve";
  check_same_device(op, lu, {&pivots, &b});
  check_linalg_dtype(op, lu, "LU");
  check_square(op, lu, "LU");
  check_matrix(op, b, "B");
  check_same_dtype(op, lu, b);
  check(pivots.dtype() == Dtype::Int32, Kind::Runtime, op,
        ": pivots should be a Tensor of scalar type torch.int32, got ", pivots.dtype());
  check(pivots.dim() >= 1 && with_sizes(batch_of(pivots, 1), {pivots.size(-1)}) ==
                                 with_sizes(batch_of(lu), {lu.size(-1)}),
        Kind::Runtime, op,
        ": Number of pivots per batch should be same as the dimension of the "
        "matrix: pivots are ",
        pivots.shape(), ", LU is ", lu.shape());
  check(b.size(left ? -2 : -1) == lu.size(-1), Kind::Runtime, op,
        ": Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B", " (",
        lu.size(-2), "x", lu.size(-1), " and ", b.size(-2), "x", b.size(-1), ")");
  Tensor x = solve_by_lu(op, lu, pivots, b, left, adjoint ? Apply::Adjoint : Apply::Plain);
  if (!grad_needed(lu, b)) return x;
  return tape_list(x, "linalg_lu_solve", {lu, b},
                   [lu = Saved(lu), pivots = Saved(pivots), x = Saved::output(x), left, adjoint](
                       const Tensor& g, const std::vector<bool>& needed) {
                     Tensor factors = lu.get();
                     Tensor gb = lu_solve(factors, pivots.get(), g, left, !adjoint);
                     Tensor glu = needed[0] ? factors_rule(matrix_rule(gb, x.get(), left, adjoint),
                                                           factors, pivots.get())
                                            : Tensor();
                     return std::vector<Tensor>{glu, gb};
                   });
}

}  // namespace

EMBER_OP(
    "linalg.lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> "
    "Tensor",
    &lu_solve, Function | Out | Leading | Float32,
    "The X with A @ X = B (or X @ A = B), from the packed LU factors of A.");
EMBER_OP("lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
         ([](const Tensor& b, const Tensor& lu, const Tensor& pivots) {
           return lu_solve(lu, pivots, b, true, false);
         }),
         kForms | Out | Leading | Float32,
         "The X with A @ X = self, from the packed LU factors of A.");

}  // namespace ember
