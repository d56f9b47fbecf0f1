// Views that show every element: view, reshape, expand, permute and what is made of them.
#include "ops/view_op.h"

namespace ember {

Tensor take_geometry(const char* op, const Tensor& self, const Tensor& view) {
  if (!has_internal_overlap(self))
    check_in_place((std::string(op) + "_").c_str(), self);  // nothing is written
  set_geometry(self, view.shape(), view.strides(), view.offset());
  bump_version(self);
  if (const Autograd* a = view.impl()->autograd; a && a->grad_fn) set_grad_fn(self, a->grad_fn);
  return self;
}

namespace {

Tensor reshape_rule(const Tensor& self, Tensor out, const char* op) {
  if (!grad_needed(self)) return out;
  return tape(out, op,
              wrt(self, [shape = self.shape()](const Tensor& g) { return reshape(g, shape); }));
}

}  // namespace

Tensor view(const Tensor& self, const Shape& size) {
  Shape shape = infer_size("view", size, self.numel());
  std::optional<Shape> strides = view_strides(self.shape(), self.strides(), shape);
  check(strides.has_value(), Kind::Runtime,
        "view size is not compatible with input tensor's size and stride (at least one dimension "
        "spans across two "
        "contiguous subspaces). Use .reshape(...) instead. Got size ",
        self.shape(), " with stride ", self.strides(), " and wanted ", shape);
  return reshape_rule(self, make_view(self, std::move(shape), *std::move(strides), self.offset()),
                      "view");
}
EMBER_VIEW("view", "(Tensor self, Size size) -> Tensor", &view, Method | Whole | Rearranges,
           "The same elements under another shape, as a view.");
EMBER_OP("view_copy(Tensor self, Size size) -> Tensor", ([](const Tensor& self, const Shape& size) {
           return clone(reshape(self, size), MemoryFormat::Contiguous);
         }),
         Function | Out | Whole | Rearranges, "The elements in another shape, as a copy.");
EMBER_OP("view_as(Tensor self, Tensor other) -> Tensor",
         ([](const Tensor& self, const Tensor& other) { return view(self, other.shape()); }),
         Method | Whole | Rearranges, "A view with the shape of `other`.");

Tensor reshape(const Tensor& self, const Shape& size) {
  Shape shape = infer_size("reshape", size, self.numel());
  if (std::optional<Shape> strides = view_strides(self.shape(), self.strides(), shape))
    return reshape_rule(self, make_view(self, std::move(shape), *std::move(strides), self.offset()),
                        "view");
  Tensor copy;
  {
    NoGrad guard;
    copy = clone(detach(self), MemoryFormat::Contiguous);
  }
  Shape strides = contiguous_strides(shape);
  return reshape_rule(self, alias(copy, std::move(shape), std::move(strides), 0), "_unsafe_view");
}
EMBER_OP("reshape(Tensor self, Size shape) -> Tensor", &reshape, kForms | Whole | Rearranges,
         "The same elements under another shape: a view if possible, else a copy.");
EMBER_OP("reshape_as(Tensor self, Tensor other) -> Tensor",
         ([](const Tensor& self, const Tensor& other) { return reshape(self, other.shape()); }),
         Method | Whole | Rearranges, "reshape() to the shape of `other`.");

Tensor flatten(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  int first = wrap_dim("flatten", start_dim, self.dim()),
      last = wrap_dim("flatten", end_dim, self.dim());
  check(first <= last, Kind::Runtime,
        "flatten() has invalid args: start_dim cannot come after end_dim, got ", start_dim, " and ",
        end_dim);
  if (self.dim() == 0) return reshape(self, {1});
  if (first == last) return self;
  Shape shape;
  for (int d = 0; d < first; d++) shape.push_back(self.shape()[d]);
  int64_t n = 1;
  for (int d = first; d <= last; d++) n *= self.shape()[d];
  shape.push_back(n);
  for (int d = last + 1; d < self.dim(); d++) shape.push_back(self.shape()[d]);
  return reshape(self, shape);
}
EMBER_OP("flatten(Tensor self, int start_dim=0, int end_dim=-1) -> Tensor", &flatten,
         kForms | Along | Rearranges, "The dimensions from `start_dim` to `end_dim` as one.");
EMBER_OP("ravel(Tensor self) -> Tensor",
         ([](const Tensor& self) { return reshape(contiguous(self), {-1}); }),
         kForms | Whole | Rearranges, "The elements as one dimension, in contiguous memory.");

Tensor unflatten(const Tensor& self, int64_t dim, const Shape& sizes) {
  int d = wrap_dim("unflatten", dim, self.dim());
  check(self.dim(), Kind::Runtime, "unflatten(): Dimension specified as ", dim,
        " but tensor has no dimensions");
  check(!sizes.empty(), Kind::Runtime, "unflatten: sizes must be non-empty");
  int64_t known = 1, have = self.dim() ? self.shape()[d] : 1;
  bool infer = false;
  for (int64_t n : sizes) {
    infer = infer || n == -1;
    if (n != -1) known = size_product("unflatten", known, n);
  }
  check(infer ? (known ? have % known : have) == 0 : known == have, Kind::Runtime,
        "unflatten: Provided sizes ", sizes, " don't multiply up to the size of dim ", d, " (",
        have, ") in the input tensor");
  Shape filled = infer_size("unflatten", sizes, have), shape;
  for (int i = 0; i < d; i++) shape.push_back(self.shape()[i]);
  for (int64_t n : filled) shape.push_back(n);
  for (int i = d + 1; i < self.dim(); i++) shape.push_back(self.shape()[i]);
  return view(self, shape);
}
EMBER_OP("unflatten(Tensor self, int dim, Size sizes) -> Tensor", &unflatten,
         kForms | Along | Rearranges, "One dimension as several, of the given sizes.");

Tensor expand(const Tensor& self, const Shape& size) {
  int extra = size.size() - self.dim();
  check(extra >= 0, Kind::Runtime, "expand(): the number of sizes provided (", size.size(),
        ") must be greater or equal to the number of dimensions in the tensor (", self.dim(), ")");
  Shape shape = size, strides = Shape::filled(size.size(), 0);
  for (int i = size.size() - 1; i >= 0; i--) {
    if (i < extra) {
      check(size[i] >= 0, Kind::Runtime, "expand(): the expanded size of the tensor (", size[i],
            ") isn't allowed in a leading, non-existing dimension ", i);
      if (shape[i] == 1 && self.dim()) strides[i] = shape[i + 1] * strides[i + 1];
      continue;
    }
    int64_t have = self.shape()[i - extra];
    if (size[i] == -1 || size[i] == have) {
      shape[i] = have;
      strides[i] = self.strides()[i - extra];
    } else {
      check(have == 1 && size[i] >= 0, Kind::Runtime, "The expanded size of the tensor (", size[i],
            ") must match the existing size (", have, ") at non-singleton dimension ", i,
            ".  Target sizes: ", size, ".  Tensor sizes: ", self.shape());
    }
  }
  Tensor out = make_view(self, std::move(shape), std::move(strides), self.offset());
  if (!grad_needed(self)) return out;
  return tape(out, "expand", wrt(self, [](const Tensor& g) { return g; }));  // the engine sums
}
EMBER_VIEW("expand", "(Tensor self, Size size, *, bool implicit=False) -> Tensor",
           ([](const Tensor& self, const Shape& size, bool) { return expand(self, size); }),
           Method | kCopies | Whole | Rearranges,
           "A view in which dimensions of size 1 are repeated, without copying.");
EMBER_OP("expand_as(Tensor self, Tensor other) -> Tensor",
         ([](const Tensor& self, const Tensor& other) { return expand(self, other.shape()); }),
         Method | Whole | Rearranges, "expand() to the shape of `other`.");
EMBER_OP("broadcast_to(Tensor self, Size size) -> Tensor", &expand, kForms | Whole | Rearranges,
         "A view in which dimensions of size 1 are repeated, without copying.");

TensorList broadcast_tensors(const TensorList& tensors) {
  Shape shape;
  for (const Tensor& t : tensors) shape = broadcast_shapes("broadcast_tensors", shape, t.shape());
  TensorList out;
  for (const Tensor& t : tensors) out.push_back(t.shape() == shape ? t : expand(t, shape));
  return out;
}
EMBER_OP("broadcast_tensors(Tensor[] *tensors) -> Tensor[]", &broadcast_tensors, Function | Whole,
         "Views of the tensors, expanded to the shape in which they meet.");

Tensor permute(const Tensor& self, const Shape& dims) {
  int n = self.dim();
  check(dims.size() == n, Kind::Runtime,
        "permute(sparse_coo): number of dimensions in the tensor input does not match "
        "the length of the desired ordering of dimensions i.e. input.dim() = ",
        n, " is not equal to len(dims) = ", dims.size());
  Shape shape, strides, inverse = Shape::filled(n, -1);
  for (int i = 0; i < n; i++) {
    int d = wrap_dim("permute", dims[i], n);
    check(inverse[d] < 0, Kind::Runtime, "permute(): duplicate dims are not allowed, got ", dims);
    inverse[d] = i;
    shape.push_back(self.shape()[d]);
    strides.push_back(self.strides()[d]);
  }
  Tensor out = make_view(self, std::move(shape), std::move(strides), self.offset());
  if (!grad_needed(self)) return out;
  return tape(out, "permute",
              wrt(self, [inverse](const Tensor& g) { return permute(g, inverse); }));
}
EMBER_VIEW("permute", "(Tensor self, Size dims) -> Tensor", &permute,
           kForms | kCopies | Along | Rearranges, "A view with its dimensions reordered.");

Tensor movedim(const Tensor& self, const Shape& source, const Shape& destination) {
  int n = self.dim();
  check(source.size() == destination.size(), Kind::Runtime,
        "movedim: Invalid source or destination dims: source (", source,
        " dims) should contain the same number of dims as destination (", destination, " dims)");
  Shape order = Shape::filled(n, -1), moved = Shape::filled(n, 0);
  for (int i = 0; i < source.size(); i++) {
    int from = wrap_dim("movedim", source[i], n), to = wrap_dim("movedim", destination[i], n);
    if (n == 0) continue;
    check(!moved[from], Kind::Runtime, "movedim: repeated dim in `source` (", source, ")");
    check(order[to] < 0, Kind::Runtime, "movedim: repeated dim in `destination` (", destination,
          ")");
    moved[from] = 1;
    order[to] = from;
  }
  int next = 0;
  for (int to = 0; to < n; to++) {
    if (order[to] >= 0) continue;
    while (moved[next]) next++;
    order[to] = next++;
  }
  return permute(self, order);
}
namespace {
Tensor movedim_of(const Tensor& self, const Dims& source, const Dims& destination) {
  return movedim(self, source.values, destination.values);
}
}  // namespace
EMBER_OP("movedim(Tensor self, Dims source, Dims destination) -> Tensor", &movedim_of,
         kForms | Along | Rearranges,
         "A view with the dimensions `source` moved to `destination`.");
EMBER_OP("moveaxis(Tensor self, Dims source, Dims destination) -> Tensor", &movedim_of,
         kForms | Along | Rearranges, "movedim().");

Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  int a = wrap_dim("transpose", dim0, self.dim()), b = wrap_dim("transpose", dim1, self.dim());
  Shape shape = self.shape(), strides = self.strides();
  if (self.dim()) {
    std::swap(shape[a], shape[b]);
    std::swap(strides[a], strides[b]);
  }
  Tensor out = make_view(self, std::move(shape), std::move(strides), self.offset());
  if (!grad_needed(self)) return out;
  return tape(out, "transpose", wrt(self, [a, b](const Tensor& g) { return transpose(g, a, b); }));
}
EMBER_VIEW("transpose", "(Tensor self, int dim0, int dim1) -> Tensor", &transpose,
           kForms | kRenews | kCopies | Along | Rearranges, "A view with two dimensions swapped.");
