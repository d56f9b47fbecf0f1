// Sorting, the largest few, elements of a given rank, medians, modes, quantiles; places in sorted
// sequences. Distinct values are in unique.cpp, counts in histogram.cpp.
#include <cmath>

#include "ops/devices.h"
#include "ops/reduce.h"

namespace ember {

namespace {

using Pair = std::tuple<Tensor, Tensor>;

void check_ordered(const char* op, const Tensor& self) {
  check(!is_complex(self.dtype()), Kind::Runtime, op,
        "(): Sort does not support complex dtypes on CPU, got ", self.dtype());
}

// The gradient of values that were taken from `indices` along `dim`.
Tensor with_history(const char* op, const Tensor& values, const Tensor& self, const Tensor& indices,
                    int dim) {
  if (!grad_needed(self)) return values;
  return tape(values, op,
              wrt(self, [indices = Saved(indices), shape = self.shape(), dim](const Tensor& g) {
                return scatter_add(zeros(shape, g.dtype(), g.device()), dim, indices.get(), g);
              }));
}

}  // namespace

// --- sort ----------------------------------------------------------------------------------------

Pair sort(const Tensor& self, int64_t dim, bool descending) {
  check_ordered("sort", self);
  int d = wrap_dim("sort", dim, self.dim());
  Tensor values = empty_like(self), indices = empty_like(self, Dtype::Int64);
  backend_of(self).sort(values, indices, self, d, descending);
  return {with_history("sort", values, self, indices, d), indices};
}

Tensor argsort(const Tensor& self, int64_t dim, bool descending) {
  check_ordered("argsort", self);
  int d = wrap_dim("argsort", dim, self.dim());
  Tensor indices = empty_like(self, Dtype::Int64);
  backend_of(self).sort(Tensor(), indices, self, d, descending);
  return indices;
}

// Sorting is always stable, so the argument of that name changes nothing.
EMBER_OP(
    "sort(Tensor self, int dim=-1, bool descending=False, *, bool? stable=None) -> (Tensor values, "
    "Tensor indices)",
    ([](const Tensor& self, int64_t dim, bool descending, std::optional<bool>) {
      return sort(self, dim, descending);
    }),
    kForms | Out | ExactOut | Along,
    "The elements along `dim` in order, and where they came from. NaN counts as the largest.");
EMBER_OP("argsort(Tensor self, int dim=-1, bool descending=False, *, bool stable=False) -> Tensor",
         ([](const Tensor& self, int64_t dim, bool descending, bool) {
           return argsort(self, dim, descending);
         }),
         kForms | Out | Along, "The indices that sort a tensor along `dim`.");
EMBER_OP("msort(Tensor self) -> Tensor",
         ([](const Tensor& self) { return std::get<0>(sort(self, 0)); }),
         kForms | Out | Aligned | Whole, "The elements along the first dimension in order.");

Pair topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted) {
  check_ordered("topk", self);
  int d = wrap_dim("topk", dim, self.dim());
  int64_t n = self.dim() ? self.size(d) : 1;
  check(k >= 0 && k <= n, Kind::Runtime, "topk(): selected index k out of range: ", k, " of ", n,
        " elements");
  Shape shape = self.shape();
  if (self.dim()) shape[d] = k;
  Tensor values = empty(shape, self.dtype(), self.device()),
         indices = empty(shape, Dtype::Int64, self.device());
  backend_of(self).topk(values, indices, self, d, largest, sorted);
  return {with_history("topk", values, self, indices, d), indices};
}
EMBER_OP(
    "topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, "
    "Tensor indices)",
    &topk, kForms | Out | ExactOut | Along,
    "The `k` largest (or smallest) elements along `dim`, and where they are.");

// --- one element of a rank -----------------------------------------------------------------------

