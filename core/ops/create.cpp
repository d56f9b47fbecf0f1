// Tensors from nothing, filled with one value or with none; sequences are in ranges.cpp, data in
// python/data.cpp.
#include "ops/create.h"

namespace ember {

Tensor full(const Shape& shape, const Scalar& value, Dtype dtype, Device device) {
  Tensor out = empty(shape, dtype, device);
  backend_of(out).fill(out, value);
  return out;
}
Tensor zeros(const Shape& shape, Dtype dtype, Device device) {
  return full(shape, Scalar(0), dtype, device);
}
Tensor ones(const Shape& shape, Dtype dtype, Device device) {
  return full(shape, Scalar(1), dtype, device);
}
Tensor full_like(const Tensor& t, const Scalar& value) {
  Tensor out = empty_like(t);
  backend_of(out).fill(out, value);
  return out;
}
Tensor zeros_like(const Tensor& t) { return full_like(t, Scalar(0)); }
Tensor ones_like(const Tensor& t) { return full_like(t, Scalar(1)); }
Tensor scalar_tensor(const Scalar& value, Dtype dtype, Device device) {
  return full({}, value, dtype, device);
}

namespace create {

namespace {

double largest(Dtype d) {  // of dtypes of up to 32 bits
  if (d == Dtype::Float16) return 65504;
  if (d == Dtype::BFloat16) return 3.3895313892515355e38;
  if (d == Dtype::Float8_e4m3fn) return kFloat8Values<E4M3fn>.value[E4M3fn::kMost];
  if (d == Dtype::Float8_e5m2) return kFloat8Values<E5M2>.value[E5M2::kMost];
  if (d == Dtype::Float8_e4m3fnuz) return kFloat8Values<E4M3fnuz>.value[E4M3fnuz::kMost];
  if (d == Dtype::Float8_e5m2fnuz) return kFloat8Values<E5M2fnuz>.value[E5M2fnuz::kMost];
  if (d == Dtype::Float8_e8m0fnu) return kFloat8Values<E8M0fnu>.value[E8M0fnu::kMost];
  return double(std::numeric_limits<float>::max());
}

}  // namespace

void check_fits(const Scalar& s, Dtype d, bool halves) {
  auto refuse = [&] {
    fail(Kind::Runtime, "value cannot be converted to type ", d, " without overflow: Scalar ", s);
  };
  if (d == Dtype::Complex32 || d == Dtype::Complex64) {
    const complex128 v = s.to<complex128>();
    auto fits = [](double x) { return std::isinf(x) || !(std::abs(x) > largest(Dtype::Float32)); };
    if (!fits(v.real()) || !fits(v.imag())) refuse();
  }
  if (d == Dtype::Bool || is_complex(d)) return;
  if (s.is_complex() && s.to<complex128>().imag() != 0) refuse();
  if (d == Dtype::Float32 || (halves && is_narrow(d))) {
    const bool unbounded = !is_float8(d) || d == Dtype::Float8_e5m2;  // holds infinities
    if (!(std::isinf(s.real()) && unbounded) && std::abs(s.real()) > largest(d)) refuse();
    if (d == Dtype::Float8_e8m0fnu && s.is_float() && s.real() < 0) refuse();
  }
  if (!is_integral(d)) return;
  if (d == Dtype::UInt64 && s.is_int()) return;
  if (s.type() == Scalar::Type::UInt) refuse();
  with_dtype(d, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      constexpr double most = double(std::numeric_limits<T>::max());
      // Negative whole numbers wrap round in unsigned types.
      constexpr double least = double(std::numeric_limits<T>::min());
      constexpr double least_int = std::is_unsigned_v<T> ? -most : least;
      // As a double, the greatest number of 64 bits is one more than it is.
      auto above = [&](double v) { return sizeof(T) < 8 ? v > most : v >= most; };
      if (s.is_int() ? sizeof(T) < 8 && (above(s.to<double>()) || s.to<double>() < least_int)
                     : !(!above(s.real()) && s.real() >= least))
        refuse();
    }
  });
}