EMBER_VIEW("swapaxes", "(Tensor self, int axis0, int axis1) -> Tensor", &transpose,
           kForms | kRenews | Along | Rearranges, "transpose().");
EMBER_VIEW("swapdims", "(Tensor self, int dim0, int dim1) -> Tensor", &transpose,
           kForms | kRenews | Along | Rearranges, "transpose().");

Tensor t(const Tensor& self) {
  check(self.dim() <= 2, Kind::Runtime, "t() expects a tensor with <= 2 dimensions, but self is ",
        self.dim(), "D");
  return self.dim() == 2 ? transpose(self, 0, 1) : view_alias(self);
}
EMBER_VIEW("t", "(Tensor self) -> Tensor", &t, kForms | kRenews | kCopies | Whole | Rearranges,
           "The transpose of a matrix.");

Tensor numpy_T(const Tensor& self) {
  Shape order;
  for (int i = self.dim() - 1; i >= 0; i--) order.push_back(i);
  return permute(self, order);
}
Tensor matrix_transpose(const Tensor& self) {
  check(self.dim() >= 2, Kind::Runtime,
        "tensor.mT is only supported on matrices or batches of matrices. Got ", self.dim(),
        "-D tensor.");
  return transpose(self, -2, -1);
}
Tensor matrix_adjoint(const Tensor& self, const char* op) {
  check(op[0] == 'H' ? self.dim() == 2 || self.dim() == 0 : self.dim() >= 2, Kind::Runtime,
        "tensor.", op, " is only supported on matrices. Got ", self.dim(), "-D tensor.");
  return self.dim() ? conj(transpose(self, -2, -1)) : conj(self);
}
EMBER_OP("adjoint(Tensor self) -> Tensor",
         ([](const Tensor& self) { return matrix_adjoint(self, "adjoint"); }), kForms | Leading,
         "The conjugate of the transpose of the last two dimensions.");

