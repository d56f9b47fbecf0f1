// What the engine needs of the ops above it (autograd/engine.h).
#include "autograd/engine.h"
#include "ops/ops.h"

namespace ember {

namespace {

Tensor cast_grad(const Tensor& g, Dtype dtype) {
  if (is_complex(g.dtype()) && !is_complex(dtype)) return to(real(g), dtype);
  return to(g, dtype);
}

Tensor clone_like(const Tensor& g, const Tensor& like) {
  if (grad_enabled()) return clone(g);
  Tensor out = is_dense(like.shape(), like.strides()) ? empty_strided(like.shape(), like.strides(), g.dtype(), g.device())
                                                      : empty(g.shape(), g.dtype(), g.device());
  backend_of(out).copy(out, g);
  return out;
}

Tensor base_like(const Tensor& g, const Shape& shape, const Shape& strides) {
  Tensor out = empty_strided(shape, preserved_strides(shape, strides), g.dtype(), g.device());
  if (grad_enabled()) return g;
  backend_of(out).copy(out, g);
  return out;
}

}  // namespace

// The part of a gradient (laid out like the base, dense) that lies under a view of the base.
static Tensor slice_of(const Tensor& dense, int64_t base_offset, const Shape& shape, const Shape& strides,
                       int64_t offset) {
  return as_strided(dense, shape, strides, offset - base_offset);
}

// Gradients of a base and of a view are laid out like the base; if that is not dense, its strides differ from those
// of the gradient, and the view's geometry must be translated. A base that autograd knows is dense in all but
// contrived cases (an expanded or sliced tensor made by as_strided or from_numpy), which go through a full buffer.
static Tensor put_slice(const Tensor& g, int64_t base_offset, const Shape& shape, const Shape& strides, int64_t offset,
                        const Tensor& part) {
  Tensor rest = clone(g);
  Tensor hole = slice_of(rest, base_offset, shape, strides, offset);
  if (part)
    copy_(hole, part);
  else
    copy_(hole, zeros({}, g.dtype(), g.device()));
  return rest;
}

static Tensor strided_grad(const Tensor& g, const Shape& base_shape, const Shape& base_strides, int64_t base_offset,
                           const Shape& shape, const Shape& strides, int64_t offset) {
  Tensor out = empty_strided(base_shape, preserved_strides(base_shape, base_strides), g.dtype(), g.device());
  backend_of(out).fill(out, Scalar(0));
  copy_(slice_of(out, base_offset, shape, strides, offset), g);
  return out;
}

static bool any_nan(const Tensor& t) {
  NoGrad guard;
  return item(sum(isnan(t))).to<bool>();
}

static const bool provided = [] {
  engine_ops.add = [](const Tensor& a, const Tensor& b) { return add(a, b); };
  engine_ops.add_inplace = [](const Tensor& a, const Tensor& b) { add(a, b, {&a, true}); };
  engine_ops.sum_to = sum_to;
  engine_ops.cast = cast_grad;
  engine_ops.clone_like = clone_like;
  engine_ops.ones_like = ones_like;
  engine_ops.zeros = [](const OutputInfo& info) { return zeros(info.shape, info.dtype, info.device); };
  engine_ops.any_nan = any_nan;
  engine_ops.base_like = base_like;
  engine_ops.take_slice = slice_of;
  engine_ops.put_slice = put_slice;
  engine_ops.strided_grad = strided_grad;
  return true;
}();

}  // namespace ember
