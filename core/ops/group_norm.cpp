// group_norm: channels of each sample in groups, each group by its own statistics.
#include "ops/norm.h"

namespace ember {

namespace {

struct GroupNorm {
  Tensor out, mean, rstd;  // statistics: (N, groups)
};

// x as (N, groups, C / groups, S), where the statistics are over the last two.
struct Grouped {
  int64_t n, c, groups, s;
  Shape shape() const { return {n, groups, c / groups, s}; }
  Tensor of(const Tensor& t) const { return reshape(t, shape()); }
  Tensor weights(const Tensor& w) const {
    return w ? reshape(wide(w), {groups, c / groups, 1}) : w;
  }
};
const Shape kGroupDims = {2, 3};

GroupNorm in_steps(const Tensor& x, const Tensor& weight, const Tensor& bias, const Grouped& by,
                   double eps) {
  Normalized n = normalized(by.of(wide(x)), kGroupDims, eps);
  Tensor out = affine(n.value, by.weights(weight), by.weights(bias));
  auto flat_stats = [&](const Tensor& t) { return reshape(t, {by.n, by.groups}); };
  return {reshape(to(out, x.dtype()), x.shape()), flat_stats(n.mean), flat_stats(n.rstd)};
}

struct GroupGrad {
  Saved x, weight, mean, rstd;
  Grouped by;
  double eps;

  // Of the output alone, or of the statistics too.
  std::vector<Tensor> operator()(const Grads& grads, const std::vector<bool>& needed) const {
    std::vector<Tensor> dx(3);
    Tensor from = x.get(), w = weight.get(), g = grads[0];
    const bool with_statistics = grads.size() > 1 && (grads[1] || grads[2]);
    if (grad_enabled() || with_statistics) return in_ops(grads, needed, from, w);
    const Shape flat_shape = {by.n, by.c, by.s};
    auto room = [&](bool wanted, const Shape& size, Dtype t) {
      return wanted ? empty(size, t, from.device()) : Tensor();
    };
    const Dtype type = w ? w.dtype() : from.dtype();
    dx[0] = room(needed[0], flat_shape, from.dtype());
    dx[1] = room(needed[1], {by.c}, type);
    dx[2] = room(needed[2], {by.c}, type);
    backend_of(from).norm_groups_grad(dx[0], dx[1], dx[2], flat(contiguous(g), flat_shape),
                                      flat(contiguous(from), flat_shape), mean.get(), rstd.get(),
                                      w);
    if (dx[0]) dx[0] = flat(dx[0], from.shape());
    return dx;
  }

