// Activation functions: rows of the ACTIVATION family under the names and signatures of
// nn.functional, and those that PyTorch also has at its top level.
#include "ops/create.h"
#include "ops/pointwise.h"

namespace ember {

using create::fitting;

using namespace pointwise;

namespace {

constexpr double kSeluAlpha = 1.6732632423543772848, kSeluScale = 1.0507009873554804934;

// Runs `f(x, dest)`, in place if that is asked for.
template <class F>
Tensor activate(const char* op, const Tensor& input, bool inplace, F f) {
  if (!inplace) return f(input, Dest{});
  check_in_place(op, input);
  f(input, Dest{&input, true});
  return input;
}

}  // namespace

// One function of a tensor: F.name(input, inplace=False).
#define EMBER_ACTIVATION(name, doc)                                                            \
  EMBER_OP("nn.functional." #name "(Tensor self, bool inplace=False) -> Tensor",               \
           ([](const Tensor& self, bool inplace) {                                             \
             return activate(#name, self, inplace,                                             \
                             [](const Tensor& x, Dest dest) { return ember::name(x, dest); }); \
           }),                                                                                 \
           Function | Pointwise, doc)
EMBER_ACTIVATION(relu, "max(x, 0) for each element.");
EMBER_ACTIVATION(relu6, "x limited to the range from 0 to 6.");
EMBER_ACTIVATION(silu, "x * sigmoid(x).");
EMBER_ACTIVATION(mish, "x * tanh(softplus(x)).");
EMBER_ACTIVATION(hardsigmoid, "relu6(x + 3) / 6.");
EMBER_ACTIVATION(hardswish, "x * relu6(x + 3) / 6.");

// The same with numbers: `parameters` is what stands between the tensor and inplace in the schema.
#define EMBER_ACTIVATION_P(name, parameters, arguments, row, params, doc)                        \
  EMBER_OP("nn.functional." #name "(Tensor self, " parameters ", bool inplace=False) -> Tensor", \
           ([] arguments {                                                                       \
             return activate(#name, self, inplace, [&](const Tensor& x, Dest dest) {             \
               return ember::row(x, params, dest);                                               \
             });                                                                                 \
           }),                                                                                   \
           Function | Pointwise, doc)
EMBER_ACTIVATION_P(leaky_relu, "float negative_slope=0.01",
                   (const Tensor& self, double slope, bool inplace), leaky_relu,
                   Params{fitting(self, slope)},
                   "x where it is positive, negative_slope * x elsewhere.");
EMBER_ACTIVATION_P(elu, "float alpha=1.0", (const Tensor& self, double alpha, bool inplace), elu,
                   (Params{fitting(self, alpha), 1, 1}),
                   "x where it is positive, alpha * (exp(x) - 1) elsewhere.");

static Tensor celu_of(const Tensor& self, double alpha, Dest dest) {
  check(alpha != 0, Kind::Runtime, "ZeroDivisionError: alpha cannot be 0 for CELU");
  return elu(self, Params{fitting(self, alpha), 1, fitting(self, 1 / alpha)}, dest);
}
EMBER_OP("nn.functional.celu(Tensor self, float alpha=1.0, bool inplace=False) -> Tensor",
         ([](const Tensor& self, double alpha, bool inplace) {
           return activate("celu", self, inplace,
                           [&](const Tensor& x, Dest dest) { return celu_of(x, alpha, dest); });
         }),
         Function | Pointwise, "x where it is positive, alpha * (exp(x / alpha) - 1) elsewhere.");

// Among integers, numbers are those of their type, cut off: 300 is none of uint8.
static double number_for(const Tensor& self, const Scalar& s) {
  create::check_fits(s, self.dtype());
  const bool cuts = is_integral(self.dtype()) && s.is_float();
  return cuts ? std::trunc(s.real()) : s.real();
}

static Tensor threshold_of(const Tensor& self, const Scalar& at, const Scalar& value, Dest dest) {
  return threshold(self, Params{number_for(self, at), number_for(self, value)}, dest);
}
EMBER_OP(
    "nn.functional.threshold(Tensor self, Scalar threshold, Scalar value, bool inplace=False) -> "
    "Tensor",
    ([](const Tensor& self, const Scalar& at, const Scalar& value, bool inplace) {
      return activate("threshold", self, inplace,
                      [&](const Tensor& x, Dest dest) { return threshold_of(x, at, value, dest); });
    }),
    Function | Pointwise, "x above a threshold, a given value elsewhere.");

static Tensor selu(const Tensor& self, Dest dest) {
  return elu(self, Params{kSeluAlpha, kSeluScale, 1}, dest);
}
EMBER_OP("nn.functional.selu(Tensor self, bool inplace=False) -> Tensor",
         ([](const Tensor& self, bool inplace) { return activate("selu", self, inplace, selu); }),
         Function | Pointwise, "elu() with the constants of self-normalizing networks.");

