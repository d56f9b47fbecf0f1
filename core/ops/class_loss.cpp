// cross_entropy and nll_loss: with class indices fused where the device can; with probabilities,
// and where the gradient itself must be differentiable, in ops.
#include "backend.h"
#include "ops/devices.h"
#include "ops/ops.h"

namespace ember {

namespace {

enum class Reduced { None, Mean, Sum };

Reduced reduction_of(std::optional<bool> size_average, std::optional<bool> reduce,
                     const std::string& name) {
  if (!size_average && !reduce) {
    check(name == "none" || name == "mean" || name == "sum", Kind::Value, name,
          " is not a valid value for reduction");
    return name == "none" ? Reduced::None : name == "mean" ? Reduced::Mean : Reduced::Sum;
  }
  Reduced r = !reduce.value_or(true)        ? Reduced::None
              : size_average.value_or(true) ? Reduced::Mean
                                            : Reduced::Sum;
  const char* names[] = {"none", "mean", "sum"};
  if (host_warn)
    host_warn("size_average and reduce args will be deprecated, please use reduction='" +
              std::string(names[int(r)]) + "' instead.");
  return r;
}

void check_weight(const Tensor& weight, const Tensor& x, int64_t classes) {
  check_same_device("nll_loss", x, {&weight});
  check(!weight || (weight.dim() == 1 && weight.numel() == classes), Kind::Runtime,
        "weight tensor should be defined either for all ", classes,
        " classes or no classes but got weight tensor of shape: ",
        weight ? weight.shape() : x.shape());
  check(!weight || weight.dtype() == x.dtype(), Kind::Runtime, "expected scalar type ", x.dtype(),
        " but found ", weight ? weight.dtype() : x.dtype(), " for weight");
}

void check_target(const Tensor& x, const Tensor& target) {
  check_same_device("nll_loss", x, {&target});
  check(x.dim() > 0, Kind::Value, "Expected 1 or more dimensions (got 0)");
  if (x.dim() == 1) {
    check(target.dim() <= 1, Kind::Runtime,
          "0D or 1D target tensor expected, multi-target not supported");
    check(target.numel() == 1, Kind::Value,
          "For 1D input, 1D target must have size 1, but got target size: ", target.numel());
  } else {
    check(target.dim() > 0 && x.size(0) == target.size(0), Kind::Value,
          "Expected input batch_size (", x.size(0), ") to match target batch_size (",
          target.dim() ? target.size(0) : 1, ").");
    check(x.dim() > 2 || target.dim() == 1, Kind::Runtime,
          "0D or 1D target tensor expected, multi-target not supported");
    Shape expected = x.shape();
    expected.erase(1);
    check(target.shape() == expected, Kind::Runtime, "Expected target size ", expected, ", got ",
          target.shape());
  }
  check(target.dtype() == Dtype::Int64 || target.dtype() == Dtype::UInt8, Kind::Runtime,
        "expected target dtype to be Long or Byte, but got ", target.dtype());
}

// A call with its input as (N, C, S) and its target as (N, S).
struct Call {
  const char* op;
  bool logits;
  Reduced reduced;
  ClassLoss loss;
  int64_t n, c, s;
  Shape shape;  // of the target as it came

