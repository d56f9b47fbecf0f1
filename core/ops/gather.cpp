// One index for every element along a dimension: gather, scatter, scatter_add, scatter_reduce,
// take_along_dim.
#include "ops/change.h"
#include "ops/create.h"

namespace ember {

namespace {

// An index as the primitives want it, after the checks that gather and scatter share.
Tensor checked_index(const char* op, const Tensor& self, int dim, const Tensor& index) {
  check(index.numel() == 0 || index.dtype() == Dtype::Int64 || index.dtype() == Dtype::Int32,
        Kind::Runtime, op, "(): Expected dtype int32/int64 for index, but got ", index.dtype());
  check(std::max(index.dim(), 1) == std::max(self.dim(), 1) || index.numel() == 0, Kind::Runtime,
        "Index tensor must have the same number of dimensions as self tensor, got ", index.dim(),
        " and ", self.dim());
  for (int d = 0; d < index.dim() && index.numel(); d++) {
    int64_t most = self.dim() ? self.shape()[d] : 1;
    check(d == dim || index.shape()[d] <= most, Kind::Runtime, "Size does not match at dimension ",
          d, " expected index ", index.shape(), " to be no larger than self ", self.shape(),
          " apart from dimension ", dim);
  }
  NoGrad guard;
  return to(detach(index), Dtype::Int64);
}

// `src` cut to the shape of the index, which may be smaller.
Tensor cut_source(const char* op, const Tensor& self, const Tensor& index, Tensor src, int dim) {
  check(src.dtype() == self.dtype(), Kind::Runtime, op,
        "(): Expected self.dtype to be equal to src.dtype, but got ", self.dtype(), " and ",
        src.dtype());
  check(std::max(index.dim(), 1) == std::max(src.dim(), 1), Kind::Runtime,
        "Index tensor must have the same number of dimensions as src tensor, got ", index.dim(),
        " and ", src.dim());
  if (src.shape() == index.shape()) return src;
  if (src.dim() != index.dim()) return reshape(src, index.shape());
  for (int d = 0; d < index.dim(); d++) {
    check(index.shape()[d] <= src.shape()[d], Kind::Runtime, "Expected index ", index.shape(),
          " to be no larger than self ", self.shape(), " apart from dimension ", dim,
          " and to be no larger size than src ", src.shape());
    if (index.shape()[d] < src.shape()[d]) src = narrow(src, d, 0, index.shape()[d]);
  }
  return src;
}

void run_scatter(const Tensor& out, int dim, const Tensor& index, const Tensor& src,
                 ScatterMode mode) {
  NoGrad guard;
  backend_of(out).scatter(out, dim, index, src, mode);
}

}  // namespace

Tensor gather(const Tensor& self, int64_t dim, const Tensor& given) {
  int d = wrap_dim("gather", dim, self.dim());
  Tensor index = checked_index("gather", self, d, given);
  Tensor out = empty(index.shape(), self.dtype(), self.device());
  if (index.numel()) backend_of(self).gather(out, self, d, index);
  if (!grad_needed(self)) return out;
  return tape(out, "gather",
              wrt(self, [d, shape = self.shape(), index = Saved(index)](const Tensor& g) {
                Tensor back = zeros(shape, g.dtype(), g.device());
                if (grad_needed(g) || !g.numel()) return scatter_add(back, d, index, g);
                run_scatter(back, d, index.get(), g, ScatterMode::Add);
                return back;
              }));
}
EMBER_OP("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
         ([](const Tensor& self, int64_t dim, const Tensor& index, bool, Dest dest) {
           return deliver("gather", dest, gather(self, dim, index));
         }),
         kForms | Out | Apart | Along | Rearranges,
         "The elements at `index` along a dimension: out[i][j] = self[index[i][j]][j] for dim 0.");

namespace {

// Nothing is scattered; history is kept all the same.
Tensor unchanged(Change& c, const Tensor& self, const Tensor& src) {
  if (!c.needs_grad(self, src)) return c.out;
  return c.tape(wrt(self, [](const Tensor& g) { return g; }),
                wrt(src, [shape = src ? src.shape() : Shape()](const Tensor& g) {
                  return zeros(shape, g.dtype(), g.device());
                }));
}

Tensor scatter_set(const Tensor& self, int64_t dim, const Tensor& given, const Operand& src,
                   Dest dest) {
  int d = wrap_dim("scatter", dim, self.dim());
  Tensor index = checked_index("scatter", self, d, given);
  Change c("scatter", self, dest);
  if (index.numel() == 0)
    return unchanged(c, self, src.is_tensor() ? src.tensor() : undefined_tensor);
  if (!src.is_tensor()) {
    Tensor value = expand(scalar_tensor(src.scalar(), self.dtype(), self.device()), index.shape());
    run_scatter(c.out, d, index, value, ScatterMode::Set);
    if (!c.needs_grad(self)) return c.out;
    return c.tape(wrt(self, [d, index = Saved(index)](const Tensor& g) {
      return scatter(g, d, index, Scalar(0));
    }));
  }
  Tensor part = cut_source("scatter", self, index, src.tensor(), d);
  run_scatter(c.out, d, index, part, ScatterMode::Set);
  if (!c.needs_grad(self, part)) return c.out;
  return c.tape(
      wrt(self,
          [d, index = Saved(index)](const Tensor& g) { return scatter(g, d, index, Scalar(0)); }),
      wrt(part, [d, index = Saved(index)](const Tensor& g) { return gather(g, d, index); }));
}

Tensor scatter_sum(const char* op, const Tensor& self, int64_t dim, const Tensor& given,
                   const Tensor& src, Dest dest) {
  int d = wrap_dim(op, dim, self.dim());
  Tensor index = checked_index(op, self, d, given);
  Change c(op, self, dest);
  if (index.numel() == 0) return unchanged(c, self, src);
  Tensor part = cut_source(op, self, index, src, d);
  run_scatter(c.out, d, index, part, ScatterMode::Add);
  if (!c.needs_grad(self, part)) return c.out;
  return c.tape(
      wrt(self, [](const Tensor& g) { return g; }),
      wrt(part, [d, index = Saved(index)](const Tensor& g) { return gather(g, d, index); }));
}

enum class Meet { Sum, Prod, Mean, Max, Min };

Meet meet_of(const char* op, const std::string& name) {
  static const std::pair<const char*, Meet> names[] = {{"sum", Meet::Sum},
                                                       {"prod", Meet::Prod},
                                                       {"mean", Meet::Mean},
                                                       {"amax", Meet::Max},
                                                       {"amin", Meet::Min}};
  for (auto& [text, meet] : names)
    if (name == text) return meet;
  fail(Kind::Runtime, op, "(): reduce argument must be either sum, prod, mean, amax or amin, got ",
       name);
}

// What a place holds before the first value, if self does not take part.
Scalar neutral(Meet meet, Dtype d) {
  if (meet == Meet::Sum || meet == Meet::Mean) return Scalar(0);
  if (meet == Meet::Prod) return Scalar(1);
  bool low = meet == Meet::Max;
  if (d == Dtype::Bool) return Scalar(!low);
  if (is_floating(d)) return Scalar(low ? -INFINITY : INFINITY);
  return with_dtype(d, [&](auto tag) -> Scalar {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>)
      return Scalar(int64_t(low ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max()));
    else
      return Scalar(0);
  });
}

// How many values met at each place.
Tensor counts(const Tensor& like, int d, const Tensor& index, bool include_self) {
  NoGrad guard;
  Tensor n = include_self ? ones_like(like) : zeros_like(like);
  Tensor one = expand(ones({}, like.dtype(), like.device()), index.shape());
  run_scatter(n, d, index, one, ScatterMode::Add);
  return masked_fill(n, n == Scalar(0), Scalar(1));
}

// Gradients of scatter_reduce; `result` is its output. The two arms share little, so each computes
// its own.
struct ReduceRule {
  Meet meet;
  int d;
  bool include_self;

