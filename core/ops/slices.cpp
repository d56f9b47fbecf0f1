// Views that show a part: select, slice, narrow, diagonal, unfold; and copies with a part replaced
// (*_scatter).
#include "ops/view_op.h"

namespace ember {

Tensor select(const Tensor& self, int64_t dim, int64_t index) {
  check(self.dim() > 0, Kind::Index, "select() cannot be applied to a 0-dim tensor.");
  int d = wrap_dim("select", dim, self.dim());
  int64_t n = self.shape()[d];
  check(index >= -n && index < n, Kind::Index, "index ", index, " is out of bounds for dimension ",
        d, " with size ", n);
  if (index < 0) index += n;
  Shape shape = self.shape(), strides = self.strides();
  int64_t offset = self.offset() + index * strides[d];
  shape.erase(d);
  strides.erase(d);
  Tensor out = make_view(self, std::move(shape), std::move(strides), offset);
  if (!grad_needed(self)) return out;
  return tape(out, "select", wrt(self, [shape = self.shape(), d, index](const Tensor& g) {
                return place(g, shape, "select_backward",
                             [d, index](const Tensor& x) { return select(x, d, index); });
              }));
}
EMBER_VIEW("select", "(Tensor self, int dim, int index) -> Tensor", &select,
           kForms | kCopies | Along | Rearranges, "A view of one index along a dimension.");

Tensor slice(const Tensor& self, int64_t dim, std::optional<int64_t> start,
             std::optional<int64_t> end, int64_t step) {
  check(self.dim() > 0, Kind::Runtime, "slice() cannot be applied to a 0-dim tensor.");
  int d = wrap_dim("slice", dim, self.dim());
  check(step > 0, Kind::Value, "slice step must be positive, got ", step);
  int64_t n = self.shape()[d];
  auto bound = [n](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
  int64_t from = bound(start.value_or(0)), to = std::max(from, bound(end.value_or(n)));
  Shape shape = self.shape(), strides = self.strides();
  int64_t offset = self.offset() + from * strides[d];
  shape[d] = (to - from) / step + ((to - from) % step != 0);
  if (__builtin_mul_overflow(strides[d], step, &strides[d])) strides[d] = 1;  // one element at most
  Tensor out = make_view(self, std::move(shape), std::move(strides), offset);
  if (!grad_needed(self)) return out;
  return tape(out, "slice", wrt(self, [shape = self.shape(), d, from, to, step](const Tensor& g) {
                return place(g, shape, "slice_backward", [d, from, to, step](const Tensor& x) {
                  return slice(x, d, from, to, step);
                });
              }));
}
EMBER_VIEW("slice",
           "(Tensor self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor", &slice,
           kCopies | Along | Rearranges,
           "A view of every `step`-th index from `start` to `end` along a dimension.");

Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  check(self.dim() > 0, Kind::Runtime, "narrow() cannot be applied to a 0-dim tensor.");
  check(length >= 0, Kind::Runtime, "narrow(): length must be non-negative, got ", length);
  int d = wrap_dim("narrow", dim, self.dim());
  int64_t n = self.shape()[d];
  check(start >= -n && start <= n, Kind::Index, "start out of range (expected to be in range of [",
        -n, ", ", n, "], but got ", start, ")");
  if (start < 0) start += n;
  check(start <= n - length, Kind::Runtime, "start (", start, ") + length (", length,
        ") exceeds dimension size (", n, ").");
  return slice(self, d, start, start + length, 1);
}
namespace {
int64_t start_of(const Tensor& start) {
  check(start.dim() == 0 && is_integral(start.dtype()), Kind::Runtime,
        "start must be an 0-dim integral Tensor, got ", start);
  return item(start).to<int64_t>();
}
}  // namespace
EMBER_OP("narrow(Tensor self, int dim, int start, int length) -> Tensor", &narrow,
         kForms | Along | Rearranges, "A view of `length` indices from `start` along a dimension.");
EMBER_OP("narrow(Tensor self, int dim, Tensor start, int length) -> Tensor",
         ([](const Tensor& self, int64_t dim, const Tensor& start, int64_t length) {
           return narrow(self, dim, start_of(start), length);
         }),
         kForms | Along | Rearranges, "A view of `length` indices from `start` along a dimension.");
EMBER_OP("narrow_copy(Tensor self, int dim, int start, int length) -> Tensor",
         ([](const Tensor& self, int64_t dim, int64_t start, int64_t length) {
           check(dim < std::max(self.dim(), 1), Kind::Runtime,
                 "narrow_copy(): Dimension out of range: ", dim, " of ", self.dim());
           return clone(narrow(self, dim, start, length), MemoryFormat::Contiguous);
         }),
         kForms | Out | Along | Rearranges,
         "A copy of `length` indices from `start` along a dimension.");

Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  int a = wrap_dim("diagonal", dim1, self.dim()), b = wrap_dim("diagonal", dim2, self.dim());
  check(a != b, Kind::Runtime, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  Shape shape = self.shape(), strides = self.strides();
  int64_t rows = shape[a], columns = shape[b];
  int64_t n = std::max<int64_t>(
      0, offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns));
  int64_t first = self.offset();
  if (n) first += offset >= 0 ? offset * strides[b] : -offset * strides[a];
  int64_t step = strides[a] + strides[b];
  for (int d : {std::max(a, b), std::min(a, b)}) shape.erase(d), strides.erase(d);
  shape.push_back(n);
  strides.push_back(step);
  Tensor out = make_view(self, std::move(shape), std::move(strides), first);
  if (!grad_needed(self)) return out;
  return tape(out, "diagonal", wrt(self, [shape = self.shape(), offset, a, b](const Tensor& g) {
                return place(g, shape, "diagonal_backward",
                             [offset, a, b](const Tensor& x) { return diagonal(x, offset, a, b); });
              }));
}
EMBER_VIEW("diagonal", "(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", &diagonal,
           kForms | kCopies | Along | Rearranges,
           "A view of a diagonal of two dimensions, as the last dimension.");

Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  int n = self.dim() + 1;
  int a = wrap_dim("diag_embed", dim1, n), b = wrap_dim("diag_embed", dim2, n);
  check(a != b, Kind::Runtime, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  check(self.dim() > 0, Kind::Index, "diag_embed(): expected a tensor of at least one dimension");
  // Beyond half the range there is no such matrix, and the offset may have no opposite.
  const int64_t away = offset < -INT64_MAX / 2 ? INT64_MAX / 2 : std::abs(offset);
  int64_t size = size_sum("diag_embed", self.size(-1), away);
  Shape shape = self.shape();
  shape.pop_back();
  shape.insert(std::min(a, b), size);
  shape.insert(std::max(a, b), size);
  return place(self, shape, "diag_embed",
               [offset, a, b](const Tensor& x) { return diagonal(x, offset, a, b); });
}
EMBER_OP("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", &diag_embed,
         kForms | Along,
         "Zeros, with the last dimension of the tensor as a diagonal of two new ones.");

