// softmax, log_softmax and logsumexp. The gradients are fused too, unless they must be
// differentiable themselves.
#include <cmath>

#include "ops/ops.h"
#include "ops/reduce.h"

namespace ember {

namespace {

using MaybeDtype = std::optional<Dtype>;

Tensor softmax_along(const char* op, const Tensor& self, int64_t dim, MaybeDtype dtype, bool log) {
  int d = wrap_dim(op, dim, self.dim());
  Dtype t = dtype.value_or(self.dtype());
  check(is_floating(t), Kind::NotImplemented, op, "(): not implemented for ", t);
  Tensor x = is_complex(self.dtype()) ? to(self, t) : self;
  Tensor out = empty(x.shape(), t, x.device());
  backend_of(x).softmax(out, x, d, log);
  if (!grad_needed(x)) return out;
  return tape(out, op, wrt(x, [d, log, y = Saved::output(out)](const Tensor& g) {
                Tensor kept = y.get();
                if (!grad_enabled()) {
                  Tensor dx = empty(kept.shape(), kept.dtype(), kept.device());
                  backend_of(kept).softmax_grad(dx, g, kept, d, log);
                  return dx;
                }
                if (log) return g - exp(kept) * sum(g, Dims(d), true);
                Tensor weighted = g * kept;
                return weighted - kept * sum(weighted, Dims(d), true);
              }));
}

}  // namespace

Tensor softmax(const Tensor& self, int64_t dim, MaybeDtype dtype) {
  return softmax_along("softmax", self, dim, dtype, false);
}
Tensor log_softmax(const Tensor& self, int64_t dim, MaybeDtype dtype) {
  return softmax_along("log_softmax", self, dim, dtype, true);
}
EMBER_OP("softmax(Tensor self, int dim, Dtype? dtype=None) -> Tensor", &softmax,
         kForms | Out | Along, "Exponentials along `dim`, scaled to sum to 1.");
EMBER_OP("log_softmax(Tensor self, int dim, Dtype? dtype=None) -> Tensor", &log_softmax,
         kForms | Out | Along, "Logarithm of softmax, without loss of accuracy.");
EMBER_OP("special.softmax(Tensor self, int dim, Dtype? dtype=None) -> Tensor", &softmax,
         Function | Along, "The same as softmax.");
EMBER_OP("special.log_softmax(Tensor self, int dim, *, Dtype? dtype=None) -> Tensor", &log_softmax,
         Function | Along, "The same as log_softmax.");

// --- logsumexp -----------------------------------------------------------------------------------

namespace {

// Complex, or over no dimension at all: step by step.
Tensor logsumexp_in_steps(const Tensor& x, const Shape& dims) {
  if (x.numel() == 0) return log(sum(exp(x), Dims(dims), true));
  Tensor top = amax(is_complex(x.dtype()) ? real(x) : x, Dims(dims), true);
  Tensor shift = where(abs(top) == Scalar(INFINITY), Scalar(0.0), top);
  return to(log(sum(exp(x - shift), Dims(dims), true)) + shift, x.dtype());
}

// The reduced dimensions as one, the last.
Tensor lines_over(const Tensor& x, const Shape& dims) {
  Shape order, shape;
  for (int d = 0; d < x.dim(); d++)
    if (!dims.contains(d)) order.push_back(d), shape.push_back(x.size(d));
  for (int64_t d : dims) order.push_back(d);
  shape.push_back(reduced_count(x.shape(), dims));
  return reshape(permute(x, order), shape);
}

Tensor logsumexp_over(const Tensor& x, const Shape& dims) {
  NoGrad guard;
  if (is_complex(x.dtype()) || dims.empty()) return logsumexp_in_steps(x, dims);
  Tensor out = reduced_like(x, dims, x.dtype());
  if (dims.size() == 1) {
    backend_of(x).logsumexp(out, x, int(dims[0]));
  } else {
    Tensor lines = lines_over(x, dims);
    Shape shape = lines.shape();
    shape.back() = 1;
    backend_of(x).logsumexp(alias(out, shape, contiguous_strides(shape), 0), lines,
                            lines.dim() - 1);
  }
  return out;
}

}  // namespace

Tensor logsumexp(const Tensor& self, const Dims& dim, bool keepdim) {
  Tensor x = is_integral(self.dtype(), true) ? to(self, default_dtype()) : self;
  Shape dims = reduced_dims("logsumexp", dim, x.dim());
  Tensor out = drop_dims(contiguous(logsumexp_over(x, dims)), dims, keepdim);
  if (!grad_needed(x)) return out;
  return tape(out, "logsumexp",
              wrt(x, [x = Saved(x), y = Saved::output(out), dims, keepdim](const Tensor& g) {
                Tensor kept = x.get();
                Tensor up = restore_dims(g, dims, keepdim, kept.shape());
                return up * conj(exp(kept - restore_dims(y.get(), dims, keepdim, kept.shape())));
              }));
}
EMBER_OP("logsumexp(Tensor self, Dims dim, bool keepdim=False) -> Tensor", &logsumexp,
         kForms | Out | Along,
         "Logarithm of the sum of exponentials over `dim`, without overflow.");
EMBER_OP("special.logsumexp(Tensor self, Dims dim, bool keepdim=False) -> Tensor", &logsumexp,
         Function | Out | Along, "The same as logsumexp.");

}  // namespace ember