  Tensor forward(const Tensor& self, const Tensor& index, const Tensor& src) const {
    static const char* names[] = {"sum", "prod", "mean", "amax", "amin"};
    return scatter_reduce(self, d, index, src, names[int(meet)], include_self);
  }
  Tensor spread(const Tensor& g, const Tensor& self, const Tensor& index, const Tensor& src,
                const Tensor& result) const {  // amax, amin: evenly over all that equal the result
    Tensor hits = to(src == gather(result, d, index), g.dtype());
    return g / scatter_add(to(self == result, g.dtype()), d, index, hits);
  }
  Tensor wrt_self(const Tensor& g, const Tensor& self, const Tensor& index, const Tensor& src,
                  const Tensor& result) const {
    if (!include_self && meet != Meet::Max && meet != Meet::Min && meet != Meet::Mean)
      return scatter(g, d, index, Scalar(0));
    Tensor out;
    if (meet == Meet::Sum) {
      out = g;
    } else if (meet == Meet::Prod) {
      Tensor whole = masked_fill(self, self == Scalar(0), Scalar(1));
      out = g * conj(forward(whole, index, src) / whole);
    } else if (meet == Meet::Mean) {
      out = g / counts(g, d, index, include_self);
    } else {
      out = to(self == result, g.dtype()) * spread(g, self, index, src, result);
    }
    return include_self ? out : scatter(out, d, index, Scalar(0));
  }
  // Where zeros meet, the formula has the right value but not the right derivative.
  static Tensor once_only(const Tensor& dx) {
    return tape(detach(dx), "delayed_error", wrt(dx, [](const Tensor&) -> Tensor {
                  fail(Kind::Runtime,
                       "scatter_reduce(): Double backward is unsupported for src when >1 zeros in "
                       "src are scattered to the same position in self");
                }));
  }
  Tensor wrt_src(const Tensor& g, const Tensor& self, const Tensor& index, const Tensor& src,
                 const Tensor& result) const {
    if (meet == Meet::Sum) return gather(g, d, index);
    if (meet == Meet::Mean)
      return gather(g, d, index) / gather(counts(g, d, index, include_self), d, index);
    if (meet == Meet::Prod) {  // a single zero takes the product of the others
      Tensor zero = src == Scalar(0);
      Tensor zeros_met =
          gather(scatter_add(zeros_like(detach(self)), d, index, to(zero, self.dtype())), d, index);
      Tensor single = bitwise_and(zero, zeros_met == Scalar(1));
      Tensor others = forward(self, index, masked_fill(src, single, Scalar(1)));
      Tensor product = forward(self, index, src);  // anew, as it depends on src
      Tensor dx =
          where(single, gather(g * conj(others), d, index),
                gather(g * conj(product), d, index) / conj(masked_fill(src, zero, Scalar(1))));
      // A look at the data, if this is to be differentiated again.
      bool meeting =
          grad_needed(dx) && item(any(bitwise_and(zero, logical_not(single)))).to<bool>();
      return meeting ? once_only(dx) : dx;
    }
    Tensor hit = to(src == gather(result, d, index), g.dtype());
    return hit * gather(spread(g, self, index, src, result), d, index);
  }
};

Tensor scatter_reduced(const char* op, const Tensor& self, int64_t dim, const Tensor& given,
                       const Tensor& src, Meet meet, bool include_self, Dest dest) {
  int d = wrap_dim(op, dim, self.dim());
  Tensor index = checked_index(op, self, d, given);
  check(!is_complex(self.dtype()) || meet == Meet::Sum || meet == Meet::Prod, Kind::Runtime, op,
        "(): not implemented for ", self.dtype());
  // Rules look at self as it was.
  bool rules = (!dest.tensor || dest.in_place) && grad_needed(self, src);
  Tensor before = rules && dest.in_place ? clone(self) : self;
  Change c(op, self, dest);
  if (index.numel() == 0) return unchanged(c, self, src);
  Tensor part = cut_source(op, self, index, src, d);
  if (!include_self)
    run_scatter(c.out, d, index,
                expand(scalar_tensor(neutral(meet, self.dtype()), self.dtype(), self.device()),
                       index.shape()),
                ScatterMode::Set);
  static const ScatterMode modes[] = {ScatterMode::Add, ScatterMode::Mul, ScatterMode::Add,
                                      ScatterMode::Max, ScatterMode::Min};
  run_scatter(c.out, d, index, part, modes[int(meet)]);
  if (meet == Meet::Mean) {
    NoGrad guard;
    Tensor n = counts(self, d, index, include_self);
    if (is_integral(self.dtype(), true))
      floor_divide(c.out, n, {&c.out, true});
    else
      div(c.out, n, {&c.out, true});
  }
  if (!rules) return c.out;
  ReduceRule rule{meet, d, include_self};
  bool light = meet == Meet::Sum || meet == Meet::Mean;  // the index is all they need
  Tensor result = light || meet == Meet::Prod ? Tensor()
                  : dest.in_place             ? clone(detach(c.out))
                                              : detach(c.out);
  auto save = [light](const Tensor& t) { return light ? Saved() : Saved(t); };
  return c.tape(
      wrt(self, [rule, x = save(before), i = Saved(index), s = save(part), y = save(result)](
                    const Tensor& g) { return rule.wrt_self(g, x.get(), i, s.get(), y.get()); }),
      wrt(part, [rule, x = save(before), i = Saved(index), s = save(part), y = save(result)](
                    const Tensor& g) { return rule.wrt_src(g, x.get(), i, s.get(), y.get()); }));
}

Meet old_meet(const std::string& reduce) {
  check(reduce == "add" || reduce == "multiply", Kind::Runtime,
        "reduce argument must be either add or multiply, got ", reduce);
  return reduce == "add" ? Meet::Sum : Meet::Prod;
}

}  // namespace

Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Operand& src) {
  return scatter_set(self, dim, index, src, {});
}
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_sum("scatter_add", self, dim, index, src, {});
}
Tensor scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                      const std::string& reduce, bool include_self) {
  return scatter_reduced("scatter_reduce", self, dim, index, src, meet_of("scatter_reduce", reduce),
                         include_self, {});
}

