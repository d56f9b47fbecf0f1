// Counting: bincount, histc, histogram.
#include <cmath>

#include "ops/create.h"
#include "ops/ops.h"

namespace ember {

namespace {

// Adds weights (or ones) up at `places`, which lie in [0, n).
Tensor counted(const Tensor& places, const Tensor& weights, int64_t n, Dtype dtype) {
  Tensor out = zeros({n}, dtype, places.device());
  Tensor each = weights ? to(reshape(weights, {-1}), dtype)
                        : expand(ones({1}, dtype, places.device()), places.shape());
  backend_of(out).scatter(out, 0, places, each, ScatterMode::Add);
  return out;
}

Tensor bincount(const Tensor& self, const Tensor& weights, int64_t minlength) {
  NoGrad guard;
  check(self.dim() == 1, Kind::Runtime,
        "bincount only supports 1-d non-negative integral inputs, got ", self.dim(), " dimensions");
  check(is_integral(self.dtype()), Kind::NotImplemented, "bincount(): not implemented for ",
        self.dtype());
  check(minlength >= 0, Kind::Runtime, "minlength should be >= 0, got ", minlength);
  check(!weights || (weights.dim() == 1 && weights.numel() == self.numel()), Kind::Runtime,
        "weights should be 1-d and have the same length as input");
  Dtype dtype = !weights                            ? Dtype::Int64
                : weights.dtype() == Dtype::Float32 ? Dtype::Float32
                                                    : Dtype::Float64;
  if (self.numel() == 0) return zeros({minlength}, Dtype::Int64, self.device());
  check(item(amin(self)).to<int64_t>() >= 0, Kind::Runtime,
        "bincount only supports 1-d non-negative integral inputs.");
  int64_t n = std::max(minlength, size_sum("bincount", item(amax(self)).to<int64_t>(), 1));
  return counted(to(self, Dtype::Int64), weights, n, dtype);
}

struct Range {
  double low, high;
};

// The limits of a histogram: as given, or those of the data; never empty.
Range range_of(const Tensor& self, Range given, double margin) {
  auto [low, high] = given;
  if (low == high && self.numel()) {
    low = item(amin(self)).to<double>();
    high = item(amax(self)).to<double>();
  }
  if (low == high) low -= margin, high += margin;
  return {low, high};
}

bool is_finite(Range r) { return std::isfinite(r.low) && std::isfinite(r.high); }

// The bin of each element inside [low, high]; of those outside nothing is kept.
Tensor equal_bins(const Tensor& x, int64_t bins, Range r) {
  Tensor flat = reshape(x, {-1});
  // All in the dtype of x, so that what lies near an edge goes where it goes in torch.
  auto number = [&](double v) { return scalar_tensor(v, x.dtype(), x.device()); };
  auto is_inf = [](const Tensor& t) { return std::isinf(item(t).to<double>()); };
  Tensor low = number(r.low), high = number(r.high);
  if (item(eq(low, high)).to<bool>()) {  // a margin of 1 is nothing to numbers of this size
    if (Tensor below = nextafter(low, number(-INFINITY)); !is_inf(below)) low = below;
    if (Tensor above = nextafter(high, number(INFINITY)); !is_inf(above)) high = above;
  }
  if (is_inf((high - low) * Scalar(bins))) {  // smaller by a power of two, which changes no bin
    const Tensor less = number(std::exp2(-2 - std::ilogb(double(bins))));
    flat = flat * less, low = low * less, high = high * less;
  }
  Tensor inside = (flat >= low) & (flat <= high);
  Tensor at =
      to((masked_select(flat, inside) - low) * number(double(bins)) / (high - low), Dtype::Int64);
  return minimum(at, Scalar(bins - 1));
}

Tensor histc(const Tensor& self, int64_t bins, const Scalar& low, const Scalar& high) {
  NoGrad guard;
  const Range given{low.to<double>(), high.to<double>()};
  check(bins > 0, Kind::Runtime, "torch.histc: bins must be > 0, got ", bins);
  check(!(given.low > given.high), Kind::Runtime, "torch.histc: max must be larger than min");
  check(is_floating(self.dtype()), Kind::NotImplemented, "histc(): not implemented for ",
        self.dtype());
  const Range r = range_of(self, given, 1);
  check(is_finite(r), Kind::Runtime, "torch.histc: range of [", r.low, ", ", r.high,
        "] is not finite");
  return counted(equal_bins(self, bins, r), Tensor(), bins, self.dtype());
}

struct Binned {
  Tensor places, weights;
};

// Places between edges that need not be equally far apart; the last bin includes its right edge.
Binned bins_between(const Tensor& x, const Tensor& weights, const Tensor& edges) {
  int64_t n = edges.numel();
  Tensor flat = reshape(x, {-1});
  Tensor inside = (flat >= select(edges, 0, 0)) & (flat <= select(edges, 0, n - 1));
  Tensor at = searchsorted(edges, masked_select(flat, inside), true) - Scalar(1);
  return {minimum(at, Scalar(n - 2)),
          weights ? masked_select(reshape(weights, {-1}), inside) : Tensor()};
}

// Counted from both ends, so that both limits are edges.
Tensor edges_over(Range r, int64_t bins, Dtype dtype, Device device) {
  Tensor low = scalar_tensor(r.low, dtype, device), high = scalar_tensor(r.high, dtype, device);
  const int64_t count = size_sum("histogram", bins, 1);
  Tensor step = (high - low) / Scalar(bins), i = arange(0, count, 1, Dtype::Int64, device);
  Tensor up = to(i, dtype) * step + low, down = to(i - Scalar(bins), dtype) * step + high;
  return where(i < Scalar(count / 2), up, down);
}

std::tuple<Tensor, Tensor> finished(const Tensor& self, const Binned& b, const Tensor& edges,
                                    bool density) {
  Tensor hist = counted(b.places, b.weights, edges.numel() - 1, self.dtype());
  if (density) hist = hist / sum(hist) / diff(edges, 1, 0);
  return {hist, edges};
}

// Messages are PyTorch's, where a histogram is one of histogramdd.
void check_histogram(const Tensor& self, const Tensor& weight) {
  check(self.dtype() == Dtype::Float32 || self.dtype() == Dtype::Float64, Kind::NotImplemented,
        "histogram(): not implemented for ", self.dtype());
  if (!weight) return;
  check(weight.dtype() == self.dtype(), Kind::Runtime,
        "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should "
        "have the same dtype, but got input ",
        self.dtype(), " and weight ", weight.dtype());
  check(weight.shape() == self.shape(), Kind::Runtime,
        "torch.histogramdd: if weight tensor is provided it should have the same shape as the "
        "input tensor excluding its innermost dimension, but got input with shape ",
        self.shape(), " and weight with shape ", weight.shape());
}

void check_edges(const Tensor& self, const Tensor& edges) {
  check(edges.dtype() == self.dtype(), Kind::Runtime,
        "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got "
        "input with dtype ",
        self.dtype(), " and bins for dimension 0 with dtype ", edges.dtype());
  check(edges.dim() == 1, Kind::Runtime,
        "torch.histogramdd: bins tensor should have one dimension, but got ", edges.dim(),
        " dimensions in the bins tensor for dimension 0");
  check(edges.numel() > 0, Kind::Runtime,
        "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the "
        "bins tensor for dimension 0");
}

}  // namespace

EMBER_OP("bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor", &bincount,
         kForms | DataDependent,
         "How often each of 0, 1, 2 ... occurs, or the sum of its weights.");
EMBER_OP("histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", &histc,
         kForms | Out | Whole,
         "Counts in `bins` equal bins from `min` to `max`, or over the range of the data if both "
         "are 0.");

EMBER_OP(
    "histogram(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor "
    "hist, Tensor bin_edges)",
    ([](const Tensor& self, const Tensor& edges, const Tensor& weight, bool density) {
      NoGrad guard;
      check_histogram(self, weight);
      check_edges(self, edges);
      if (edges.numel() == 1)
        return std::make_tuple(zeros({0}, self.dtype(), self.device()), clone(edges));
      return finished(self, bins_between(self, weight, contiguous(edges)), clone(edges), density);
    }),
    kForms | Out | ExactOut | Whole,
    "Counts (or sums of weights) between the given edges, and the edges.");
EMBER_OP(
    "histogram(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool "
    "density=False) -> (Tensor hist, Tensor bin_edges)",
    ([](const Tensor& self, int64_t bins, const std::optional<std::vector<double>>& range,
        const Tensor& weight, bool density) {
      NoGrad guard;
      check_histogram(self, weight);
      check(bins > 0, Kind::Runtime, "torch.histogram(): bins must be > 0, but got ", bins,
            " for dimension 0");
      check(!range || range->size() == 2, Kind::Runtime,
            "histogram(): range should have 2 elements, got ", range ? range->size() : 0);
      if (range)
        for (double limit : *range)
          if (std::isfinite(limit)) create::check_fits(Scalar(limit), self.dtype());
      if (range)  // the parts of a message are looked at in any case
        check(!((*range)[0] > (*range)[1]), Kind::Runtime,
              "torch.histogramdd: min should not exceed max, but got min ", (*range)[0], " max ",
              (*range)[1], " for dimension 0");
      Range r{0, 1};
      if (range)
        r = range_of(empty({0}, self.dtype()), {(*range)[0], (*range)[1]}, 0.5);
      else if (self.numel())
        r = range_of(self, {0, 0}, 0.5);
      check(is_finite(r), Kind::Runtime, "torch.histogramdd: dimension 0's range [", r.low, ", ",
            r.high, "] is not finite");
      Tensor edges = edges_over(r, bins, self.dtype(), self.device());
      return finished(self, bins_between(self, weight, edges), edges, density);
    }),
    kForms | Out | ExactOut | Whole,
    "Counts (or sums of weights) in `bins` equal bins over `range`, and their edges.");

}  // namespace ember