static Tensor hardtanh_of(const Tensor& self, const Scalar& min, const Scalar& max, Dest dest) {
  check(self.dtype() != Dtype::UInt8 || min.is_complex() || min.real() >= 0, Kind::Runtime,
        "cannot do hardtanh on an unsigned type with negative limits");
  const double low = number_for(self, min), high = number_for(self, max);
  check(low <= high, Kind::Value, "hardtanh(): min_val cannot be greater than max_val, got ", low,
        " and ", high);
  return hardtanh(self, Params{low, high}, dest);
}
EMBER_OP(
    "nn.functional.hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1, bool "
    "inplace=False) -> Tensor",
    ([](const Tensor& self, const Scalar& low, const Scalar& high, bool inplace) {
      return activate("hardtanh", self, inplace,
                      [&](const Tensor& x, Dest dest) { return hardtanh_of(x, low, high, dest); });
    }),
    Function | Pointwise, "x limited to the range from min_val to max_val.");

// Without an inplace argument.
EMBER_OP("nn.functional.gelu(Tensor self, *, str approximate='none') -> Tensor",
         ([](const Tensor& self, const std::string& approximate, Dest dest) {
           if (approximate == "tanh") return gelu_tanh(self, dest);
           check(approximate == "none", Kind::Runtime,
                 "approximate argument must be either none or tanh.");
           return gelu(self, dest);
         }),
         Function | Out | Aligned | Pointwise,
         "x times the normal distribution function of x, or its approximation with tanh.");
EMBER_OP("nn.functional.softplus(Tensor self, float beta=1.0, float threshold=20.0) -> Tensor",
         ([](const Tensor& self, double beta, double threshold, Dest dest) {
           beta = fitting(self, beta);
           return softplus(self, Params{beta, fitting(self, threshold), 1 / beta}, dest);
         }),
         Function | Out | Aligned | Pointwise,
         "log(1 + exp(beta * x)) / beta, and x itself where beta * x is above the threshold.");
EMBER_OP("nn.functional.softshrink(Tensor self, float lambd=0.5) -> Tensor",
         ([](const Tensor& self, double lambd, Dest dest) {
           const double most = self.dtype() == Dtype::Float16   ? 65504.0
                               : self.dtype() == Dtype::Float64 ? std::numeric_limits<double>::max()
                                                                : std::numeric_limits<float>::max();
           check(lambd >= 0 && lambd <= most, Kind::Runtime, "lambda must be in range [0, ", most,
                 "] for input dtype ", type_name(self.dtype()), ", but found ", lambd, ".");
           return softshrink(self, Params{lambd}, dest);
         }),
         Function | Out | Aligned | Pointwise, "x moved towards 0 by lambd, 0 within it.");
EMBER_OP("_huber(Tensor self, float delta) -> Tensor",
         ([](const Tensor& self, double delta) { return huber(self, Params{delta}); }),
         Function | Pointwise, "x * x / 2 within [-delta, delta], straight lines outside.");
static Tensor hardshrink_by(const Tensor& self, double lambd, Dest dest) {
  if (is_reduced(self.dtype())) lambd = rounded(lambd, self.dtype()).real();
  return hardshrink(self, Params{fitting(self, lambd)}, dest);
}
EMBER_OP("nn.functional.hardshrink(Tensor self, float lambd=0.5) -> Tensor", &hardshrink_by,
         Function | Out | Aligned | Pointwise, "x outside [-lambd, lambd], 0 inside.");
EMBER_OP("hardshrink(Tensor self, float lambd=0.5) -> Tensor", &hardshrink_by,
         kForms | Out | Aligned | Pointwise, "x outside [-lambd, lambd], 0 inside.");
EMBER_OP("nn.functional.logsigmoid(Tensor self) -> Tensor",
         ([](const Tensor& self, Dest dest) { return logsigmoid(contiguous(self), dest); }),
         Function | Out | Pointwise, "log(sigmoid(x)).");
// Of float16 and bfloat16, the parts of some functions are rounded on the way, as they are in
// PyTorch.
EMBER_OP("nn.functional.tanhshrink(Tensor self) -> Tensor", ([](const Tensor& self) {
           return is_reduced(self.dtype()) ? self - tanh(self) : tanhshrink(self);
         }),
         Function | Pointwise, "x - tanh(x).");
EMBER_OP("nn.functional.softsign(Tensor self) -> Tensor", ([](const Tensor& self) {
           return is_complex(self.dtype()) ? self / (abs(self) + 1) : softsign(self);
         }),
         Function | Pointwise, "x / (1 + abs(x)).");