EMBER_OP("scatter(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
         ([](const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Dest dest) {
           return scatter_set(self, dim, index, src, dest);
         }),
         kAllForms | Apart | Along,
         "A copy with `src` written to the places `index` along a dimension.");
EMBER_OP("scatter(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
         ([](const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Dest dest) {
           create::check_fits(value, self.dtype(), true);
           return scatter_set(self, dim, index, value, dest);
         }),
         kAllForms | Apart | Along,
         "A copy with a number written to the places `index` along a dimension.");
EMBER_OP("scatter(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
         ([](const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
             const std::string& reduce, Dest dest) {
           return scatter_reduced("scatter", self, dim, index, src, old_meet(reduce), true, dest);
         }),
         kAllForms | Apart | Along,
         "A copy with `src` added to (or multiplied with) what is at `index` along a dimension.");
EMBER_OP(
    "scatter(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
    ([](const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
        const std::string& reduce, Dest dest) {
      create::check_fits(value, self.dtype(), true);
      Tensor src = expand(scalar_tensor(value, self.dtype(), self.device()), index.shape());
      return scatter_reduced("scatter", self, dim, index, src, old_meet(reduce), true, dest);
    }),
    kAllForms | Apart | Along,
    "A copy with a number added to (or multiplied with) what is at `index` along a dimension.");