Tensor diag(const Tensor& self, int64_t diagonal) {
  check(self.dim() == 1 || self.dim() == 2, Kind::Runtime,
        "diag(): Supports 1D or 2D tensors. Got ", self.dim(), "D");
  if (self.dim() == 1) return diag_embed(self, diagonal, 0, 1);
  return clone(ember::diagonal(self, diagonal, 0, 1), MemoryFormat::Contiguous);
}
EMBER_OP("diag(Tensor self, int diagonal=0) -> Tensor", &diag, kForms | Out | Whole,
         "The diagonal of a matrix, or the matrix with the given diagonal.");
EMBER_OP("diagflat(Tensor self, int offset=0) -> Tensor",
         ([](const Tensor& self, int64_t offset) { return diag(reshape(self, {-1}), offset); }),
         kForms | Whole, "The matrix whose diagonal are the elements.");

// Adds each window back where it was taken from: by window, or by place in it, whichever are fewer.
Tensor unfold_backward(const Tensor& g, const Shape& shape, int dim, int64_t size, int64_t step) {
  Tensor out = zeros(shape, g.dtype(), g.device());
  {
    NoGrad guard;
    const int64_t windows = shape.empty() ? 1 : g.size(dim);
    if (!shape.empty() && windows < size) {
      for (int64_t i = 0; i < windows; i++) {
        Tensor part = narrow(out, dim, i * step, size);
        add(part, movedim(select(g, dim, i), {-1}, {dim}), {&part, true});
      }
    } else {
      for (int64_t i = 0; i < size; i++) {
        Tensor part = shape.empty() ? out : slice(out, dim, i, i + (windows - 1) * step + 1, step);
        add(part, select(g, -1, i), {&part, true});
      }
    }
  }
  if (!grad_needed(g)) return out;
  return tape(out, "unfold_backward",
              wrt(g, [dim, size, step](const Tensor& gg) { return unfold(gg, dim, size, step); }));
}

Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  int d = wrap_dim("unfold", dimension, self.dim());
  int64_t n = self.dim() ? self.shape()[d] : 1;
  check(step > 0, Kind::Runtime, "step is ", step, " but must be > 0");
  check(size >= 0, Kind::Runtime, "size is ", size, " but must be >= 0");
  check(size <= n, Kind::Runtime, "maximum size for tensor at dimension ", d, " is ", n,
        " but size is ", size);
  Shape shape = self.shape(), strides = self.strides();
  strides.push_back(self.dim() ? strides[d] : 1);
  shape.push_back(size);
  if (self.dim()) {
    shape[d] = (n - size) / step + 1;
    if (__builtin_mul_overflow(strides[d], step, &strides[d])) strides[d] = 1;  // one window
  }
  Tensor out = make_view(self, std::move(shape), std::move(strides), self.offset());
  if (!grad_needed(self)) return out;
  return tape(out, "unfold", wrt(self, [shape = self.shape(), d, size, step](const Tensor& g) {
                return unfold_backward(g, shape, d, size, step);
              }));
}
EMBER_VIEW("unfold", "(Tensor self, int dimension, int size, int step) -> Tensor", &unfold,
           Method | kCopies | Along | Rearranges,
           "A view of all windows of `size` elements along a dimension, `step` apart, as a new "
           "last dimension.");

