// Tensors of random numbers: rand, randn, randint, randperm and their kin, and the methods that
// fill a tensor. Draws that depend on a tensor of parameters are in sample.cpp, dropout in
// dropout.cpp; how numbers are made is in random/.
#include <cmath>
#include <limits>

#include "ops/ops.h"

namespace ember {

Tensor draw(const Tensor& out, Generator* generator, const Draw& what) {
  backend_of(out).random(out, generator ? *generator : default_generator(), what);
  return out;
}

namespace {

Tensor draw_in_place(const char* op, const Tensor& self, Generator* generator, const Draw& what) {
  check_in_place(op, self);
  draw(self, generator, what);
  bump_version(self);
  if (grad_needed(self))
    tape_inplace(self, op, wrt(self, [](const Tensor& g) { return zeros_like(g); }));
  return self;
}

// --- checks --------------------------------------------------------------------------------------

void check_uniform(Dtype dtype, double low, double high) {
  check(is_floating(real_of(dtype)), Kind::NotImplemented,
        "\"check_uniform_bounds\" not implemented for '", type_name(dtype), "'");
  double most = real_of(dtype) == Dtype::Float16 ? 65504.0
                : dtype == Dtype::BFloat16       ? 0x1.fep127
                : dtype == Dtype::Float32 || dtype == Dtype::Complex64
                    ? double(std::numeric_limits<float>::max())
                    : std::numeric_limits<double>::max();
  check(std::fabs(low) <= most, Kind::Runtime, "uniform_(): from is out of bounds for ", dtype,
        ", got ", low);
  check(std::fabs(high) <= most, Kind::Runtime, "uniform_(): to is out of bounds for ", dtype,
        ", got ", high);
  check(low <= high, Kind::Runtime,
        "uniform_ expects to return a [from, to) range, but found from=", low, " > to=", high);
  check(high - low <= most, Kind::Runtime, "uniform_ expects to-from <= the largest ", dtype,
        ", but found to=", high, " and from=", low, " which result in to-from to exceed the limit");
}

void check_normal(Dtype dtype, double std) {
  check(std >= 0.0, Kind::Runtime, "normal expects std >= 0.0, but found std ", std);
  check(is_floating(real_of(dtype)), Kind::NotImplemented,
        "\"normal_kernel_cpu\" not implemented for '", type_name(dtype), "'");
}

void check_continuous(const char* what, Dtype dtype) {
  check(is_floating(dtype), Kind::Runtime, what,
        " distribution is a continuous probability distribution. dtype must be a floating point "
        "but you specified ",
        dtype);
}

// The integers that a dtype holds, as far as an int64 goes; for floating ones those without gaps.
struct IntegerLimits {
  int64_t low, high;
};
IntegerLimits integer_limits(Dtype dtype) {
  IntegerLimits limits{0, 0};
  with_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>)
      limits = {0, 1};
    else if constexpr (std::is_same_v<T, uint64_t>)
      limits = {0, std::numeric_limits<int64_t>::max()};
    else if constexpr (std::is_integral_v<T>)
      limits = {int64_t(std::numeric_limits<T>::min()), int64_t(std::numeric_limits<T>::max())};
  });
  int digits = dtype == Dtype::Float64   ? 53
               : dtype == Dtype::Float32 ? 24
               : dtype == Dtype::Float16 ? 11
                                         : 8;
  if (is_floating(dtype)) limits = {-(int64_t(1) << digits), int64_t(1) << digits};
  return limits;
}

void check_integer_bound(const char* name, int64_t value, Dtype dtype) {
  IntegerLimits limits = integer_limits(dtype);
  if (value >= limits.low && value <= limits.high) return;
  check(is_floating(dtype), Kind::Runtime, name, " is out of bounds for ", dtype, ", got ", value);
  if (dtype == Dtype::Float16)
    check(std::llabs(value) <= 65504, Kind::Runtime, name, " is out of bounds for float16");
  std::ostringstream text;
  text << name << " is out of bounds [" << limits.low << ", " << limits.high
       << "]. Due to precision limitations " << dtype
       << " can support discrete uniform distribution only within this range.";
  if (host_warn) host_warn(text.str());
}