Tensor squeeze(const Tensor& self, const Dims& dim) {
  Shape shape, strides;
  Shape chosen = Shape::filled(std::max(self.dim(), 1), dim.given ? 0 : 1);
  if (dim.given)
    for (int64_t d : dim.values) {
      int k = wrap_dim("squeeze", d, self.dim());
      check(!chosen[k], Kind::Runtime, "dim ", k, " appears multiple times in the list of dims");
      chosen[k] = 1;
    }
  for (int i = 0; i < self.dim(); i++) {
    if (chosen[i] && self.shape()[i] == 1) continue;
    shape.push_back(self.shape()[i]);
    strides.push_back(self.strides()[i]);
  }
  return reshape_rule(self, make_view(self, std::move(shape), std::move(strides), self.offset()),
                      "squeeze");
}
EMBER_VIEW("squeeze", "(Tensor self, Dims dim=None) -> Tensor", &squeeze,
           kForms | kRenews | kCopies | Along | Rearranges,
           "A view without dimensions of size 1, or without those among `dim`.");

Tensor unsqueeze(const Tensor& self, int64_t dim) {
  int d = wrap_dim("unsqueeze", dim, self.dim() + 1);
  Shape shape = self.shape(), strides = self.strides();
  strides.insert(d, d < self.dim() ? shape[d] * strides[d] : 1);
  shape.insert(d, 1);
  return reshape_rule(self, make_view(self, std::move(shape), std::move(strides), self.offset()),
                      "unsqueeze");
}
EMBER_VIEW("unsqueeze", "(Tensor self, int dim) -> Tensor", &unsqueeze,
           kForms | kRenews | kCopies | Along | Rearranges,
           "A view with a dimension of size 1 put in.");

