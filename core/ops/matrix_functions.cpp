// Functions of matrices made of products: powers, exponentials, chains.
#include <array>
#include <cmath>
#include <span>

#include "ops/devices.h"
#include "ops/linalg.h"

namespace ember {

// --- powers ------------------------------------------------------------------------------------

namespace {

Tensor matrix_power(const Tensor& self, int64_t n) {
  const char* op = "linalg.matrix_power";
  check_square(op, self);
  if (n == 0) {
    Tensor one = clone(expand(identity(self.size(-1), self), self.shape()));
    if (!grad_needed(self)) return one;
    return tape(one, "linalg_matrix_power", wrt(self, [shape = self.shape()](const Tensor& g) {
                  return zeros(shape, g.dtype(), g.device());
                }));
  }
  if (n == 1) return clone(self, MemoryFormat::Contiguous);
  if (n < 0) check_linalg_dtype(op, self);
  Tensor square = n < 0 ? inv(self) : self, result;
  // Unsigned: the lowest int has no opposite.
  for (uint64_t left = n < 0 ? 0 - uint64_t(n) : uint64_t(n); left; left >>= 1) {
    if (left & 1) result = result ? matmul(result, square) : square;
    if (left > 1) square = matmul(square, square);
  }
  return result;
}

}  // namespace

EMBER_OP("linalg.matrix_power(Tensor self, int n) -> Tensor", &matrix_power,
         Function | Out | Leading, "Square matrices to the power `n`.");
EMBER_OP("matrix_power(Tensor self, int n) -> Tensor", &matrix_power, kForms | Out | Leading,
         "Square matrices to the power `n`.");

// --- exponential -------------------------------------------------------------------------------

namespace {

// Pade approximants and the norms up to which they are exact to rounding: Higham, "The scaling and
// squaring method for the matrix exponential revisited" (2005), table 2.3 and (2.16).
constexpr double kPade3[] = {120, 60, 12, 1};
constexpr double kPade5[] = {30240, 15120, 3360, 420, 30, 1};
constexpr double kPade7[] = {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1};
constexpr double kPade9[] = {17643225600, 8821612800, 2075673600, 302702400, 30270240,
                             2162160,     110880,     3960,       90,        1};
constexpr double kPade13[] = {64764752532480000,
                              32382376266240000,
                              7771770303897600,
                              1187353796428800,
                              129060195264000,
                              10559470521600,
                              670442572800,
                              33522128640,
                              1323241920,
                              40840800,
                              960960,
                              16380,
                              182,
                              1};
struct Approximant {
  std::span<const double> terms;
  double reach, reach_single;
};
constexpr Approximant kApproximants[] = {{kPade3, 1.495585217958292e-2, 4.258730016922831e-1},
                                         {kPade5, 2.539398330063230e-1, 1.880152677804762},
                                         {kPade7, 9.504178996162932e-1, 3.925724783138660},
                                         {kPade9, 2.097847961257068, 3.925724783138660},
                                         {kPade13, 5.371920351148152, 3.925724783138660}};

// (even + odd) / (even - odd), with the even powers of a.
Tensor approximate(const Tensor& a, std::span<const double> terms) {
  Tensor one = identity(a.size(-1), a), square = matmul(a, a), power = one;
  Tensor even = one * Scalar(terms[0]), odd = one * Scalar(terms[1]);
  for (size_t i = 2; i < terms.size(); i += 2) {
    power = i == 2 ? square : matmul(power, square);
    even = even + power * Scalar(terms[i]);
    odd = odd + power * Scalar(terms[i + 1]);
  }
  odd = matmul(a, odd);
  LuFactors f = lu_factors("linalg.matrix_exp", even - odd);
  return solve_by_lu("linalg.matrix_exp", f.lu, f.pivots, even + odd, true, Apply::Plain);
}

Tensor matrix_exp_value(const Tensor& a) {
  NoGrad guard;
  if (!has_values(a)) return clone(a, MemoryFormat::Contiguous);
  bool single = real_of(a.dtype()) == Dtype::Float32;
  Tensor norms = amax(sum(abs(a), Dims(-2)), Dims(-1));
  double largest = item(amax(norms)).to<double>();
  for (const Approximant& p : kApproximants)
    if (largest <= (single ? p.reach_single : p.reach)) return approximate(a, p.terms);
  // exp(a) = exp(a / 2^s)^(2^s), with its own s for each matrix
  const Approximant& p = kApproximants[single ? 2 : 4];
  double reach = single ? p.reach_single : p.reach;
  Tensor steps = ceil(log2(norms / Scalar(reach)));
  steps = where(isfinite(steps), clamp_min(steps, Scalar(0.0)), Scalar(0.0));
  auto over_matrices = [](const Tensor& t) { return unsqueeze(unsqueeze(t, -1), -1); };
  Tensor y = approximate(a / over_matrices(exp2(steps)), p.terms);
  int64_t most = int64_t(item(amax(steps)).to<double>());
  for (int64_t i = 0; i < most; i++) {
    Tensor squared = matmul(y, y);
    y = steps.numel() == 1 ? squared : where(over_matrices(steps > Scalar(i)), squared, y);
  }
  return y;
}

Tensor matrix_exp(const Tensor& self) {
  const char* op = "linalg.matrix_exp";
  check_square(op, self);
  check(is_differentiable(self.dtype()), Kind::Runtime, op,
        ": Expected a floating point or complex tensor as input. Got ", self.dtype());
  if (is_reduced(self.dtype())) return to(matrix_exp(to(self, Dtype::Float32)), self.dtype());
  Tensor y = contiguous(matrix_exp_value(detach(self)));
  if (!grad_needed(self)) return y;
  return tape(y, "linalg_matrix_exp", wrt(self, [self = Saved(self)](const Tensor& g) {
                // The corner of exp([[a, g], [0, a]]) is the derivative along g: Mathias (1996).
                Tensor ah = adjoint_of(self.get());
                int64_t n = ah.size(-1);
                if (n == 0) return ah;
                Tensor full = expand(g, ah.shape());
                Tensor top = cat({ah, full}, -1), bottom = cat({zeros_like(ah), ah}, -1);
                Tensor corner = narrow(matrix_exp(cat({top, bottom}, -2)), -2, 0, n);
                return narrow(corner, -1, n, n);
              }));
}

}  // namespace

EMBER_OP("linalg.matrix_exp(Tensor self) -> Tensor", &matrix_exp, Function | Leading,
         "The exponentials of square matrices.");
EMBER_OP("matrix_exp(Tensor self) -> Tensor", &matrix_exp, kForms | Leading,
         "The exponentials of square matrices.");

// --- chains of products ------------------------------------------------------------------------

namespace {

// Where to split matrices first..last so that the fewest multiplications are needed.
class ChainOrder {
 public:
  explicit ChainOrder(const TensorList& m) : n_(m.size()), split_(n_ * n_) {
    std::vector<double> cost(n_ * n_);
    auto rows = [&](size_t i) { return double(i < n_ ? m[i].size(0) : m[n_ - 1].size(1)); };
    for (size_t length = 1; length < n_; length++) {
      for (size_t i = 0; i + length < n_; i++) {
        size_t j = i + length;
        double best = INFINITY;
        for (size_t k = i; k < j; k++) {
          double c =
              cost[i * n_ + k] + cost[(k + 1) * n_ + j] + rows(i) * rows(k + 1) * rows(j + 1);
          if (c < best) best = c, split_[i * n_ + j] = k;
        }
        cost[i * n_ + j] = best;
      }
    }
  }
  Tensor multiply(const TensorList& m, size_t i, size_t j) const {
    if (i == j) return m[i];
    size_t k = split_[i * n_ + j];
    return mm(multiply(m, i, k), multiply(m, k + 1, j));
  }