Draw integers_between(Dtype dtype, int64_t low, int64_t high) {
  check(low < high, Kind::Runtime,
        "random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high);
  check(!is_complex(dtype), Kind::Runtime,
        "check_random_bounds handles only integral, floating-point and boolean types");
  check_integer_bound("from", low, dtype);
  check_integer_bound("to - 1", high - 1, dtype);
  random::representable_range(dtype, low, high);
  check(low < high, Kind::Runtime,
        "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but "
        "got from=",
        low, " >= to=", high);
  return {Distribution::Integers, 0.0, 0.0, low, uint64_t(high) - uint64_t(low)};
}

Draw integers_from(Dtype dtype, int64_t low) {  // up to the largest
  if (low == std::numeric_limits<int64_t>::min()) return {Distribution::Integers};  // all 64 bits
  check(!is_complex(dtype), Kind::Runtime,
        "check_random_bounds handles only integral, floating-point and boolean types");
  check_integer_bound("from", low, dtype);
  int64_t most = integer_limits(dtype).high;
  check(low <= most, Kind::Runtime, "random_ expects 'from' to be at most ", most, " for ", dtype,
        ", but got ", low);
  return {Distribution::Integers, 0.0, 0.0, low, uint64_t(most) - uint64_t(low) + 1};
}

// --- creation ------------------------------------------------------------------------------------

using MaybeDtype = std::optional<Dtype>;
using MaybeDevice = std::optional<Device>;
using MaybeFormat = std::optional<MemoryFormat>;

// A tensor to be filled: new, or `out` made to fit.
Tensor target(const char* op, Dest dest, const Shape& size, MaybeDtype dtype, MaybeDevice device,
              Dtype otherwise) {
  for (int64_t d : size)
    check(d >= 0, Kind::Runtime, op, "(): Trying to create tensor with negative dimension ", d,
          ": ", size);
  if (!dest.tensor)
    return empty(size, dtype.value_or(otherwise), device.value_or(default_device()));
  const Tensor& out = *dest.tensor;
  check(!dtype || *dtype == out.dtype(), Kind::Runtime, op, "(): dtype ", dtype.value_or(otherwise),
        " does not match dtype of out parameter (", out.dtype(), ")");
  output_for(op, dest, size, out.dtype(), out.device());
  bump_version(out);
  return out;
}

Tensor target_like(const Tensor& self, MaybeDtype dtype, MaybeDevice device, MaybeFormat format) {
  Dtype t = dtype.value_or(self.dtype());
  Device d = device.value_or(self.device());
  if (format && *format == MemoryFormat::Contiguous) return empty(self.shape(), t, d);
  if (format && *format != MemoryFormat::Preserve)
    return empty_strided(self.shape(), channels_last_strides(self.shape()), t, d);
  return empty_strided(self.shape(), preserved_strides(self.shape(), self.strides()), t, d);
}

Tensor finish(Tensor t, bool requires_grad) {
  if (inference_mode()) t.impl()->inference = true;
  if (requires_grad) set_requires_grad(t, true);
  return t;
}

Tensor filled_uniform(const Tensor& t, Generator* g) {
  check_uniform(t.dtype(), 0.0, 1.0);
  return draw(t, g, {Distribution::Uniform, 0.0, 1.0});
}
Tensor filled_normal(const Tensor& t, Generator* g, double mean = 0.0, double std = 1.0) {
  check_normal(t.dtype(), std);
  return draw(t, g, {Distribution::Normal, mean, std});
}

}  // namespace

Tensor rand(const Shape& size, Dtype dtype, Device device, Generator* generator) {
  return filled_uniform(empty(size, dtype, device), generator);
}
Tensor randn(const Shape& size, Dtype dtype, Device device, Generator* generator) {
  return filled_normal(empty(size, dtype, device), generator);
}
Tensor randint(int64_t low, int64_t high, const Shape& size, Dtype dtype, Device device,
               Generator* generator) {
  return draw(empty(size, dtype, device), generator, integers_between(dtype, low, high));
}
Tensor randperm(int64_t n, Dtype dtype, Device device, Generator* generator) {
  return draw(empty({n}, dtype, device), generator, {Distribution::Permutation});
}

#define OPTIONS                                                                           \
  "Dtype? dtype=None, Any layout=None, Device? device=None, bool? pin_memory=None, bool " \
  "requires_grad=False"
#define OPTION_PARAMS \
  MaybeDtype dtype, void *, MaybeDevice device, std::optional<bool>, bool requires_grad
#define LIKE_OPTIONS OPTIONS ", Format? memory_format=None"
#define LIKE_PARAMS OPTION_PARAMS, MaybeFormat format
#define GENERATOR "*, Generator? generator=None"

EMBER_OP("rand(Size size, " GENERATOR ", " OPTIONS ") -> Tensor",
         ([](const Shape& size, Generator* g, OPTION_PARAMS, Dest dest) {
           return finish(
               filled_uniform(target("rand", dest, size, dtype, device, default_dtype()), g),
               requires_grad);
         }),
         Function | Out | Factory | Random, "Uniform numbers in [0, 1).");
EMBER_OP("rand_like(Tensor self, " GENERATOR ", " LIKE_OPTIONS ") -> Tensor",
         ([](const Tensor& self, Generator* g, LIKE_PARAMS) {
           return finish(filled_uniform(target_like(self, dtype, device, format), g),
                         requires_grad);
         }),
         Function | Pointwise | Random,
         "Uniform numbers in [0, 1), with the shape, dtype and device of `input`.");
