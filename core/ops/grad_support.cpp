// What the engine needs of the ops above it (autograd/engine.h).
#include "autograd/engine.h"
#include "ops/overlap.h"

namespace ember {

namespace {

Tensor cast_grad(const Tensor& g, Dtype dtype) {
  if (is_complex(g.dtype()) && !is_complex(dtype)) return to(real(g), dtype);
  return to(g, dtype);
}

Tensor clone_like(const Tensor& g, const Tensor& like) {
  if (grad_enabled()) return clone(g);
  Tensor out = is_dense(like.shape(), like.strides())
                   ? empty_strided(like.shape(), like.strides(), g.dtype(), g.device())
                   : empty(g.shape(), g.dtype(), g.device());
  backend_of(out).copy(out, g);
  return out;
}

}  // namespace

static bool any_nan(const Tensor& t) {
  NoGrad guard;
  return item(sum(isnan(t))).to<bool>();
}

static const bool provided = [] {
  engine_ops.add = [](const Tensor& a, const Tensor& b) { return add(a, b); };
  engine_ops.add_inplace = [](const Tensor& a, const Tensor& b) {
    add(a, beside("add_", a, b, Sharing::Copied), {&a, true});
  };
  engine_ops.sum_to = sum_to;
  engine_ops.cast = cast_grad;
  engine_ops.clone_like = clone_like;
  engine_ops.ones_like = ones_like;
  engine_ops.zeros = [](const OutputInfo& info) {
    return zeros(info.shape, info.dtype, info.device);
  };
  engine_ops.any_nan = any_nan;
  return true;
}();

}  // namespace ember