Tensor finish(Tensor t, bool requires_grad) {
  if (inference_mode()) t.impl()->inference = true;
  check(!requires_grad || is_differentiable(t.dtype()), Kind::Runtime,
        "Only Tensors of floating point and complex dtype can require gradients");
  if (requires_grad) set_requires_grad(t, true);
  return t;
}

bool fills_uninitialised = false;

Tensor uninitialised(Tensor t) {
  if (!fills_uninitialised || t.numel() == 0) return t;
  Scalar value(std::numeric_limits<double>::quiet_NaN());
  if (t.dtype() == Dtype::Bool) value = Scalar(true);
  if (is_integral(t.dtype()))
    with_dtype(t.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<T>)
        value = Scalar::of_unsigned(uint64_t(std::numeric_limits<T>::max()));
    });
  backend_of(t).fill(t, value);
  return t;
}

Tensor target(const char* op, Dest dest, const Shape& shape, MaybeDtype dtype, Dtype otherwise,
              MaybeDevice device) {
  if (!dest.tensor) return empty(shape, dtype.value_or(otherwise), device_or_default(device));
  const Tensor& out = *dest.tensor;
  check(!dtype || *dtype == out.dtype(), Kind::Runtime, op, "(): dtype ", dtype.value_or(otherwise),
        " does not match dtype of out parameter (", out.dtype(), ")");
  check(!device || device->kind == out.device().kind, Kind::Runtime, op, "(): device ",
        device_or_default(device), " does not match device of out parameter (", out.device(), ")");
  Tensor t = output_for(op, dest, shape, out.dtype(), out.device());
  bump_version(t);
  return t;
}

}  // namespace create

using namespace create;

namespace {

Tensor fill(Tensor t, const Scalar& value) {
  check_fits(value, t.dtype(), true);
  backend_of(t).fill(t, value);
  return t;
}

Shape strides_of(const char* op, const Shape& shape, MaybeFormat format) {
  if (!format || *format == MemoryFormat::Contiguous) return contiguous_strides(shape);
  check(*format != MemoryFormat::Preserve, Kind::Runtime, op,
        "(): memory_format=torch.preserve_format needs a tensor whose format to preserve");
  int rank = *format == MemoryFormat::ChannelsLast ? 4 : 5;
  check(shape.size() == rank, Kind::Runtime, "required rank ", rank, " tensor to use channels_last",
        rank == 5 ? "_3d" : "", " format");
  return channels_last_strides(shape);
}

}  // namespace

EMBER_OP("empty(Size size, " OPTIONS ", Format? memory_format=None) -> Tensor",
         ([](const Shape& size, OPTION_PARAMS, MaybeFormat format, Dest dest) {
           if (dest.tensor || !format || *format == MemoryFormat::Contiguous)
             return finish(
                 uninitialised(target("empty", dest, size, dtype, default_dtype(), device)),
                 requires_grad);
           return finish(uninitialised(empty_strided(size, strides_of("empty", size, format),
                                                     dtype.value_or(default_dtype()),
                                                     device_or_default(device))),
                         requires_grad);
         }),
         Function | Out | Factory, "A tensor with uninitialised elements.");
EMBER_OP("zeros(Size size, " OPTIONS ") -> Tensor",
         ([](const Shape& size, OPTION_PARAMS, Dest dest) {
           for (int64_t n : size)
             check(n >= 0, Kind::Runtime, "zeros: Dimension size must be non-negative. Got ", n);
           return finish(
               fill(target("zeros", dest, size, dtype, default_dtype(), device), Scalar(0)),
               requires_grad);
         }),
         Function | Out | Factory, "A tensor filled with 0.");
EMBER_OP("ones(Size size, " OPTIONS ") -> Tensor",
         ([](const Shape& size, OPTION_PARAMS, Dest dest) {
           return finish(
               fill(target("ones", dest, size, dtype, default_dtype(), device), Scalar(1)),
               requires_grad);
         }),
         Function | Out | Factory, "A tensor filled with 1.");
