// One index for whole rows along a dimension: index_select, index_add, index_copy, index_fill; and
// take and put, for which the tensor is one line.
#include "ops/change.h"
#include "ops/create.h"

namespace ember {

namespace {

// The index as a line of int64, after the checks that all of these share.
Tensor line_of(const char* op, const Tensor& index) {
  check(index.dim() <= 1, Kind::Index, op,
        "(): Index is supposed to be a vector, but got dim: ", index.dim());
  check(index.dtype() == Dtype::Int64 || index.dtype() == Dtype::Int32, Kind::Runtime, op,
        "(): Expected dtype int32 or int64 for index but got: ", index.dtype());
  NoGrad guard;
  Tensor line = to(detach(index), Dtype::Int64);
  return line.dim() ? line : alias(line, {1}, {1}, line.offset());
}

// Runs what reads or writes rows. An index that is out of bounds is an IndexError in tensors of one
// dimension, a RuntimeError in others, as in PyTorch.
template <class F>
void with_rows_of(const Tensor& self, const char* what, F run) {
  try {
    run();
  } catch (const Error& error) {
    if (error.kind() != Kind::Index || self.dim() < 2) throw;
    fail(Kind::Runtime, what, error.what());
  }
}

Tensor as_line(const Tensor& t) { return t.dim() ? t : alias(t, {1}, {1}, t.offset()); }

void check_source(const char* op, const Tensor& self, int d, const Tensor& line,
                  const Tensor& source) {
  check(self.dtype() == source.dtype(), Kind::Runtime, op,
        "(): self and source expected to have the same dtype, but got "
        "(self) ",
        self.dtype(), " and (source) ", source.dtype());
  if (source.dim() == 0 || self.dim() == 0) {
    check(source.dim() <= 1 && self.dim() <= 1, Kind::Runtime, op,
          "(): source tensor shape must match self tensor shape, excluding the specified "
          "dimension. Got self.shape = ",
          self.shape(), " source.shape = ", source.shape());
    check(line.numel() == source.numel(), Kind::Runtime, op, "(): Number of indices (",
          line.numel(), ") should be equal to source.size(dim): (", source.numel(),
          "), for dim: ", d);
    return;
  }
  check(self.dim() == source.dim(), Kind::Runtime, op,
        "(): source must have as many dimensions as self, got shapes ", source.shape(), " and ",
        self.shape());
  check(line.numel() == source.size(d), Kind::Runtime, op, "(): Number of indices (", line.numel(),
        ") should be equal to source.size(dim): (", source.size(d), "), for dim: ", d);
  for (int i = 0; i < self.dim(); i++)
    check(i == d || self.shape()[i] == source.shape()[i], Kind::Runtime, op,
          "(): source tensor shape must match self tensor shape, excluding the specified "
          "dimension. Got self.shape = ",
          self.shape(), " source.shape = ", source.shape(), " with dim = ", d);
}

void put_rows(const Tensor& out, int d, const Tensor& line, const Tensor& source,
              ScatterMode mode) {
  NoGrad guard;
  Tensor rows = source.storage() == out.storage() ? clone(source) : source;
  Tensor to = as_line(out);
  Shape shape = to.shape();
  shape[d] = line.numel();
  Tensor wide = as_line(rows);
  if (!(wide.shape() == shape)) wide = expand(rows, shape);
  backend_of(out).index_put(to, {{line}, d, {d}, false}, wide, mode);
}

}  // namespace

Tensor rows_back(const Tensor& g, const Shape& shape, int64_t dim, const Tensor& line) {
  Tensor out = zeros(shape, g.dtype(), g.device());
  if (grad_enabled()) return index_add(out, dim, line, g);
  put_rows(out, int(dim), line, g, ScatterMode::Add);  // no copy of the zeros
  return out;
}

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  int d = wrap_dim("index_select", dim, self.dim());
  Tensor line = line_of("index_select", index), x = as_line(self);
  check(self.dim() || line.numel() == 1, Kind::Runtime,
        "index_select(): Index to scalar can have only 1 value, got ", line.numel(), " value(s)");
  Shape shape = x.shape();
  shape[d] = line.numel();
  Tensor out = empty(shape, self.dtype(), self.device());
  check(x.size(d) || !line.numel() || self.dim() < 2, Kind::Runtime,
        "index_select(): self indexing axis dim should be positive, got shape ", self.shape());
  with_rows_of(self, "index_select(): INDICES element is out of DATA bounds: ", [&] {
    backend_of(self).index_get(out, x, {{line}, d, {d}, false});
  });
  if (!self.dim()) out = alias(out, {}, {}, 0);
  if (!grad_needed(self)) return out;
  return tape(out, "index_select",
              wrt(self, [d, shape = self.shape(), line = Saved(line)](const Tensor& g) {
                return rows_back(g, shape, d, line);
              }));
}
EMBER_OP("index_select(Tensor self, int dim, Tensor index) -> Tensor",
         ([](const Tensor& self, int64_t dim, const Tensor& index, Dest dest) {
           return deliver("index_select", dest, index_select(self, dim, index));
         }),
         kForms | Out | Apart | Along | Rearranges, "The rows `index` along a dimension.");

