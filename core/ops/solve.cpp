// Linear systems and inverses of square matrices, by LU factors.
#include "ops/linalg.h"

namespace ember {

namespace {

struct Solved {
  Tensor x, info;
};

std::string singular_solve(int64_t) {
  return "The solver failed because the input matrix is singular.";
}
std::string singular_inverse(int64_t i) {
  return "The diagonal element " + std::to_string(i) +
         " is zero, the inversion could not be completed because the input matrix is singular.";
}

// Where b is a vector for each matrix of a: one vector, or shaped like a without its last size.
bool is_vector(const Tensor& a, const Tensor& b) {
  return b.dim() == 1 || (a.dim() - 1 == b.dim() && b.shape() == batch_of(a, 1));
}

Solved solve_matrices(const char* op, const Tensor& a, const Tensor& b, bool left) {
  LuFactors f = lu_factors(op, a);
  Tensor x = solve_by_lu(op, f.lu, f.pivots, b, left, Apply::Plain);
  if (!grad_needed(a, b)) return {x, f.info};
  return {tape_list(x, "linalg_solve_ex", {a, b},
                    [a = Saved(a), lu = Saved(f.lu), pivots = Saved(f.pivots), x = Saved::output(x),
                     left](const Tensor& g, const std::vector<bool>& needed) {
                      // The factors have no history, so a second gradient starts from a.
                      Tensor gb = grad_enabled()
                                      ? solve(adjoint_of(a.get()), g, left)
                                      : solve_by_lu("linalg.solve", lu.get(), pivots.get(), g, left,
                                                    Apply::Adjoint);
                      Tensor xh = adjoint_of(x.get()), ga;
                      if (needed[0]) ga = neg(left ? matmul(gb, xh) : matmul(xh, gb));
                      return std::vector<Tensor>{ga, gb};
                    }),
          f.info};
}

Solved solve_ex(const char* op, const Tensor& a, const Tensor& b, bool left, bool check_errors) {
  check_linalg_dtype(op, a);
  check_square(op, a);
  check_same_dtype(op, a, b);
  check(b.dim() >= 1, Kind::Runtime, op, ": B must have at least 1 dimension, but it has 0");
  bool vector = is_vector(a, b);
  check(left || !vector, Kind::Runtime, op,
        ": Vector broadcasting of the left hand side is not "
        "supported for left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)");
  Tensor rhs = vector ? unsqueeze(b, -1) : b;
  check(rhs.size(left ? -2 : -1) == a.size(-1), Kind::Runtime, op,
        ": Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B", " (",
        a.size(-2), "x", a.size(-1), " and ", rhs.size(-2), "x", rhs.size(-1), ")");
  Solved s = solve_matrices(op, a, rhs, left);
  if (check_errors) check_info(op, s.info, singular_solve);
  if (vector) s.x = squeeze(s.x, Dims(-1));
  return s;
}

Solved inv_ex(const char* op, const Tensor& a, bool check_errors) {
  check_linalg_dtype(op, a);
  check_square(op, a);
  LuFactors f = lu_factors(op, a);
  Tensor y = empty_by_columns(a.shape(), a.dtype(), a.device());
  Backend* kernels = kernels_for(op, f.lu);
  if (kernels) kernels->lu_inverse(f.lu, f.pivots, y);
  if (check_errors) check_info(op, f.info, singular_inverse);
  if (grad_needed(a))
    y = tape(y, "linalg_inv_ex", wrt(a, [y = Saved::output(y)](const Tensor& g) {
               Tensor yh = adjoint_of(y.get());
               return neg(matmul(yh, matmul(g, yh)));
             }));
  return {y, f.info};
}

}  // namespace

Tensor solve(const Tensor& a, const Tensor& b, bool left) {
  return solve_ex("linalg.solve", a, b, left, true).x;
}
Tensor inv(const Tensor& a) { return inv_ex("linalg.inv", a, true).x; }
std::tuple<Tensor, Tensor> inv_ex(const Tensor& a) {
  Solved s = inv_ex("linalg.inv_ex", a, false);
  return {s.x, s.info};
}

EMBER_OP(
    "linalg.solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor "
    "result, Tensor info)",
    ([](const Tensor& a, const Tensor& b, bool left, bool check_errors) {
      Solved s = solve_ex("linalg.solve_ex", a, b, left, check_errors);
      return std::tuple(s.x, s.info);
    }),
    Function | Out | Leading,
    "Solutions of linear systems, and which of the matrices are singular.");
EMBER_OP("linalg.solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", &solve,
         Function | Out | Leading | Float32, "The X with A @ X = B (or X @ A = B).");
EMBER_OP("linalg.inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
         ([](const Tensor& a, bool check_errors) {
           Solved s = inv_ex("linalg.inv_ex", a, check_errors);
           return std::tuple(s.x, s.info);
         }),
         Function | Out | Leading | Float32,
         "Inverses of matrices, and which of them are singular.");
EMBER_OP("linalg.inv(Tensor A) -> Tensor", &inv, Function | Out | ExactOut | Leading | Float32,
         "The inverses of square matrices.");
EMBER_OP("inverse(Tensor self) -> Tensor", &inv, kForms | Out | ExactOut | Leading | Float32,
         "The inverses of square matrices.");

// --- systems shaped as tensors -----------------------------------------------------------------

EMBER_OP("linalg.tensorinv(Tensor self, int ind=2) -> Tensor",
         ([](const Tensor& self, int64_t ind) {
           check(ind > 0, Kind::Runtime,
                 "linalg.tensorinv: Expected a strictly positive integer "
                 "for 'ind', but got ",
                 ind);
           int split = int(std::min<int64_t>(ind, self.dim()));
           Shape front(self.shape().data(), split),
               rest(self.shape().data() + split, self.dim() - split);
           int64_t rows = numel_of(front), columns = numel_of(rest);
           check(rows == columns, Kind::Runtime,
                 "linalg.tensorinv: Expected self to satisfy the "
                 "requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got ",
                 columns, " != ", rows);
           Shape shape = rest;
           for (int64_t s : front) shape.push_back(s);
           Solved s = inv_ex("linalg.tensorinv", reshape(self, {rows, columns}), true);
           return reshape(s.x, shape);
         }),
         Function | Out | SafeOut | Whole | Float32,
         "The inverse of a tensor as a map between its first `ind` dimensions and "
         "the rest.");
EMBER_OP(
    "linalg.tensorsolve(Tensor self, Tensor other, Size? dims=None) -> Tensor",
    ([](const Tensor& self, const Tensor& other, const std::optional<Shape>& dims) {
      Tensor a = self;
      if (dims) {
        Shape to = *dims;
        for (int i = 0; i < to.size(); i++) to[i] = self.dim() - to.size() + i;
        a = movedim(self, *dims, to);
      }
      int split = std::min(other.dim(), a.dim());
      Shape shape(a.shape().data() + split, a.dim() - split);
      int64_t columns = numel_of(shape);
      check(columns == other.numel(), Kind::Runtime,
            "linalg.tensorsolve: Expected self to satisfy "
            "the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but "
            "got ",
            columns, " != ", other.numel());
      Tensor x = solve(reshape(a, {columns, columns}), reshape(other, {columns}));
      return reshape(x, shape);
    }),
    Function | Out | SafeOut | Whole | Float32, "The X with tensordot(self, X, X.ndim) = other.");

}  // namespace ember
