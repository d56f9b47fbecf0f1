// Defaults of the primitives that work along one dimension, for devices that do not fuse them.
#include "backend.h"

namespace ember {

namespace {

// `t`, which has size 1 along the reduced dimension, repeated to `shape`.
struct Repeated {
  Shape strides;
  Input input;
  Repeated(const Tensor& t, const Shape& shape)
      : strides(broadcast_strides(t.shape(), t.strides(), shape)) {
    input.tensor = &t;
    input.strides = &strides;
  }
};
Input whole(const Tensor& t) {
  Input in;
  in.tensor = &t;
  return in;
}
Shape without(Shape shape, int dim) {
  if (shape.size()) shape[dim] = 1;
  return shape;
}
Shape dims_of(const Tensor& t, int dim) { return t.dim() ? Shape{dim} : Shape{}; }

// The first `n` along `dim`, from `start`.
Tensor part(const Tensor& t, int dim, int64_t start, int64_t n) {
  if (t.dim() == 0) return t;
  Shape shape = t.shape();
  shape[dim] = n;
  return alias(t, shape, t.strides(), t.offset() + start * t.strides()[dim]);
}

}  // namespace

void Backend::topk(const Tensor& values, const Tensor& indices, const Tensor& x, int dim,
                   bool largest, bool) {
  Tensor v = empty(x.shape(), x.dtype(), x.device()),
         at = empty(x.shape(), Dtype::Int64, x.device());
  sort(v, at, x, dim, largest);
  if (values) copy(values, part(v, dim, 0, values.dim() ? values.size(dim) : 1));
  if (indices) copy(indices, part(at, dim, 0, indices.dim() ? indices.size(dim) : 1));
}

void Backend::pick(const Tensor& values, const Tensor& indices, const Tensor& x, int dim, Rank rank,
                   int64_t k) {
  if (rank != Rank::Kth) refuse(rank == Rank::Mode ? "mode" : "median");
  Tensor v = empty(x.shape(), x.dtype(), x.device()),
         at = empty(x.shape(), Dtype::Int64, x.device());
  sort(v, at, x, dim, false);
  copy(values, part(v, dim, k, 1));
  copy(indices, part(at, dim, k, 1));
}

void Backend::softmax(const Tensor& out, const Tensor& x, int dim, bool log) {
  if (x.numel() == 0) return;
  const Dtype d = compute_of(out.dtype());
  Tensor each = empty(x.shape(), d, x.device()),
         line = empty(without(x.shape(), dim), d, x.device());
  copy(each, x);
  reduce(Reduction::max, line, each, dims_of(x, dim), 2);
  binary(Binary::sub, d, each, whole(each), Repeated(line, x.shape()).input);
  Tensor exps = log ? empty(x.shape(), d, x.device()) : each;
  unary(Unary::exp, d, exps, whole(each), {});
  reduce(Reduction::sum, line, exps, dims_of(x, dim), 2);
  if (log) unary(Unary::log, d, line, whole(line), {});
  binary(log ? Binary::sub : Binary::div, d, out, whole(each), Repeated(line, x.shape()).input);
}

void Backend::softmax_grad(const Tensor& out, const Tensor& g, const Tensor& y, int dim, bool log) {
  if (y.numel() == 0) return;
  const Dtype d = compute_of(out.dtype());
  Tensor each = empty(y.shape(), d, y.device()),
         line = empty(without(y.shape(), dim), d, y.device());
  if (log) {  // g - exp(y) * sum(g)
    reduce(Reduction::sum, line, g, dims_of(y, dim), 2);
    unary(Unary::exp, d, each, whole(y), {});
    binary(Binary::mul, d, each, whole(each), Repeated(line, y.shape()).input);
    binary(Binary::sub, d, out, whole(g), whole(each));
  } else {  // (g - sum(g * y)) * y
    binary(Binary::mul, d, each, whole(g), whole(y));
    reduce(Reduction::sum, line, each, dims_of(y, dim), 2);
    binary(Binary::sub, d, each, whole(g), Repeated(line, y.shape()).input);
    binary(Binary::mul, d, out, whole(each), whole(y));
  }
}

void Backend::logsumexp(const Tensor& out, const Tensor& x, int dim) {
  const Dtype d = compute_of(out.dtype());
  Tensor each = empty(x.shape(), d, x.device()), line = empty(out.shape(), d, x.device());
  Tensor shift = empty(out.shape(), d, x.device());
  fill(shift, Scalar(0));
  copy(each, x);
  if (x.numel()) {
    Tensor infinite = empty(out.shape(), Dtype::Bool, x.device());
    reduce(Reduction::max, line, each, dims_of(x, dim), 2);
    predicate(Predicate::isinf, d, infinite, whole(line));
    ternary(Ternary::where, d, shift, whole(infinite), whole(shift), whole(line), {});
    binary(Binary::sub, d, each, whole(each), Repeated(shift, x.shape()).input);
  }
  unary(Unary::exp, d, each, whole(each), {});
  reduce(Reduction::sum, line, each, dims_of(x, dim), 2);
  unary(Unary::log, d, line, whole(line), {});
  binary(Binary::add, d, out, whole(line), whole(shift));
}

}  // namespace ember