namespace {

Pair pick(const char* op, Rank rank, int64_t k, const Tensor& self, int64_t dim, bool keepdim) {
  check_ordered(op, self);
  int d = wrap_dim(op, dim, self.dim());
  Shape dims = self.dim() ? Shape{d} : Shape{};
  check(self.dim() == 0 || self.size(d) > 0, Kind::Index, op, "(): Expected reduction dim ", d,
        " to have non-zero size.");
  Tensor values = reduced_like(self, dims, self.dtype()),
         indices = reduced_like(self, dims, Dtype::Int64);
  backend_of(self).pick(values, indices, self, d, rank, k);
  values = drop_dims(values, dims, keepdim);
  indices = drop_dims(indices, dims, keepdim);
  if (grad_needed(self))
    values = tape(
        values, op,
        wrt(self, [indices = Saved(indices), shape = self.shape(), d, keepdim](const Tensor& g) {
          return select_back(g, indices.get(), shape, d, keepdim);
        }));
  return {values, indices};
}

Pair kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  int d = wrap_dim("kthvalue", dim, self.dim());
  int64_t n = self.dim() ? self.size(d) : 1;
  check(n > 0, Kind::Index, "kthvalue(): Expected reduction dim ", d, " to have non-zero size.");
  check(k >= 1 && k <= n, Kind::Runtime,
        "kthvalue(): selected number k out of range for dimension ", d, ": ", k, " of ", n);
  return pick("kthvalue", Rank::Kth, k - 1, self, dim, keepdim);
}

Tensor median_of_all(const char* op, Rank rank, const Tensor& self) {
  check_ordered(op, self);
  Tensor flat = reshape(self, {-1});
  if (flat.numel() == 0) {  // like torch: NaN, or the smallest integer
    if (is_floating(self.dtype()))
      return full({}, Scalar(double(NAN)), self.dtype(), self.device());
    bool wide = self.dtype() == Dtype::Int64 || self.dtype() == Dtype::Int32;
    return full({}, Scalar(wide ? std::numeric_limits<int64_t>::min() : int64_t(0)), self.dtype(),
                self.device());
  }
  Tensor out;
  {
    NoGrad guard;
    out = std::get<0>(pick(op, rank, 0, flat, 0, false));
  }
  if (!grad_needed(self)) return out;
  // Shared among ties, as of max().
  return tape(out, op, wrt(self, [x = Saved(self), y = Saved::output(out)](const Tensor& g) {
                Tensor kept = x.get(), middle = y.get();
                Tensor same = (kept == middle) | ((kept != kept) & (middle != middle));
                return where(same, g / sum(to(same, g.dtype()), {}, false), Scalar(0.));
              }));
}

}  // namespace

EMBER_OP(
    "kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor "
    "indices)",
    &kthvalue, kForms | Out | Apart | ExactOut | Along,
    "The `k`-th smallest element along `dim`, counted from 1, and where it is.");

