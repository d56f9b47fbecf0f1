// batch_norm: every channel by statistics of the whole batch, or by running ones; and
// instance_norm, the same for each sample by itself.
#include "ops/norm.h"

namespace ember {

namespace {

struct BatchNorm {
  Tensor out, mean, rstd;  // of the batch, without history; undefined in evaluation
};

// A vector over channels in the shape that broadcasts along axis 1.
Tensor per_channel(const Tensor& t, const Tensor& x) {
  if (!t) return t;
  Shape shape = Shape::filled(x.dim() - 1, 1);
  shape[0] = t.numel();
  return reshape(wide(t), shape);
}

Shape all_but_channels(const Tensor& x) {
  Shape dims = {0};
  for (int d = 2; d < x.dim(); d++) dims.push_back(d);
  return dims;
}

bool is_channels_last(const Tensor& x) {
  return (x.dim() == 4 || x.dim() == 5) && !x.is_contiguous() &&
         x.strides() == channels_last_strides(x.shape());
}

// A tensor that is contiguous or has its channels last, as (N, C, S).
Tensor as_channels(const Tensor& t) {
  const int64_t n = t.size(0), c = t.size(1), s = t.numel() / (n * c);
  if (is_channels_last(t)) return alias(t, {n, c, s}, {s * c, 1, c}, t.offset());
  return flat(t, {n, c, s});
}
Tensor dense_channels(const Tensor& t) {
  return as_channels(is_channels_last(t) ? t : contiguous(t));
}

// running = running * (1 - momentum) + now * momentum
void track(const Tensor& running, const Tensor& now, double momentum) {
  if (!running) return;
  Tensor kept = wide(running) * Scalar(1 - momentum);
  copy_(running, add_scaled(kept, now, Scalar(momentum)));
}

void track_both(const Tensor& mean, const Tensor& variance, int64_t count,
                const Tensor& running_mean, const Tensor& running_var, double momentum) {
  NoGrad guard;
  track(running_mean, mean, momentum);
  if (running_var)
    track(running_var, variance * Scalar(double(count) / double(count - 1)), momentum);
}

struct Settings {
  bool training;
  double momentum, eps;
};

BatchNorm in_steps(const Tensor& x, const Tensor& weight, const Tensor& bias,
                   const Tensor& running_mean, const Tensor& running_var, const Settings& s) {
  Normalized n;
  Tensor from = wide(x);
  if (s.training) {
    const Shape dims = all_but_channels(x);
    n = normalized(from, dims, s.eps);
    const Shape line = {x.size(1)};
    NoGrad guard;
    n.mean = reshape(n.mean, line), n.rstd = reshape(n.rstd, line);
    Tensor variance = reciprocal(n.rstd * n.rstd) - Scalar(s.eps);
    track_both(n.mean, variance, x.numel() / x.size(1), running_mean, running_var, s.momentum);
  } else {
    Tensor rstd = rsqrt(wide(running_var) + Scalar(s.eps));
    n.value = (from - per_channel(running_mean, x)) * per_channel(rstd, x);
  }
  Tensor out = affine(n.value, per_channel(weight, x), per_channel(bias, x));
  return {to(out, x.dtype()), n.mean, n.rstd};
}

struct ChannelGrad {
  Saved x, weight, mean, rstd;
  bool training;
  double eps;

  std::vector<Tensor> operator()(const Tensor& g, const std::vector<bool>& needed) const {
    Tensor from = x.get(), w = weight.get();
    if (grad_enabled()) return in_ops(g, needed, from, w);
    std::vector<Tensor> dx(3);
    Backend& k = backend_of(from);
    Tensor m = mean.get(), r = rstd.get(), xs = dense_channels(from), gs = g;
    // The gradient in the layout of xs.
    const bool last = is_channels_last(from);
    if (last ? g.strides() != from.strides() : !g.is_contiguous()) {
      gs = last ? empty_like(from, g.dtype()) : empty(g.shape(), g.dtype(), g.device());
      backend_of(g).copy(gs, g);
    }
    gs = as_channels(gs);
    Tensor by_g = w ? r * w : r, total, dot;
    if (training || needed[1] || needed[2]) {
      total = empty(m.shape(), m.dtype(), m.device());
      dot = empty(m.shape(), m.dtype(), m.device());
      k.channel_dots(total, dot, gs, xs, m);
    }
    if (needed[0]) {
      dx[0] = is_channels_last(from) ? empty_like(from)
                                     : empty(from.shape(), from.dtype(), from.device());
      Tensor to = as_channels(dx[0]);
      if (training) {
        const double share = 1.0 / double(from.numel() / from.size(1));
        Tensor by_x = by_g * r * r * dot * Scalar(-share);
        k.channel_combine(to, gs, xs, by_g, by_x, neg(by_g * total * Scalar(share) + m * by_x));
      } else {
        k.channel_scale(to, gs, by_g, zeros_like(by_g));
      }
    }
    if (needed[1]) dx[1] = dot * r;
    if (needed[2]) dx[2] = total;
    return dx;
  }

