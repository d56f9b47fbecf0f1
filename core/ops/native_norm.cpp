// native_layer_norm, native_group_norm, native_batch_norm: the normalisations with the statistics
// they used as further results; only those of groups carry a gradient. Composed of other ops.
#include "ops/ops.h"

namespace ember {

namespace {

using Three = std::tuple<Tensor, Tensor, Tensor>;

// (x - mean) * rstd over `dims`, in float32 at least, with the mean and rstd (size 1 there).
Three normalized(const Tensor& input, const Shape& dims, double eps) {
  Tensor x = to(input, compute_of(input.dtype()));
  Tensor mean = ember::mean(x, Dims(dims), true);
  Tensor centred = x - mean;
  Tensor variance = ember::mean(centred * centred, Dims(dims), true);
  Tensor rstd = rsqrt(variance + Scalar(eps));
  return {centred * rstd, mean, rstd};
}

// Statistics are of the input's dtype, unless the weights are wider.
Tensor statistic(const Tensor& s, const Tensor& input, const Tensor& weight) {
  const bool mixed = weight.defined() && weight.dtype() != input.dtype();
  return mixed ? s : to(s, input.dtype());
}

Tensor affine(Tensor y, const Tensor& weight, const Tensor& bias, const Shape& shape) {
  if (weight.defined()) y = y * (shape.empty() ? weight : view(weight, shape));
  if (bias.defined()) y = y + (shape.empty() ? bias : view(bias, shape));
  return y;
}

Three native_layer_norm(const Tensor& input, const Shape& normalized_shape, const Tensor& weight,
                        const Tensor& bias, double eps) {
  const int axes = normalized_shape.size(), first = input.dim() - axes;
  bool fits = axes >= 1 && first >= 0;
  for (int i = 0; fits && i < axes; i++) fits = input.size(first + i) == normalized_shape[i];
  check(axes >= 1, Kind::Runtime,
        "native_layer_norm(): Expected normalized_shape to be at least 1-dimensional, got ",
        normalized_shape);
  for (const Tensor* t : {&weight, &bias})
    check(!t->defined() || t->shape() == normalized_shape, Kind::Runtime,
          "native_layer_norm(): Expected weight and bias to be of same shape as normalized_shape ",
          normalized_shape, ", but got ", t->defined() ? t->shape() : Shape());
  check(fits, Kind::Runtime, "native_layer_norm(): Given normalized_shape=", normalized_shape,
        ", expected input with shape [*, ...] ending in it, but got input of size ", input.shape());
  Shape dims;
  for (int d = first; d < input.dim(); d++) dims.push_back(d);
  auto [y, mean, rstd] = normalized(input, dims, eps);
  return {to(affine(y, weight, bias, {}), input.dtype()), statistic(detach(mean), input, weight),
          statistic(detach(rstd), input, weight)};
}

Three native_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t N,
                        int64_t C, int64_t HxW, int64_t group, double eps) {
  check(group > 0 && C % group == 0, Kind::Runtime,
        "native_group_norm(): Expected number of channels in input to be divisible by num_groups, "
        "but got ",
        C, " channels and num_groups=", group);
  check(N * C * HxW == input.numel(), Kind::Runtime, "native_group_norm(): input of shape ",
        input.shape(), " has not N * C * HxW = ", N * C * HxW, " elements");
  for (const Tensor* t : {&weight, &bias})
    check(!t->defined() || (t->dim() == 1 && t->size(0) == C), Kind::Runtime,
          "native_group_norm(): Expected weight and bias to be vectors of size equal to the number "
          "of channels, ",
          C, ", but got ", t->defined() ? t->shape() : Shape());
  Tensor x = reshape(input, {N, group, C / group * HxW});
  auto [y, mean, rstd] = normalized(x, {2}, eps);
  y = affine(reshape(y, {N, C, HxW}), weight, bias, {1, C, 1});
  return {to(reshape(y, input.shape()), input.dtype()),
          statistic(reshape(mean, {N, group}), input, weight),
          statistic(reshape(rstd, {N, group}), input, weight)};
}

void follow(const Tensor& running, const Tensor& now, double momentum) {
  if (!running.defined()) return;
  NoGrad guard;
  copy_(running, running * Scalar(1 - momentum) + to(now, running.dtype()) * Scalar(momentum));
}

Three batch_norm(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias,
                 const Tensor& running_mean, const Tensor& running_var, bool training,
                 double momentum, double eps) {
  check(input.dim() >= 2, Kind::Runtime, op, "(): expected input of at least 2 dimensions, got ",
        input.shape());
  const int64_t C = input.size(1), count = C ? input.numel() / C : 0;
  for (const Tensor* t : {&weight, &bias, &running_mean, &running_var})
    check(!t->defined() || (t->dim() == 1 && t->size(0) == C), Kind::Runtime, op,
          "(): expected vectors of ", C, " elements, one for each channel, got ",
          t->defined() ? t->shape() : Shape());
  check(training || (running_mean.defined() && running_var.defined()), Kind::Runtime, op,
        "(): running_mean and running_var must be given in evaluation mode");
  Shape dims, shape;
  for (int d = 0; d < input.dim(); d++) {
    if (d != 1) dims.push_back(d);
    shape.push_back(d == 1 ? C : 1);
  }
  if (!training) {
    Tensor x = to(input, compute_of(input.dtype()));
    Tensor y = (x - view(running_mean, shape)) * view(rsqrt(running_var + Scalar(eps)), shape);
    const Tensor none = statistic(empty({0}, x.dtype(), input.device()), input, weight);
    return {to(affine(y, weight, bias, shape), input.dtype()), none, none};
  }
  auto [y, mean, rstd] = normalized(input, dims, eps);
  mean = reshape(detach(mean), {C});
  rstd = reshape(detach(rstd), {C});
  if (running_mean.defined() || running_var.defined()) {
    NoGrad guard;
    Tensor variance = Scalar(1.0) / (rstd * rstd) - Scalar(eps);
    follow(running_mean, mean, momentum);
    follow(running_var, variance * Scalar(double(count) / double(std::max<int64_t>(count - 1, 1))),
           momentum);
  }
  return {to(affine(y, weight, bias, shape), input.dtype()), statistic(mean, input, weight),
          statistic(rstd, input, weight)};
}

}  // namespace