EMBER_OP("full(Size size, Scalar fill_value, " OPTIONS ") -> Tensor",
         ([](const Shape& size, const Scalar& value, OPTION_PARAMS, Dest dest) {
           const Dtype own = dtype_of_scalar(value);
           const Dtype inferred = own == Dtype::UInt64 ? Dtype::Int64 : own;  // and so an error
           return finish(fill(target("full", dest, size, dtype, inferred, device), value),
                         requires_grad);
         }),
         Function | Out | Factory, "A tensor filled with a number.");
EMBER_OP("scalar_tensor(Scalar s, " OPTIONS ") -> Tensor", ([](const Scalar& value, OPTION_PARAMS) {
           return finish(
               fill(target("scalar_tensor", {}, {}, dtype, default_dtype(), device), value),
               requires_grad);
         }),
         Function | Factory, "A 0-d tensor, of the default dtype unless `dtype` is given.");
EMBER_OP("empty_strided(Size size, Size stride, " OPTIONS ") -> Tensor",
         ([](const Shape& size, const Shape& stride, OPTION_PARAMS) {
           return finish(uninitialised(empty_strided(size, stride, dtype.value_or(default_dtype()),
                                                     device_or_default(device))),
                         requires_grad);
         }),
         Function | Factory, "A tensor with uninitialised elements and the given strides.");
EMBER_OP("empty_permuted(Size size, Size physical_layout, " OPTIONS ") -> Tensor",
         ([](const Shape& size, const Shape& layout, OPTION_PARAMS) {
           int n = size.size();
           check(layout.size() == n, Kind::Runtime,
                 "Number of dimensions in size does not match the length of the "
                 "physical_layout; i.e. len(size) = ",
                 n, " is not equal to len(physical_layout) = ", layout.size());
           Shape strides = Shape::filled(n, -1);
           int64_t step = 1;
           for (int i = n - 1; i >= 0; i--) {
             check(layout[i] >= 0 && layout[i] < n, Kind::Runtime,
                   "Dimension out of range (expected to be between 0 and ", n - 1, ", but got ",
                   layout[i], " at index ", i,
                   "). NB: negative dims not currently supported; file an "
                   "issue if you want it.");
             check(strides[layout[i]] < 0, Kind::Runtime, "Duplicate dim not allowed, got ",
                   layout);
             strides[layout[i]] = step;
             step = size_product("empty_permuted", step, std::max<int64_t>(size[layout[i]], 1));
           }
           return finish(uninitialised(empty_strided(size, strides, dtype.value_or(default_dtype()),
                                                     device_or_default(device))),
                         requires_grad);
         }),
         Function | Factory,
         "A tensor with uninitialised elements whose dimensions lie in memory in the order "
         "`physical_layout`.");

// --- like another tensor -------------------------------------------------------------------------

namespace {

Tensor like(const Tensor& self, OPTION_PARAMS, MaybeFormat format,
            const std::optional<Scalar>& value) {
  Dtype t = dtype.value_or(self.dtype());
  Device d = device.value_or(self.device());
  MemoryFormat f = format.value_or(MemoryFormat::Preserve);
  Tensor out =
      f == MemoryFormat::Preserve
          ? empty_strided(self.shape(), preserved_strides(self.shape(), self.strides()), t, d)
          : empty_strided(self.shape(), strides_of("empty_like", self.shape(), f), t, d);
  return finish(value ? fill(out, *value) : uninitialised(out), requires_grad);
}

Tensor new_filled(const Tensor& self, const Shape& size, OPTION_PARAMS,
                  const std::optional<Scalar>& value) {
  Tensor out = empty(size, dtype.value_or(self.dtype()), device.value_or(self.device()));
  return finish(value ? fill(out, *value) : uninitialised(out), requires_grad);
}

}  // namespace