EMBER_OP("randn(Size size, " GENERATOR ", " OPTIONS ") -> Tensor",
         ([](const Shape& size, Generator* g, OPTION_PARAMS, Dest dest) {
           return finish(
               filled_normal(target("randn", dest, size, dtype, device, default_dtype()), g),
               requires_grad);
         }),
         Function | Out | Factory | Random, "Normal numbers with mean 0 and variance 1.");
EMBER_OP("randn_like(Tensor self, " GENERATOR ", " LIKE_OPTIONS ") -> Tensor",
         ([](const Tensor& self, Generator* g, LIKE_PARAMS) {
           return finish(filled_normal(target_like(self, dtype, device, format), g), requires_grad);
         }),
         Function | Pointwise | Random,
         "Normal numbers with mean 0 and variance 1, with the shape, dtype and device of `input`.");

EMBER_OP("randint(int high, Size size, " GENERATOR ", " OPTIONS ") -> Tensor",
         ([](int64_t high, const Shape& size, Generator* g, OPTION_PARAMS, Dest dest) {
           Tensor out = target("randint", dest, size, dtype, device, Dtype::Int64);
           return finish(draw(out, g, integers_between(out.dtype(), 0, high)), requires_grad);
         }),
         Function | Out | Factory | Random, "Integers from 0 to `high` - 1, all as likely.");
EMBER_OP("randint(int low, int high, Size size, " GENERATOR ", " OPTIONS ") -> Tensor",
         ([](int64_t low, int64_t high, const Shape& size, Generator* g, OPTION_PARAMS, Dest dest) {
           Tensor out = target("randint", dest, size, dtype, device, Dtype::Int64);
           return finish(draw(out, g, integers_between(out.dtype(), low, high)), requires_grad);
         }),
         Function | Out | Factory | Random, "Integers from `low` to `high` - 1, all as likely.");
EMBER_OP("randint_like(Tensor self, int high, " GENERATOR ", " LIKE_OPTIONS ") -> Tensor",
         ([](const Tensor& self, int64_t high, Generator* g, LIKE_PARAMS) {
           Tensor out = target_like(self, dtype, device, format);
           return finish(draw(out, g, integers_between(out.dtype(), 0, high)), requires_grad);
         }),
         Function | Pointwise | Random,
         "Integers from 0 to `high` - 1, with the shape, dtype and device of `input`.");
EMBER_OP("randint_like(Tensor self, int low, int high, " GENERATOR ", " LIKE_OPTIONS ") -> Tensor",
         ([](const Tensor& self, int64_t low, int64_t high, Generator* g, LIKE_PARAMS) {
           Tensor out = target_like(self, dtype, device, format);
           return finish(draw(out, g, integers_between(out.dtype(), low, high)), requires_grad);
         }),
         Function | Pointwise | Random,
         "Integers from `low` to `high` - 1, with the shape, dtype and device of `input`.");

EMBER_OP("randperm(int n, " GENERATOR ", " OPTIONS ") -> Tensor",
         ([](int64_t n, Generator* g, OPTION_PARAMS, Dest dest) {
           Tensor out = target("randperm", dest, {n}, dtype, device, Dtype::Int64);
           Dtype t = out.dtype();
           check(!is_complex(t) && t != Dtype::Bool, Kind::NotImplemented,
                 "\"randperm\" not implemented for '", type_name(t), "'");
           check(n - 1 <= integer_limits(t).high, Kind::Runtime, "randperm(): n = ", n,
                 " is too large for dtype ", t);
           return finish(draw(out, g, {Distribution::Permutation}), requires_grad);
         }),
         Function | Out | Factory | Random, "The numbers from 0 to n - 1 in random order.");
EMBER_OP("normal(float mean, float std, Size size, " GENERATOR ", " OPTIONS ") -> Tensor",
         ([](double mean, double std, const Shape& size, Generator* g, OPTION_PARAMS, Dest dest) {
           Tensor out = target("normal", dest, size, dtype, device, default_dtype());
           return finish(filled_normal(out, g, mean, std), requires_grad);
         }),
         Function | Out | Pointwise | Random,
         "Normal numbers with the given mean and standard deviation.");

// --- filling -------------------------------------------------------------------------------------

Tensor uniform_(const Tensor& self, double from, double to, Generator* generator) {
  check_uniform(self.dtype(), from, to);
  return draw_in_place("uniform_", self, generator, {Distribution::Uniform, from, to});
}
EMBER_OP("uniform_(Tensor self, float from=0.0, float to=1.0, " GENERATOR ") -> Tensor", &uniform_,
         Method | Pointwise | Random, "Fills the tensor with uniform numbers in [from, to).");