  std::vector<Tensor> in_ops(const Tensor& g, const std::vector<bool>& needed, const Tensor& from,
                             const Tensor& w) const {
    std::vector<Tensor> dx(3);
    const Shape dims = all_but_channels(from);
    Tensor up = wide(g), scaled = w ? up * per_channel(w, from) : up;
    Normalized n;
    if (training) {
      n = normalized(wide(from), dims, eps);
      if (needed[0]) dx[0] = normalized_grad(scaled, n, dims);
    } else {
      Tensor r = per_channel(rstd.get(), from);
      n.value = (wide(from) - per_channel(mean.get(), from)) * r;
      if (needed[0]) dx[0] = scaled * r;
    }
    if (needed[1]) dx[1] = sum(up * n.value, Dims(dims));
    if (needed[2]) dx[2] = sum(up, Dims(dims));
    return dx;
  }
};

BatchNorm batch_norm_of(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const Tensor& running_mean, const Tensor& running_var, const Settings& s) {
  check_norm_dtypes("batch_norm", x, weight, bias);
  check(x.dim() >= 2, Kind::Runtime, "batch_norm(): expected at least 2 dimensions, got ",
        x.shape());
  check(s.training || (running_mean && running_var), Kind::Runtime,
        "running_mean and running_var must be defined in evaluation mode");
  const int64_t c = x.size(1);
  const std::pair<const char*, const Tensor*> vectors[] = {{"weight", &weight},
                                                           {"bias", &bias},
                                                           {"running_mean", &running_mean},
                                                           {"running_var", &running_var}};
  for (auto& [name, t] : vectors)
    check(!*t || t->numel() == c, Kind::Runtime, name, " should contain ", c, " elements not ",
          *t ? t->numel() : 0);
  if (x.numel() == 0) {
    Tensor none = zeros({c}, statistics_dtype(x), x.device());
    Tensor out = affine(wide(x), per_channel(weight, x), per_channel(bias, x));
    return {to(out, x.dtype()), none, none};
  }
  Backend& k = backend_of(x);
  if (!k.has(Primitive::channel_moments, Primitive::channel_scale, Primitive::channel_dots,
             Primitive::channel_combine))
    return in_steps(x, weight, bias, running_mean, running_var, s);
  Tensor out = is_channels_last(x) ? empty_like(x) : empty(x.shape(), x.dtype(), x.device());
  Tensor mean, rstd;
  {
    NoGrad guard;
    Tensor xs = dense_channels(x), variance;
    if (s.training) {
      mean = empty({c}, statistics_dtype(x), x.device());
      variance = empty({c}, statistics_dtype(x), x.device());
      k.channel_moments(mean, variance, xs);
      track_both(mean, variance, x.numel() / c, running_mean, running_var, s.momentum);
    } else {
      mean = wide(detach(running_mean)), variance = wide(running_var);
    }
    rstd = rsqrt(variance + Scalar(s.eps));
    Tensor scale = weight ? rstd * weight : rstd, shift = neg(mean * scale);
    k.channel_scale(as_channels(out), xs, scale, bias ? shift + bias : shift);
  }
  if (grad_needed(x, weight, bias))
    out = tape_list(
        out, "native_batch_norm", {x, weight, bias},
        ChannelGrad{Saved(x), Saved(weight), Saved(mean), Saved(rstd), s.training, s.eps});
  if (!s.training) return {out, Tensor(), Tensor()};
  return {out, mean, rstd};
}

void check_eps(bool training, double eps) {
  check(training ? eps > 0 : eps >= 0, Kind::Value, "batch_norm eps must be ",
        training ? "positive during training" : "non-negative", ", but got ", eps);
}

using NativeResult = std::tuple<Tensor, Tensor, Tensor>;
NativeResult native(const Tensor& x, const Tensor& weight, const Tensor& bias,
                    const Tensor& running_mean, const Tensor& running_var, bool training,
                    double momentum, double eps) {
  BatchNorm r =
      batch_norm_of(x, weight, bias, running_mean, running_var, {training, momentum, eps});
  auto result = [&](const Tensor& t) {
    return as_saved(t ? t : empty({0}, x.dtype(), x.device()), x, weight, bias);
  };
  return {r.out, result(r.mean), result(r.rstd)};
}

}  // namespace

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& weight, const Tensor& bias, bool training, double momentum,
                  double eps) {
  check_eps(training, eps);
  if (input.dim() < 2 && input.numel() == 0) return clone(input);
  if (training && input.dim() >= 2)
    check(input.numel() != input.size(1) || input.numel() == 0, Kind::Value,
          "Expected more than 1 value per channel when training, got input size ", input.shape());
  return batch_norm_of(input, weight, bias, running_mean, running_var, {training, momentum, eps})
      .out;
}
EMBER_OP(
    "nn.functional.batch_norm(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? "
    "weight=None, Tensor? bias=None, bool training=False, float momentum=0.1, float eps=1e-05) -> "
    "Tensor",
    &batch_norm, Function | Whole,
    "Mean 0 and variance 1 for each channel (axis 1) over the batch. In training the running "
    "statistics are updated, otherwise they are used.");
