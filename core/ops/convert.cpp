// Conversions by name (float(), cpu(), type_as ...) and questions about dtypes.
#include "ops/devices.h"
#include "ops/ops.h"

namespace ember {

namespace {

using MaybeFormat = std::optional<MemoryFormat>;

template <Dtype dtype>
Tensor to_dtype(const Tensor& self, MaybeFormat format) {
  return to(self, std::nullopt, dtype, false, format);
}

}  // namespace

#define CONVERSION(name, dtype)                                            \
  EMBER_OP(#name "(Tensor self, *, Format? memory_format=None) -> Tensor", \
           (to_dtype<Dtype::dtype>), Method | Pointwise,                   \
           "The tensor in another dtype, that of this name; itself if it has it.")
CONVERSION(float, Float32);
CONVERSION(double, Float64);
CONVERSION(half, Float16);
CONVERSION(bfloat16, BFloat16);
CONVERSION(int, Int32);
CONVERSION(long, Int64);
CONVERSION(short, Int16);
CONVERSION(char, Int8);
CONVERSION(byte, UInt8);
CONVERSION(bool, Bool);
CONVERSION(cfloat, Complex64);
CONVERSION(cdouble, Complex128);
CONVERSION(chalf, Complex32);
#undef CONVERSION

EMBER_OP("cpu(Tensor self, *, Format? memory_format=None) -> Tensor",
         ([](const Tensor& self, MaybeFormat format) {
           return to(self, Device(), std::nullopt, false, format);
         }),
         Method | Pointwise, "The tensor in host memory; itself if it is there.");
EMBER_OP("type_as(Tensor self, Tensor other) -> Tensor",
         ([](const Tensor& self, const Tensor& other) {
           return to(self, other.device(), other.dtype());
         }),
         Method | Pointwise, "The tensor with the dtype and device of `other`.");
EMBER_OP("pin_memory(Tensor self, Device? device=None) -> Tensor",
         ([](const Tensor& self, std::optional<Device>) { return self; }), Method | Pointwise,
         "The tensor itself: host memory need not be pinned for ember's devices.");

EMBER_OP("is_floating_point(Tensor self) -> bool",
         ([](const Tensor& t) { return is_any_floating(t.dtype()); }), kForms | Query,
         "Whether the elements are real floating point numbers.");
EMBER_OP("is_complex(Tensor self) -> bool", ([](const Tensor& t) { return is_complex(t.dtype()); }),
         kForms | Query, "Whether the elements are complex numbers.");
EMBER_OP("is_signed(Tensor self) -> bool", ([](const Tensor& t) { return is_signed(t.dtype()); }),
         kForms | Query, "Whether elements can be negative.");
EMBER_OP("numel(Tensor self) -> int", ([](const Tensor& t) { return t.numel(); }), Function | Query,
         "Number of elements.");
EMBER_OP("is_nonzero(Tensor self) -> bool", ([](const Tensor& t) {
           check(t.numel() != 0, Kind::Runtime,
                 "Boolean value of Tensor with no values is ambiguous");
           check(t.numel() == 1, Kind::Runtime,
                 "Boolean value of Tensor with more than one value is ambiguous");
           return item(t).to<bool>();
         }),
         kForms | DataDependent, "Whether a tensor with one element is not zero.");
EMBER_OP("is_inference(Tensor self) -> bool", ([](const Tensor& t) { return t.impl()->inference; }),
         Function | Query, "Whether the tensor was made in inference mode.");
EMBER_OP("get_device(Tensor self) -> int", ([](const Tensor& t) {
           return int64_t(on_host(t) ? -1 : std::max<int>(t.device().index, 0));
         }),
         Function | Query, "Index of the tensor's device; -1 for the CPU.");
EMBER_OP("to_dense(Tensor self, Dtype? dtype=None, *, bool? masked_grad=None) -> Tensor",
         ([](const Tensor& self, std::optional<Dtype> dtype, std::optional<bool>) {
           return to(self, std::nullopt, dtype);
         }),
         Method | Pointwise,
         "The tensor itself, in another dtype if one is given: all tensors are dense.");
EMBER_OP("is_same_size(Tensor self, Tensor other) -> bool",
         ([](const Tensor& a, const Tensor& b) { return a.shape() == b.shape(); }), kForms | Query,
         "Whether two tensors have the same shape.");
}  // namespace ember
