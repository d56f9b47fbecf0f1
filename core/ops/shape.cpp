// Views: the same storage under another shape, and their gradients.
#include "autograd/engine.h"
#include "ops/ops.h"

namespace ember {

Tensor make_view(const Tensor& self, Shape shape, Shape strides, int64_t offset) {
  Tensor out = alias(self, std::move(shape), std::move(strides), offset);
  TensorImpl& impl = *out.impl();
  if (self.impl()->inference) return out;
  impl.base = self.is_view() ? self.impl()->base : self.ref();
  impl.view_version = impl.storage->version;
  bool differentiable = self.impl()->view_kind == ViewKind::None || self.impl()->view_kind == ViewKind::Plain;
  impl.view_kind = !differentiable    ? self.impl()->view_kind
                   : inference_mode() ? ViewKind::Inference
                   : grad_enabled()   ? ViewKind::Plain
                                      : ViewKind::NoGrad;
  return out;
}

Tensor view_alias(const Tensor& self) {
  Tensor out = make_view(self, self.shape(), self.strides(), self.offset());
  if (!grad_needed(self)) return out;
  return tape(out, "alias", wrt(self, [](const Tensor& g) { return g; }));
}

namespace {

Tensor reshape_rule(const Tensor& self, Tensor out, const char* op) {
  if (!grad_needed(self)) return out;
  return tape(out, op, wrt(self, [shape = self.shape()](const Tensor& g) { return reshape(g, shape); }));
}

}  // namespace

Tensor view(const Tensor& self, const Shape& size) {
  Shape shape = infer_size("view", size, self.numel());
  std::optional<Shape> strides = view_strides(self.shape(), self.strides(), shape);
  check(strides.has_value(), Kind::Runtime,
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
        "contiguous subspaces). Use .reshape(...) instead. Got size ", self.shape(), " with stride ", self.strides(),
        " and wanted ", shape);
  return reshape_rule(self, make_view(self, std::move(shape), *strides, self.offset()), "view");
}
EMBER_OP("view(Tensor self, Size size) -> Tensor", &view, Method, "The same elements under another shape, as a view.");

Tensor reshape(const Tensor& self, const Shape& size) {
  Shape shape = infer_size("reshape", size, self.numel());
  if (std::optional<Shape> strides = view_strides(self.shape(), self.strides(), shape))
    return reshape_rule(self, make_view(self, std::move(shape), *strides, self.offset()), "view");
  return view(clone(self, MemoryFormat::Contiguous), shape);
}
EMBER_OP("reshape(Tensor self, Size shape) -> Tensor", &reshape, kForms,
         "The same elements under another shape: a view if possible, else a copy.");

Tensor expand(const Tensor& self, const Shape& size) {
  int extra = size.size() - self.dim();
  check(extra >= 0, Kind::Runtime, "expand(): the number of sizes provided (", size.size(),
        ") must be greater or equal to the number of dimensions in the tensor (", self.dim(), ")");
  Shape shape = size, strides = Shape::filled(size.size(), 0);
  for (int i = 0; i < size.size(); i++) {
    if (i < extra) {
      check(size[i] >= 0, Kind::Runtime, "expand(): the expanded size of the tensor (", size[i],
            ") isn't allowed in a leading, non-existing dimension ", i);
      continue;
    }
    int64_t have = self.shape()[i - extra];
    if (size[i] == -1 || size[i] == have) {
      shape[i] = have;
      strides[i] = self.strides()[i - extra];
    } else {
      check(have == 1 && size[i] >= 0, Kind::Runtime, "The expanded size of the tensor (", size[i],
            ") must match the existing size (", have, ") at non-singleton dimension ", i, ".  Target sizes: ", size,
            ".  Tensor sizes: ", self.shape());
    }
  }
  Tensor out = make_view(self, std::move(shape), std::move(strides), self.offset());
  if (!grad_needed(self)) return out;
  return tape(out, "expand", wrt(self, [](const Tensor& g) { return g; }));  // the engine sums
}
EMBER_OP("expand(Tensor self, Size size, *, bool implicit=False) -> Tensor",
         ([](const Tensor& self, const Shape& size, bool) { return expand(self, size); }), Method,
         "A view in which dimensions of size 1 are repeated, without copying.");

Tensor permute(const Tensor& self, const Shape& dims) {
  int n = self.dim();
  check(dims.size() == n, Kind::Runtime, "permute(): number of dimensions in the tensor input does not match "
        "the length of the desired ordering of dimensions i.e. input.dim() = ", n, " is not equal to len(dims) = ",
        dims.size());
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
  return tape(out, "permute", wrt(self, [inverse](const Tensor& g) { return permute(g, inverse); }));
}
EMBER_OP("permute(Tensor self, Size dims) -> Tensor", &permute, kForms, "A view with its dimensions reordered.");

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
EMBER_OP("transpose(Tensor self, int dim0, int dim1) -> Tensor", &transpose, kForms,
         "A view with two dimensions swapped.");

Tensor squeeze(const Tensor& self, const Dims& dim) {
  Shape shape, strides;
  Shape chosen = Shape::filled(self.dim(), dim.given ? 0 : 1);
  if (dim.given)
    for (int64_t d : dim.values) {
      int k = wrap_dim("squeeze", d, self.dim());
      if (self.dim()) chosen[k] = 1;
    }
  for (int i = 0; i < self.dim(); i++) {
    if (chosen[i] && self.shape()[i] == 1) continue;
    shape.push_back(self.shape()[i]);
    strides.push_back(self.strides()[i]);
  }
  return reshape_rule(self, make_view(self, std::move(shape), std::move(strides), self.offset()), "squeeze");
}
EMBER_OP("squeeze(Tensor self, Dims dim=None) -> Tensor", &squeeze, kForms,
         "A view without dimensions of size 1, or without those among `dim`.");

Tensor unsqueeze(const Tensor& self, int64_t dim) {
  int d = wrap_dim("unsqueeze", dim, self.dim() + 1);
  Shape shape = self.shape(), strides = self.strides();
  strides.insert(d, d < self.dim() ? shape[d] * strides[d] : 1);
  shape.insert(d, 1);
  return reshape_rule(self, make_view(self, std::move(shape), std::move(strides), self.offset()), "unsqueeze");
}
EMBER_OP("unsqueeze(Tensor self, int dim) -> Tensor", &unsqueeze, kForms, "A view with a dimension of size 1 put in.");

Tensor as_strided(const Tensor& self, const Shape& size, const Shape& stride, std::optional<int64_t> offset) {
  int64_t start = offset.value_or(self.offset());
  from_storage(self.storage(), self.dtype(), size, stride, start);  // checks the bounds
  Tensor out = make_view(self, size, stride, start);
  if (!grad_needed(self)) return out;
  return tape(out, "as_strided",
              wrt(self, [base = Geometry(self), view = Geometry(out)](const Tensor& g) {
                return engine_ops.region_grad(g, base, view);
              }));
}
EMBER_OP("as_strided(Tensor self, Size size, Size stride, int? storage_offset=None) -> Tensor", &as_strided, kForms,
         "A view of the storage with the given size, strides and offset.");

Tensor numpy_T(const Tensor& self) {
  Shape order;
  for (int i = self.dim() - 1; i >= 0; i--) order.push_back(i);
  return permute(self, order);
}
Tensor matrix_transpose(const Tensor& self) {
  check(self.dim() >= 2, Kind::Runtime, "tensor.mT is only supported on matrices or batches of matrices. Got ",
        self.dim(), "-D tensor.");
  return transpose(self, -2, -1);
}
Tensor matrix_adjoint(const Tensor& self, const char* op) {
  check(op[0] == 'H' ? self.dim() == 2 || self.dim() == 0 : self.dim() >= 2, Kind::Runtime, "tensor.", op,
        " is only supported on matrices. Got ", self.dim(), "-D tensor.");
  return self.dim() ? conj(transpose(self, -2, -1)) : conj(self);
}

Tensor real(const Tensor& self) {
  if (!is_complex(self.dtype())) return self;
  return select(view_as_real(self), -1, 0);
}
Tensor imag(const Tensor& self) {
  check(is_complex(self.dtype()), Kind::Runtime, "imag is not implemented for tensors with non-complex dtypes.");
  return select(view_as_real(self), -1, 1);
}

Tensor select(const Tensor& self, int64_t dim, int64_t index) {
  check(self.dim() > 0, Kind::Index, "select() cannot be applied to a 0-dim tensor.");
  int d = wrap_dim("select", dim, self.dim());
  int64_t n = self.shape()[d];
  check(index >= -n && index < n, Kind::Index, "index ", index, " is out of bounds for dimension ", d, " with size ", n);
  if (index < 0) index += n;
  Shape shape = self.shape(), strides = self.strides();
  int64_t offset = self.offset() + index * strides[d];
  shape.erase(d);
  strides.erase(d);
  Tensor out = make_view(self, std::move(shape), std::move(strides), offset);
  if (!grad_needed(self)) return out;
  return tape(out, "select", wrt(self, [shape = self.shape(), d, index](const Tensor& g) {
                Tensor dx = zeros(shape, g.dtype(), g.device());
                copy_(select(dx, d, index), g);
                return dx;
              }));
}
EMBER_OP("select(Tensor self, int dim, int index) -> Tensor", &select, kForms, "A view of one index along a dimension.");

Tensor slice(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  check(self.dim() > 0, Kind::Runtime, "slice() cannot be applied to a 0-dim tensor.");
  int d = wrap_dim("slice", dim, self.dim());
  check(step > 0, Kind::Value, "slice step must be positive, got ", step);
  int64_t n = self.shape()[d];
  auto bound = [n](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
  int64_t from = bound(start.value_or(0)), to = std::max(from, bound(end.value_or(n)));
  Shape shape = self.shape(), strides = self.strides();
  int64_t offset = self.offset() + from * strides[d];
  shape[d] = (to - from + step - 1) / step;
  strides[d] *= step;
  Tensor out = make_view(self, std::move(shape), std::move(strides), offset);
  if (!grad_needed(self)) return out;
  return tape(out, "slice", wrt(self, [shape = self.shape(), d, from, to, step](const Tensor& g) {
                Tensor dx = zeros(shape, g.dtype(), g.device());
                copy_(slice(dx, d, from, to, step), g);
                return dx;
              }));
}

Tensor view_as_real(const Tensor& self) {
  check(is_complex(self.dtype()), Kind::Runtime, "view_as_real is only supported for complex tensors");
  Shape shape = self.shape(), strides = self.strides();
  for (int64_t& s : strides) s *= 2;
  shape.push_back(2);
  strides.push_back(1);
  Tensor out = make_view(self, std::move(shape), std::move(strides), 2 * self.offset());
  out.impl()->dtype = real_of(self.dtype());
  if (!grad_needed(self)) return out;
  return tape(out, "view_as_real", wrt(self, [](const Tensor& g) { return view_as_complex(contiguous(g)); }));
}
EMBER_OP("view_as_real(Tensor self) -> Tensor", &view_as_real, Function,
         "A real view of a complex tensor, with a last dimension of size 2.");

Tensor view_as_complex(const Tensor& self) {
  check(self.dtype() == Dtype::Float32 || self.dtype() == Dtype::Float64, Kind::Runtime,
        "view_as_complex is only supported for float32 and float64 tensors, but got a tensor of dtype ", self.dtype());
  check(self.dim() && self.size(-1) == 2, Kind::Runtime, "view_as_complex(): the last dimension must have size 2, got ",
        self.shape());
  check(self.stride(-1) == 1, Kind::Runtime, "view_as_complex(): the last dimension must have stride 1, got ",
        self.strides());
  Shape shape = self.shape(), strides = self.strides();
  shape.pop_back();
  strides.pop_back();
  for (int64_t& s : strides) {
    check(s % 2 == 0, Kind::Runtime, "view_as_complex(): strides must be even, got ", self.strides());
    s /= 2;
  }
  check(self.offset() % 2 == 0, Kind::Runtime, "view_as_complex(): the storage offset must be even, got ", self.offset());
  Tensor out = make_view(self, std::move(shape), std::move(strides), self.offset() / 2);
  out.impl()->dtype = complex_of(self.dtype());
  if (!grad_needed(self)) return out;
  return tape(out, "view_as_complex", wrt(self, [](const Tensor& g) { return view_as_real(g); }));
}
EMBER_OP("view_as_complex(Tensor self) -> Tensor", &view_as_complex, Function,
         "A complex view of a real tensor whose last dimension has size 2.");

Tensor sum_to(const Tensor& t, const Shape& shape) {
  int extra = t.dim() - shape.size();
  Shape dims;
  for (int i = 0; i < t.dim(); i++)
    if (i < extra || (shape[i - extra] == 1 && t.shape()[i] != 1)) dims.push_back(i);
  Tensor s = dims.empty() ? t : sum(t, Dims(dims), true);
  return extra ? reshape(s, shape) : s;
}

}  // namespace ember