  Tensor as_lines(const Tensor& t) const { return reshape(t, {n, c, s}); }
};

Tensor reduce(const Call& c, const Tensor& loss, const Tensor& count) {
  if (c.reduced == Reduced::None) return reshape(loss, c.shape);
  return c.reduced == Reduced::Sum ? sum(loss) : sum(loss) / sum(count);
}

Tensor along(const Tensor& weight) { return reshape(weight, {-1, 1}); }

// How much each target weighs, 0 where it is ignored; and the targets, 0 in these places.
struct Counted {
  Tensor ignored, index, weight;
  Counted(const Call& c, Dtype dtype) {
    const ClassLoss& l = c.loss;
    ignored = l.target == Scalar(l.ignored);
    index = where(ignored, Scalar(int64_t(0)), l.target);
    weight = l.weight ? reshape(index_select(to(l.weight, dtype), 0, reshape(index, {-1})),
                                index.shape())
                      : ones(index.shape(), dtype, index.device());
    weight = masked_fill(weight, ignored, Scalar(0.0));
  }
};

Tensor in_steps(const Tensor& x, const Call& c) {
  Tensor lines = c.as_lines(x), logp = c.logits ? log_softmax(lines, 1) : lines;
  const Counted counted(c, x.dtype());
  Tensor picked = squeeze(gather(logp, 1, unsqueeze(counted.index, 1)), Dims(1));
  Tensor loss = neg(picked) * counted.weight;
  if (c.loss.smoothing > 0) {
    Tensor every = sum(c.loss.weight ? logp * along(c.loss.weight) : logp, Dims(1));
    loss = loss * Scalar(1 - c.loss.smoothing) - every * Scalar(c.loss.smoothing / double(c.c));
  }
  return reduce(c, masked_fill(loss, counted.ignored, Scalar(0.0)), counted.weight);
}

struct ClassGrad {
  Saved x, target, weight, count, sums;
  Call call;

  Tensor operator()(const Tensor& g) const {
    Call c = call;
    c.loss.target = target.get(), c.loss.weight = weight.get();
    Tensor from = x.get(), up = to(g, compute_of(from.dtype()));
    if (c.reduced == Reduced::Mean) up = up / count.get();
    up = c.reduced == Reduced::None ? reshape(up, {c.n, c.s}) : expand(up, {c.n, c.s});
    if (grad_enabled()) return in_ops(up, from, c);
    Tensor dx = empty({c.n, c.c, c.s}, from.dtype(), from.device());
    Tensor lines = alias(contiguous(from), {c.n, c.c, c.s}, {c.c * c.s, c.s, 1},
                         from.is_contiguous() ? from.offset() : 0);
    backend_of(from).class_loss_grad(dx, up, sums.get(), lines, c.loss);
    return alias(dx, from.shape(), contiguous_strides(from.shape()), 0);
  }

