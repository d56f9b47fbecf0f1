// Tensors put together: cat, stack and NumPy's names for them, block_diag.
#include "ops/conv.h"
#include "ops/ops.h"

namespace ember {

namespace {

// A tensor of shape [0] joins tensors of any shape, for old times' sake.
bool is_skipped(const Tensor& t) { return t.dim() == 1 && t.shape()[0] == 0; }

// All in channels_last: so is the result.
bool all_channels_last(const TensorList& list) {
  return std::all_of(list.begin(), list.end(), prefers_channels_last);
}

void check_list(const char* op, const TensorList& tensors) {
  if (tensors.empty() && !std::strcmp(op, "cat"))
    fail(Kind::Value, "cat(): expected a non-empty list of Tensors");
  check(!tensors.empty(), Kind::Runtime, op, " expects a non-empty TensorList");
  for (size_t i = 0; i < tensors.size(); i++) {
    check(tensors[i].defined(), Kind::Type, "expected Tensor as element ", i,
          " in argument 0, but got NoneType");
    check(tensors[i].device().kind == tensors[0].device().kind, Kind::Runtime, op,
          "(): Expected all tensors to be on the same device, but found ", tensors[0].device(),
          " and ", tensors[i].device());
  }
}

Tensor joined(const char* op, const TensorList& parts, int d, const Shape& shape, Dtype dtype,
              Dest dest, bool channels_last) {
  Device device = parts[0].device();
  Tensor out = dest.tensor     ? output_for(op, dest, shape, dtype, device)
               : channels_last ? empty_strided(shape, channels_last_strides(shape), dtype, device)
                               : empty(shape, dtype, device);
  backend_of(out).join(out, parts, d);
  if (dest.tensor) bump_version(out);
  return out;
}

}  // namespace

Tensor cat(const TensorList& tensors, int64_t dim, Dest dest) {
  check_list("cat", tensors);
  const Tensor* model = &tensors[0];
  TensorList parts;
  for (const Tensor& t : tensors) {
    check(t.dim() > 0, Kind::Runtime, "zero-dimensional tensor (at position ", &t - tensors.data(),
          ") cannot be concatenated");
    if (is_skipped(t)) continue;
    if (parts.empty()) model = &t;
    parts.push_back(t);
  }
  // Where there is nothing to join, `dim` says nothing.
  int d = parts.empty() ? 0 : wrap_dim("cat", dim, model->dim());
  Shape shape = model->shape();
  int64_t total = 0;
  for (const Tensor& t : parts) {
    check(t.dim() == shape.size(), Kind::Runtime,
          "Tensors must have same number of dimensions: got ", shape.size(), " and ", t.dim());
    for (int i = 0; i < shape.size(); i++)
      check(i == d || t.shape()[i] == shape[i], Kind::Runtime,
            "Sizes of tensors must match except in dimension ", d, ". Expected size ", shape[i],
            " but got size ", t.shape()[i], " for tensor number ", &t - parts.data(),
            " in the list.");
    check(!__builtin_add_overflow(total, t.shape()[d], &total), Kind::Runtime,
          "cat(): the sizes in dimension ", d, " add up to more than 2^63 - 1");
  }
  if (!parts.empty()) shape[d] = total;
  Dtype dtype = result_type(tensors);
  check(!dest.tensor || can_cast(dtype, dest.tensor->dtype()), Kind::Type,
        "torch.cat(): input types can't be cast to the desired output type ",
        dest.tensor ? type_name(dest.tensor->dtype()) : "");
  Tensor out = parts.empty()
                   ? output_for("cat", dest, shape, dtype, model->device())
                   : joined("cat", parts, d, shape, dtype, dest, all_channels_last(parts));
  if (dest.tensor || !grad_needed(tensors)) return out;
  Shape sizes;
  for (const Tensor& t : tensors) sizes.push_back(is_skipped(t) ? -1 : t.shape()[d]);
  return tape_list(out, "cat", tensors,
                   [sizes, d](const Tensor& g, const std::vector<bool>& needed) {
                     std::vector<Tensor> out(needed.size());
                     int64_t at = 0;
                     for (size_t i = 0; i < needed.size(); i++) {
                       int64_t n = sizes[int64_t(i)];
                       if (needed[i])
                         out[i] = n < 0 ? zeros({0}, g.dtype(), g.device()) : narrow(g, d, at, n);
                       at += std::max<int64_t>(n, 0);
                     }
                     return out;
                   });
}
Tensor cat(const TensorList& tensors, int64_t dim) { return cat(tensors, dim, {}); }
namespace {
Tensor cat_op(const TensorList& tensors, int64_t dim, Dest dest) { return cat(tensors, dim, dest); }
}  // namespace
EMBER_OP("cat(Tensor[] tensors, int dim=0) -> Tensor", &cat_op,
         Function | Out | Apart | Along | Widest,
         "The tensors one after the other along a dimension.");
EMBER_OP("concat(Tensor[] tensors, int dim=0) -> Tensor", &cat_op,
         Function | Out | Apart | Along | Widest, "cat().");
EMBER_OP("concatenate(Tensor[] tensors, int dim=0) -> Tensor", &cat_op,
         Function | Out | Apart | Along | Widest, "cat().");

Tensor stack(const TensorList& tensors, int64_t dim, Dest dest) {
  check_list("stack", tensors);
  const Shape& one = tensors[0].shape();
  int d = wrap_dim("stack", dim, one.size() + 1);
  TensorList parts;
  for (const Tensor& t : tensors) {
    check(t.shape() == one, Kind::Runtime, "stack expects each tensor to be equal size, but got ",
          one, " at entry 0 and ", t.shape(), " at entry ", &t - tensors.data());
    Shape shape = one, strides = t.strides();
    strides.insert(d, d < one.size() ? shape[d] * strides[d] : 1);
    shape.insert(d, 1);
    parts.push_back(alias(t, shape, strides, t.offset()));
  }
  Shape shape = one;
  shape.insert(d, int64_t(tensors.size()));
  Tensor out = joined("stack", parts, d, shape, result_type(tensors), dest, false);
  if (dest.tensor || !grad_needed(tensors)) return out;
  return tape_list(out, "stack", tensors, [d](const Tensor& g, const std::vector<bool>& needed) {
    std::vector<Tensor> out(needed.size());
    for (size_t i = 0; i < needed.size(); i++)
      if (needed[i]) out[i] = select(g, d, int64_t(i));
    return out;
  });
}
Tensor stack(const TensorList& tensors, int64_t dim) { return stack(tensors, dim, {}); }
EMBER_OP("stack(Tensor[] tensors, int dim=0) -> Tensor",
         ([](const TensorList& tensors, int64_t dim, Dest dest) {
           return stack(tensors, dim, dest);
         }),
         Function | Out | Apart | Along | Widest, "The tensors along a new dimension.");

namespace {

TensorList each(const TensorList& tensors, int n) {
  TensorList out;
  for (const Tensor& t : tensors) out.push_back(atleast(t, n));
  return out;
}
Tensor hstack(const TensorList& tensors, Dest dest) {
  check_list("hstack", tensors);
  TensorList parts = each(tensors, 1);
  return cat(parts, parts[0].dim() == 1 ? 0 : 1, dest);
}
Tensor vstack(const TensorList& tensors, Dest dest) {
  check_list("vstack", tensors);
  return cat(each(tensors, 2), 0, dest);
}
Tensor dstack(const TensorList& tensors, Dest dest) {
  check_list("dstack", tensors);
  return cat(each(tensors, 3), 2, dest);
}
Tensor column_stack(const TensorList& tensors, Dest dest) {
  check_list("column_stack", tensors);
  TensorList parts;
  for (const Tensor& t : tensors) parts.push_back(t.dim() <= 1 ? reshape(t, {t.numel(), 1}) : t);
  return cat(parts, 1, dest);
}

}  // namespace
EMBER_OP("hstack(Tensor[] tensors) -> Tensor", &hstack, Function | Out | Apart | Whole,
         "The tensors side by side: cat() along columns.");
EMBER_OP("vstack(Tensor[] tensors) -> Tensor", &vstack, Function | Out | Apart | Whole,
         "The tensors on top of each other.");
EMBER_OP("row_stack(Tensor[] tensors) -> Tensor", &vstack, Function | Out | Apart | Whole,
         "vstack().");
EMBER_OP("dstack(Tensor[] tensors) -> Tensor", &dstack, Function | Out | Apart | Whole,
         "The tensors behind each other.");
EMBER_OP("column_stack(Tensor[] tensors) -> Tensor", &column_stack, Function | Out | Apart | Whole,
         "The tensors side by side, lines as columns.");

Tensor block_diag(const TensorList& tensors) {
  TensorList blocks;
  Shape rows, columns;
  int64_t height = 0, width = 0;
  for (size_t i = 0; i < tensors.size(); i++) {
    check(tensors[i].dim() <= 2, Kind::Runtime,
          "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input ", i, " has ",
          tensors[i].dim(), " dimensions");
    blocks.push_back(atleast(tensors[i], 2));
    rows.push_back(height);
    columns.push_back(width);
    height += blocks[i].size(0);
    width += blocks[i].size(1);
  }
  if (tensors.empty()) return empty({1, 0}, default_dtype());
  Tensor out = zeros({height, width}, result_type(tensors), tensors[0].device());
  auto block = [](const Tensor& x, int64_t row, int64_t column, const Shape& size) {
    return narrow(narrow(x, 0, row, size[0]), 1, column, size[1]);
  };
  {
    NoGrad guard;
    for (size_t i = 0; i < blocks.size(); i++)
      backend_of(out).copy(block(out, rows[int64_t(i)], columns[int64_t(i)], blocks[i].shape()),
                           blocks[i]);
  }
  if (!grad_needed(tensors)) return out;
  std::vector<Shape> sizes;
  for (const Tensor& t : blocks) sizes.push_back(t.shape());
  return tape_list(out, "block_diag", blocks,
                   [=](const Tensor& g, const std::vector<bool>& needed) {
                     std::vector<Tensor> out(needed.size());
                     for (size_t i = 0; i < needed.size(); i++)
                       if (needed[i])
                         out[i] = block(g, rows[int64_t(i)], columns[int64_t(i)], sizes[i]);
                     return out;
                   });
}
EMBER_OP("block_diag(Tensor[] *tensors) -> Tensor", &block_diag, Function | Whole,
         "A matrix with the given ones along its diagonal, and zeros elsewhere.");

}  // namespace ember
