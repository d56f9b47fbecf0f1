// Elements repeated and put in another order: repeat, tile, repeat_interleave, flip, roll, rot90,
// kron.
#include "ops/devices.h"
#include "ops/ops.h"

namespace ember {

Tensor repeat(const Tensor& self, const Shape& repeats) {
  check(repeats.size() >= self.dim(), Kind::Runtime,
        "Number of dimensions of repeat dims can not be smaller than number "
        "of dimensions of tensor, got ",
        repeats, " for a tensor of shape ", self.shape());
  int extra = repeats.size() - self.dim();
  Shape apart, wide, out;  // (1, n) for each dimension, (r, n), and r * n
  for (int i = 0; i < repeats.size(); i++) {
    int64_t n = i < extra ? 1 : self.shape()[i - extra], r = repeats[i];
    check(r >= 0, Kind::Runtime, "Trying to create tensor with negative dimension ", r, ": ",
          repeats);
    apart.push_back(1), apart.push_back(n);
    wide.push_back(r), wide.push_back(n);
    out.push_back(size_product("repeat", n, r));
  }
  check(apart.size() <= kMaxDims, Kind::Runtime, "repeat(): too many dimensions");
  return view(clone(expand(reshape(self, apart), wide), MemoryFormat::Contiguous), out);
}
EMBER_OP("repeat(Tensor self, Size repeats) -> Tensor", &repeat, Method | Whole | Rearranges,
         "The tensor repeated as often along each dimension.");

Tensor tile(const Tensor& self, const Shape& dims) {
  Shape repeats = dims;
  while (repeats.size() < self.dim()) repeats.insert(0, 1);
  return repeat(self, repeats);
}
EMBER_OP("tile(Tensor self, Size dims) -> Tensor", &tile, kForms | Whole | Rearranges,
         "The tensor repeated along each dimension; missing entries count as 1.");

Tensor repeat_interleave(const Tensor& self, int64_t repeats, std::optional<int64_t> dim) {
  Tensor x = dim ? self : reshape(self, {-1});
  int d = wrap_dim("repeat_interleave", dim.value_or(0), x.dim());
  if (x.dim() == 0) x = reshape(x, {1});
  check(repeats >= 0, Kind::Runtime, "Repeats must be non-negative, got ", repeats);
  Shape wide = x.shape(), out = x.shape();
  wide.insert(d + 1, repeats);
  out[d] = size_product("repeat_interleave", out[d], repeats);
  return view(clone(expand(unsqueeze(x, d + 1), wide), MemoryFormat::Contiguous), out);
}
Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim) {
  Tensor x = dim ? self : reshape(self, {-1});
  if (x.dim() == 0) x = reshape(x, {1});
  int d = wrap_dim("repeat_interleave", dim.value_or(0), x.dim());
  check(repeats.dtype() == Dtype::Int64 || repeats.dtype() == Dtype::Int32, Kind::Runtime,
        "repeats has to be Long or Int tensor, got ", repeats.dtype());
  check(repeats.dim() <= 1, Kind::Runtime, "repeats must be 0-dim or 1-dim tensor, got ",
        repeats.dim(), " dimensions");
  check_same_device("repeat_interleave", x, {&repeats});
  Tensor counts = detach(repeats);
  if (repeats.numel() == 1) counts = expand(reshape(counts, {1}), {x.size(d)});
  check(counts.numel() == x.size(d), Kind::Runtime,
        "repeats must have the same size as input along dim, but got "
        "repeats.size(0) = ",
        repeats.numel(), " and input.size(", d, ") = ", x.size(d));
  return index_select(x, d, backend_of(x).repeated_positions(counts));
}
namespace {
void check_total(const Tensor& out, std::optional<int64_t> total, int64_t d) {
  check(!total || out.size(d) == *total, Kind::Runtime,
        "allocated size does not match required size: output_size is ", total.value_or(0),
        ", the repeats sum up to ", out.size(d));
}
}  // namespace
EMBER_OP(
    "repeat_interleave(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> "
    "Tensor",
    ([](const Tensor& self, int64_t repeats, std::optional<int64_t> dim,
        std::optional<int64_t> total) {
      Tensor out = repeat_interleave(self, repeats, dim);
      check_total(out, total, dim.value_or(0));
      return out;
    }),
    kForms | Along, "Each element (or each index along `dim`) `repeats` times in a row.");
EMBER_OP(
    "repeat_interleave(Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None) -> "
    "Tensor",
    ([](const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim,
        std::optional<int64_t> total) {
      Tensor out = repeat_interleave(self, repeats, dim);
      check_total(out, total, dim.value_or(0));
      return out;
    }),
    kForms | Along,
    "Each element (or each index along `dim`) as often in a row as `repeats` says for it.");
EMBER_OP("repeat_interleave(Tensor repeats, *, int? output_size=None) -> Tensor",
         ([](const Tensor& repeats, std::optional<int64_t> total) {
           check(repeats.dim() == 1, Kind::Runtime,
                 "repeat_interleave only accept 1D vector as repeat, got ", repeats);
           check(repeats.dtype() == Dtype::Int64 || repeats.dtype() == Dtype::Int32, Kind::Runtime,
                 "repeats has to be Long or Int tensor, got ", repeats.dtype());
           Tensor out = backend_of(repeats).repeated_positions(repeats);
           check_total(out, total, 0);
           return to(out, repeats.dtype());
         }),
         Function | DataDependent,
         "The numbers 0, 1, 2 ..., each as often in a row as `repeats` says.");

