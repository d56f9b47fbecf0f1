// A tensor in several views: unbind, split, chunk, tensor_split and their kin.
#include "ops/devices.h"
#include "ops/view_op.h"

namespace ember {

namespace {

// Views of one op: in-place changes of one would leave the others' history wrong, so they are
// refused (as in torch).
Tensor one_of_many(const Tensor& self, Shape shape, Shape strides, int64_t offset) {
  Tensor out = make_view(self, std::move(shape), std::move(strides), offset);
  if (out.impl()->view_kind == ViewKind::Plain) out.impl()->view_kind = ViewKind::MultiOutput;
  return out;
}

Grads as_outputs(const TensorList& list) {
  Grads outs(list.size());
  for (size_t i = 0; i < list.size(); i++) outs[i] = list[i];
  return outs;
}

}  // namespace

TensorList unbind(const Tensor& self, int64_t dim) {
  check(self.dim() > 0, Kind::Index, "Dimension specified as ", dim,
        " but tensor has no dimensions");
  int d = wrap_dim("unbind", dim, self.dim());
  Shape shape = self.shape(), strides = self.strides();
  shape.erase(d);
  strides.erase(d);
  TensorList out;
  out.reserve(size_t(self.shape()[d]));
  for (int64_t i = 0; i < self.shape()[d]; i++)
    out.push_back(one_of_many(self, shape, strides, self.offset() + i * self.strides()[d]));
  if (out.empty() || !grad_needed(self)) return out;
  tape_many(as_outputs(out), "unbind",
            wrt(self, [d, shape, dtype = self.dtype(), device = self.device()](const Grads& g) {
              TensorList parts;
              for (const Tensor& t : g) parts.push_back(t ? t : zeros(shape, dtype, device));
              return stack(parts, d);
            }));
  return out;
}
EMBER_VIEW("unbind", "(Tensor self, int dim=0) -> Tensor[]", &unbind,
           kForms | kCopies | Along | Rearranges, "Views of each index along a dimension.");

namespace {

void check_count(const char* op, int64_t parts) {
  check(parts <= std::numeric_limits<int>::max(), Kind::Runtime, op, "(): ", parts,
        " parts are too many");
}

TensorList split_into(const char* op, const Tensor& self, const Shape& sizes, int d) {
  TensorList out;
  out.reserve(size_t(sizes.size()));
  int64_t at = 0;
  for (int64_t n : sizes) {
    Shape shape = self.shape();
    shape[d] = n;
    out.push_back(one_of_many(self, std::move(shape), self.strides(),
                              self.offset() + at * self.strides()[d]));
    at += n;
  }
  if (out.empty() || !grad_needed(self)) return out;
  tape_many(as_outputs(out), op,
            wrt(self, [d, sizes, shape = self.shape(), dtype = self.dtype(),
                       device = self.device()](const Grads& g) {
              TensorList parts;
              for (int i = 0; i < sizes.size(); i++) {
                Shape part = shape;
                part[d] = sizes[i];
                parts.push_back(g[size_t(i)] ? g[size_t(i)] : zeros(part, dtype, device));
              }
              return cat(parts, d);
            }));
  return out;
}

}  // namespace

TensorList split(const Tensor& self, int64_t split_size, int64_t dim) {
  check(self.dim() > 0, Kind::Runtime, "split expects at least a 1-dimensional tensor");
  check(split_size >= 0, Kind::Runtime,
        "split expects split_size be non-negative, but got split_size=", split_size);
  int d = wrap_dim("split", dim, self.dim());
  int64_t n = self.shape()[d];
  check(split_size > 0 || n == 0, Kind::Runtime,
        "split_size can only be 0 if dimension size is 0, but got dimension "
        "size of ",
        n);
  int64_t count = split_size ? std::max<int64_t>(n / split_size + (n % split_size != 0), 1) : 1;
  check_count("split", count);
  Shape sizes = Shape::filled(int(count), split_size);
  sizes.back() = n - split_size * (count - 1);
  return split_into("split", self, sizes, d);
}

TensorList split_with_sizes(const Tensor& self, const Shape& split_sizes, int64_t dim) {
  check(self.dim() > 0, Kind::Runtime, "split expects at least a 1-dimensional tensor");
  int d = wrap_dim("split_with_sizes", dim, self.dim());
  int64_t total = 0;
  for (int64_t n : split_sizes) {
    check(n >= 0, Kind::Runtime,
          "split_with_sizes expects split_sizes have only non-negative entries, but got "
          "split_sizes=",
          split_sizes);
    total = size_sum("split_with_sizes", total, n);
  }
  check(total == self.shape()[d], Kind::Runtime,
        "split_with_sizes expects split_sizes to sum exactly to ", self.shape()[d],
        " (input tensor's size at dimension ", d, "), but got split_sizes=", split_sizes);
  return split_into("split_with_sizes", self, split_sizes, d);
}
EMBER_OP("split(Tensor tensor, int split_size_or_sections, int dim=0) -> Tensor[]", &split,
         Function | Along | Rearranges,
         "Views of pieces of `split_size` along a dimension; the last may be smaller.");
EMBER_OP("split(Tensor tensor, Dims split_size_or_sections, int dim=0) -> Tensor[]",
         ([](const Tensor& self, const Dims& sizes, int64_t dim) {
           return split_with_sizes(self, sizes.values, dim);
         }),
         Function | Along | Rearranges, "Views of pieces of the given sizes along a dimension.");
EMBER_OP("split(Tensor self, int split_size, int dim=0) -> Tensor[]", &split,
         Method | Along | Rearranges,
         "Views of pieces of `split_size` along a dimension; the last may be smaller.");
EMBER_OP("split(Tensor self, Dims split_size, int dim=0) -> Tensor[]",
         ([](const Tensor& self, const Dims& sizes, int64_t dim) {
           return split_with_sizes(self, sizes.values, dim);
         }),
         Method | Along | Rearranges, "Views of pieces of the given sizes along a dimension.");
EMBER_VIEW("split", "(Tensor self, int split_size, int dim=0) -> Tensor[]", &split,
           kCopies | Along | Rearranges, "Pieces of `split_size` along a dimension.");
namespace {
TensorList split_with_sizes_of(const Tensor& self, const Dims& sizes, int64_t dim) {
  return split_with_sizes(self, sizes.values, dim);
}
}  // namespace
EMBER_VIEW("split_with_sizes", "(Tensor self, Dims split_sizes, int dim=0) -> Tensor[]",
           &split_with_sizes_of, kForms | kCopies | Along | Rearranges,
           "Views of pieces of the given sizes along a dimension.");

namespace {
// Pieces that may be changed in place one by one: nobody is told of it, neither the other pieces
// nor the whole.
TensorList on_their_own(TensorList pieces) {
  for (const Tensor& t : pieces) {
    TensorImpl& impl = *t.impl();
    impl.base = {};
    impl.view_kind = ViewKind::None;
    impl.storage = alias_storage(impl.storage);
  }
  return pieces;
}
}  // namespace
EMBER_OP("unsafe_split(Tensor self, int split_size, int dim=0) -> Tensor[]",
         ([](const Tensor& self, int64_t size, int64_t dim) {
           return on_their_own(split(self, size, dim));
         }),
         kForms | Along | Rearranges, "split() into pieces that may each be changed in place.");
EMBER_OP("unsafe_split_with_sizes(Tensor self, Dims split_sizes, int dim=0) -> Tensor[]",
         ([](const Tensor& self, const Dims& sizes, int64_t dim) {
           return on_their_own(split_with_sizes(self, sizes.values, dim));
         }),
         kForms | Along | Rearranges,
         "split_with_sizes() into pieces that may each be changed in place.");

TensorList chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  check(self.dim() > 0, Kind::Runtime, "chunk expects at least a 1-dimensional tensor");
  check(chunks > 0, Kind::Runtime, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  int d = wrap_dim("chunk", dim, self.dim());
  int64_t n = self.shape()[d], size = n / chunks + (n % chunks != 0);
  if (size == 0) check_count("chunk", chunks);
  if (size == 0) return split_into("split_with_sizes", self, Shape::filled(int(chunks), 0), d);
  return split(self, size, d);
}
EMBER_OP(
    "chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", &chunk, kForms | Along | Rearranges,
    "Views of at most `chunks` pieces of equal size along a dimension; the last may be smaller.");
EMBER_OP("unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
         ([](const Tensor& self, int64_t chunks, int64_t dim) {
           return on_their_own(chunk(self, chunks, dim));
         }),
         kForms | Along | Rearranges, "chunk() into pieces that may each be changed in place.");

namespace {

// Plain views, each with a history of its own.
TensorList cut_at(const Tensor& self, const Shape& places, int d) {
  TensorList out;
  int64_t from = 0;
  for (int64_t to : places) {
    out.push_back(slice(self, d, from, to, 1));
    from = to;
  }
  out.push_back(slice(self, d, from, std::nullopt, 1));
  return out;
}

}  // namespace

TensorList tensor_split(const Tensor& self, int64_t sections, int64_t dim) {
  check(self.dim() > 0, Kind::Runtime,
        "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 "
        "dims");
  int d = wrap_dim("tensor_split", dim, self.dim());
  check(sections > 0, Kind::Runtime, "number of sections must be larger than 0, got ", sections);
  check_count("tensor_split", sections);
  int64_t n = self.shape()[d], least = n / sections, longer = n % sections, at = 0;
  TensorList out;
  for (int64_t i = 0; i < sections; i++) {
    int64_t size = least + (i < longer);
    out.push_back(slice(self, d, at, at + size, 1));
    at += size;
  }
  return out;
}
TensorList tensor_split(const Tensor& self, const Shape& indices, int64_t dim) {
  check(self.dim() > 0, Kind::Runtime,
        "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 "
        "dims");
  return cut_at(self, indices, wrap_dim("tensor_split", dim, self.dim()));
}
namespace {
TensorList tensor_split_by(const Tensor& self, const Tensor& where, int64_t dim) {
  check(on_host(where), Kind::Runtime,
        "tensor_split expected tensor_indices_or_sections to be on cpu, but it's "
        "on ",
        where.device());
  check(where.dtype() == Dtype::Int64, Kind::Runtime,
        "tensor_split expected tensor_indices_or_sections to have dtype of "
        "long, but got ",
        type_name(where.dtype()));
  check(where.dim() <= 1, Kind::Runtime,
        "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
        "one-dimensional tensor, but got a tensor with ",
        where.dim(), " dims");
  if (where.dim() == 0) return tensor_split(self, item(where).to<int64_t>(), dim);
  Shape places;
  for (int64_t i = 0; i < where.numel(); i++)
    places.push_back(item(select(detach(where), 0, i)).to<int64_t>());
  return tensor_split(self, places, dim);
}
using SplitBy = TensorList (*)(const Tensor&, int64_t, int64_t);
}  // namespace
EMBER_OP("tensor_split(Tensor self, int sections, int dim=0) -> Tensor[]", (SplitBy(&tensor_split)),
         kForms | Along | Rearranges,
         "Views of `sections` pieces along a dimension, of sizes that differ by one at most.");
EMBER_OP("tensor_split(Tensor self, Dims indices, int dim=0) -> Tensor[]",
         ([](const Tensor& self, const Dims& places, int64_t dim) {
           return tensor_split(self, places.values, dim);
         }),
         kForms | Along | Rearranges,
         "Views of the pieces between the given indices along a dimension.");
EMBER_OP("tensor_split(Tensor self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor[]",
         &tensor_split_by, kForms | Along | Rearranges,
         "Views of pieces along a dimension, by number or by indices.");
EMBER_OP("tensor_split(Tensor self, int indices_or_sections, int dim=0) -> Tensor[]",
         (SplitBy(&tensor_split)), kForms | Along | Rearranges,
         "Views of a number of pieces along a dimension.");
EMBER_OP("tensor_split(Tensor self, Dims indices_or_sections, int dim=0) -> Tensor[]",
         ([](const Tensor& self, const Dims& places, int64_t dim) {
           return tensor_split(self, places.values, dim);
         }),
         kForms | Along | Rearranges,
         "Views of the pieces between the given indices along a dimension.");

namespace {

// NumPy's hsplit, vsplit and dsplit: sections must be equal.
int split_dim(const char* op, const Tensor& self, char which) {
  int least = which == 'h' ? 1 : which == 'v' ? 2 : 3;
  check(self.dim() >= least, Kind::Runtime, op, " requires a tensor with at least ", least,
        " dimension, but got a tensor with ", self.dim(), " dimensions!");
  return which == 'h' ? (self.dim() == 1 ? 0 : 1) : which == 'v' ? 0 : 2;
}
template <char which>
TensorList equal_split(const Tensor& self, int64_t sections) {
  const char* op = which == 'h' ? "torch.hsplit" : which == 'v' ? "torch.vsplit" : "torch.dsplit";
  int d = split_dim(op, self, which);
  check(sections > 0 && self.shape()[d] % sections == 0, Kind::Runtime, op,
        " attempted to split along dimension ", d, ", but the size of the dimension ",
        self.shape()[d], " is not divisible by the split_size ", sections, "!");
  return tensor_split(self, sections, d);
}
template <char which>
TensorList split_at(const Tensor& self, const Shape& places) {
  const char* op = which == 'h' ? "torch.hsplit" : which == 'v' ? "torch.vsplit" : "torch.dsplit";
  return tensor_split(self, places, split_dim(op, self, which));
}

}  // namespace
#define NUMPY_SPLIT(letter, what)                                                                \
  EMBER_OP(what "split(Tensor self, int sections) -> Tensor[]", &equal_split<letter>,            \
           kForms | Whole | Rearranges, "Equal pieces, as views.");                              \
  EMBER_OP(what "split(Tensor self, Size indices) -> Tensor[]", &split_at<letter>,               \
           kForms | Whole | Rearranges, "The pieces between the given indices, as views.");      \
  EMBER_OP(what "split(Tensor self, int indices_or_sections) -> Tensor[]", &equal_split<letter>, \
           kForms | Whole | Rearranges, "Equal pieces, as views.");                              \
  EMBER_OP(what "split(Tensor self, Size indices_or_sections) -> Tensor[]", &split_at<letter>,   \
           kForms | Whole | Rearranges, "The pieces between the given indices, as views.")
NUMPY_SPLIT('h', "h");
NUMPY_SPLIT('v', "v");
NUMPY_SPLIT('d', "d");
#undef NUMPY_SPLIT

}  // namespace ember
