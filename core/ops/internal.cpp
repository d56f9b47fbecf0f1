// Ops that PyTorch's own decompositions and a few programs call by name.
#include <limits>

#include "ops/ops.h"
#include "ops/reduce.h"

namespace ember {

namespace {

// --- hash_tensor

Tensor bits_of(const Tensor& x) {
  check(!is_complex(x.dtype()), Kind::NotImplemented, "hash_tensor(): not implemented for ",
        x.dtype());
  if (is_any_floating(x.dtype()))
    return view_dtype(contiguous(to(x, Dtype::Float64)), Dtype::Int64);
  if (x.dtype() == Dtype::UInt64) return view_dtype(x, Dtype::Int64);
  return to(x, Dtype::Int64);
}

Tensor hash_tensor(const Tensor& self, const Dims& dim, bool keepdim, int64_t mode) {
  check(mode == 0, Kind::Runtime, "hash_tensor(): Unknown hash_tensor mode: ", mode,
        "; expected 0");
  const bool all = !dim.given || dim.values.empty();
  check(!all || self.numel() > 0, Kind::Runtime,
        "hash_tensor(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
        "reduction dim with the 'dim' argument.");
  const Shape dims = reduced_dims("hash_tensor", all ? Dims() : dim, self.dim());
  for (int64_t d : dims)
    check(self.dim() == 0 || self.size(d) > 0, Kind::Index,
          "hash_tensor(): Expected reduction dim ", d, " to have non-zero size.");
  NoGrad guard;
  Shape order, kept;
  for (int d = 0; d < self.dim(); d++)
    if (!dims.contains(d)) order.push_back(d), kept.push_back(self.size(d));
  for (int64_t d : dims)
    if (self.dim()) order.push_back(d);
  kept.push_back(reduced_count(self.shape(), dims));
  Tensor x = reshape(permute(bits_of(self), order), kept);
  // By halves; what is left over of an odd number goes into the first.
  for (int64_t n = x.size(-1); n > 1; n = x.size(-1)) {
    Tensor low = narrow(x, -1, 0, n / 2), high = narrow(x, -1, n / 2, n / 2);
    Tensor folded = bitwise_xor(low, high);
    if (n % 2) {
      Tensor first = narrow(folded, -1, 0, 1);
      copy_(first, bitwise_xor(first, narrow(x, -1, n - 1, 1)));
    }
    x = folded;
  }
  return view_dtype(contiguous(reshape(x, reduced_shape(self.shape(), dims, keepdim))),
                    Dtype::UInt64);
}

// --- _chunk_cat

Tensor chunk_cat(const TensorList& tensors, int64_t dim, int64_t num_chunks) {
  check(!tensors.empty(), Kind::Runtime, "_chunk_cat(): expects a non-empty input tensor list");
  check(num_chunks >= 1, Kind::Runtime, "_chunk_cat(): expects positive num_chunks, got ",
        num_chunks);
  const Tensor& first = tensors[0];
  const int d = wrap_dim("_chunk_cat", dim, first.dim());
  TensorList parts;
  for (const Tensor& t : tensors) {
    check(t.numel() > 0, Kind::Runtime, "_chunk_cat(): expects non-empty tensors, got ", t);
    check(t.dtype() == first.dtype(), Kind::Runtime,
          "_chunk_cat(): expects all input tensors with the same dtype, got ", first, " and ", t);
    check(t.dim() > d, Kind::Runtime, "_chunk_cat(): expects dim ", d, " in every tensor, got ", t);
    Shape shape;
    for (int i = 0; i < d; i++) {
      check(t.size(i) == first.size(i), Kind::Runtime,
            "_chunk_cat(): expects same sizes of 0,...,dim-1 dimensions, got ", first, " and ", t);
      shape.push_back(t.size(i));
    }
    shape.push_back(num_chunks);
    shape.push_back(-1);
    const int64_t missing = (num_chunks - t.size(d) % num_chunks) % num_chunks;
    Tensor whole = t;
    if (missing) {
      Shape gap = t.shape();
      gap[d] = missing;
      whole = cat(TensorList{t, zeros(gap, t.dtype(), t.device())}, d);
    }
    parts.push_back(reshape(whole, shape));
  }
  return cat(parts, d + 1);
}

// --- indexing under a mask: where it is False, positions may be out of range

TensorList within(const Tensor& self, const TensorList& indices) {
  TensorList safe;
  for (size_t i = 0; i < indices.size(); i++) {
    if (!indices[i].defined() || int(i) >= self.dim()) {
      safe.push_back(indices[i]);
      continue;
    }
    const int64_t n = self.size(int64_t(i));
    safe.push_back(clamp_max(clamp_min(indices[i], Scalar(-n)), Scalar(n - 1)));
  }
  return safe;
}

Tensor masked_index(const Tensor& self, const Tensor& mask, const TensorList& indices,
                    const Scalar& fill) {
  if (self.numel() == 0) {
    // Nothing to take, but there may be places to fill.
    Shape shape = mask.shape();
    for (size_t i = 0; i < indices.size(); i++)
      if (indices[i].defined())
        shape = broadcast_shapes("_unsafe_masked_index", shape, indices[i].shape());
    return full(shape, fill, self.dtype(), self.device());
  }
  return masked_fill(index(self, within(self, indices)), logical_not(mask), fill);
}

Tensor masked_index_put(const Tensor& self, const Tensor& mask, const TensorList& indices,
                        const Tensor& values) {
  if (self.numel() == 0) return clone(self);
  return index_put(self, within(self, indices), masked_fill(values, logical_not(mask), Scalar(0)),
                   true);
}

// --- gradients as functions

Tensor softmax_backward(const Tensor& g, const Tensor& y, int64_t dim, Dtype dtype, bool log) {
  const int d = wrap_dim("_softmax_backward_data", dim, g.dim());
  const Dtype wide = compute_of(g.dtype());
  Tensor gx = to(g, wide), yx = to(y, wide), weighted = log ? gx : gx * yx;
  Tensor total = sum(weighted, Dims(d), true);
  return to(log ? gx - exp(yx) * total : weighted - yx * total, dtype);
}

// Softmax with zeros, not NaN, where a line is -inf altogether.
Tensor safe_softmax(const Tensor& self, int64_t dim, std::optional<Dtype> dtype) {
  Tensor none = all(self == Scalar(-std::numeric_limits<double>::infinity()),
                    self.dim() ? Dims(dim) : Dims(), true);
  if (!self.dim()) none = reshape(none, {});
  // The zeros go in before, too: the gradient of a line of -inf would be NaN.
  return where(none, Scalar(0.0), softmax(where(none, Scalar(0.0), self), dim, dtype));
}

}  // namespace

EMBER_OP("hash_tensor(Tensor self, Dims dim=None, *, bool keepdim=False, int mode=0) -> Tensor",
         &hash_tensor, kForms | Out | Along,
         "The exclusive or of all elements, as 64-bit floats or integers: a checksum (uint64).");
EMBER_OP("_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor", &chunk_cat,
         Function | Out | Along,
         "Tensors in `num_chunks` parts along `dim`, padded with zeros, and joined part by part.");
EMBER_OP("_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor",
         &masked_index, Function | Whole, "self[indices], with `fill` where the mask is False.");
EMBER_OP(
    "_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor "
    "values) -> Tensor",
    &masked_index_put, Function | Whole,
    "A copy with the values under the mask added to the elements at `indices`.");
EMBER_OP(
    "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, Dtype input_dtype) -> "
    "Tensor",
    ([](const Tensor& g, const Tensor& y, int64_t dim, Dtype dtype) {
      return softmax_backward(g, y, dim, dtype, false);
    }),
    Function | Out | Along, "The gradient of softmax, from its output.");
EMBER_OP(
    "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, Dtype input_dtype) "
    "-> Tensor",
    ([](const Tensor& g, const Tensor& y, int64_t dim, Dtype dtype) {
      return softmax_backward(g, y, dim, dtype, true);
    }),
    Function | Out | Along, "The gradient of log_softmax, from its output.");
EMBER_OP("_safe_softmax(Tensor self, int dim, Dtype? dtype=None) -> Tensor", &safe_softmax,
         Function | Along, "softmax, with zeros where all elements along `dim` are -inf.");
EMBER_OP("native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
         ([](const Tensor& g, const Tensor& mask, double scale) {
           return g * (to(mask, g.dtype()) * Scalar(scale));
         }),
         Function | Out | Pointwise, "The gradient of native_dropout.");

}  // namespace ember
