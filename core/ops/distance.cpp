// Distances between rows: cdist and pdist.
#include <cmath>

#include "ops/linalg.h"

namespace ember {

namespace {

// Differences of all pairs take rows * others * features; a part of the rows at a time is enough.
constexpr int64_t kPairs = int64_t(1) << 22;

int64_t rows_at_once(const Tensor& x, const Tensor& y) {
  int64_t each =
      std::max<int64_t>(1, y.size(-2) * x.size(-1)) * std::max<int64_t>(1, numel_of(batch_of(x)));
  return std::max<int64_t>(1, kPairs / each);
}

Tensor differences(const Tensor& x, const Tensor& y) { return unsqueeze(x, -2) - unsqueeze(y, -3); }

Tensor distances_by_rows(const Tensor& x, const Tensor& y, double p) {
  int64_t step = rows_at_once(x, y);
  TensorList parts;
  for (int64_t i = 0; i < x.size(-2); i += step) {
    Tensor some = narrow(x, -2, i, std::min(step, x.size(-2) - i));
    Tensor diff = differences(some, y);
    if (p == 0)  // how many features differ; whether NaN does cannot be told
      parts.push_back(
          sum(where(isnan(diff), diff, to(diff != Scalar(0.0), diff.dtype())), Dims(-1)));
    else
      parts.push_back(norm_over("cdist", diff, p, Dims(-1), false, std::nullopt));
  }
  return parts.size() == 1 ? parts[0] : cat(parts, -2);
}

// |x|^2 - 2 x y + |y|^2 in one product: fast, but small distances between long vectors suffer.
Tensor euclidean_by_product(const Tensor& x, const Tensor& y) {
  Tensor x2 = sum(x * x, Dims(-1), true), y2 = sum(y * y, Dims(-1), true);
  Tensor left = cat({x * Scalar(-2.0), x2, ones_like(x2)}, -1);
  Tensor right = cat({y, ones_like(y2), y2}, -1);
  return sqrt(clamp_min(matmul(left, transpose(right, -2, -1)), Scalar(0.0)));
}

// g times the derivative of each distance by the difference it belongs to, summed over `dim`.
Tensor pairs_rule(const Tensor& g, const Tensor& d, const Tensor& x, const Tensor& y, double p,
                  int64_t dim) {
  Tensor diff = differences(x, y), size = abs(diff), up = unsqueeze(g, -1), far = unsqueeze(d, -1);
  Tensor nowhere = far == Scalar(0.0);
  if (p == 1) return sum(up * sgn(diff), Dims(dim));
  if (std::isinf(p)) return sum(up * sgn(diff) * to(size == far, g.dtype()), Dims(dim));
  Tensor ratio = where(nowhere, Scalar(0.0), size / far);
  Tensor slope = p < 1 ? where(size == Scalar(0.0), Scalar(0.0), pow(ratio, Scalar(p - 1)))
                       : pow(ratio, Scalar(p - 1));
  return sum(up * sgn(diff) * where(nowhere, Scalar(0.0), slope), Dims(dim));
}

Tensor rule_for(const Tensor& g, const Tensor& d, const Tensor& x, const Tensor& y, double p,
                bool first) {
  if (p == 0) return zeros_like(first ? x : y);
  if (p == 2) {
    Tensor w = where(d == Scalar(0.0), Scalar(0.0), g / d);
    if (first) return x * sum(w, Dims(-1), true) - matmul(w, y);
    Tensor wt = transpose(w, -2, -1);
    return y * sum(wt, Dims(-1), true) - matmul(wt, x);
  }
  if (!first) return rule_for(transpose(g, -2, -1), transpose(d, -2, -1), y, x, p, true);
  int64_t step = rows_at_once(x, y);
  TensorList parts;
  for (int64_t i = 0; i < x.size(-2); i += step) {
    int64_t n = std::min(step, x.size(-2) - i);
    auto some = [&](const Tensor& t) { return narrow(t, -2, i, n); };
    parts.push_back(pairs_rule(some(g), some(d), some(x), y, p, -2));
  }
  return parts.size() == 1 ? parts[0] : cat(parts, -2);
}

bool by_product(const std::optional<int64_t>& mode, const Tensor& x, const Tensor& y) {
  int64_t how = mode.value_or(0);
  return how == 1 || (how == 0 && (x.size(-2) > 25 || y.size(-2) > 25));
}

Tensor distances(const Tensor& x, const Tensor& y, double p, std::optional<int64_t> mode) {
  Tensor d;
  {
    NoGrad guard;
    Shape shape = with_sizes(batch_of(x), {x.size(-2), y.size(-2)});
    if (x.size(-1) == 0 || numel_of(shape) == 0)
      d = zeros(shape, x.dtype(), x.device());
    else
      d = p == 2 && by_product(mode, x, y) ? euclidean_by_product(x, y)
                                           : distances_by_rows(x, y, p);
  }
  if (!grad_needed(x, y)) return d;
  return tape(d, "cdist",
              wrt(x,
                  [x = Saved(x), y = Saved(y), d = Saved::output(d), p](const Tensor& g) {
                    Tensor kept = x.get();
                    if (kept.numel() == 0 || g.numel() == 0) return zeros_like(kept);
                    return rule_for(g, d.get(), kept, y.get(), p, true);
                  }),
              wrt(y, [x = Saved(x), y = Saved(y), d = Saved::output(d), p](const Tensor& g) {
                Tensor kept = y.get();
                if (kept.numel() == 0 || g.numel() == 0) return zeros_like(kept);
                return rule_for(g, d.get(), x.get(), kept, p, false);
              }));
}

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> mode) {
  const char* op = "cdist";
  check(x1.dim() >= 2 && x2.dim() >= 2, Kind::Runtime, op,
        "(): only supports at least 2D tensors, got ", x1.dim(), "D and ", x2.dim(), "D");
  for (const Tensor& t : {x1, x2})
    check(is_floating(t.dtype()) && !is_reduced(t.dtype()), Kind::Runtime, op,
          "(): only supports float32 and float64 tensors, got ", t.dtype());
  check(x1.dtype() == x2.dtype(), Kind::Runtime, op, "(): expected two tensors of one dtype, got ",
        x1.dtype(), " and ", x2.dtype());
  check(x1.size(-1) == x2.size(-1), Kind::Runtime, op,
        "(): X1 and X2 must have the same number of columns. X1: ", x1.size(-1),
        " X2: ", x2.size(-1));
  check(p >= 0, Kind::Runtime, op, "(): only supports non-negative p values, got ", p);
  check(!mode || (*mode >= 0 && *mode <= 2), Kind::Runtime, op,
        "(): possible modes: 0, 1, 2, but was: ", mode.value_or(0));
  Dtype dtype = x1.dtype();
  Shape batch = common_batch(op, x1, x2);
  return distances(spread_over(to(x1, dtype), batch), spread_over(to(x2, dtype), batch), p, mode);
}

}  // namespace

