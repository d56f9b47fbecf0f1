// Tensors from nothing: empty, zeros, ones, full, arange, linspace, eye ...
#include "ops/ops.h"

namespace ember {

Tensor full(const Shape& shape, const Scalar& value, Dtype dtype, Device device) {
  Tensor out = empty(shape, dtype, device);
  backend_of(out).fill(out, value);
  return out;
}
Tensor zeros(const Shape& shape, Dtype dtype, Device device) { return full(shape, Scalar(0), dtype, device); }
Tensor ones(const Shape& shape, Dtype dtype, Device device) { return full(shape, Scalar(1), dtype, device); }
Tensor full_like(const Tensor& t, const Scalar& value) {
  Tensor out = empty_like(t);
  backend_of(out).fill(out, value);
  return out;
}
Tensor zeros_like(const Tensor& t) { return full_like(t, Scalar(0)); }
Tensor ones_like(const Tensor& t) { return full_like(t, Scalar(1)); }
Tensor scalar_tensor(const Scalar& value, Dtype dtype, Device device) { return full({}, value, dtype, device); }

namespace {

Tensor finish(Tensor t, bool requires_grad) {
  if (inference_mode()) t.impl()->inference = true;
  if (requires_grad) set_requires_grad(t, true);
  return t;
}
Device device_or_default(std::optional<Device> d) { return d.value_or(default_device()); }

using MaybeDtype = std::optional<Dtype>;
using MaybeDevice = std::optional<Device>;

}  // namespace

// `layout` and `pin_memory` are accepted as torch does; there is one layout, and all host memory will do.
#define OPTIONS "*, Dtype? dtype=None, Any layout=None, Device? device=None, bool? pin_memory=None, bool requires_grad=False"
#define OPTION_PARAMS MaybeDtype dtype, void*, MaybeDevice device, std::optional<bool>, bool requires_grad

EMBER_OP("empty(Size size, " OPTIONS ", Format? memory_format=None) -> Tensor",
         ([](const Shape& size, OPTION_PARAMS, std::optional<MemoryFormat> format) {
           Dtype t = dtype.value_or(default_dtype());
           bool last = format && *format >= MemoryFormat::ChannelsLast;
           return finish(last ? empty_strided(size, channels_last_strides(size), t, device_or_default(device))
                              : empty(size, t, device_or_default(device)),
                         requires_grad);
         }),
         Function | Out, "A tensor with uninitialised elements.");
EMBER_OP("zeros(Size size, " OPTIONS ") -> Tensor",
         ([](const Shape& size, OPTION_PARAMS) {
           return finish(zeros(size, dtype.value_or(default_dtype()), device_or_default(device)), requires_grad);
         }),
         Function | Out, "A tensor filled with 0.");
EMBER_OP("ones(Size size, " OPTIONS ") -> Tensor",
         ([](const Shape& size, OPTION_PARAMS) {
           return finish(ones(size, dtype.value_or(default_dtype()), device_or_default(device)), requires_grad);
         }),
         Function | Out, "A tensor filled with 1.");
EMBER_OP("full(Size size, Scalar fill_value, " OPTIONS ") -> Tensor",
         ([](const Shape& size, const Scalar& value, OPTION_PARAMS) {
           return finish(full(size, value, dtype.value_or(dtype_of_scalar(value)), device_or_default(device)),
                         requires_grad);
         }),
         Function | Out, "A tensor filled with a number.");

}  // namespace ember