Tensor atleast(const Tensor& self, int n) {
  if (self.dim() >= n) return self;
  if (n == 3 && self.dim() == 2)
    return unsqueeze(self, 2);  // a matrix becomes (M, N, 1), a line (1, N, 1)
  if (n == 3 && self.dim() == 1) return unsqueeze(unsqueeze(self, 0), 2);
  if (n == 2 && self.dim() == 1) return unsqueeze(self, 0);
  return reshape(self, Shape::filled(n, 1));
}
namespace {
template <int n>
Tensor atleast_one(const Tensor& self) {
  return atleast(self, n);
}
template <int n>
TensorList atleast_each(const TensorList& tensors) {
  TensorList out;
  for (const Tensor& t : tensors) out.push_back(atleast(t, n));
  return out;
}
}  // namespace
#define AT_LEAST(n)                                                                               \
  EMBER_OP("atleast_" #n "d(Tensor self) -> Tensor", &atleast_one<n>,                             \
           Function | Whole | Rearranges,                                                         \
           "The tensor itself, or a view of it with dimensions of size 1 added to make " #n "."); \
  EMBER_OP("atleast_" #n "d(Tensor[] *tensors) -> Tensor[]", &atleast_each<n>,                    \
           Function | Whole | Rearranges, "Each tensor with at least " #n " dimensions.")
AT_LEAST(1);
AT_LEAST(2);
AT_LEAST(3);
#undef AT_LEAST

EMBER_VIEW("alias", "(Tensor self) -> Tensor",
           ([](const Tensor& self) { return view_alias(self); }), kCopies | Pointwise | Rearranges,
           "A view of the whole tensor.");

}  // namespace ember