EMBER_OP("scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
         ([](const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Dest dest) {
           return scatter_sum("scatter_add", self, dim, index, src, dest);
         }),
         kAllForms | Apart | Along,
         "A copy with `src` added to what is at `index` along a dimension.");
EMBER_OP(
    "scatter_reduce(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool "
    "include_self=True) -> Tensor",
    ([](const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
        const std::string& reduce, bool include_self, Dest dest) {
      return scatter_reduced("scatter_reduce", self, dim, index, src,
                             meet_of("scatter_reduce", reduce), include_self, dest);
    }),
    kAllForms | Apart | Along,
    "The sum, prod, mean, amax or amin of `src` at the places `index` along a dimension, together "
    "with "
    "what is there if `include_self`.");

Tensor index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                    const std::string& reduce, bool include_self, Dest dest) {
  int d = wrap_dim("index_reduce", dim, self.dim());
  check(reduce != "sum", Kind::Runtime,
        "index_reduce(): reduce argument must be either prod, mean, amax or amin, got sum");
  Meet meet = meet_of("index_reduce", reduce);
  check(index.dim() <= 1, Kind::Index, "index_reduce_(): Index is supposed to be a vector, got ",
        index);
  check(self.dtype() == source.dtype(), Kind::Runtime,
        "index_reduce_(): self and source expected to have the same dtype, "
        "but got ",
        self.dtype(), " and ", source.dtype());
  check(self.dim() == source.dim(), Kind::Runtime,
        "index_reduce_(): source must have the dimensions of self, got ", source.shape(), " and ",
        self.shape());
  check(source.dim() == 0 ? index.numel() == 1 : index.numel() == source.size(d), Kind::Index,
        "index_reduce_(): Number of indices (", index.numel(),
        ") should be equal to source.size(dim) (", source.dim() ? source.size(d) : 1, ")");
  Shape shape = Shape::filled(std::max(source.dim(), 1), 1);
  shape[d] = index.numel();
  Tensor wide = source.dim() ? expand(reshape(detach(index), shape), source.shape())
                             : reshape(detach(index), {});
  return scatter_reduced("index_reduce", self, d, wide, source, meet, include_self, dest);
}
EMBER_OP(
    "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool "
    "include_self=True) -> Tensor",
    &index_reduce, kAllForms | Apart | Along,
    "The prod, mean, amax or amin of the rows of `source` at the rows `index` of self.");

Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
  check(indices.dtype() == Dtype::Int64, Kind::Runtime,
        "torch.take_along_dim(): dtype of indices should be Long but got ", indices.dtype());
  if (!dim) return gather(reshape(self, {-1}), 0, reshape(indices, {-1}));
  // Along a dimension any position counts, modulo the size.
  auto within = [&](int64_t n) { return n ? remainder(indices, n) : indices; };
  check(self.dim() == indices.dim(), Kind::Runtime,
        "torch.take_along_dim(): input and indices should have the same number "
        "of dimensions, but got ",
        self.dim(), " dimensions for input, and ", indices.dim(), " dimensions for indices");
  int d = wrap_dim("take_along_dim", *dim, self.dim());
  Shape a = self.shape(), b = indices.shape();
  if (self.dim()) a[d] = b[d] = 1;
  Shape common = broadcast_shapes("take_along_dim", a, b), wide = common, picked = common;
  if (self.dim()) wide[d] = self.size(d), picked[d] = indices.size(d);
  return gather(expand(self, wide), d, expand(within(self.dim() ? self.size(d) : 1), picked));
}
EMBER_OP("take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", &take_along_dim,
         kForms | Out | Along | Rearranges,
         "gather() with the other dimensions broadcast; of the flattened tensor if `dim` is None.");

}  // namespace ember