#define EMBER_MEDIAN(name, rank, what)                                                            \
  EMBER_OP(#name "(Tensor self) -> Tensor",                                                       \
           ([](const Tensor& self) { return median_of_all(#name, rank, self); }), kForms | Along, \
           what " of all elements.");                                                             \
  EMBER_OP(#name "(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", \
           ([](const Tensor& self, int64_t dim, bool keepdim) {                                   \
             return pick(#name, rank, 0, self, dim, keepdim);                                     \
           }),                                                                                    \
           kForms | Out | ExactOut | Along, what " along `dim`, and where it is.")
EMBER_MEDIAN(median, Rank::Median, "Median, the lower of two in the middle,");
EMBER_MEDIAN(nanmedian, Rank::NanMedian, "Median of what is not NaN");

EMBER_OP("mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
         ([](const Tensor& self, int64_t dim, bool keepdim) {
           return pick("mode", Rank::Mode, 0, self, dim, keepdim);
         }),
         kForms | Out | ExactOut | Along,
         "The most frequent element along `dim`, the smallest of several, and where it is.");

// --- quantiles -----------------------------------------------------------------------------------

namespace {

Tensor lerp_to(const Tensor& a, const Tensor& b, const Tensor& weight) {
  return a + weight * (b - a);
}

Tensor quantile_of(const char* op, const Tensor& self, const Tensor& q, std::optional<int64_t> dim,
                   bool keepdim, const std::string& how, bool skip_nan) {
  check(self.numel() > 0, Kind::Runtime, op, "() input tensor must be non-empty");
  check(q.dim() <= 1, Kind::Runtime, op, "() q must be a scalar or 1D tensor, got ", q.dim(),
        " dimensions");
  check(self.dtype() == Dtype::Float32 || self.dtype() == Dtype::Float64, Kind::Runtime, op,
        "() input tensor must be either float or double dtype, got ", self.dtype());
  check(q.dtype() == self.dtype(), Kind::Runtime, op,
        "() q tensor must be same dtype as the input tensor, got ", q.dtype(), " and ",
        self.dtype());
  check(
      how == "linear" || how == "lower" || how == "higher" || how == "midpoint" || how == "nearest",
      Kind::Runtime, op,
      "() interpolation must be one of linear, lower, higher, midpoint or nearest, but got ", how);
  check(q.device().kind == self.device().kind, Kind::Runtime, op,
        "() q tensor must be on the same device as the input tensor");
  if (has_values(q))
    check(item(all((detach(q) >= Scalar(0)) & (detach(q) <= Scalar(1)))).to<bool>(), Kind::Runtime,
          op, "() q values must be in the range [0, 1]");
  int d = dim ? wrap_dim(op, *dim, self.dim()) : 0;
  Tensor lines = !dim ? reshape(self, {-1})
                 : self.dim() == 0
                     ? unsqueeze(self, 0)
                     : transpose(unsqueeze(self, -1), d, -1);  // (..., 1 at d, ..., n)
  Tensor sorted = std::get<0>(sort(lines, -1));
  int64_t n = sorted.size(-1);
  // The rank of each q: (..., Q); a line with a NaN, which is its last element, has rank n - 1 for
  // all q.
  Tensor last, nan_at = isnan(detach(sorted));
  if (skip_nan) {
    Tensor count = sum(logical_not(nan_at), Dims(-1), true);
    last = to(count - Scalar(1), Dtype::Float64);
    last = where(last < Scalar(0), Scalar(0.0), last);
  }
  // Ranks are float64: float32 does not count beyond 2^24.
  Tensor flat_q = to(reshape(q, {-1}), Dtype::Float64);
  Shape ranks_shape = sorted.shape();
  ranks_shape.back() = flat_q.numel();
  Tensor ranks = skip_nan ? flat_q * last : expand(flat_q * Scalar(double(n - 1)), ranks_shape);
  if (!skip_nan) ranks = where(any(nan_at, Dims(-1), true), Scalar(double(n - 1)), ranks);
  if (how == "lower")
    ranks = floor(ranks);
  else if (how == "higher")
    ranks = ceil(ranks);
  else if (how == "nearest")
    ranks = round(ranks);
  Tensor below = to(detach(ranks), Dtype::Int64);
  Tensor out = gather(sorted, -1, below);
  if (how == "linear" || how == "midpoint") {
    Tensor weight = how == "midpoint" ? full_like(detach(ranks), Scalar(0.5))
                                      : ranks - to(below, Dtype::Float64);
    weight = to(weight, self.dtype());
    Tensor above = to(ceil(detach(ranks)), Dtype::Int64);
    out = lerp_to(out, gather(sorted, -1, above), weight);
  }
  // (..., Q) becomes (Q, ...), with the reduced dimension kept or dropped.
  if (!dim) {
    Shape shape = q.dim() ? Shape{q.numel()} : Shape{};
    if (keepdim)
      for (int i = 0; i < self.dim(); i++) shape.push_back(1);
    return reshape(out, shape);
  }
  Shape order, shape;
  if (q.dim()) order.push_back(out.dim() - 1);
  for (int i = 0; i + 1 < out.dim(); i++) order.push_back(i);
  if (!q.dim()) order.push_back(out.dim() - 1);
  out = permute(out, order);
  if (q.dim()) shape.push_back(q.numel());
  for (int i = 0; i < self.dim(); i++)
    if (i != d || keepdim) shape.push_back(i == d ? 1 : self.size(i));
  return reshape(out, shape);
}

}  // namespace

#define EMBER_QUANTILE(name, skip_nan, what)                                                     \
  EMBER_OP(#name                                                                                 \
           "(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str "                  \
           "interpolation=linear) -> Tensor",                                                    \
           ([](const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,    \
               const std::string& how) {                                                         \
             return quantile_of(#name, self, q, dim, keepdim, how, skip_nan);                    \
           }),                                                                                   \
           kForms | Out | Along | Float32, what);                                                \
  EMBER_OP(#name                                                                                 \
           "(Tensor self, float q, int? dim=None, bool keepdim=False, *, str "                   \
           "interpolation=linear) -> Tensor",                                                    \
           ([](const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,           \
               const std::string& how) {                                                         \
             check(q >= 0 && q <= 1, Kind::Runtime,                                              \
                   #name "() q must be in the range [0, 1] but got ", q);                        \
             return quantile_of(#name, self, scalar_tensor(q, self.dtype(), self.device()), dim, \
                                keepdim, how, skip_nan);                                         \
           }),                                                                                   \
           kForms | Out | Along | Float32, what)
EMBER_QUANTILE(quantile, false,
               "The values below which the fractions `q` of the elements along `dim` lie.");
EMBER_QUANTILE(nanquantile, true, "Quantiles of what is not NaN.");

// --- places in sorted sequences ------------------------------------------------------------------

Tensor searchsorted(const Tensor& sorted, const Tensor& values, bool right) {
  Tensor out = empty(values.shape(), Dtype::Int64, values.device());
  backend_of(values).search(out, sorted, values, Tensor(), right);
  return out;
}

namespace {

Tensor places(const char* op, const Tensor& sorted, const Operand& wanted, bool out_int32,
              bool right, const std::optional<std::string>& side, const Tensor& sorter) {
  check_ordered(op, sorted);
  check(!side || *side == "left" || *side == "right", Kind::Runtime, op,
        "(): side can only be 'left' or 'right' but got ", side ? *side : "");
  check(!side || !(right && *side == "left"), Kind::Runtime, op,
        "(): side and right can't be set to opposites, got side of left while right was True");
  check(sorted.dim() > 0, Kind::Runtime, op,
        "(): boundaries tensor should have positive dimension, got 0");
  Tensor values =
      wanted.is_tensor()
          ? wanted.tensor()
          : scalar_tensor(wanted.scalar(), dtype_of_scalar(wanted.scalar()), sorted.device());
  if (!wanted.is_tensor())
    check(sorted.dim() == 1, Kind::Runtime, op,
          "(): input value can be a scalar only when boundaries tensor dimension is 1, got ",
          sorted.dim());
  check(!is_complex(values.dtype()), Kind::Runtime, op, "(): complex numbers have no order");
  check(values.device() == sorted.device(), Kind::Runtime, op,
        "(): boundaries and input value tensors should have same "
        "device type, but got ",
        sorted.device(), " and ", values.device());
  const Dtype dtype = result_type(sorted, wanted);
  const Tensor lines = to(sorted, dtype);
  values = to(values, dtype);
  if (sorted.dim() > 1) {
    bool same = values.dim() == sorted.dim();
    for (int d = 0; same && d + 1 < sorted.dim(); d++) same = values.size(d) == sorted.size(d);
    check(same, Kind::Runtime, op,
          "(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
          "tensor and input value tensor must match, but we got ",
          sorted.shape(), " and ", values.shape());
  }
  if (sorter) {
    check(sorter.shape() == sorted.shape(), Kind::Runtime, op,
          "(): boundary and sorter must have the same size, but got ", sorted.shape(), " and ",
          sorter.shape());
    check(sorter.dtype() == Dtype::Int64, Kind::Runtime, op,
          "(): sorter must be a tensor of long dtype but got ", sorter.dtype());
    if (has_values(sorter))
      check(item(amin(sorter)).to<int64_t>() >= 0 &&
                item(amax(sorter)).to<int64_t>() < sorted.size(-1),
            Kind::Runtime, op, "(): sorter index out of range");
  }
  check(!out_int32 || sorted.size(-1) < int64_t(std::numeric_limits<int32_t>::max()), Kind::Runtime,
        op, "(): the size of boundaries' last dimension should be less than 2^31, but we got ",
        sorted.size(-1));
  Tensor out = empty(values.shape(), out_int32 ? Dtype::Int32 : Dtype::Int64, sorted.device());
  backend_of(sorted).search(out, lines, values, sorter, right || (side && *side == "right"));
  return out;
}

}  // namespace

EMBER_OP(
    "searchsorted(Tensor sorted_sequence, Number self, *, bool out_int32=False, bool right=False, "
    "str? side=None, "
    "Tensor? sorter=None) -> Tensor",
    ([](const Tensor& sorted, const Operand& self, bool out_int32, bool right,
        std::optional<std::string> side, const Tensor& sorter) {
      return places("searchsorted", sorted, self, out_int32, right, side, sorter);
    }),
    Function | Out | Whole,
    "Where values would have to be put into sorted sequences to keep them sorted.");
EMBER_OP(
    "bucketize(Number self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> "
    "Tensor",
    ([](const Operand& self, const Tensor& boundaries, bool out_int32, bool right) {
      check(boundaries.dim() == 1, Kind::Runtime,
            "bucketize(): boundaries tensor must be 1 dimension, but got dim(", boundaries.dim(),
            ")");
      return places("bucketize", boundaries, self, out_int32, right, std::nullopt, Tensor());
    }),
    Function | Out | Whole, "The bucket between sorted `boundaries` that each value falls into.");

}  // namespace ember