Tensor normal_(const Tensor& self, double mean, double std, Generator* generator) {
  check_normal(self.dtype(), std);
  return draw_in_place("normal_", self, generator, {Distribution::Normal, mean, std});
}
EMBER_OP("normal_(Tensor self, float mean=0.0, float std=1.0, " GENERATOR ") -> Tensor", &normal_,
         Method | Pointwise | Random, "Fills the tensor with normal numbers.");

EMBER_OP("random_(Tensor self, " GENERATOR ") -> Tensor", ([](const Tensor& self, Generator* g) {
           check(!is_complex(self.dtype()), Kind::NotImplemented,
                 "\"random_kernel_cpu\" not implemented for '", type_name(self.dtype()), "'");
           return draw_in_place("random_", self, g, {Distribution::IntegersOfDtype});
         }),
         Method | Pointwise | Random,
         "Fills the tensor with non-negative integers, of those that its dtype holds exactly.");
EMBER_OP("random_(Tensor self, int to, " GENERATOR ") -> Tensor",
         ([](const Tensor& self, int64_t to, Generator* g) {
           return draw_in_place("random_", self, g, integers_between(self.dtype(), 0, to));
         }),
         Method | Pointwise | Random, "Fills the tensor with integers from 0 to `to` - 1.");
EMBER_OP("random_(Tensor self, int from, int? to, " GENERATOR ") -> Tensor",
         ([](const Tensor& self, int64_t from, std::optional<int64_t> to, Generator* g) {
           Draw what =
               to ? integers_between(self.dtype(), from, *to) : integers_from(self.dtype(), from);
           return draw_in_place("random_", self, g, what);
         }),
         Method | Pointwise | Random, "Fills the tensor with integers from `from` to `to` - 1.");

EMBER_OP("exponential_(Tensor self, float lambd=1.0, " GENERATOR ") -> Tensor",
         ([](const Tensor& self, double lambd, Generator* g) {
           check_continuous("Exponential", self.dtype());
           check(lambd > 0.0, Kind::Runtime,
                 "exponential_ expects lambda > 0.0, but found lambda=", lambd);
           return draw_in_place("exponential_", self, g, {Distribution::Exponential, lambd});
         }),
         Method | Pointwise | Random, "Fills the tensor with exponential numbers of rate `lambd`.");
EMBER_OP("geometric_(Tensor self, float p, " GENERATOR ") -> Tensor",
         ([](const Tensor& self, double p, Generator* g) {
           check(p > 0.0 && p < 1.0, Kind::Runtime,
                 "geometric_ expects p to be in (0, 1), but got p=", p);
           check(!is_complex(self.dtype()) && self.dtype() != Dtype::Bool, Kind::NotImplemented,
                 "\"geometric_cpu\" not implemented for '", type_name(self.dtype()), "'");
           return draw_in_place("geometric_", self, g, {Distribution::Geometric, p});
         }),
         Method | Pointwise | Random,
         "Fills the tensor with the number of tries until a success of probability `p`.");
EMBER_OP("cauchy_(Tensor self, float median=0.0, float sigma=1.0, " GENERATOR ") -> Tensor",
         ([](const Tensor& self, double median, double sigma, Generator* g) {
           check_continuous("Cauchy", self.dtype());
           check(sigma > 0.0, Kind::Runtime,
                 "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
           return draw_in_place("cauchy_", self, g, {Distribution::Cauchy, median, sigma});
         }),
         Method | Pointwise | Random, "Fills the tensor with numbers of the Cauchy distribution.");
EMBER_OP("log_normal_(Tensor self, float mean=1.0, float std=2.0, " GENERATOR ") -> Tensor",
         ([](const Tensor& self, double mean, double std, Generator* g) {
           check(std > 0.0, Kind::Runtime, "log_normal_ expects std > 0.0, but found std=", std);
           check(is_floating(self.dtype()), Kind::NotImplemented,
                 "\"log_normal_cpu\" not implemented for '", type_name(self.dtype()), "'");
           return draw_in_place("log_normal_", self, g, {Distribution::LogNormal, mean, std});
         }),
         Method | Pointwise | Random, "Fills the tensor with the exponentials of normal numbers.");

Tensor bernoulli_(const Tensor& self, double p, Generator* generator) {
  check(p >= 0.0 && p <= 1.0, Kind::Runtime, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  check(!is_complex(self.dtype()), Kind::NotImplemented,
        "\"bernoulli_scalar_cpu_\" not implemented for '", type_name(self.dtype()), "'");
  return draw_in_place("bernoulli_", self, generator, {Distribution::Bernoulli, p, 1.0});
}

}  // namespace ember