static Tensor prelu_with(const Tensor& self, const Tensor& weight) {
  check(weight.dim() <= 1, Kind::Runtime,
        "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", weight.dim());
  Tensor w = weight;
  if (weight.numel() != 1 || weight.dim() == 1) {
    int64_t channels = self.dim() > 1 ? self.size(1) : 1;
    check(self.dim() > 0 || weight.numel() == 1, Kind::Runtime,
          "prelu(): Not allow zero-dim input tensor.");
    check(weight.numel() == 1 || weight.numel() == channels, Kind::Runtime,
          "Mismatch of parameter numbers and input channel size. Found parameter numbers = ",
          weight.numel(), " and channel size = ", channels, ".");
    Shape shape;
    for (int i = 0; i < self.dim(); i++) shape.push_back(i == 1 ? weight.numel() : 1);
    w = reshape(weight, shape);
  }
  return prelu(self, w);
}
EMBER_OP("prelu(Tensor self, Tensor weight) -> Tensor", &prelu_with, kForms | Whole | Lower,
         "x where it is positive, weight * x elsewhere; one weight, or one for each channel "
         "(dimension 1).");
EMBER_OP("nn.functional.prelu(Tensor self, Tensor weight) -> Tensor", &prelu_with,
         Function | Whole | Lower,
         "x where it is positive, weight * x elsewhere; one weight, or one for each channel "
         "(dimension 1).");

// --- at the top level, with in-place forms by name -----------------------------------------------

EMBER_UNARY_OP("sigmoid", sigmoid, kUnaryForms, "1 / (1 + exp(-x)) for each element.");
EMBER_UNARY_OP("relu", relu, kForms | InPlace | FunctionInPlace | Pointwise,
               "max(x, 0) for each element.");
EMBER_UNARY_OP("selu", selu, Function | FunctionInPlace | Pointwise,
               "elu() with the constants of self-normalizing networks.");
EMBER_OP("celu(Tensor self, float alpha=1.0) -> Tensor",
         ([](const Tensor& self, double alpha, Dest dest) { return celu_of(self, alpha, dest); }),
         Function | FunctionInPlace | Pointwise,
         "x where it is positive, alpha * (exp(x / alpha) - 1) elsewhere.");
EMBER_OP("threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
         ([](const Tensor& self, const Scalar& t, const Scalar& value, Dest dest) {
           return threshold_of(self, t, value, dest);
         }),
         Function | FunctionInPlace | Out | Aligned | Pointwise,
         "x above a threshold, a given value elsewhere.");

#define EMBER_ACTIVATION_IN_PLACE(name, parameters, arguments, call, doc)                   \
  EMBER_OP("nn.functional." #name "_(Tensor self" parameters ") -> Tensor", ([] arguments { \
             check_in_place(#name "_", self);                                               \
             Dest dest{&self, true};                                                        \
             call;                                                                          \
             return self;                                                                   \
           }),                                                                              \
           Function | Pointwise, doc)
EMBER_ACTIVATION_IN_PLACE(relu, "", (const Tensor& self), relu(self, dest), "relu() in place.");
EMBER_ACTIVATION_IN_PLACE(selu, "", (const Tensor& self), selu(self, dest), "selu() in place.");
EMBER_ACTIVATION_IN_PLACE(elu, ", float alpha=1.0", (const Tensor& self, double alpha),
                          elu(self, Params{fitting(self, alpha), 1, 1}, dest), "elu() in place.");
EMBER_ACTIVATION_IN_PLACE(celu, ", float alpha=1.0", (const Tensor& self, double alpha),
                          celu_of(self, alpha, dest), "celu() in place.");
EMBER_ACTIVATION_IN_PLACE(leaky_relu, ", float negative_slope=0.01",
                          (const Tensor& self, double slope),
                          leaky_relu(self, Params{fitting(self, slope)}, dest),
                          "leaky_relu() in place.");
EMBER_ACTIVATION_IN_PLACE(hardtanh, ", Scalar min_val=-1, Scalar max_val=1",
                          (const Tensor& self, const Scalar& low, const Scalar& high),
                          hardtanh_of(self, low, high, dest), "hardtanh() in place.");
EMBER_ACTIVATION_IN_PLACE(threshold, ", Scalar threshold, Scalar value",
                          (const Tensor& self, const Scalar& t, const Scalar& value),
                          threshold_of(self, t, value, dest), "threshold() in place.");

// --- logit ---------------------------------------------------------------------------------------

static Tensor logit_of(const Tensor& self, std::optional<double> eps, Dest dest) {
  if (is_reduced(self.dtype())) {
    Tensor x = eps ? clamp(self, *eps, 1 - *eps) : self;
    return log(x / (1.0 - x), dest);
  }
  if (!eps) return logit(self, dest);
  return logit_eps(self, Params{fitting(self, *eps), 1 - *eps}, dest);
}
EMBER_OP("logit(Tensor self, float? eps=None) -> Tensor", &logit_of, kUnaryForms,
         "log(x / (1 - x)), x being limited to [eps, 1 - eps] if eps is given.");
EMBER_OP("special.logit(Tensor self, float? eps=None) -> Tensor", &logit_of,
         Function | Out | Aligned | Pointwise,
         "log(x / (1 - x)), x being limited to [eps, 1 - eps] if eps is given.");

}  // namespace ember
