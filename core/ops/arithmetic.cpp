// Pointwise ops whose signature is not that of their row in the table: alpha, rounding modes,
// bounds, tolerances; complex numbers from parts; and the second names that PyTorch has for many.
#include <cmath>

#include "ops/create.h"
#include "ops/pointwise.h"

namespace ember {

using namespace pointwise;

namespace {

bool is_bool(const Operand& o) {
  return o.is_tensor() ? o.tensor().dtype() == Dtype::Bool : o.scalar().is_bool();
}
bool is_whole(const Scalar& s) { return s.is_int() || s.is_bool(); }

void check_alpha(const char* op, const Operand& a, const Operand& b, const Scalar& alpha) {
  Dtype d = result_type(a, b);
  check(!alpha.is_bool() || d == Dtype::Bool, Kind::Runtime, op,
        "(): Boolean alpha only supported for Boolean results.");
  check(is_differentiable(d) || is_whole(alpha), Kind::Runtime, op,
        "(): For integral input tensors, argument alpha must not be a floating point number.");
  check(is_complex(d) || !alpha.is_complex(), Kind::Runtime, op,
        "(): For non-complex input tensors, argument alpha must not be a complex number.");
  create::check_fits(alpha, d, true);
}

// a + alpha * b in one pass: addcmul with the number as its third operand.
Tensor scaled_sum(const char* op, const Operand& a, const Operand& b, const Scalar& alpha,
                  Dest dest) {
  check_alpha(op, a, b, alpha);
  if (result_type(a, b) == Dtype::Bool) return add(a, mul(b, Scalar(!alpha.equal(0))), dest);
  return addcmul(a, b, alpha, Params{1}, dest);
}

void warn_old_order(const char* op, const char* factor) {
  if (host_warn)
    host_warn(std::string("This overload of ") + op +
              " is deprecated: the factor is the keyword argument `" + factor + "`");
}

}  // namespace

Tensor conj(const Tensor& self) { return is_complex(self.dtype()) ? conj_physical(self) : self; }

// --- sums and quotients --------------------------------------------------------------------------

Tensor add_scaled(const Operand& self, const Operand& other, const Scalar& alpha, Dest dest) {
  if (alpha.equal(1) && !alpha.is_bool()) return add(self, other, dest);
  return scaled_sum("add", self, other, alpha, dest);
}

static Tensor sub_scaled(const Operand& self, const Operand& other, const Scalar& alpha,
                         Dest dest) {
  check(!is_bool(self) || !is_bool(other), Kind::Runtime,
        "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
        "`logical_xor()` operator "
        "instead.");
  check(!(self.is_tensor() && is_bool(self)) && !(other.is_tensor() && is_bool(other)),
        Kind::Runtime,
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
        "invert a mask, use the "
        "`~` or `logical_not()` operator instead.");
  if (alpha.equal(1) && !alpha.is_bool()) return sub(self, other, dest);
  return scaled_sum("sub", self, other, -alpha, dest);
}

static Tensor divide(const Operand& self, const Operand& other,
                     const std::optional<std::string>& rounding_mode, Dest dest) {
  if (!rounding_mode) return div(self, other, dest);
  if (*rounding_mode == "trunc") {
    // Quotients of two float16 or bfloat16 are rounded first, which one can see.
    const bool rounds = is_reduced(result_type(self, other)) && !is_single(other);
    return rounds ? trunc(div(self, other), dest) : trunc_divide(self, other, dest);
  }
  if (*rounding_mode == "floor") return floor_divide(self, other, dest);
  fail(Kind::Runtime,
       "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '",
       *rounding_mode, "'");
}

#define EMBER_SCALED(name, function, doc)                                              \
  EMBER_OP(name "(Number self, Number other, *, Scalar alpha=1) -> Tensor", &function, \
           kPointwiseForms, doc)
EMBER_SCALED("add", add_scaled, "self + alpha * other.");
EMBER_SCALED("sub", sub_scaled, "self - alpha * other.");
EMBER_SCALED("subtract", sub_scaled, "self - alpha * other.");
#define EMBER_SCALED_OLD(name, function)                                                  \
  EMBER_OP(name "(Tensor self, Scalar alpha, Tensor other) -> Tensor",                    \
           ([](const Tensor& self, const Scalar& alpha, const Tensor& other, Dest dest) { \
             warn_old_order(name, "alpha");                                               \
             return function(self, other, alpha, dest);                                   \
           }),                                                                            \
           kPointwiseForms, "The same with the factor second, as it once was.")
EMBER_SCALED_OLD("add", add_scaled);
EMBER_SCALED_OLD("sub", sub_scaled);
EMBER_OP("rsub(Tensor self, Number other, *, Scalar alpha=1) -> Tensor",
         ([](const Tensor& self, const Operand& other, const Scalar& alpha, Dest dest) {
           return sub_scaled(other, self, alpha, dest);
         }),
         kForms | Out | Aligned | Pointwise, "other - alpha * self.");
EMBER_OP("div(Number self, Number other, *, str? rounding_mode=None) -> Tensor", &divide,
         kPointwiseForms,
         "self / other, rounded to an integer if rounding_mode is 'trunc' or 'floor'.");
EMBER_OP("divide(Number self, Number other, *, str? rounding_mode=None) -> Tensor", &divide,
         kPointwiseForms,
         "self / other, rounded to an integer if rounding_mode is 'trunc' or 'floor'.");

// --- choices and bounds --------------------------------------------------------------------------

static Tensor select_where(const Tensor& condition, const Operand& self, const Operand& other,
                           Dest dest) {
  check(condition.dtype() == Dtype::Bool || condition.dtype() == Dtype::UInt8, Kind::Runtime,
        "where expected condition to be a boolean tensor, but got a tensor with dtype ",
        condition.dtype());
  return where(condition, self, other, {}, dest);
}
EMBER_OP("where(Tensor condition, Number self, Number other) -> Tensor", &select_where,
         Function | Out | Aligned | Pointwise, "self where condition is true, other elsewhere.");
EMBER_OP("where(Tensor condition) -> Tensor[]", &nonzero_tuple, Function | Pointwise,
         "The indices at which condition is true, one tensor for each dimension.");
EMBER_OP("where(Tensor self, Tensor condition, Number other) -> Tensor",
         ([](const Tensor& self, const Tensor& condition, const Operand& other) {
           return select_where(condition, self, other, {});
         }),
         Method | Pointwise, "self where condition is true, other elsewhere.");

static Tensor clamp_to(const Tensor& self, const std::optional<Operand>& min,
                       const std::optional<Operand>& max, Dest dest) {
  check(min || max, Kind::Runtime, "torch.clamp: At least one of 'min' or 'max' must not be None");
  check(!is_complex(self.dtype()), Kind::NotImplemented,
        "clamp is not supported for complex types");
  if (!max) return clamp_min(self, *min, dest);
  if (!min) return clamp_max(self, *max, dest);
  for (const Operand* bound : {&*min, &*max})
    if (!bound->is_tensor()) create::check_fits(bound->scalar(), result_type(self, *bound), true);
  return clamp(self, *min, *max, {}, dest);
}
EMBER_OP("clamp(Tensor self, Number? min=None, Number? max=None) -> Tensor", &clamp_to, kUnaryForms,
         "Elements limited to the range between two bounds, each a number, a tensor or none.");
EMBER_OP("clip(Tensor self, Number? min=None, Number? max=None) -> Tensor", &clamp_to, kUnaryForms,
         "Elements limited to the range between two bounds, each a number, a tensor or none.");

static Tensor interpolate(const Tensor& self, const Tensor& end, const Operand& weight, Dest dest) {
  check(self.dtype() == end.dtype(), Kind::Runtime, "expected dtype ", self.dtype(),
        " for `end` but got dtype ", end.dtype());
  check(is_differentiable(self.dtype()), Kind::NotImplemented, "lerp(): not implemented for ",
        self.dtype());
  const bool number =
      !weight.is_tensor() || (weight.tensor().dim() == 0 && is_floating(self.dtype()) &&
                              !is_complex(weight.tensor().dtype()));
  check(number || weight.tensor().dtype() == self.dtype(), Kind::Runtime, "expected dtype ",
        self.dtype(), " for `weight` but got dtype ",
        weight.is_tensor() ? weight.tensor().dtype() : self.dtype());
  if (!weight.is_tensor() && !is_complex(self.dtype()))
    create::fitting(self, weight.scalar().real());
  return lerp(self, end, weight, {}, dest);
}
EMBER_OP("lerp(Tensor self, Tensor end, Number weight) -> Tensor", &interpolate, kPointwiseForms,
         "self + weight * (end - self).");

// value * x * y, or value * x / y, added to self.
static Tensor add_product(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                          const Scalar& value, Dest dest) {
  if (value.is_complex()) return add(self, mul(mul(tensor1, tensor2), value), dest);
  const Dtype d = result_type({self, tensor1, tensor2});
  create::check_fits(value, d);
  if (is_integral(d) && !is_whole(value))  // cut off, as in PyTorch
    return add_product(self, tensor1, tensor2, Scalar(int64_t(value.real())), dest);
  // Parameters are doubles, which do not hold every integer.
  if (is_integral(d) && value.is_int() && std::abs(value.real()) >= 9007199254740992.0)
    return add(self, mul(mul(tensor1, tensor2), value), dest);
  return addcmul(self, tensor1, tensor2, Params{value.real()}, dest);
}
EMBER_OP("addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
         &add_product, kPointwiseForms, "self + value * tensor1 * tensor2.");
EMBER_OP("addcmul(Tensor self, Scalar value, Tensor tensor1, Tensor tensor2) -> Tensor",
         ([](const Tensor& self, const Scalar& value, const Tensor& tensor1, const Tensor& tensor2,
             Dest dest) {
           warn_old_order("addcmul", "value");
           return add_product(self, tensor1, tensor2, value, dest);
         }),
         kPointwiseForms, "The same with the factor second, as it once was.");

static Tensor add_quotient(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                           const Scalar& value, Dest dest) {
  check(is_differentiable(tensor1.dtype()) || is_differentiable(tensor2.dtype()), Kind::Runtime,
        "Integer division with addcdiv is no longer supported, and in a future  release addcdiv "
        "will perform a true "
        "division of tensor1 and tensor2.");
  if (value.is_complex()) return add(self, mul(div(tensor1, tensor2), value), dest);
  create::check_fits(value, result_type({self, tensor1, tensor2}), true);
  return addcdiv(self, tensor1, tensor2, Params{value.real()}, dest);
}
EMBER_OP("addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
         &add_quotient, kPointwiseForms, "self + value * tensor1 / tensor2.");
EMBER_OP("addcdiv(Tensor self, Scalar value, Tensor tensor1, Tensor tensor2) -> Tensor",
         ([](const Tensor& self, const Scalar& value, const Tensor& tensor1, const Tensor& tensor2,
             Dest dest) {
           warn_old_order("addcdiv", "value");
           return add_quotient(self, tensor1, tensor2, value, dest);
         }),
         kPointwiseForms, "The same with the factor second, as it once was.");

EMBER_OP("heaviside(Tensor self, Tensor values) -> Tensor",
         ([](const Tensor& self, const Tensor& values, Dest dest) {
           check(self.dtype() == values.dtype(), Kind::Runtime,
                 "heaviside is not yet implemented for tensors with different dtypes.");
           return heaviside(self, values, dest);
         }),
         kPointwiseForms, "0 below zero, 1 above it, `values` at zero.");

// --- comparisons of whole tensors ----------------------------------------------------------------

static Tensor close(const Tensor& self, const Tensor& other, double rtol, double atol,
                    bool equal_nan) {
  check(self.dtype() == other.dtype(), Kind::Runtime, self.dtype(), " did not match ",
        other.dtype());
  check(rtol >= 0, Kind::Runtime, "rtol must be greater than or equal to zero, but got ", rtol);
  check(atol >= 0, Kind::Runtime, "atol must be greater than or equal to zero, but got ", atol);
  NoGrad guard;
  if (is_stored_only(self.dtype()) && (is_complex(self.dtype()) || (rtol == 0 && atol == 0)))
    return close(to(self, compute_of(self.dtype())), to(other, compute_of(other.dtype())), rtol,
                 atol, equal_nan);
  Params p{rtol, atol, double(equal_nan)};
  if (is_differentiable(self.dtype())) return compare(Compare::isclose, self, other, p, {});
  return compare(Compare::isclose, to(self, Dtype::Float64), to(other, Dtype::Float64), p, {});
}
EMBER_OP(
    "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) "
    "-> Tensor",
    &close, kForms | Pointwise, "True where abs(self - other) <= atol + rtol * abs(other).");
EMBER_OP(
    "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) "
    "-> bool",
    ([](const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
      return item(all(close(self, other, rtol, atol, equal_nan))).to<bool>();
    }),
    kForms | DataDependent, "True if isclose() is, everywhere.");
EMBER_OP("equal(Tensor self, Tensor other) -> bool", ([](const Tensor& self, const Tensor& other) {
           check(self.device().kind == other.device().kind, Kind::Runtime,
                 "equal(): Cannot compare two tensors on different devices. Got: ", self.device(),
                 " and ", other.device());
           if (!(self.shape() == other.shape())) return false;
           NoGrad guard;
           return self.numel() == 0 || item(all(eq(self, other))).to<bool>();
         }),
         kForms | DataDependent, "True if two tensors have the same shape and elements.");

// --- rounding, replacing -------------------------------------------------------------------------

Tensor round(const Tensor& self, int64_t decimals, Dest dest) {
  if (decimals == 0) return round(self, dest);
  return round_decimals(
      self, Params{decimals < 0 ? 1. : 0., std::pow(10., double(std::abs(decimals)))}, dest);
}
EMBER_OP("round(Tensor self, *, int decimals) -> Tensor",
         (static_cast<Tensor (*)(const Tensor&, int64_t, Dest)>(&ember::round)), kUnaryForms,
         "Each element rounded to a number of decimals, halves to even.");

static Tensor replace_nan(const Tensor& self, std::optional<double> nan,
                          std::optional<double> posinf, std::optional<double> neginf, Dest dest) {
  Dtype d = real_of(self.dtype());
  if (is_complex(self.dtype())) {
    Tensor parts = replace_nan(view_as_real(self), nan, posinf, neginf, {});
    Tensor result = view_as_complex(parts);
    return dest.tensor
               ? copy_(output_for("nan_to_num", dest, self.shape(), self.dtype(), self.device()),
                       result)
               : result;
  }
  double most = d == Dtype::Float16    ? 65504.
                : d == Dtype::BFloat16 ? 3.3895313892515355e38
                : d == Dtype::Float32  ? double(std::numeric_limits<float>::max())
                                       : std::numeric_limits<double>::max();
  return nan_to_num(self, Params{nan.value_or(0), posinf.value_or(most), neginf.value_or(-most)},
                    dest);
}
EMBER_OP(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
    &replace_nan, kUnaryForms,
    "NaN and the infinities replaced by numbers: by default 0 and the largest there are.");

EMBER_OP("positive(Tensor self) -> Tensor", ([](const Tensor& self) {
           check(self.dtype() != Dtype::Bool, Kind::Runtime,
                 "The `+` operator, on a bool tensor is not supported.");
           return self;
         }),
         kForms | Pointwise, "The tensor itself.");

static std::tuple<Tensor, Tensor> frexp(const Tensor& self) {
  check(is_floating(self.dtype()), Kind::Runtime,
        "torch.frexp() only supports floating-point dtypes, got ", self.dtype());
  Tensor exponent = [&] {
    NoGrad guard;
    return to(frexp_exponent(self), Dtype::Int32);
  }();
  return {frexp_mantissa(self), exponent};
}
EMBER_OP("frexp(Tensor self) -> (Tensor mantissa, Tensor exponent)", &frexp,
         kForms | Out | Aligned | Pointwise | ExactOut,
         "Each element as mantissa * 2**exponent, the mantissa in [0.5, 1) but for its sign.");

// --- powers --------------------------------------------------------------------------------------

static Tensor float_power(const Operand& self, const Operand& exponent, Dest dest) {
  auto is_complex_operand = [](const Operand& o) {
    return o.is_tensor() ? is_complex(o.tensor().dtype()) : o.scalar().is_complex();
  };
  Dtype wide =
      is_complex_operand(self) || is_complex_operand(exponent) ? Dtype::Complex128 : Dtype::Float64;
  check(!dest.in_place || dest.tensor->dtype() == wide, Kind::Runtime,
        "the base given to float_power_ has dtype ", dest.tensor ? dest.tensor->dtype() : wide,
        " but the operation's result requires dtype ", wide);
  check(!dest.tensor || dest.tensor->dtype() == wide, Kind::Runtime,
        "the output given to float_power has dtype ", dest.tensor ? dest.tensor->dtype() : wide,
        " but the operation's result requires dtype ", wide);
  Tensor a = self.is_tensor() ? to(self.tensor(), wide) : Tensor(),
         b = exponent.is_tensor() ? to(exponent.tensor(), wide) : Tensor();
  return pow(a ? Operand(a) : self, b ? Operand(b) : exponent, dest);
}
EMBER_OP("float_power(Number self, Number exponent) -> Tensor", &float_power, kAllForms | Pointwise,
         "self to the power of exponent, in double precision.");
EMBER_OP("square(Tensor self) -> Tensor", ([](const Tensor& self, Dest dest) {
           return square(self.dtype() == Dtype::Bool ? to(self, Dtype::Int64) : self, dest);
         }),
         kUnaryForms, "Square of each element.");
EMBER_OP("pow(Number self, Number exponent) -> Tensor",
         (static_cast<Tensor (*)(const Operand&, const Operand&, Dest)>(&ember::pow)),
         kPointwiseForms, "self to the power of exponent.");

// --- complex numbers -----------------------------------------------------------------------------

static Tensor angle_of(const Tensor& self, Dest dest) {
  if (!is_complex(self.dtype())) return angle(self, dest);
  refuse_stored_only("angle", self.dtype());
  return atan2(imag(self), real(self), dest);
}
EMBER_OP("angle(Tensor self) -> Tensor", &angle_of, kForms | Out | Aligned | Pointwise,
         "Angle of each element with the positive real axis; 0 or pi for a real one.");

// --- second names --------------------------------------------------------------------------------

EMBER_UNARY_OP("absolute", abs, kPointwiseForms, "Alias of abs().");
EMBER_UNARY_OP("negative", neg, kUnaryForms, "Alias of neg().");
EMBER_UNARY_OP("fix", trunc, kUnaryForms, "Alias of trunc().");
EMBER_UNARY_OP("arccos", acos, kUnaryForms, "Alias of acos().");
EMBER_UNARY_OP("arcsin", asin, kUnaryForms, "Alias of asin().");
EMBER_UNARY_OP("arctan", atan, kUnaryForms, "Alias of atan().");
EMBER_UNARY_OP("arccosh", acosh, kUnaryForms, "Alias of acosh().");
EMBER_UNARY_OP("arcsinh", asinh, kUnaryForms, "Alias of asinh().");
EMBER_UNARY_OP("arctanh", atanh, kUnaryForms, "Alias of atanh().");
#define EMBER_ALIAS2(name, second, row)                                                  \
  EMBER_OP(#name "(Tensor self, " second " other) -> Tensor",                            \
           (static_cast<Tensor (*)(const Operand&, const Operand&, Dest)>(&ember::row)), \
           kPointwiseForms, "Alias of " #row "().")
EMBER_ALIAS2(arctan2, "Tensor", atan2);
EMBER_ALIAS2(greater, "Number", gt);
EMBER_ALIAS2(greater_equal, "Number", ge);
EMBER_ALIAS2(less, "Number", lt);
EMBER_ALIAS2(less_equal, "Number", le);
EMBER_ALIAS2(not_equal, "Number", ne);
EMBER_BINARY_OP("multiply", mul, kPointwiseForms, "Alias of mul().");
EMBER_BINARY_OP("true_divide", div, kPointwiseForms, "Alias of div().");

}  // namespace ember
