// Moving operands between the device and the host.
#include "opencl/fallback.h"

#include <cstdlib>
#include <cstring>

#include "opencl/device.h"

namespace ember::opencl {

bool falls_back() {
  const char* text = std::getenv("EMBER_OPENCL_FALLBACK");
  return text && std::strcmp(text, "1") == 0;
}

bool is_missing(const Error& e) {
  return e.kind() == Kind::NotImplemented ||
         (e.kind() == Kind::Type && !context().properties.has_double);
}

namespace {
// All elements from the first of t in memory to its last.
Tensor span_of(const Tensor& t) {
  int64_t first = t.offset(), last = first;
  for (int d = 0; d < t.dim(); d++)
    (t.stride(d) < 0 ? first : last) += (t.size(d) - 1) * t.stride(d);
  return alias(t, {t.numel() ? last - first + 1 : 0}, {1}, first);
}
}  // namespace

Tensor to_host(const Tensor& t) {
  Tensor there = span_of(t), here = empty(there.shape(), t.dtype());
  backend_of(t).copy_to_host(here.data(), there);
  return alias(here, t.shape(), t.strides(), t.offset() - there.offset());
}
void to_device(const Tensor& t, const Tensor& host) {
  backend_of(t).copy_from_host(span_of(t), span_of(host).data());
}

Backend& host() { return backend_of(empty({0}, Dtype::Float32)); }
Tensor home(const Tensor& t, Device device) {
  Tensor out = empty_strided(t.shape(), t.strides(), t.dtype(), device);
  to_device(out, t);
  return out;
}

}  // namespace ember::opencl