namespace {

// A copy of self with the part that `view` shows replaced by `src`.
template <class View>
Tensor replaced(const char* op, const Tensor& self, const Tensor& src, View view) {
  Tensor out;
  {
    NoGrad guard;
    // Gaps between the elements stay.
    out = has_internal_overlap(self)
              ? clone(self, MemoryFormat::Contiguous)
              : empty_strided(self.shape(), self.strides(), self.dtype(), self.device());
    if (!has_internal_overlap(self)) backend_of(out).copy(out, self);
    Tensor part = view(out);
    check(part.shape() == src.shape(), Kind::Runtime, op,
          "(): expected src to have a size equal to the slice of self. src size = ", src.shape(),
          ", slice size = ", part.shape());
    copy_(part, src);
  }
  if (!grad_needed(self, src)) return out;
  return tape(out, op,
              wrt(self,
                  [op, view, shape = src.shape()](const Tensor& g) {
                    return replaced(op, g, zeros(shape, g.dtype(), g.device()), view);
                  }),
              wrt(src, [view](const Tensor& g) { return view(g); }));
}

}  // namespace

Tensor select_scatter(const Tensor& self, const Tensor& src, int64_t dim, int64_t index) {
  return replaced("select_scatter", self, src,
                  [=](const Tensor& x) { return select(x, dim, index); });
}
EMBER_OP("select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor", &select_scatter,
         kForms | Out | Along, "A copy with one index along a dimension replaced by `src`.");

Tensor slice_scatter(const Tensor& self, const Tensor& src, int64_t dim,
                     std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  return replaced("slice_scatter", self, src,
                  [=](const Tensor& x) { return slice(x, dim, start, end, step); });
}
EMBER_OP(
    "slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) "
    "-> Tensor",
    &slice_scatter, kForms | Out | Along,
    "A copy with a slice along a dimension replaced by `src`.");

Tensor diagonal_scatter(const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1,
                        int64_t dim2) {
  return replaced("diagonal_scatter", self, src,
                  [=](const Tensor& x) { return diagonal(x, offset, dim1, dim2); });
}
EMBER_OP(
    "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    &diagonal_scatter, kForms | Out | Along, "A copy with a diagonal replaced by `src`.");

Tensor as_strided_scatter(const Tensor& self, const Tensor& src, const Shape& size,
                          const Shape& stride, std::optional<int64_t> offset) {
  // The whole storage is copied: the part may lie anywhere in it.
  int64_t n = self.storage()->bytes / self.item_size(), start = offset.value_or(self.offset());
  bool whole = self.is_contiguous() && self.numel() == n;
  Tensor line = whole ? reshape(self, {-1}) : as_strided(self, {n}, {1}, 0);
  Tensor out = replaced("as_strided_scatter", line, src,
                        [=](const Tensor& x) { return as_strided(x, size, stride, start); });
  return whole ? reshape(out, self.shape())
               : as_strided(out, self.shape(), self.strides(), self.offset());
}
EMBER_OP(
    "as_strided_scatter(Tensor self, Tensor src, Size size, Size stride, int? storage_offset=None) "
    "-> Tensor",
    &as_strided_scatter, kForms | Out | Whole,
    "A copy with the part that as_strided() shows replaced by `src`.");

namespace {

Tensor fill_diagonal_(const Tensor& self, const Scalar& value, bool wrap) {
  check(self.dim() >= 2, Kind::Runtime, "fill_diagonal_(): dimensions must larger than 1, got ",
        self.dim());
  if (self.dim() == 2) {
    const int64_t rows = self.size(0), columns = self.size(1);
    // Where it wraps, a tall matrix is squares with a row between them.
    for (int64_t first = 0; first < rows && (wrap || first == 0); first += columns + 1)
      fill_(diagonal(narrow(self, 0, first, std::min(columns, rows - first))), value);
    return self;
  }
  int64_t step = 0;
  for (int d = 0; d < self.dim(); d++) {
    check(self.size(d) == self.size(0), Kind::Runtime,
          "fill_diagonal_(): all dimensions of input must be of equal length, got ", self.shape());
    step += self.stride(d);
  }
  fill_(as_strided(self, {self.size(0)}, {step}, self.offset()), value);
  return self;
}

}  // namespace

EMBER_OP("fill_diagonal_(Tensor self, Scalar fill_value, bool wrap=False) -> Tensor",
         &fill_diagonal_, Method | Whole,
         "Fills the main diagonal; of a tall matrix also what would follow it, if `wrap`.");

}  // namespace ember
