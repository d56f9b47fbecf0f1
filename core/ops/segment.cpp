// segment_reduce: one result for each run of elements along a dimension.
#include <cmath>

#include "ops/devices.h"
#include "ops/ops.h"

namespace ember {

namespace {

struct Segments {
  Tensor lengths;  // (..., S)
  Tensor all;      // the same with what is before and behind, as one line
  int64_t count;
};

Segments segments_of(const Tensor& data, const Tensor& lengths, const Tensor& offsets, int axis,
                     bool unsafe) {
  const Tensor& given = lengths.defined() ? lengths : offsets;
  check(given.defined(), Kind::Runtime,
        "segment_reduce(): Either lengths or offsets must be defined");
  check(given.dtype() == Dtype::Int64 || given.dtype() == Dtype::Int32, Kind::Runtime,
        "segment_reduce(): lengths and offsets must be int32 or int64, got ", given.dtype());
  check(axis == given.dim() - 1, Kind::Runtime,
        "segment_reduce(): Expected axis to be the last "
        "dimension of lengths or offsets, ",
        given.dim() - 1, ", but got ", axis);
  check(data.dim() >= given.dim(), Kind::Runtime, "segment_reduce(): data of shape ", data.shape(),
        " has fewer dimensions than lengths or offsets of shape ", given.shape());
  for (int d = 0; d < axis; d++)
    check(data.size(d) == given.size(d), Kind::Runtime, "segment_reduce(): data of shape ",
          data.shape(), " and segments of shape ", given.shape(), " differ in dimension ", d);
  NoGrad guard;
  Segments s;
  s.lengths = to(lengths.defined() ? lengths : diff(offsets), Dtype::Int64);
  s.count = s.lengths.size(-1);
  // What lies before the first and behind the last segment counts as two more.
  Tensor total = sum(s.lengths, Dims(-1), true);
  Tensor before =
      lengths.defined() ? zeros_like(total) : to(narrow(offsets, -1, 0, 1), Dtype::Int64);
  Tensor behind = Scalar(data.size(axis)) - before - total;
  if (has_values(total)) {
    const bool whole =
        !item(any(before != Scalar(0))).to<bool>() && !item(any(behind != Scalar(0))).to<bool>();
    check(unsafe || whole, Kind::Runtime,
          "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(", axis,
          ") = ", data.size(axis), " when !unsafe");
    const Tensor all = cat(TensorList{before, s.lengths, behind}, -1);
    check(item(amin(all)).to<int64_t>() >= 0, Kind::Runtime,
          "segment_reduce(): lengths contains negative value, or segments exceed data.size(", axis,
          ") = ", data.size(axis));
    s.all = reshape(all, {-1});
  }
  return s;
}

double start_of(const std::string& mode) {
  if (mode == "amax") return -INFINITY;
  if (mode == "amin") return INFINITY;
  return mode == "prod" ? 1 : 0;
}

// amax and amin of x (n, inner) by segments; the gradient is shared among ties, and NaN, which
// wins, counts as one.
Tensor segment_extremes(const Tensor& start, const Tensor& segment, const Tensor& x,
                        const std::string& mode) {
  Tensor y;
  {
    NoGrad guard;
    y = scatter_reduce(start, 0, expand(unsqueeze(segment, 1), x.shape()), x, mode, true);
  }
  if (!grad_needed(x)) return y;
  return tape(y, "segment_reduce",
              wrt(x, [x = Saved(x), y = Saved::output(y), at = Saved(segment)](const Tensor& g) {
                Tensor value = x.get(), segment = at.get();
                Tensor won = (value == index_select(y.get(), 0, segment)) | (value != value);
                Tensor hit = to(won, g.dtype());
                Tensor hits = index_add(zeros_like(g), 0, segment, hit, Scalar(1));
                return hit * index_select(g / clamp_min(hits, Scalar(1)), 0, segment);
              }));
}

// Products of x (n, inner) by segments. The gradient is the product of the other elements, which
// division gives except at 0 and NaN.
Tensor segment_products(const Tensor& start, const Tensor& segment, const Tensor& x) {
  auto by_segment = [](const Tensor& segment, const Tensor& x) {
    return expand(unsqueeze(segment, 1), x.shape());
  };
  Tensor y;
  {
    NoGrad guard;
    y = scatter_reduce(start, 0, by_segment(segment, x), x, "prod", true);
  }
  if (!grad_needed(x)) return y;
  return tape(y, "segment_reduce",
              wrt(x, [=, x = Saved(x), y = Saved::output(y), at = Saved(segment),
                      start = Saved(start)](const Tensor& g) {
                Tensor value = x.get(), segment = at.get();
                Tensor zero = value == Scalar(0), nan = value != value, odd = zero | nan;
                auto others = [&](const Tensor& mask) {  // how many other elements of its segment
                  Tensor one = to(mask, g.dtype());
                  return index_select(
                             index_add(zeros_like(start.get()), 0, segment, one, Scalar(1)), 0,
                             segment) -
                         one;
                };
                Tensor even = where(odd, Scalar(1.0), value);
                Tensor product = index_select(
                    scatter_reduce(start.get(), 0, by_segment(segment, value), even, "prod", true),
                    0, segment);
                product = where(others(zero) > Scalar(0), Scalar(0.0), product);
                product = where(others(nan) > Scalar(0), Scalar(double(NAN)), product);
                Tensor divided = index_select(y.get(), 0, segment) / even;
                return index_select(g, 0, segment) * where(odd, product, divided);
              }));
}

Tensor segment_reduce(const Tensor& data, const std::string& reduce, const Tensor& lengths,
                      const Tensor& indices, const Tensor& offsets, int64_t axis, bool unsafe,
                      const std::optional<Scalar>& initial) {
  const bool mean = reduce == "mean";
  const std::string mode = reduce == "max"   ? "amax"
                           : reduce == "min" ? "amin"
                           : mean            ? "sum"
                                             : reduce;
  check(mode == "sum" || mode == "prod" || mode == "amax" || mode == "amin", Kind::Runtime,
        "segment_reduce(): unsupported reduction ", reduce,
        "; expected sum, mean, prod, max or min");
  check(!indices.defined(), Kind::Runtime,
        "segment_reduce(): indices based reduction is not supported yet.");
  check(is_floating(data.dtype()), Kind::NotImplemented, "segment_reduce(): not implemented for ",
        data.dtype());
  const int d = wrap_dim("segment_reduce", axis, data.dim());
  const Segments s = segments_of(data, lengths, offsets, d, unsafe);
  int64_t inner = 1;
  Shape shape;
  for (int i = 0; i < data.dim(); i++) {
    shape.push_back(i == d ? s.count : data.size(i));
    if (i > d) inner *= data.size(i);
  }
  int64_t batch = 1;
  for (int i = 0; i < d; i++) batch *= data.size(i);
  const int64_t rows = batch * (s.count + 2), n = batch * data.size(d);
  const double start = initial ? initial->to<double>() : start_of(mode);
  Tensor out = full({rows, inner}, Scalar(start), data.dtype(), data.device());
  if (data.numel() && s.all.defined()) {
    Tensor to_segment =
        repeat_interleave(arange(0, rows, 1, Dtype::Int64, data.device()), s.all, std::nullopt);
    Tensor rows_of = reshape(data, {n, inner});
    if (mode == "amax" || mode == "amin")
      out = segment_extremes(out, to_segment, rows_of, mode);
    else if (mode == "prod")
      out = segment_products(out, to_segment, rows_of);
    else
      out =
          scatter_reduce(out, 0, expand(view(to_segment, {n, 1}), {n, inner}), rows_of, mode, true);
  }
  out = narrow(view(out, {batch, s.count + 2, inner}), 1, 1, s.count);
  if (mean) {
    Tensor count = to(reshape(s.lengths, {batch, s.count, 1}), data.dtype());
    Tensor divided = out / clamp_min(count, Scalar(1.0));
    out = initial ? divided : where(count == Scalar(0), Scalar(double(NAN)), divided);
  }
  Tensor result = to(contiguous(reshape(out, shape)), data.dtype());
  if (data.numel() || !grad_needed(data)) return result;
  // Nothing flows back, but the result has a history, as torch's has.
  return tape(result, "segment_reduce", wrt(data, [shape = data.shape()](const Tensor& g) {
                return zeros(shape, g.dtype(), g.device());
              }));
}

}  // namespace

#define EMBER_SEGMENT_SCHEMA                                                                \
  "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, " \
  "Tensor? "                                                                                \
  "offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor"
EMBER_OP(EMBER_SEGMENT_SCHEMA, &segment_reduce, Function | Along,
         "The sum, mean, product, maximum or minimum of each run of elements along `axis`, given "
         "by the lengths of the runs or by their offsets.");
EMBER_OP("_" EMBER_SEGMENT_SCHEMA, &segment_reduce, Function | Along,
         "The same as segment_reduce.");

}  // namespace ember
