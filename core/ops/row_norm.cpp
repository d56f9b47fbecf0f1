// layer_norm and rms_norm: every row by its own statistics. Channels are in batch_norm.cpp and
// group_norm.cpp.
#include "ops/norm.h"

#include <limits>

namespace ember {

Normalized normalized(const Tensor& x, const Shape& dims, double eps, bool root_mean_square) {
  Normalized n;
  Tensor centred = x;
  if (!root_mean_square) n.mean = mean(x, Dims(dims), true), centred = x - n.mean;
  n.rstd = rsqrt(mean(centred * centred, Dims(dims), true) + Scalar(eps));
  n.value = centred * n.rstd;
  return n;
}

Tensor normalized_grad(const Tensor& g, const Normalized& n, const Shape& dims) {
  Tensor inner = g - n.value * mean(g * n.value, Dims(dims), true);
  if (n.mean) inner = inner - mean(g, Dims(dims), true);
  return n.rstd * inner;
}

void check_norm_dtypes(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check(is_floating(x.dtype()), Kind::NotImplemented, op, "(): not implemented for ", x.dtype());
  for (const Tensor* t : {&weight, &bias})
    check(!*t || t->dtype() == x.dtype() || (is_reduced(x.dtype()) && t->dtype() == Dtype::Float32),
          Kind::Runtime, op, "(): mixed dtype: weight and bias must have the dtype of input, ",
          x.dtype(), ", but one is ", *t ? t->dtype() : x.dtype());
}

namespace {

void check_shape(const char* op, const Tensor& x, const Shape& shape, const Tensor& weight,
                 const Tensor& bias) {
  check(!shape.empty(), Kind::Runtime, op,
        "(): Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
        "element, but got normalized_shape = []");
  const int k = shape.size(), lead = x.dim() - k;
  check(lead >= 0 && Shape(x.shape().data() + std::max(0, lead), lead >= 0 ? k : 0) == shape,
        Kind::Runtime, "Given normalized_shape=", shape,
        ", expected input with shape [*, the same], but got input of size", x.shape());
  check(!weight || weight.shape() == shape, Kind::Runtime,
        "Expected weight to be of same shape as normalized_shape, but got weight of shape ",
        weight ? weight.shape() : shape, " and normalized_shape = ", shape);
  check(!bias || bias.shape() == shape, Kind::Runtime,
        "Expected bias to be of same shape as normalized_shape, but got bias of shape ",
        bias ? bias.shape() : shape, " and normalized_shape = ", shape);
}

struct RowNorm {
  Tensor out, mean, rstd;  // the statistics: one for each row, without history
};

Shape last_dims(const Tensor& x, const Shape& shape) {
  Shape dims;
  for (int d = x.dim() - shape.size(); d < x.dim(); d++) dims.push_back(d);
  return dims;
}

RowNorm in_steps(const Tensor& x, const Shape& shape, const Tensor& weight, const Tensor& bias,
                 double eps, bool rms) {
  Normalized n = normalized(wide(x), last_dims(x, shape), eps, rms);
  Tensor out = to(affine(n.value, wide(weight), wide(bias)), x.dtype());
  return {out, n.mean ? detach(n.mean) : n.mean, detach(n.rstd)};
}

// What the backward pass needs, and how: fused, or in ops if the gradients have a history.
struct RowGrad {
  Saved x, weight, mean, rstd;
  Shape shape;
  double eps;
  bool rms;

