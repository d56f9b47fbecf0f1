// The options that all functions share which make tensors from nothing.
#pragma once

#include <cmath>
#include <limits>

#include "ops/ops.h"

namespace ember::create {

using MaybeDtype = std::optional<Dtype>;
using MaybeDevice = std::optional<Device>;
using MaybeFormat = std::optional<MemoryFormat>;

// `layout` and `pin_memory` are accepted as torch does; there is one layout, and all host memory
// will do.
#define OPTIONS                                                                              \
  "*, Dtype? dtype=None, Any layout=None, Device? device=None, bool? pin_memory=None, bool " \
  "requires_grad=False"
#define OPTION_PARAMS                                                                             \
  [[maybe_unused]] create::MaybeDtype dtype, void *, [[maybe_unused]] create::MaybeDevice device, \
      std::optional<bool>, [[maybe_unused]] bool requires_grad

inline Device device_or_default(MaybeDevice d) { return d.value_or(default_device()); }
// Refuses a number that an element of dtype `d` cannot hold, as torch does: 300 in uint8, 1j in
// float32.
// `halves`: refuse numbers beyond float16 and bfloat16 too, which become infinite otherwise.
void check_fits(const Scalar& s, Dtype d, bool halves = false);
// The same of a number in a formula of `self`'s dtype: those beyond float32 exist in float64 only.
inline double fitting(const Tensor& self, double number) {
  check(self.dtype() == Dtype::Float64 || std::isinf(number) ||
            !(std::abs(number) > std::numeric_limits<float>::max()),
        Kind::Runtime, "value cannot be converted to type float without overflow: ", number);
  return number;
}
// Whether memory that nobody has written to is filled, with NaN or the greatest number: in
// deterministic mode, so that a program which reads it gets the same each time.
extern bool fills_uninitialised;
Tensor uninitialised(Tensor t);
// Notes inference mode and requires_grad on a new tensor.
Tensor finish(Tensor t, bool requires_grad);
// The tensor to fill: new, or out= (whose dtype then holds).
Tensor target(const char* op, Dest dest, const Shape& shape, MaybeDtype dtype, Dtype otherwise,
              MaybeDevice device);

}  // namespace ember::create