  std::vector<Tensor> in_ops(const Grads& grads, const std::vector<bool>& needed,
                             const Tensor& from, const Tensor& w) const {
    std::vector<Tensor> dx(3);
    Normalized n = normalized(by.of(wide(from)), kGroupDims, eps);
    Tensor up = grads[0] ? by.of(wide(grads[0])) : zeros_like(n.value);
    Tensor scaled = w ? up * by.weights(w) : up;
    if (needed[0]) {
      dx[0] = normalized_grad(scaled, n, kGroupDims);
      const Shape one = {by.n, by.groups, 1, 1};
      const double size = double(by.c / by.groups * by.s);
      if (grads.size() > 1 && grads[1]) dx[0] = dx[0] + reshape(wide(grads[1]), one) / Scalar(size);
      if (grads.size() > 1 && grads[2])
        dx[0] = dx[0] - n.value * (n.rstd * n.rstd * reshape(wide(grads[2]), one) / Scalar(size));
      dx[0] = reshape(dx[0], from.shape());
    }
    auto over_channels = [&](const Tensor& t) {
      return reshape(sum(t, Dims(Shape{0, 3})), {by.c});
    };
    if (needed[1]) dx[1] = over_channels(up * n.value);
    if (needed[2]) dx[2] = over_channels(up);
    return dx;
  }
};

GroupNorm group_norm_of(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const Grouped& by, double eps, bool with_statistics) {
  check_norm_dtypes("group_norm", x, weight, bias);
  Backend& backend = backend_of(x);
  if (!backend.has(Primitive::norm_groups, Primitive::norm_groups_grad) || x.numel() == 0)
    return in_steps(x, weight, bias, by, eps);
  const Shape flat_shape = {by.n, by.c, by.s};
  GroupNorm r{empty(x.shape(), x.dtype(), x.device()),
              empty({by.n, by.groups}, statistics_dtype(x), x.device()),
              empty({by.n, by.groups}, statistics_dtype(x), x.device())};
  backend.norm_groups(flat(r.out, flat_shape), r.mean, r.rstd,
                      flat(contiguous(detach(x)), flat_shape), weight, bias, eps);
  if (!x.is_contiguous() && (x.dim() == 4 || x.dim() == 5) &&
      x.strides() == channels_last_strides(x.shape())) {
    Tensor last = empty_like(x);
    backend_of(x).copy(last, r.out);
    r.out = last;
  }
  if (!grad_needed(x, weight, bias)) return r;
  GroupGrad rule{Saved(x), Saved(weight), Saved(detach(r.mean)), Saved(detach(r.rstd)), by, eps};
  if (with_statistics) {
    Few<Tensor, 3> outs(3);
    outs[0] = r.out, outs[1] = r.mean, outs[2] = r.rstd;
    tape_list_many(outs, "native_group_norm", {x, weight, bias}, std::move(rule));
  } else {
    r.out = tape_list(r.out, "native_group_norm", {x, weight, bias}, std::move(rule));
  }
  return r;
}

void check_channels(const char* op, const char* name, const Tensor& t, int64_t c, const Tensor& x) {
  check(!t || (t.dim() == 1 && t.numel() == c), Kind::Runtime, op, "(): Expected ", name,
        " to be a vector of size equal to the number of channels in input, but got ", name,
        " of shape ", t ? t.shape() : x.shape(), " and input of shape ", x.shape());
}

}  // namespace

Tensor group_norm(const Tensor& input, int64_t groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
  check(input.dim() >= 2, Kind::Runtime,
        "Expected at least 2 dimensions for input tensor but received ", input.dim());
  check(groups > 0, Kind::Runtime, "Expected num groups to be greater than 0, got ", groups);
  const int64_t n = input.size(0), c = input.size(1);
  check(c % groups == 0, Kind::Runtime,
        "Expected number of channels in input to be divisible by num_groups, but got input of "
        "shape ",
        input.shape(), " and num_groups=", groups);
  check_channels("group_norm", "weight", weight, c, input);
  check_channels("group_norm", "bias", bias, c, input);
  int64_t s = 1;
  for (int d = 2; d < input.dim(); d++) s *= input.size(d);
  return group_norm_of(input, weight, bias, {n, c, groups, s}, eps, false).out;
}

EMBER_OP(
    "nn.functional.group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? "
    "bias=None, float eps=1e-05) -> Tensor",
    ([](const Tensor& input, int64_t groups, const Tensor& weight, const Tensor& bias, double eps) {
      if (input.dim() >= 2 && groups > 0 && input.size(1) % groups == 0) {
        int64_t each = input.size(1) / groups;
        for (int d = 2; d < input.dim(); d++) each *= input.size(d);
        check(each * input.size(0) != 1, Kind::Value,
              "Expected more than 1 value per channel when training, got input size ",
              input.shape(), " in ", groups, " groups");
      }
      return group_norm(input, groups, weight, bias, eps);
    }),
    Function | Entries, "Mean 0 and variance 1 over groups of channels of each sample.");
EMBER_OP(
    "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float "
    "eps=1e-05, bool cudnn_enabled=True) -> Tensor",
    ([](const Tensor& input, int64_t groups, const Tensor& weight, const Tensor& bias, double eps,
        bool) { return group_norm(input, groups, weight, bias, eps); }),
    Function | Entries, "Mean 0 and variance 1 over groups of channels of each sample.");

EMBER_OP(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int "
    "group, float eps) -> (Tensor, Tensor, Tensor)",
    ([](const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t n, int64_t c,
        int64_t s, int64_t groups, double eps) {
      check(groups > 0 && c % groups == 0 && numel_of({n, c, s}) == input.numel(), Kind::Runtime,
            "native_group_norm(): input of shape ", input.shape(), " is not ", n, " x ", c, " x ",
            s, " elements with channels in ", groups, " groups");
      check_channels("native_group_norm", "weight", weight, c, input);
      check_channels("native_group_norm", "bias", bias, c, input);
      GroupNorm r = group_norm_of(input, weight, bias, {n, c, groups, s}, eps, true);
      return std::tuple(r.out, as_saved(r.mean, input, weight, bias),
                        as_saved(r.rstd, input, weight, bias));
    }),
    Function | Out | Entries,
    "group_norm, with the mean and the reciprocal deviation of each group.");

}  // namespace ember