namespace {

Tensor index_add_to(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                    const Scalar& alpha, Dest dest) {
  int d = wrap_dim("index_add", dim, self.dim());
  Tensor line = line_of("index_add_", index);
  check_source("index_add_", self, d, line, source);
  bool by_one = alpha.equal(1);
  create::check_fits(alpha, self.dtype());
  Tensor rows = source;
  if (!by_one) {
    NoGrad guard;
    rows = to(mul(source, alpha), self.dtype());
  }
  Change c("index_add", self, dest);
  with_rows_of(self, "index_add(): ", [&] { put_rows(c.out, d, line, rows, ScatterMode::Add); });
  if (!c.needs_grad(self, source)) return c.out;
  return c.tape(
      wrt(self, [](const Tensor& g) { return g; }),
      wrt(source, [d, line = Saved(line), alpha, by_one, shape = source.shape()](const Tensor& g) {
        Tensor part = reshape(index_select(g, d, line), shape);
        return by_one ? part : part * alpha;
      }));
}

Tensor index_copy_to(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                     Dest dest) {
  int d = wrap_dim("index_copy", dim, self.dim());
  check(index.dim() <= 1, Kind::Index, "index_copy_(): Index should have dimension 1 or 0 (got ",
        index.dim(), ")");
  check(index.dtype() == Dtype::Int64, Kind::Index,
        "index_copy_(): Expected a long tensor for index, but got ", index.dtype());
  check(self.dtype() == source.dtype(), Kind::Runtime,
        "index_copy_(): self and source expected to have the same dtype, "
        "but got (self) ",
        self.dtype(), " and (source) ", source.dtype());
  Tensor line = line_of("index_copy_", index);
  check(source.dim() || line.numel() == 1, Kind::Index,
        "index_copy_(): When source is scalar, index should have one "
        "element (got ",
        line.numel(), ")");
  check(source.dim() || self.dim() <= 1, Kind::Runtime,
        "index_copy_(): Source/destination tensor must have same slice shapes, but a number is not "
        "a slice of ",
        self.shape());
  check(self.dim() == source.dim() || !source.dim() || !self.dim(), Kind::Index,
        "index_copy_(): When source and "
        "destination are not scalars, their dimensionality must match. Source dimensionality (",
        source.dim(), "), destination dimensionality (", self.dim(), ")");
  if (source.dim() && self.dim()) {
    for (int i = 0; i < self.dim(); i++)
      check(i == d || self.shape()[i] == source.shape()[i], Kind::Runtime,
            "index_copy_(): Source/destination tensor must "
            "have same slice shapes. Destination slice shape: ",
            self.shape(), " at dimension ", d, " and source slice shape: ", source.shape(),
            " at dimension ", d, ".");
    check(line.numel() == source.size(d), Kind::Index, "index_copy_(): Number of indices (",
          line.numel(), ") should be equal to source.size(dim) (", source.size(d), ")");
  }
  Change c("index_copy", self, dest);
  put_rows(c.out, d, line, source, ScatterMode::Set);
  if (!c.needs_grad(self, source)) return c.out;
  return c.tape(wrt(self, [d, line = Saved(line)](
                              const Tensor& g) { return index_fill(g, d, line, Scalar(0)); }),
                wrt(source, [d, line = Saved(line), shape = source.shape()](const Tensor& g) {
                  Tensor rows = index_select(g, d, line);
                  return shape.empty() && rows.dim() ? sum(rows) : reshape(rows, shape);
                }));
}

Tensor index_fill_to(const Tensor& self, int64_t dim, const Tensor& index, const Operand& value,
                     Dest dest) {
  int d = wrap_dim("index_fill", dim, self.dim());
  check(index.dtype() == Dtype::Int64 || index.dtype() == Dtype::Int32, Kind::Index,
        "index_fill_(): Expected dtype int64 for index, but got ", index.dtype());
  check(!value.is_tensor() || value.tensor().dim() == 0, Kind::Runtime,
        "index_fill_ only supports a 0-dimensional value "
        "tensor, but got tensor with ",
        value.is_tensor() ? value.tensor().dim() : 0, " dimension(s).");
  if (!value.is_tensor()) create::check_fits(value.scalar(), self.dtype(), true);
  Tensor line = line_of("index_fill_", index);
  bool complex =
      value.is_tensor() ? is_complex(value.tensor().dtype()) : value.scalar().is_complex();
  check(!complex || is_complex(self.dtype()), Kind::Runtime,
        "index_fill_(): Converting complex Scalar to non-complex type is not supported");
  Tensor one = value.is_tensor() ? to(detach(value.tensor()), self.dtype())
                                 : scalar_tensor(value.scalar(), self.dtype(), self.device());
  Change c("index_fill", self, dest, MemoryFormat::Preserve);
  {
    NoGrad guard;
    Tensor out = as_line(c.out);
    Shape shape = out.shape();
    shape[d] = line.numel();
    backend_of(self).index_put(out, {{line}, d, {d}, true}, expand(one, shape), ScatterMode::Set);
  }
  const Tensor& v = value.is_tensor() ? value.tensor() : undefined_tensor;
  if (!c.needs_grad(self, v)) return c.out;
  return c.tape(
      wrt(self,
          [d, line = Saved(line)](const Tensor& g) { return index_fill(g, d, line, Scalar(0)); }),
      wrt(value, [d, line = Saved(line)](const Tensor& g) {
        Shape shape = Shape::filled(g.dim(), 1);  // a row counts once, however often it was filled
        if (g.dim()) shape[d] = g.size(d);
        Tensor others = index_fill(ones(shape, Dtype::Bool, g.device()), d, line, Scalar(false));
        return sum(masked_fill(g, others, Scalar(0)));
      }));
}

}  // namespace

Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                 const Scalar& alpha) {
  return index_add_to(self, dim, index, source, alpha, {});
}
Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Operand& value) {
  return index_fill_to(self, dim, index, value, {});
}
EMBER_OP(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
    &index_add_to, kAllForms | Apart | Along,
    "A copy with the rows of `source`, times `alpha`, added to the rows `index`.");
