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
// With the same layout, as all memory between the first element and the last is copied.
Tensor to_host(const Tensor& t) {
  Tensor there = span_of(t), here = empty(there.shape(), t.dtype());
  backend_of(t).copy_to_host(here.data(), there);
  return alias(here, t.shape(), t.strides(), t.offset() - there.offset());
}
void to_device(const Tensor& t, const Tensor& host) {
  backend_of(t).copy_from_host(span_of(t), span_of(host).data());
}
}  // namespace

Backend& host() { return backend_of(Device()); }

void Journey::move(Role role, Tensor& t) {
  if (!t) return;
  Tensor here = to_host(t);
  if (role != Role::In) written_.emplace_back(t, here);
  t = here;
}
void Journey::move(Role role, TensorList& list) {
  for (Tensor& t : list) move(role, t);
}
void Journey::move(Role, Input& in) {
  if (!in.tensor) return;
  in.tensor = &inputs_.emplace_back(to_host(in.spread(first_.shape())));
  in.strides = nullptr;
}
void Journey::bring_back() const {
  for (const auto& [there, here] : written_) to_device(there, here);
}
Tensor Journey::home(const Tensor& t) const {
  Tensor out = empty_strided(t.shape(), t.strides(), t.dtype(), first_.device());
  to_device(out, t);
  return out;
}

}  // namespace ember::opencl