#define LIKE(name, value, doc)                                                                     \
  EMBER_OP(#name "_like(Tensor self, " OPTIONS ", Format? memory_format=None) -> Tensor",          \
           ([](const Tensor& self, OPTION_PARAMS, MaybeFormat format) {                            \
             return like(self, dtype, nullptr, device, std::nullopt, requires_grad, format,        \
                         value);                                                                   \
           }),                                                                                     \
           Function | Pointwise, "A tensor of the shape, dtype and device of another, " doc ".");  \
  EMBER_OP(                                                                                        \
      "new_" #name "(Tensor self, Size size, " OPTIONS ") -> Tensor",                              \
      ([](const Tensor& self, const Shape& size, OPTION_PARAMS) {                                  \
        return new_filled(self, size, dtype, nullptr, device, std::nullopt, requires_grad, value); \
      }),                                                                                          \
      Method | Factory, "A tensor of the given shape and the same dtype and device, " doc ".")
LIKE(empty, std::nullopt, "with uninitialised elements");
LIKE(zeros, Scalar(0), "filled with 0");
LIKE(ones, Scalar(1), "filled with 1");
#undef LIKE

EMBER_OP("full_like(Tensor self, Scalar fill_value, " OPTIONS
         ", Format? memory_format=None) -> Tensor",
         ([](const Tensor& self, const Scalar& value, OPTION_PARAMS, MaybeFormat format) {
           return like(self, dtype, nullptr, device, std::nullopt, requires_grad, format, value);
         }),
         Function | Pointwise,
         "A tensor of the shape, dtype and device of another, filled with a number.");
EMBER_OP("new_full(Tensor self, Size size, Scalar fill_value, " OPTIONS ") -> Tensor",
         ([](const Tensor& self, const Shape& size, const Scalar& value, OPTION_PARAMS) {
           return new_filled(self, size, dtype, nullptr, device, std::nullopt, requires_grad,
                             value);
         }),
         Method | Factory,
         "A tensor of the given shape and the same dtype and device, filled with a number.");
EMBER_OP("new_empty_strided(Tensor self, Size size, Size stride, " OPTIONS ") -> Tensor",
         ([](const Tensor& self, const Shape& size, const Shape& stride, OPTION_PARAMS) {
           return finish(uninitialised(empty_strided(size, stride, dtype.value_or(self.dtype()),
                                                     device.value_or(self.device()))),
                         requires_grad);
         }),
         Method | Factory,
         "A tensor of the given shape and strides and the same dtype and device, with "
         "uninitialised elements.");

// --- other sizes ---------------------------------------------------------------------------------

namespace {

Tensor resize_(const Tensor& self, const Shape& size, MaybeFormat format) {
  check(!self.requires_grad(), Kind::Runtime, "cannot resize variables that require grad");
  for (int64_t n : size)
    check(n >= 0, Kind::Runtime, "resize_(): Trying to create tensor with negative dimension ", n,
          ": ", size);
  if (self.shape() == size && (!format || *format == MemoryFormat::Contiguous)) return self;
  const int64_t before = self.storage()->bytes / self.item_size();
  resize(self, size, strides_of("resize_", size, format));
  const int64_t added = self.storage()->bytes / self.item_size() - before;
  if (added > 0) uninitialised(alias(self, {added}, {1}, before));
  bump_version(self);
  return self;
}

}  // namespace

EMBER_OP("resize_(Tensor self, Size size, *, Format? memory_format=None) -> Tensor", &resize_,
         Method | Whole,
         "Gives the tensor another shape, in more memory if it needs more; new elements are "
         "uninitialised.");
EMBER_OP("resize_as_(Tensor self, Tensor the_template, *, Format? memory_format=None) -> Tensor",
         ([](const Tensor& self, const Tensor& other, MaybeFormat format) {
           if (format && *format == MemoryFormat::Preserve) {
             const bool dense =
                 !other.is_contiguous() && other.strides() == channels_last_strides(other.shape());
             format = std::nullopt;
             if (dense && other.dim() == 4) format = MemoryFormat::ChannelsLast;
             if (dense && other.dim() == 5) format = MemoryFormat::ChannelsLast3d;
           }
           return resize_(self, other.shape(), format);
         }),
         kForms | Whole, "Gives the tensor the shape of another, in more memory if it needs more.");

}  // namespace ember
