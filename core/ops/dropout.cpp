// Noise in training: dropout in its forms, which is a mask of ones and zeros times the input, and
// rrelu. The mask is drawn in the input's dtype and memory order, as torch does, so that a seed
// drops the same elements.
#include <cmath>

#include "ops/create.h"
#include "ops/ops.h"

namespace ember {

namespace {

enum class Spread { Elements, Channels };

// Whether there is anything to drop.
bool drops(const Tensor& self, double p, bool train) {
  check(p >= 0.0 && p <= 1.0, Kind::Runtime,
        "dropout probability has to be between 0 and 1, but got ", p);
  return p > 0.0 && train && self.numel() > 0;
}

Tensor mask_for(const Tensor& self, Spread spread) {
  if (spread == Spread::Elements) return empty_like(self);
  check(self.dim() >= 2, Kind::Runtime,
        "Feature dropout requires at least 2 dimensions in the input, got ", self.dim());
  Shape shape = Shape::filled(self.dim(), 1);
  shape[0] = self.size(0);
  shape[1] = self.size(1);
  return empty(shape, self.dtype(), self.device());
}

void check_floating(const Tensor& self) {
  check(is_floating(self.dtype()), Kind::Runtime,
        "dropout(): result type Float can't be cast to the desired "
        "output type ",
        self.dtype());
}

// What the input is multiplied with: 0 or 1 / (1 - p).
Tensor noise(const Tensor& self, double p, Spread spread) {
  check_floating(self);
  Tensor mask = mask_for(self, spread);
  if (p == 1.0) {
    backend_of(mask).fill(mask, Scalar(0));
    return mask;
  }
  double scale =
      real_of(self.dtype()) == Dtype::Float64 ? 1.0 / (1.0 - p) : double(1.0f / float(1.0 - p));
  return draw(mask, nullptr, {Distribution::Bernoulli, 1.0 - p, scale});
}

// Alpha dropout keeps mean and variance: dropped elements take the value that SELU has at minus
// infinity, and the whole is scaled and shifted (Klambauer et al., "Self-normalizing neural
// networks", 2017).
struct Affine {
  Tensor scale, shift;
};
Affine alpha_noise(const Tensor& self, double p, Spread spread) {
  check_floating(self);
  constexpr double kAlpha = 1.7580993408473766;
  double a = 1.0 / std::sqrt((kAlpha * kAlpha * p + 1.0) * (1.0 - p));
  Tensor mask = draw(mask_for(self, spread), nullptr, {Distribution::Bernoulli, 1.0 - p, 1.0});
  Tensor shift = (mask - Scalar(1)) * Scalar(kAlpha * a) + Scalar(kAlpha * a * p);
  return {mask * Scalar(a), shift};
}

template <Spread spread>
Tensor plain(const Tensor& self, double p, bool train) {
  return drops(self, p, train) ? self * noise(self, p, spread) : self;
}
template <Spread spread>
Tensor plain_(const Tensor& self, double p, bool train) {
  if (!drops(self, p, train)) return self;
  check_in_place("dropout_", self);
  mul(self, noise(self, p, spread), {&self, true});
  return self;
}
template <Spread spread>
Tensor alpha(const Tensor& self, double p, bool train) {
  if (!drops(self, p, train)) return self;
  if (p == 1.0) return self * Scalar(0.0);
  Affine n = alpha_noise(self, p, spread);
  return self * n.scale + n.shift;
}
template <Spread spread>
Tensor alpha_(const Tensor& self, double p, bool train) {
  if (!drops(self, p, train)) return self;
  check_in_place("alpha_dropout_", self);
  if (p == 1.0) {
    mul(self, Scalar(0.0), {&self, true});
    return self;
  }
  Affine n = alpha_noise(self, p, spread);
  mul(self, n.scale, {&self, true});
  add(self, n.shift, {&self, true});
  return self;
}

}  // namespace

Tensor dropout(const Tensor& self, double p, bool train) {
  return plain<Spread::Elements>(self, p, train);
}
EMBER_OP("dropout(Tensor self, float p, bool train) -> Tensor", &dropout,
         Function | Pointwise | Random,
         "Zeroes elements with probability `p` and scales the others by 1 / (1 - p).");
EMBER_OP("dropout_(Tensor self, float p, bool train) -> Tensor", &plain_<Spread::Elements>,
         Function | Pointwise | Random, "dropout() in place.");
EMBER_OP("feature_dropout(Tensor self, float p, bool train) -> Tensor", &plain<Spread::Channels>,
         Function | Whole | Random, "Zeroes whole channels with probability `p`.");
EMBER_OP("feature_dropout_(Tensor self, float p, bool train) -> Tensor", &plain_<Spread::Channels>,
         Function | Whole | Random, "feature_dropout() in place.");
EMBER_OP("alpha_dropout(Tensor self, float p, bool train) -> Tensor", &alpha<Spread::Elements>,
         Function | Pointwise | Random,
         "Dropout that keeps mean and variance, for use after SELU.");
EMBER_OP("alpha_dropout_(Tensor self, float p, bool train) -> Tensor", &alpha_<Spread::Elements>,
         Function | Pointwise | Random, "alpha_dropout() in place.");
EMBER_OP("feature_alpha_dropout(Tensor self, float p, bool train) -> Tensor",
         &alpha<Spread::Channels>, Function | Whole | Random, "alpha_dropout() of whole channels.");
EMBER_OP("feature_alpha_dropout_(Tensor self, float p, bool train) -> Tensor",
         &alpha_<Spread::Channels>, Function | Whole | Random, "feature_alpha_dropout() in place.");

EMBER_OP("native_dropout(Tensor self, float p, bool? train) -> (Tensor, Tensor)",
         ([](const Tensor& self, double p,
             std::optional<bool> train) -> std::tuple<Tensor, Tensor> {
           if (!train.value_or(true) || self.numel() == 0)
             return {clone(self), to(ones_like(detach(self)), Dtype::Bool)};
           check(p >= 0.0 && p <= 1.0, Kind::Runtime,
                 "dropout probability has to be between 0 and 1, but got ", p);
           Tensor mask = draw(empty_like(self, Dtype::Bool), nullptr,
                              {Distribution::Bernoulli, 1.0 - p, 1.0});
           return {self * mask * Scalar(p == 1.0 ? 0.0 : 1.0 / (1.0 - p)), mask};
         }),
         Function | Pointwise | Random, "dropout() that returns its mask too.");

// --- rrelu ---------------------------------------------------------------------------------------

namespace {

Tensor rrelu(const Tensor& self, double lower, double upper, bool training, Generator* generator) {
  check(is_floating(self.dtype()), Kind::NotImplemented,
        "\"rrelu_with_noise_out_cpu\" not implemented for '", type_name(self.dtype()), "'");
  check(std::isfinite(lower), Kind::Runtime, "rrelu: lower bound must be finite, got ", lower);
  check(std::isfinite(upper), Kind::Runtime, "rrelu: upper bound must be finite, got ", upper);
  check(lower <= upper, Kind::Runtime,
        "rrelu(): Lower bound should be less than or equal to the upper bound, got ", lower,
        " and ", upper);
  create::fitting(self, lower), create::fitting(self, upper);
  Tensor x = contiguous(self);
  if (!training) return leaky_relu(x, {(lower + upper) / 2.0});
  Tensor slopes = empty(x.shape(), x.dtype(), x.device());
  backend_of(x).random_slopes(slopes, detach(x), lower, upper,
                              generator ? *generator : default_generator());
  return x * slopes;
}

}  // namespace

EMBER_OP(
    "rrelu(Tensor self, float lower=0.125, float upper=0.3333333333333333, bool training=False, "
    "Generator? generator=None) -> Tensor",
    &rrelu, Function | InPlace | FunctionInPlace | Pointwise | Random,
    "Leaky ReLU with slopes drawn from [lower, upper) in training, their mean otherwise.");

}  // namespace ember