EMBER_OP("cdist(Tensor x1, Tensor x2, float p=2, int? compute_mode=None) -> Tensor", &cdist,
         Function | Leading | Float32,
         "Distances of order `p` between each row of x1 and each row of x2.");
EMBER_OP("cdist(Tensor x1, Tensor x2, float p=2, str compute_mode='') -> Tensor",
         ([](const Tensor& x1, const Tensor& x2, double p, const std::string& mode) {
           const char* names[] = {"use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist",
                                  "donot_use_mm_for_euclid_dist"};
           for (int i = 0; i < 3; i++)
             if (mode == names[i]) return cdist(x1, x2, p, i);
           fail(Kind::Value, mode, " is not a valid value for compute_mode");
         }),
         Function | Leading | Float32, "The same, with the way to compute Euclidean distances.");
EMBER_OP("pdist(Tensor self, float p=2) -> Tensor", ([](const Tensor& self, double p) {
           check(self.dim() == 2, Kind::Runtime,
                 "pdist only supports 2D tensors, got: ", self.dim(), "D");
           check(is_floating(self.dtype()) && !is_reduced(self.dtype()), Kind::Runtime,
                 "pdist only supports floating-point dtypes, got ", self.dtype());
           check(p >= 0, Kind::Runtime, "pdist only supports non-negative p values, got ", p);
           int64_t n = self.size(0);
           if (n < 2) return sum(self) * Scalar(0.0) + zeros({0}, self.dtype(), self.device());
           Tensor places = empty({size_product("pdist", n, n - 1) / 2}, Dtype::Int64);
           int64_t* at = places.data<int64_t>();
           for (int64_t i = 0; i < n; i++)
             for (int64_t j = i + 1; j < n; j++) *at++ = i * n + j;
           return index_select(reshape(distances(self, self, p, 2), {-1}), 0,
                               to(places, self.device(), std::nullopt));
         }),
         Function | Whole, "Distances of order `p` between all pairs of rows, each pair once.");

}  // namespace ember