  static Tensor in_ops(const Tensor& up, const Tensor& from, const Call& c) {
    const Dtype type = compute_of(from.dtype());
    const Counted counted(c, type);
    const double s = c.loss.smoothing;
    Tensor every = zeros({c.n, c.c, c.s}, type, from.device());
    if (s > 0) {
      Tensor share = scalar_tensor(-s / double(c.c), type, from.device());
      if (c.loss.weight) share = along(to(c.loss.weight, type)) * share;
      every = masked_fill(every + share, unsqueeze(counted.ignored, 1), Scalar(0.0));
    }
    every = scatter_add(every, 1, unsqueeze(counted.index, 1),
                        unsqueeze(counted.weight * Scalar(s - 1), 1));
    Tensor dx = every;
    if (c.logits) dx = dx - softmax(c.as_lines(to(from, type)), 1) * sum(every, Dims(1), true);
    return reshape(dx * unsqueeze(up, 1), from.shape());
  }
};

Tensor class_loss(const char* op, const Tensor& x, const Tensor& target, const Tensor& weight,
                  Reduced reduced, int64_t ignored, double smoothing, bool logits) {
  check_target(x, target);
  check(is_floating(x.dtype()), Kind::NotImplemented, op, "(): not implemented for ", x.dtype());
  const int dim = x.dim() == 1 ? 0 : 1;
  Call c{op, logits, reduced, {}, dim ? x.size(0) : 1, x.size(dim), 1, target.shape()};
  for (int d = 2; d < x.dim(); d++) c.s *= x.size(d);
  check_weight(weight, x, c.c);
  const Shape lines = {c.n, c.s};
  {
    NoGrad guard;
    c.loss = {reshape(to(detach(target), Dtype::Int64), lines), weight ? detach(weight) : weight,
              ignored, smoothing};
  }
  Backend& backend = backend_of(x);
  if (!backend.has(Primitive::class_loss, Primitive::class_loss_grad) || x.numel() == 0)
    return in_steps(x, c);
  const Dtype type = compute_of(x.dtype());
  Tensor loss = empty(lines, type, x.device()), count = empty(lines, type, x.device()), sums;
  if (logits) sums = empty({2, c.n, c.s}, type, x.device());
  Tensor out, total;
  {
    NoGrad guard;
    backend.class_loss(loss, count, sums, contiguous(c.as_lines(detach(x))), c.loss);
    if (reduced == Reduced::Mean) total = sum(count);
    out = reduced == Reduced::None  ? reshape(loss, c.shape)
          : reduced == Reduced::Sum ? sum(loss)
                                    : sum(loss) / total;
    out = to(out, x.dtype());
  }
  if (!grad_needed(x)) return out;
  ClassGrad rule{Saved(x),     Saved(c.loss.target), Saved(c.loss.weight),
                 Saved(total), Saved(sums),          c};
  rule.call.loss.target = rule.call.loss.weight = Tensor();
  return tape(out, op, wrt(x, std::move(rule)));
}

// Targets that are probabilities of every class.
Tensor soft_loss(const Tensor& x, const Tensor& target, const Tensor& weight, Reduced reduced,
                 double smoothing) {
  const int dim = x.dim() == 1 ? 0 : 1;
  check_weight(weight, x, x.size(dim));
  Tensor aim = target;
  if (smoothing > 0) aim = aim * Scalar(1 - smoothing) + Scalar(smoothing / double(x.size(dim)));
  Tensor loss = log_softmax(x, dim) * aim;
  if (weight) {
    Shape shape = Shape::filled(x.dim() - dim, 1);
    shape[0] = weight.numel();
    loss = loss * reshape(weight, shape);
  }
  loss = neg(sum(loss, Dims(dim)));
  if (reduced == Reduced::None) return loss;
  Tensor total = sum(loss);
  const int64_t count = x.size(dim) ? x.numel() / x.size(dim) : 0;
  return reduced == Reduced::Sum ? total : total / Scalar(double(std::max<int64_t>(count, 1)));
}

}  // namespace

EMBER_OP(
    "nn.functional.cross_entropy(Tensor input, Tensor target, Tensor? weight=None, bool? "
    "size_average=None, int ignore_index=-100, bool? reduce=None, str reduction='mean', float "
    "label_smoothing=0.0) -> Tensor",
    ([](const Tensor& input, const Tensor& target, const Tensor& weight,
        std::optional<bool> size_average, int64_t ignored, std::optional<bool> reduce_,
        const std::string& reduction, double smoothing) {
      const Reduced reduced = reduction_of(size_average, reduce_, reduction);
      check(smoothing >= 0 && smoothing <= 1, Kind::Runtime,
            "label_smoothing must be between 0.0 and 1.0. Got: ", smoothing);
      if (input.shape() == target.shape()) {
        check(is_floating(target.dtype()), Kind::Runtime,
              "Expected floating point type for target with class probabilities, got ",
              target.dtype());
        check(ignored < 0, Kind::Runtime,
              "ignore_index is not supported for floating point target");
        return soft_loss(input, target, weight, reduced, smoothing);
      }
      return class_loss("cross_entropy", input, target, weight, reduced, ignored, smoothing, true);
    }),
    Function | Whole | Float32,
    "Cross entropy of logits with class indices or with class probabilities; classes are axis 1 "
    "(0 if 1-D).");

EMBER_OP(
    "nn.functional.nll_loss(Tensor input, Tensor target, Tensor? weight=None, bool? "
    "size_average=None, int ignore_index=-100, bool? reduce=None, str reduction='mean') -> Tensor",
    ([](const Tensor& input, const Tensor& target, const Tensor& weight,
        std::optional<bool> size_average, int64_t ignored, std::optional<bool> reduce_,
        const std::string& reduction) {
      const Reduced reduced = reduction_of(size_average, reduce_, reduction);
      return class_loss("nll_loss", input, target, weight, reduced, ignored, 0.0, false);
    }),
    Function | Whole | Float32,
    "Minus the log-probability of the target class; classes are axis 1 (0 if 1-D).");

}  // namespace ember