Tensor flip(const Tensor& self, const Shape& dims) {
  Shape wrapped;
  for (int64_t d : dims) {
    int k = wrap_dim("flip", d, self.dim());
    check(!wrapped.contains(k), Kind::Runtime, "dim ", k,
          " appears multiple times in the list of dims");
    wrapped.push_back(k);
  }
  if (self.dim() == 0) wrapped = {};
  Tensor out = empty_like(self);
  backend_of(self).flip(out, self, wrapped);
  if (!grad_needed(self)) return out;
  return tape(out, "flip", wrt(self, [wrapped](const Tensor& g) { return flip(g, wrapped); }));
}
EMBER_OP("flip(Tensor self, Size dims) -> Tensor", &flip, kForms | Along | Rearranges,
         "A copy with the order along `dims` reversed.");
EMBER_OP("fliplr(Tensor self) -> Tensor", ([](const Tensor& self) {
           check(self.dim() >= 2, Kind::Runtime, "Input must be >= 2-d, got ", self.dim(), "-d");
           return flip(self, {1});
         }),
         kForms | Whole | Rearranges, "A copy with the columns in reverse order.");
EMBER_OP("flipud(Tensor self) -> Tensor", ([](const Tensor& self) {
           check(self.dim() >= 1, Kind::Runtime, "Input must be >= 1-d, got ", self.dim(), "-d");
           return flip(self, {0});
         }),
         kForms | Whole | Rearranges, "A copy with the rows in reverse order.");

Tensor roll(const Tensor& self, const Shape& shifts, const Shape& dims) {
  if (dims.empty() && shifts.size() == 1)
    return reshape(roll(reshape(contiguous(self), {-1}), shifts, {0}), self.shape());
  check(!shifts.empty(), Kind::Runtime, "`shifts` required");
  check(self.dim() > 0 || dims.empty(), Kind::Index, "Dimension specified as ",
        dims.empty() ? 0 : dims[0], " but tensor has no dimensions");
  check(shifts.size() == dims.size(), Kind::Runtime,
        "shifts and dimensions must align. shifts: ", shifts.size(), ", dims:", dims.size());
  Tensor out = self;
  Shape back;
  {
    NoGrad guard;
    for (int i = 0; i < dims.size(); i++) {
      int d = wrap_dim("roll", dims[i], self.dim());
      int64_t n = self.dim() ? self.shape()[d] : 1;
      int64_t by = n ? shifts[i] % n : 0;
      back.push_back(-by);
      if (by < 0) by += n;
      Tensor from = out;
      out = empty(self.shape(), self.dtype(), self.device());
      if (by == 0) {
        backend_of(out).copy(out, from);
        continue;
      }
      backend_of(out).copy(narrow(out, d, by, n - by), narrow(from, d, 0, n - by));
      backend_of(out).copy(narrow(out, d, 0, by), narrow(from, d, n - by, by));
    }
  }
  if (!grad_needed(self)) return out;
  return tape(out, "roll",
              wrt(self, [back, dims](const Tensor& g) { return roll(g, back, dims); }));
}
EMBER_OP("roll(Tensor self, Dims shifts, Dims dims=None) -> Tensor",
         ([](const Tensor& self, const Dims& shifts, const Dims& dims) {
           return roll(self, shifts.values, dims.values);
         }),
         kForms | Along | Rearranges,
         "A copy shifted along `dims`; what leaves at the end comes in at the front.");

Tensor rot90(const Tensor& self, int64_t k, const Shape& dims) {
  check(dims.size() == 2, Kind::Runtime,
        "expected total rotation dims == 2, but got dims = ", dims.size());
  check(self.dim() >= 2, Kind::Runtime,
        "expected total dims >= 2, but got total dims = ", self.dim());
  int a = wrap_dim("rot90", dims[0], self.dim()), b = wrap_dim("rot90", dims[1], self.dim());
  check(a != b, Kind::Runtime, "expected rotation dims to be different, but got dim0 = ", dims[0],
        " and dim1 = ", dims[1]);
  switch (((k % 4) + 4) % 4) {
    case 1: return transpose(flip(self, {b}), a, b);
    case 2: return flip(self, {a, b});
    case 3: return transpose(flip(self, {a}), a, b);
    default: return clone(self, MemoryFormat::Contiguous);
  }
}
EMBER_OP("rot90(Tensor self, int k=1, Dims dims=[0,1]) -> Tensor",
         ([](const Tensor& self, int64_t k, const Dims& dims) {
           return rot90(self, k, dims.values);
         }),
         kForms | Along | Rearranges,
         "The plane of two dimensions turned by k times 90 degrees, from the first to the second.");

Tensor kron(const Tensor& self, const Tensor& other) {
  int n = std::max(self.dim(), other.dim());
  Shape a, b, out;
  for (int i = 0; i < n; i++) {
    int64_t x = i < n - self.dim() ? 1 : self.shape()[i - (n - self.dim())];
    int64_t y = i < n - other.dim() ? 1 : other.shape()[i - (n - other.dim())];
    a.push_back(x), a.push_back(1);
    b.push_back(1), b.push_back(y);
    out.push_back(size_product("kron", x, y));
  }
  return reshape(mul(reshape(self, a), reshape(other, b)), out);
}
EMBER_OP("kron(Tensor self, Tensor other) -> Tensor", &kron, kForms | Out | Whole,
         "The Kronecker product: each element of the first times all of the second.");

Tensor trace(const Tensor& self) {
  check(self.dim() == 2, Kind::Runtime, "trace: expected a matrix, but got tensor with dim ",
        self.dim());
  return sum(diagonal(self, 0, 0, 1));
}
EMBER_OP("trace(Tensor self) -> Tensor", &trace, kForms | Whole | Float32,
         "The sum of the diagonal of a matrix.");

}  // namespace ember