EMBER_OP(
    "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
    "running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
    ([](const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
        const Tensor& running_var, bool training, double momentum, double eps, bool) {
      return batch_norm_of(input, weight, bias, running_mean, running_var,
                           {training, momentum, eps})
          .out;
    }),
    Function | Whole, "Mean 0 and variance 1 for each channel (axis 1) over the batch.");

EMBER_OP(
    "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
    "running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    &native, Function | Out | Whole,
    "batch_norm, with the mean and the reciprocal deviation of the batch.");
EMBER_OP(
    "_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
    "Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    &native, Function | Out | Whole, "The same as native_batch_norm.");
EMBER_OP(
    "_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, bool training, float "
    "momentum, float eps) -> (Tensor, Tensor, Tensor)",
    ([](const Tensor& input, const Tensor& weight, const Tensor& bias, bool training,
        double momentum, double eps) {
      return native(input, weight, bias, Tensor(), Tensor(), training, momentum, eps);
    }),
    Function | Out | Whole, "native_batch_norm without running statistics.");
EMBER_OP(
    "_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor "
    "running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    ([](const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
        const Tensor& running_var, double momentum, double eps) {
      return native(input, weight, bias, running_mean, running_var, false, momentum, eps);
    }),
    Function | Out | Whole, "native_batch_norm by the running statistics.");
EMBER_OP(
    "_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
    "Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
    ([](const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
        const Tensor& running_var, double momentum, double eps) {
      auto [out, mean, rstd] =
          native(input, weight, bias, running_mean, running_var, true, momentum, eps);
      return std::tuple(out, mean, rstd, empty({0}, Dtype::UInt8, input.device()));
    }),
    Function | Out | Whole, "native_batch_norm in training, with an empty tensor for its reserve.");

namespace {

Tensor instance_norm_of(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Tensor& running_mean, const Tensor& running_var, bool input_stats,
                        double momentum, double eps) {
  check(input_stats || (running_mean && running_var), Kind::Runtime,
        "Expected running_mean and running_var to be defined when use_input_stats is false");
  check(input.dim() >= 2, Kind::Runtime, "instance_norm(): expected at least 2 dimensions, got ",
        input.shape());
  if (!input_stats)
    return batch_norm_of(input, weight, bias, running_mean, running_var, {false, momentum, eps})
        .out;
  const int64_t n = input.size(0), c = input.size(1);
  Shape shape = input.shape();
  shape[0] = 1, shape[1] = n * c;
  auto repeated = [&](const Tensor& t) { return t ? repeat(t, {n}) : t; };
  Tensor mean = repeated(running_mean), variance = repeated(running_var);
  Tensor out = batch_norm_of(reshape(input, shape), repeated(weight), repeated(bias), mean,
                             variance, {true, momentum, eps})
                   .out;
  auto keep_average = [&](const Tensor& running, const Tensor& now) {
    NoGrad guard;
    if (running) copy_(running, ember::mean(reshape(now, {n, c}), Dims(0)));
  };
  keep_average(running_mean, mean);
  keep_average(running_var, variance);
  return reshape(out, input.shape());
}

}  // namespace

EMBER_OP(
    "nn.functional.instance_norm(Tensor input, Tensor? running_mean=None, Tensor? "
    "running_var=None, Tensor? weight=None, Tensor? bias=None, bool use_input_stats=True, float "
    "momentum=0.1, float eps=1e-05) -> Tensor",
    ([](const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
        const Tensor& weight, const Tensor& bias, bool input_stats, double momentum, double eps) {
      if (input_stats) {
        int64_t spatial = 1;
        for (int d = 2; d < input.dim(); d++) spatial *= input.size(d);
        check(spatial != 1, Kind::Value,
              "Expected more than 1 spatial element when training, got input size ", input.shape());
      }
      return instance_norm_of(input, weight, bias, running_mean, running_var, input_stats, momentum,
                              eps);
    }),
    Function | Entries, "batch_norm of every sample by itself.");
EMBER_OP(
    "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
    "running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
    ([](const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
        const Tensor& running_var, bool input_stats, double momentum, double eps, bool) {
      return instance_norm_of(input, weight, bias, running_mean, running_var, input_stats, momentum,
                              eps);
    }),
    Function | Entries, "batch_norm of every sample by itself.");

}  // namespace ember