EMBER_OP("index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", &index_copy_to,
         kAllForms | Apart | Along | Widest,
         "A copy with the rows `index` replaced by those of `source`.");
EMBER_OP("index_fill(Tensor self, int dim, Tensor index, Number value) -> Tensor", &index_fill_to,
         kAllForms | Apart | Along, "A copy with the rows `index` filled with a number.");

Tensor take(const Tensor& self, const Tensor& index) {
  check(index.dtype() == Dtype::Int64, Kind::Runtime,
        "take(): Expected a long tensor for index, but got ", index.dtype());
  check(self.numel() || !index.numel(), Kind::Index, "take(): tried to take from an empty tensor");
  return reshape(ember::index(reshape(self, {-1}), {reshape(detach(index), {-1})}), index.shape());
}
EMBER_OP("take(Tensor self, Tensor index) -> Tensor",
         ([](const Tensor& self, const Tensor& index, Dest dest) {
           return deliver("take", dest, take(self, index));
         }),
         kForms | Out | Apart | Whole | Rearranges,
         "The elements at `index`, the tensor being one line.");

namespace {

Tensor put_to(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate,
              Dest dest) {
  check(index.dtype() == Dtype::Int64, Kind::Runtime,
        "put_(): Expected a long tensor for index, but got ", index.dtype());
  check(self.dtype() == source.dtype(), Kind::Runtime,
        "put_(): self and source expected to have the same dtype, but got "
        "self.dtype = ",
        self.dtype(), " and source.dtype = ", source.dtype());
  check(index.numel() == source.numel(), Kind::Runtime,
        "put_(): Expected source and index to have the same number of "
        "elements, but got source.numel() = ",
        source.numel(), ", index.numel() = ", index.numel());
  check(self.numel() || !index.numel(), Kind::Index,
        "put_(): Expected self to be a non-empty tensor");
  Change c("put", self, dest, MemoryFormat::Preserve);
  {
    NoGrad guard;
    Tensor line = c.out.is_contiguous() ? alias(c.out) : clone(c.out, MemoryFormat::Contiguous);
    Tensor flat = alias(line, {line.numel()}, {1}, line.offset());
    if (index.numel())
      backend_of(self).index_put(flat, {{reshape(detach(index), {-1})}, 0, {0}},
                                 reshape(source, {-1}),
                                 accumulate ? ScatterMode::Add : ScatterMode::Set);
    if (line.storage() != c.out.storage()) backend_of(self).copy(c.out, line);
  }
  if (!c.needs_grad(self, source)) return c.out;
  return c.tape(wrt(self,
                    [index = Saved(index), accumulate](const Tensor& g) {
                      if (accumulate) return g;
                      Tensor i = index.get();
                      return put_to(g, i, zeros(i.shape(), g.dtype(), g.device()), false, {});
                    }),
                wrt(source, [index = Saved(index), shape = source.shape()](const Tensor& g) {
                  return reshape(take(g, index), shape);
                }));
}

}  // namespace
EMBER_OP("put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", &put_to,
         Function | Method | InPlace | Apart | Whole,
         "A copy with `source` at the places `index`, the tensor being one line.");

}  // namespace ember