 private:
  size_t n_;
  std::vector<size_t> split_;
};

Tensor multi_dot(const TensorList& tensors) {
  const char* op = "multi_dot";
  size_t n = tensors.size();
  check(n >= 2, Kind::Runtime, op, "(): expected at least 2 tensors but got ", n);
  TensorList m = tensors;
  bool row = m[0].dim() == 1, column = m[n - 1].dim() == 1;
  if (row) m[0] = unsqueeze(m[0], 0);
  if (column) m[n - 1] = unsqueeze(m[n - 1], -1);
  for (size_t i = 0; i < n; i++) {
    const bool first = i == 0, last = i + 1 == n;
    check(m[i].dim() == 2, Kind::Runtime, op, "(): ",
          first  ? "the first tensor must be 1D or 2D"
          : last ? "the last tensor must be 1D or 2D"
                 : "tensor " + std::to_string(i) + " must be 2D",
          " but got ", tensors[i].dim(), "D");
    check(m[i].dtype() == m[0].dtype(), Kind::Runtime, op,
          "(): all tensors must have be the same dtype but tensor 0 is ", m[0].dtype(),
          " and tensor ", i, " ", m[i].dtype());
    check(i == 0 || m[i - 1].size(1) == m[i].size(0), Kind::Runtime, op, "(): tensors ", i - 1,
          " and ", i, " with shapes ", i ? m[i - 1].shape() : m[i].shape(), " and ", m[i].shape(),
          " cannot be multiplied");
  }
  Tensor y = ChainOrder(m).multiply(m, 0, n - 1);
  if (row) y = squeeze(y, Dims(0));
  if (column) y = squeeze(y, Dims(-1));
  return y;
}

}  // namespace

EMBER_OP("linalg.multi_dot(Tensor[] tensors) -> Tensor", &multi_dot,
         Function | Out | ExactOut | Whole,
         "The product of several matrices, multiplied in the order that costs least.");
EMBER_OP("chain_matmul(Tensor[] *matrices) -> Tensor", ([](const TensorList& matrices) {
           check(!matrices.empty(), Kind::Runtime, "chain_matmul(): Expected one or more matrices");
           for (const Tensor& m : matrices)
             check(m.dim() == 2, Kind::Runtime, "chain_matmul(): Tensor dimension is ", m.dim(),
                   ", expected 2 instead.");
           return matrices.size() == 1 ? clone(matrices[0]) : multi_dot(matrices);
         }),
         Function | Out | Whole, "The product of several matrices, multiplied in the best order.");

}  // namespace ember
