// Reductions to sums, means, products, norms and the like. Extremes are in extremes.cpp, scans in
// scan.cpp.
#include "ops/reduce.h"

#include "ops/pointwise.h"

namespace ember {

Shape reduced_dims(const char* op, const Dims& dim, int ndim) {
  Shape dims;
  if (!dim.given || dim.values.empty()) {
    for (int i = 0; i < ndim; i++) dims.push_back(i);
    return dims;
  }
  for (int64_t d : dim.values) {
    int k = wrap_dim(op, d, ndim);
    check(!dims.contains(k), Kind::Runtime, op, "(): dim ", d,
          " appears multiple times in the list of dims");
    if (ndim)
      dims.push_back(k);
    else
      check(dim.values.size() == 1, Kind::Runtime, op, "(): dim ", d,
            " appears multiple times in the list of dims");
  }
  std::sort(dims.begin(), dims.end());
  return dims;
}

Shape reduced_shape(const Shape& shape, const Shape& dims, bool keepdim) {
  Shape out;
  for (int i = 0; i < shape.size(); i++) {
    bool gone = dims.contains(i);
    if (!gone || keepdim) out.push_back(gone ? 1 : shape[i]);
  }
  return out;
}

Tensor reduced_like(const Tensor& self, const Shape& dims, Dtype dtype) {
  byte_count(self.shape(), self.numel(),
             item_size(dtype) > self.item_size() ? dtype : self.dtype());
  return empty(reduced_shape(self.shape(), dims, true), dtype, self.device());
}

Tensor drop_dims(const Tensor& full, const Shape& dims, bool keepdim) {
  if (keepdim || dims.empty()) return full;
  Shape shape = reduced_shape(full.shape(), dims, false);
  Shape strides = contiguous_strides(shape);
  return alias(full, std::move(shape), std::move(strides), 0);
}

Tensor restore_dims(const Tensor& t, const Shape& dims, bool keepdim, const Shape& shape) {
  return keepdim ? t : reshape(t, reduced_shape(shape, dims, true));
}

Tensor expand_back(const Tensor& g, const Shape& dims, bool keepdim, const Shape& shape) {
  return expand(restore_dims(g, dims, keepdim, shape), shape);
}

int64_t reduced_count(const Shape& shape, const Shape& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= shape[d];
  return n;
}

namespace {

Tensor reduce(Reduction f, const Tensor& self, const Shape& dims, bool keepdim, Dtype dtype,
              double p = 2) {
  Tensor full = reduced_like(self, dims, dtype);
  backend_of(self).reduce(f, full, self, dims, p);
  return drop_dims(full, dims, keepdim);
}

using MaybeDtype = std::optional<Dtype>;

Dtype sum_dtype(const Tensor& self, MaybeDtype dtype) {
  return dtype.value_or(is_integral(self.dtype(), true) ? Dtype::Int64 : self.dtype());
}

Dtype float_dtype(const char* op, const Tensor& self, MaybeDtype dtype) {
  Dtype t = dtype.value_or(self.dtype());
  check(is_differentiable(t), Kind::Runtime, op, "(): could not infer output dtype. ",
        dtype ? "Optional" : "Input",
        " dtype must be either a floating point or complex dtype. Got: ", t);
  return t;
}

}  // namespace

// --- rows ----------------------------------------------------------------------------------------

namespace {

// The gradient of x in terms of g, x and the number n of elements that make one of the result.
using ReduceRule = Tensor (*)(const Tensor& g, const Tensor& x, const Scalar& n);
struct ReduceOp {
  Reduction f;
  const char *name, *along;  // of its node, without and with `dim`
  ReductionFacts facts;
  bool keeps_x;
  ReduceRule rule;
};

template <const ReduceOp& op>
Tensor reduce_row(const Tensor& self, const Dims& dim, bool keepdim, MaybeDtype dtype) {
  constexpr bool real = op.facts & kRealOnly;
  if (real)
    check(!is_complex(self.dtype()), Kind::Runtime, op.name,
          " on CPU does not support complex inputs");
  const Dtype t = op.facts & kAverages ? float_dtype(op.name, self, dtype) : sum_dtype(self, dtype);
  check(!real || !is_complex(t), Kind::NotImplemented, op.name, "(): not implemented for dtype ",
        t);
  Shape dims = reduced_dims(op.name, dim, self.dim());
  if (is_complex(self.dtype()) != is_complex(t))
    return reduce_row<op>(to(self, t), dim, keepdim, t);
  Tensor out = reduce(op.f, self, dims, keepdim, t);
  if (!grad_needed(self) || !is_differentiable(t)) return out;
  const char* name = dim.given ? op.along : op.name;
  if constexpr (op.keeps_x)
    return tape(out, name, wrt(self, [dims, keepdim, x = Saved(self)](const Tensor& g) {
                  Tensor kept = x.get();
                  const Shape& shape = kept.shape();
                  return expand(op.rule(restore_dims(g, dims, keepdim, shape), kept,
                                        Scalar(reduced_count(shape, dims))),
                                shape);
                }));
  return tape(out, name, wrt(self, [dims, keepdim, shape = self.shape()](const Tensor& g) {
                return expand_back(op.rule(g, {}, Scalar(reduced_count(shape, dims))), dims,
                                   keepdim, shape);
              }));
}

constexpr unsigned row_forms(ReductionFacts facts) {
  return kForms | Out | Along | (facts & kAddsUp ? unsigned(DtypeOut) : 0);
}

}  // namespace

#define REDUCE(name_, facts, map, fold, finish, gradient, doc)                        \
  namespace {                                                                         \
  constexpr ReduceOp name_##_row{                                                     \
      Reduction::name_,                                                               \
      #name_,                                                                         \
      (facts) & kTwoForms ? #name_ "#1" : #name_,                                     \
      facts,                                                                          \
      pointwise::names(#gradient, 'x'),                                               \
      [](const Tensor& g, [[maybe_unused]] const Tensor& x,                           \
         [[maybe_unused]] const Scalar& n) -> Tensor { return gradient; }};           \
  }                                                                                   \
  Tensor name_(const Tensor& self, const Dims& dim, bool keepdim, MaybeDtype dtype) { \
    return reduce_row<name_##_row>(self, dim, keepdim, dtype);                        \
  }                                                                                   \
  EMBER_OP(#name_                                                                     \
           "(Tensor self, Dims dim=None, bool keepdim=False, *, Dtype? dtype=None)"   \
           " -> Tensor",                                                              \
           &ember::name_, row_forms(facts),                                           \
           doc " over `dim`, or over every axis when `dim` is None.");
#include "reduction_formulas.h"

EMBER_OP("sum(Tensor self, *, Dtype? dtype=None) -> Tensor",
         ([](const Tensor& self, MaybeDtype dtype) { return sum(self, {}, false, dtype); }),
         kForms | Out | DtypeOut | Along, "Sum of all elements.");
EMBER_OP("mean(Tensor self, *, Dtype? dtype=None) -> Tensor",
         ([](const Tensor& self, MaybeDtype dtype) { return mean(self, {}, false, dtype); }),
         kForms | Out | Along, "Mean of all elements.");
EMBER_OP("nanmean(Tensor self, Dims dim=None, bool keepdim=False, *, Dtype? dtype=None) -> Tensor",
         ([](const Tensor& self, const Dims& dim, bool keepdim, MaybeDtype dtype) {
           check(is_floating(self.dtype()) || is_complex(self.dtype()), Kind::Runtime,
                 "nanmean(): expected input to have floating point or complex dtype but got ",
                 self.dtype());
           Tensor count = sum(logical_not(isnan(detach(self))), dim, keepdim);
           return nansum(self, dim, keepdim, dtype) / count;
         }),
         kForms | Out | Along, "Mean over `dim` of what is not NaN.");

// --- products ------------------------------------------------------------------------------------

namespace {

Tensor prod_over(const Tensor& self, const Shape& dims, bool keepdim, MaybeDtype dtype);

// The product of all other elements along `dim`, for each element; no division, so zeros are fine.
Tensor product_of_others(const Tensor& x, int64_t dim) {
  Tensor one = ones_like(narrow(detach(x), dim, 0, 1));
  int64_t n = x.size(dim);
  Tensor before = cumprod(cat({one, narrow(x, dim, 0, n - 1)}, dim), dim);
  Tensor after = flip(cumprod(cat({one, flip(narrow(x, dim, 1, n - 1), {dim})}, dim), dim), {dim});
  return before * after;
}

// Without a look at the data. Where just one element is zero, it alone gets the product of the
// others; y / x is zero for those. That has the right value, but not the right derivative.
Tensor prod_rule(const Tensor& g, const Tensor& x, const Tensor& y, const Shape& dims) {
  if (x.numel() == 0) return g * x;  // nothing, but recorded
  if (!grad_enabled()) {
    Tensor zero = x == Scalar(0), alone = sum(zero, Dims(dims), true) == Scalar(1);
    Tensor others = prod_over(masked_fill(x, zero, Scalar(1)), dims, true, x.dtype());
    return g * conj(where(zero, others * alone, y / x));
  }
  if (dims.size() == 1) return g * conj(product_of_others(x, dims[0]));
  Tensor flat = reshape(x, {-1});
  return reshape(reshape(g, {-1}) * conj(product_of_others(flat, 0)), x.shape());
}

Tensor prod_over(const Tensor& self, const Shape& dims, bool keepdim, MaybeDtype dtype) {
  Dtype t = sum_dtype(self, dtype);
  Tensor x = is_complex(self.dtype()) != is_complex(t) ? to(self, t) : self;
  Tensor out = reduce(Reduction::prod, x, dims, keepdim, t);
  if (!grad_needed(self) || !is_differentiable(t)) return out;
  return tape(
      out, "prod", wrt(x, [dims, keepdim, x = Saved(x), y = Saved::output(out)](const Tensor& g) {
        Tensor kept = x.get();
        Tensor g_ = restore_dims(g, dims, keepdim, kept.shape());
        return prod_rule(g_, kept, restore_dims(y.get(), dims, keepdim, kept.shape()), dims);
      }));
}

}  // namespace

Tensor prod(const Tensor& self, const Dims& dim, bool keepdim, MaybeDtype dtype) {
  return prod_over(self, reduced_dims("prod", dim, self.dim()), keepdim, dtype);
}
EMBER_OP("prod(Tensor self, *, Dtype? dtype=None) -> Tensor",
         ([](const Tensor& self, MaybeDtype dtype) { return prod(self, {}, false, dtype); }),
         kForms | Out | DtypeOut | Along | Float32, "Product of all elements.");
EMBER_OP("prod(Tensor self, int dim, bool keepdim=False, *, Dtype? dtype=None) -> Tensor",
         ([](const Tensor& self, int64_t dim, bool keepdim, MaybeDtype dtype) {
           return prod(self, Dims(dim), keepdim, dtype);
         }),
         kForms | Out | DtypeOut | Along | Float32, "Product over one dimension.");

// --- any, all, count -----------------------------------------------------------------------------

namespace {

Tensor truth(Reduction f, const char* op, const Tensor& self, const Dims& dim, bool keepdim,
             Dest dest) {
  Shape dims = dim.given && dim.values.empty() ? Shape{} : reduced_dims(op, dim, self.dim());
  Dtype dtype =
      self.dtype() == Dtype::UInt8 ? Dtype::UInt8 : Dtype::Bool;  // torch's exception for uint8
  if (dest.tensor) dtype = dest.tensor->dtype();
  check(dtype == Dtype::Bool || dtype == Dtype::UInt8, Kind::Runtime, op,
        " only supports bool tensor for result, got: ", type_name(dtype));
  Tensor out = reduce(f, self, dims, keepdim, dtype);
  if (!dest.tensor) return out;
  copy_to_out(op, *dest.tensor, out);
  return *dest.tensor;
}

}  // namespace

Tensor any(const Tensor& self, const Dims& dim, bool keepdim, Dest dest) {
  return truth(Reduction::any, "any", self, dim, keepdim, dest);
}
Tensor all(const Tensor& self, const Dims& dim, bool keepdim, Dest dest) {
  return truth(Reduction::all, "all", self, dim, keepdim, dest);
}
EMBER_OP("any(Tensor self, Dims dim=None, bool keepdim=False) -> Tensor", &any,
         kForms | Out | Along, "Whether any element over `dim` is nonzero.");
EMBER_OP("all(Tensor self, Dims dim=None, bool keepdim=False) -> Tensor", &all,
         kForms | Out | Along, "Whether all elements over `dim` are nonzero.");
EMBER_OP("count_nonzero(Tensor self, Dims dim=None) -> Tensor",
         ([](const Tensor& self, const Dims& dim) {
           return reduce(Reduction::count_nonzero, self,
                         reduced_dims("count_nonzero", dim, self.dim()), false, Dtype::Int64);
         }),
         kForms | Along, "Number of nonzero elements over `dim`.");

// --- variance ------------------------------------------------------------------------------------

namespace {

struct Spread {
  Tensor value, mean;
};

// The variance (or its root) and the mean; the mean is a constant here, its own gradient is
// recorded by mean().
Spread spread(const char* op, const Tensor& self, const Dims& dim, double correction, bool keepdim,
              bool root, bool want_mean) {
  check(is_differentiable(self.dtype()), Kind::Runtime, op,
        "(): only support floating point and complex dtypes, got ", self.dtype());
  Shape dims = reduced_dims(op, dim, self.dim());
  if (correction >= double(reduced_count(self.shape(), dims)) && host_warn)
    host_warn(std::string(op) +
              "(): degrees of freedom is <= 0. Correction should be strictly less than the "
              "reduction factor (input numel divided by output numel).");
  if (is_complex(self.dtype())) {  // the sum of the variances of both parts
    Spread re = spread(op, real(self), Dims(dims), correction, keepdim, false, false);
    Spread im = spread(op, imag(self), Dims(dims), correction, keepdim, false, false);
    Tensor value = re.value + im.value;
    return {root ? sqrt(value) : value,
            want_mean ? mean(self, Dims(dims), keepdim, std::nullopt) : Tensor()};
  }
  Tensor value = reduced_like(self, dims, self.dtype());
  Tensor average = empty(value.shape(), value.dtype(), value.device());
  backend_of(self).variance(value, average, self, dims, correction, root);
  value = drop_dims(value, dims, keepdim);
  average = drop_dims(average, dims, keepdim);
  if (!grad_needed(self)) return {value, average};
  double n = double(reduced_count(self.shape(), dims));
  double scale = 2 / std::max(n - correction, 0.0);
  value = tape(value, op,
               wrt(self, [x = Saved(self), y = root ? Saved::output(value) : Saved(), dims, keepdim,
                          scale, root](const Tensor& g) {
                 Tensor kept = x.get();
                 Tensor up = restore_dims(g, dims, keepdim, kept.shape());
                 if (root) {
                   Tensor std = restore_dims(y.get(), dims, keepdim, kept.shape());
                   up = where(std == Scalar(0), Scalar(0.0), up / (std * Scalar(2.0)));
                 }
                 return up * Scalar(scale) * (kept - mean(kept, Dims(dims), true, std::nullopt));
               }));
  if (want_mean) average = mean(self, Dims(dims), keepdim, std::nullopt);
  return {value, average};
}

double correction_of(const std::optional<Scalar>& c) { return c ? c->to<double>() : 1.0; }
using MaybeScalar = std::optional<Scalar>;

}  // namespace

Tensor var(const Tensor& self, const Dims& dim, double correction, bool keepdim) {
  return spread("var", self, dim, correction, keepdim, false, false).value;
}
Tensor std(const Tensor& self, const Dims& dim, double correction, bool keepdim) {
  return spread("std", self, dim, correction, keepdim, true, false).value;
}

// var and std, with and without the mean, in torch's three signatures each.
#define EMBER_SPREAD(name, root, what)                                                             \
  EMBER_OP(#name "(Tensor self, bool unbiased) -> Tensor",                                         \
           ([](const Tensor& self, bool unbiased) {                                                \
             return spread(#name, self, {}, unbiased, false, root, false).value;                   \
           }),                                                                                     \
           kForms | Along, what " of all elements.");                                              \
  EMBER_OP(#name "(Tensor self, Dims? dim, bool unbiased, bool keepdim=False) -> Tensor",          \
           ([](const Tensor& self, const Dims& dim, bool unbiased, bool keepdim) {                 \
             return spread(#name, self, dim, unbiased, keepdim, root, false).value;                \
           }),                                                                                     \
           kForms | Out | Along, what " over `dim`.");                                             \
  EMBER_OP(                                                                                        \
      #name                                                                                        \
      "(Tensor self, Dims dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",    \
      ([](const Tensor& self, const Dims& dim, const MaybeScalar& correction, bool keepdim) {      \
        return spread(#name, self, dim, correction_of(correction), keepdim, root, false).value;    \
      }),                                                                                          \
      kForms | Out | Along, what " over `dim`; the divisor is the count less `correction` (1).");  \
  EMBER_OP(#name "_mean(Tensor self, bool unbiased) -> (Tensor, Tensor)",                          \
           ([](const Tensor& self, bool unbiased) {                                                \
             Spread s = spread(#name, self, {}, unbiased, false, root, true);                      \
             return std::make_tuple(s.value, s.mean);                                              \
           }),                                                                                     \
           Function | Along, what " and mean of all elements.");                                   \
  EMBER_OP(#name                                                                                   \
           "_mean(Tensor self, Dims? dim, bool unbiased, bool keepdim=False) -> (Tensor, Tensor)", \
           ([](const Tensor& self, const Dims& dim, bool unbiased, bool keepdim) {                 \
             Spread s = spread(#name, self, dim, unbiased, keepdim, root, true);                   \
             return std::make_tuple(s.value, s.mean);                                              \
           }),                                                                                     \
           Function | Along, what " and mean over `dim`.");                                        \
  EMBER_OP(#name                                                                                   \
           "_mean(Tensor self, Dims dim=None, *, Scalar? correction=None, bool keepdim=False) -> " \
           "(Tensor, Tensor)",                                                                     \
           ([](const Tensor& self, const Dims& dim, const MaybeScalar& correction, bool keepdim) { \
             Spread s = spread(#name, self, dim, correction_of(correction), keepdim, root, true);  \
             return std::make_tuple(s.value, s.mean);                                              \
           }),                                                                                     \
           Function | Along, what " and mean over `dim`.")
EMBER_SPREAD(var, false, "Variance");
EMBER_SPREAD(std, true, "Standard deviation");

}  // namespace ember
