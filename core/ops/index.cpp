// self[indices] and self[indices] = values, with NumPy's rules of where indexed dimensions go;
// nonzero.
#include "ops/devices.h"
#include "ops/overlap.h"

namespace ember {

namespace {

// Raises if positions in host memory, about to move to another device, are out of bounds: there
// that would be known only later.
void check_positions(const Tensor& positions, const Tensor& self, int dim) {
  if (dim >= self.dim() || !keeps_values(self.device())) return;
  const int64_t size = self.shape()[dim];
  Tensor line = contiguous(positions, MemoryFormat::Contiguous);
  for (int64_t i = 0; i < line.numel(); i++) {
    const int64_t v = line.data<int64_t>()[i];
    check(v >= -size && v < size, Kind::Index, "index ", v, " is out of bounds for dimension ", dim,
          " with size ", size);
  }
}

// Integer indices, one per dimension of self (undefined where a dimension is taken whole); masks
// become the positions at which they are set.
TensorList as_positions(const Tensor& self, const TensorList& indices) {
  TensorList out;
  auto too_many = [&](int n) {
    fail(Kind::Index, "too many indices for tensor of dimension ", self.dim(), " (got ", n, ")");
  };
  for (const Tensor& t : indices) {
    int at = int(out.size());
    if (!t) {
      out.emplace_back();
    } else if (t.dtype() == Dtype::Bool || t.dtype() == Dtype::UInt8) {
      if (at + t.dim() > self.dim()) too_many(at + t.dim());
      for (int d = 0; d < t.dim(); d++)
        check(t.shape()[d] == self.shape()[at + d], Kind::Index, "The shape of the mask ",
              t.shape(), " at index ", d, " does not match the shape of the indexed tensor ",
              self.shape(), " at index ", at + d);
      Tensor places = backend_of(t).nonzero(t);
      for (int d = 0; d < t.dim(); d++)
        out.push_back(alias(places, {places.size(0)}, {places.stride(0)},
                            places.offset() + d * places.stride(1)));
    } else {
      check(t.dtype() == Dtype::Int64 || t.dtype() == Dtype::Int32, Kind::Index,
            "tensors used as indices must be long, int, byte or bool tensors, got ", t.dtype());
      NoGrad guard;
      Tensor there = to(t, Dtype::Int64);
      if (t.device().kind != self.device().kind) {
        if (on_host(t)) check_positions(there, self, int(out.size()));
        there = to(there, self.device(), std::nullopt);
      }
      out.push_back(there);
    }
  }
  if (int(out.size()) > self.dim()) too_many(int(out.size()));
  return out;
}

// All indices broadcast to one shape, and self with the indexed dimensions side by side.
struct Picked {
  Tensor self;  // an alias
  Indexing at;
  Shape shape;  // of the result

  Picked(const Tensor& x, const TensorList& positions) {
    Shape size;
    bool any = false;
    for (const Tensor& t : positions)
      if (t) size = any ? meet(size, t.shape(), positions) : t.shape(), any = true;
    Shape order, rest;
    bool apart = false;
    for (int d = 0; d < x.dim(); d++) {
      if (d < int(positions.size()) && positions[size_t(d)]) {
        if (at.dims.empty())
          at.first = d;
        else
          apart = apart || at.dims.back() != d - 1;
        at.dims.push_back(d);
        const Tensor& t = positions[size_t(d)];
        at.indices.push_back(
            t.shape() == size
                ? t
                : alias(t, size, broadcast_strides(t.shape(), t.strides(), size), t.offset()));
      } else {
        rest.push_back(d);
      }
    }
    self = alias(x);
    if (apart) {  // the indexed dimensions, and so the result's, come first
      Shape to, strides;
      for (const Shape* part : {&at.dims, &rest})
        for (int64_t d : *part) to.push_back(x.shape()[d]), strides.push_back(x.strides()[d]);
      self = alias(x, to, strides, x.offset());
      at.first = 0;
    }
    int k = at.dims.size();
    for (int d = 0; d < at.first; d++) shape.push_back(self.shape()[d]);
    for (int64_t n : size) shape.push_back(n);
    for (int d = at.first + k; d < self.dim(); d++) shape.push_back(self.shape()[d]);
    if (numel_of(size))
      for (int64_t d : at.dims)
        check(x.shape()[d] != 0, Kind::Index,
              "index is out of bounds for dimension with size 0: dimension ", d, " of shape ",
              x.shape());
  }
  // Whether there is anything to read or write; if not, indices are not looked at.
  bool has_elements() const { return numel_of(shape) != 0; }