EMBER_OP(
    "native_layer_norm(Tensor input, Size normalized_shape, Tensor? weight, Tensor? bias, float "
    "eps) -> (Tensor, Tensor, Tensor)",
    &native_layer_norm, Function,
    "The normalised tensor, the means and the inverse standard deviations.");
EMBER_OP(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int "
    "group, float eps) -> (Tensor, Tensor, Tensor)",
    &native_group_norm, Function,
    "The normalised tensor, the means and the inverse standard deviations of its groups.");
EMBER_OP(
    "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
    "running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    ([](const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& mean, const Tensor& var,
        bool training, double momentum, double eps) {
      return batch_norm("native_batch_norm", x, w, b, mean, var, training, momentum, eps);
    }),
    Function | Out, "The normalised tensor, the means and the inverse standard deviations.");
EMBER_OP(
    "_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
    "Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    ([](const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& mean, const Tensor& var,
        bool training, double momentum, double eps) {
      return batch_norm("_native_batch_norm_legit", x, w, b, mean, var, training, momentum, eps);
    }),
    Function | Out, "native_batch_norm with running statistics.");
EMBER_OP(
    "_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, bool training, float "
    "momentum, float eps) -> (Tensor, Tensor, Tensor)",
    ([](const Tensor& x, const Tensor& w, const Tensor& b, bool training, double momentum,
        double eps) {
      return batch_norm("_native_batch_norm_legit", x, w, b, {}, {}, training, momentum, eps);
    }),
    Function | Out, "native_batch_norm without running statistics.");
EMBER_OP(
    "_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
    "Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
    ([](const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& mean, const Tensor& var,
        double momentum, double eps) {
      auto [y, m, r] =
          batch_norm("_batch_norm_with_update", x, w, b, mean, var, true, momentum, eps);
      return std::tuple<Tensor, Tensor, Tensor, Tensor>(y, m, r,
                                                        empty({0}, Dtype::UInt8, x.device()));
    }),
    Function, "native_batch_norm in training mode, with room for a device's own state.");

}  // namespace ember