  std::vector<Tensor> operator()(const Tensor& g, const std::vector<bool>& needed) const {
    std::vector<Tensor> dx(3);
    Tensor from = x.get(), w = weight.get();
    if (grad_enabled()) {
      const Shape dims = last_dims(from, shape);
      Normalized n = normalized(wide(from), dims, eps, rms);
      Tensor up = wide(g);
      if (needed[0]) dx[0] = normalized_grad(w ? up * wide(w) : up, n, dims);
      if (needed[1]) dx[1] = up * n.value;
      if (needed[2]) dx[2] = up;
      return dx;
    }
    const int64_t n = numel_of(shape), m = n ? from.numel() / n : 0;
    auto room = [&](bool wanted, const Shape& size, Dtype t) {
      return wanted ? empty(size, t, from.device()) : Tensor();
    };
    const Dtype type = w ? w.dtype() : from.dtype();
    dx[0] = room(needed[0], from.shape(), from.dtype());
    dx[1] = room(needed[1], shape, type);
    dx[2] = room(needed[2], shape, type);
    if (m == 0) {
      for (Tensor& t : dx)
        if (t) backend_of(t).fill(t, Scalar(0.0));
      return dx;
    }
    auto rows = [&](const Tensor& t) { return t ? flat(contiguous(t), {m, n}) : t; };
    auto line = [&](const Tensor& t) { return t ? flat(contiguous(t), {n}) : t; };
    backend_of(from).norm_rows_grad(rows(dx[0]), line(dx[1]), line(dx[2]), rows(g), rows(from),
                                    mean.get(), rstd.get(), line(w));
    return dx;
  }
};

RowNorm row_norm(const char* op, const Tensor& x, const Shape& shape, const Tensor& weight,
                 const Tensor& bias, double eps, bool rms) {
  Backend& backend = backend_of(x);
  if (!backend.has(Primitive::norm_rows, Primitive::norm_rows_grad) || !is_floating(x.dtype()))
    return in_steps(x, shape, weight, bias, eps, rms);
  const int64_t n = numel_of(shape);
  Shape lead(x.shape().data(), x.dim() - shape.size());
  const int64_t m = numel_of(lead);
  RowNorm r{empty(x.shape(), x.dtype(), x.device()), Tensor(),
            empty({m}, statistics_dtype(x), x.device())};
  if (!rms) r.mean = empty({m}, statistics_dtype(x), x.device());
  if (x.numel()) {
    auto line = [&](const Tensor& t) { return t ? flat(contiguous(detach(t)), {n}) : t; };
    backend.norm_rows(flat(r.out, {m, n}), r.mean, r.rstd, flat(contiguous(detach(x)), {m, n}),
                      line(weight), line(bias), eps);
  } else {
    if (r.mean) backend_of(x).fill(r.mean, Scalar(0.0));
    backend_of(x).fill(r.rstd, Scalar(std::numeric_limits<double>::quiet_NaN()));
  }
  if (grad_needed(x, weight, bias))
    r.out =
        tape_list(r.out, op, {x, weight, bias},
                  RowGrad{Saved(x), Saved(weight), Saved(r.mean), Saved(r.rstd), shape, eps, rms});
  for (int i = 0; i < shape.size(); i++) lead.push_back(1);
  if (r.mean) r.mean = flat(r.mean, lead);
  r.rstd = flat(r.rstd, lead);
  return r;
}

}  // namespace

Tensor layer_norm(const Tensor& input, const Shape& shape, const Tensor& weight, const Tensor& bias,
                  double eps) {
  check_shape("layer_norm", input, shape, weight, bias);
  check_norm_dtypes("layer_norm", input, weight, bias);
  return row_norm("native_layer_norm", input, shape, weight, bias, eps, false).out;
}
EMBER_OP(
    "nn.functional.layer_norm(Tensor input, Size normalized_shape, Tensor? weight=None, Tensor? "
    "bias=None, float eps=1e-05) -> Tensor",
    &layer_norm, Function | Leading,
    "Mean 0 and variance 1 over the last axes, then scale and shift.");
EMBER_OP(
    "layer_norm(Tensor input, Size normalized_shape, Tensor? weight=None, Tensor? bias=None, float "
    "eps=1e-05, bool cudnn_enable=True) -> Tensor",
    ([](const Tensor& input, const Shape& shape, const Tensor& weight, const Tensor& bias,
        double eps, bool) { return layer_norm(input, shape, weight, bias, eps); }),
    Function | Leading, "Mean 0 and variance 1 over the last axes, then scale and shift.");

EMBER_OP(
    "native_layer_norm(Tensor input, Size normalized_shape, Tensor? weight, Tensor? bias, float "
    "eps) -> (Tensor, Tensor, Tensor)",
    ([](const Tensor& input, const Shape& shape, const Tensor& weight, const Tensor& bias,
        double eps) {
      check_shape("native_layer_norm", input, shape, weight, bias);
      check_norm_dtypes("native_layer_norm", input, weight, bias);
      RowNorm r = row_norm("native_layer_norm", input, shape, weight, bias, eps, false);
      return std::tuple(r.out, as_saved(r.mean, input, weight, bias),
                        as_saved(r.rstd, input, weight, bias));
    }),
    Function | Out | Whole, "layer_norm, with the mean and the reciprocal deviation of each row.");

Tensor rms_norm(const Tensor& input, const Shape& shape, const Tensor& weight,
                std::optional<double> eps) {
  check_shape("rms_norm", input, shape, weight, Tensor());
  check(is_differentiable(input.dtype()), Kind::NotImplemented, "rms_norm(): not implemented for ",
        input.dtype());
  const bool wide_type = real_of(input.dtype()) == Dtype::Float64;
  const double smallest = wide_type ? std::numeric_limits<double>::epsilon()
                                    : double(std::numeric_limits<float>::epsilon());
  return row_norm("rms_norm", input, shape, weight, Tensor(), eps.value_or(smallest), true).out;
}
EMBER_OP(
    "nn.functional.rms_norm(Tensor input, Size normalized_shape, Tensor? weight=None, float? "
    "eps=None) -> Tensor",
    &rms_norm, Function | Leading,
    "`input` divided by its root mean square over the last axes (arXiv:1910.07467).");
EMBER_OP(
    "rms_norm(Tensor input, Size normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
    &rms_norm, Function | Leading,
    "`input` divided by its root mean square over the last axes (arXiv:1910.07467).");

}  // namespace ember