 private:
  static Shape meet(const Shape& a, const Shape& b, const TensorList& all) {
    try {
      return broadcast_shapes("index", a, b);
    } catch (const Error&) {
      std::ostringstream text;
      for (const Tensor& t : all)
        if (t) text << (text.tellp() ? ", " : "") << t.shape();
      fail(Kind::Index,
           "shape mismatch: indexing tensors could not be broadcast together with shapes ",
           text.str());
    }
  }
};

bool takes_all(const TensorList& positions) {
  for (const Tensor& t : positions)
    if (t) return false;
  return true;
}

// Positions as a rule keeps them.
struct SavedPositions {
  std::vector<Saved> list;
  explicit SavedPositions(const TensorList& positions) {
    for (const Tensor& t : positions) list.push_back(t ? Saved(t) : Saved());
  }
  TensorList get() const {
    TensorList out;
    for (const Saved& s : list) out.push_back(s.defined() ? s.get() : Tensor());
    return out;
  }
};

Tensor index_positions(const Tensor& self, const TensorList& positions) {
  if (takes_all(positions)) return view_alias(self);
  Picked p(self, positions);
  Tensor out = empty(p.shape, self.dtype(), self.device());
  if (p.has_elements()) backend_of(self).index_get(out, p.self, p.at);
  if (!grad_needed(self)) return out;
  return tape(out, "index",
              wrt(self, [at = SavedPositions(positions), shape = self.shape()](const Tensor& g) {
                return index_put_(zeros(shape, g.dtype(), g.device()), at.get(), g, true);
              }));
}

}  // namespace

Tensor index(const Tensor& self, const TensorList& indices) {
  return index_positions(self, as_positions(self, indices));
}

Tensor index_put_(const Tensor& self, const TensorList& indices, const Tensor& values,
                  bool accumulate) {
  auto check_dtypes = [&] {
    check(self.dtype() == values.dtype(), Kind::Runtime,
          "Index put requires the source and destination dtypes match, got ", self.dtype(),
          " for the destination and ", values.dtype(), " for the source.");
  };
  TensorList positions = as_positions(self, indices);
  check_in_place("index_put_", self, Repeats::Deprecated);
  for (Tensor& t : positions)
    if (t) t = beside("index_put_", self, t, Sharing::Apart);
  if (takes_all(positions)) {
    check_dtypes();
    check(values.dim() <= self.dim(), Kind::Runtime, "shape mismatch: value tensor of shape ",
          values.shape(), " cannot be broadcast to indexing result of shape ", self.shape());
    if (accumulate)
      add(self, beside("index_put_", self, values, Sharing::Aligned), {&self, true});
    else
      copy_(self, values);
    return self;
  }
  Picked p(self, positions);
  Shape strides;
  bool fits = values.dim() <= p.shape.size();
  for (int i = 1; fits && i <= values.dim(); i++)
    fits = values.size(-i) == 1 || values.size(-i) == p.shape[p.shape.size() - i];
  // Leading dimensions of size 1 may be too many.
  Tensor given = values;
  if (!fits && values.dim() > p.shape.size()) {
    Shape shape = values.shape(), kept = values.strides();
    while (shape.size() > p.shape.size() && shape[0] == 1) shape.erase(0), kept.erase(0);
    given = alias(values, shape, kept, values.offset());
    fits = given.dim() <= p.shape.size();
    for (int i = 1; fits && i <= given.dim(); i++)
      fits = given.size(-i) == 1 || given.size(-i) == p.shape[p.shape.size() - i];
  }
  check(fits, Kind::Runtime, "shape mismatch: value tensor of shape ", values.shape(),
        " cannot be broadcast to indexing result of shape ", p.shape);
  check_dtypes();
  {
    NoGrad guard;
    given = beside("index_put_", self, given, Sharing::Apart);
  }
  strides = broadcast_strides(given.shape(), given.strides(), p.shape);
  if (p.has_elements())
    backend_of(self).index_put(p.self, p.at, alias(given, p.shape, strides, given.offset()),
                               accumulate ? ScatterMode::Add : ScatterMode::Set);
  bump_version(self);
  if (!grad_needed(self, values)) return self;
  tape_inplace(
      self, "index_put",
      wrt(self,
          [at = accumulate ? SavedPositions({}) : SavedPositions(positions),
           accumulate](const Tensor& g) {
            if (accumulate) return g;
            return index_put(g, at.get(), zeros({}, g.dtype(), g.device()), false);
          }),
      wrt(values, [at = SavedPositions(positions), shape = values.shape()](const Tensor& g) {
        Tensor part = index(g, at.get());
        return part.dim() < shape.size() ? reshape(sum_to(part, shape), shape) : part;
      }));
  return self;
}

Tensor index_put(const Tensor& self, const TensorList& indices, const Tensor& values,
                 bool accumulate) {
  return index_put_(clone(self), indices, values, accumulate);
}
EMBER_OP(
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    &index_put, kForms | Whole,
    "A copy with the elements at `indices` replaced by `values`, or increased by them if "
    "`accumulate`.");
EMBER_OP(
    "index_put_(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    &index_put_, kForms | Whole,
    "Replaces the elements at `indices` by `values`, or adds to them if `accumulate`.");

Tensor nonzero(const Tensor& self) { return backend_of(self).nonzero(self); }

namespace {

TensorList columns(const Tensor& places) {
  TensorList out;
  for (int64_t d = 0; d < places.size(1); d++)
    out.push_back(alias(places, {places.size(0)}, {places.stride(0)},
                        places.offset() + d * places.stride(1)));
  return out;
}

}  // namespace

TensorList nonzero_tuple(const Tensor& self) {
  return columns(nonzero(self.dim() ? self : alias(self, {1}, {1}, self.offset())));
}
EMBER_OP("nonzero(Tensor self, *, bool as_tuple=False) -> Tensor",
         ([](const Tensor& self, bool as_tuple) -> void* {
           return as_tuple ? to_host(nonzero_tuple(self)) : to_host(nonzero(self));
         }),
         kForms | Out | ExactOut | Apart | DataDependent,
         "The positions of the elements that are not zero: one row for each, or with `as_tuple` "
         "one tensor for each "
         "dimension.");

Tensor nonzero_static(const Tensor& self, int64_t size, int64_t fill_value) {
  check(size >= 0, Kind::Runtime, "nonzero_static: 'size' must be an non-negative integer, got ",
        size);
  Tensor places = nonzero(self),
         out = full({size, self.dim()}, Scalar(fill_value), Dtype::Int64, self.device());
  int64_t n = std::min(size, places.size(0));
  NoGrad guard;
  backend_of(out).copy(narrow(out, 0, 0, n), narrow(places, 0, 0, n));
  return out;
}
EMBER_OP("nonzero_static(Tensor self, *, int size, int fill_value=-1) -> Tensor", &nonzero_static,
         kForms | Out | Apart | ExactOut | Whole,
         "nonzero() with exactly `size` rows: cut, or filled up with `fill_value`.");

TensorList unravel_index(const Tensor& indices, const Shape& shape) {
  check(is_integral(indices.dtype()), Kind::Type,
        "expected 'indices' to be integer dtype, but got ", indices.dtype());
  for (int64_t n : shape)
    check(n >= 0, Kind::Value, "'shape' cannot have negative values, but got ", shape);
  TensorList out(size_t(shape.size()));
  Tensor rest = to(indices, Dtype::Int64);
  for (int d = shape.size() - 1; d >= 0; d--) {
    check(shape[d] > 0 || !indices.numel(), Kind::Value,
          "unravel_index(): no position in a shape without elements: ", shape);
    int64_t n = std::max<int64_t>(shape[d], 1);
    out[size_t(d)] = remainder(rest, n);
    rest = floor_divide(rest, n);
  }
  return out;
}
EMBER_OP("unravel_index(Tensor indices, Size shape) -> Tensor[]", &unravel_index, Function | Whole,
         "Positions in the flattened tensor as one index for each dimension of `shape`.");

EMBER_OP("argwhere(Tensor self) -> Tensor", &nonzero, kForms | DataDependent,
         "The positions of the elements that are not zero.");

}  // namespace ember
