// Memory and devices of the OpenCL backend, the primitives that are moves of memory only, and how
// it is registered.
#include "opencl/opencl_backend.h"

#include "opencl/device.h"
#include "opencl/fallback.h"
#include "opencl/register.h"
#include "opencl/transfer.h"

namespace ember::opencl {

namespace {

Tensor as_line(const Tensor& t) { return t.dim() ? t : alias(t, {1}, {1}, t.offset()); }

}  // namespace

OpenClBackend& own() {
  static OpenClBackend backend;
  return backend;
}

bool OpenClBackend::takes(Primitive p, Dtype dtype) const {
  if (real_of(dtype) == Dtype::Float64 && !context().properties.has_double) return falls_back();
  return p != Primitive::recurrent || dtype == Dtype::Float32 || dtype == Dtype::Float64;
}

void* OpenClBackend::allocate(int64_t bytes) { return bytes > 0 ? take_block(bytes) : nullptr; }
void OpenClBackend::deallocate(void* data, int64_t) {
  if (data) give_block(static_cast<Block*>(data));
}
void OpenClBackend::copy_bytes(void* to, const void* from, int64_t bytes) {
  if (bytes > 0)
    opencl::copy_bytes(*static_cast<Block*>(to), *static_cast<const Block*>(from), bytes);
}
void OpenClBackend::copy_from_host(const Tensor& to, const void* from) {
  if (to.numel()) write(to, from);
}
void OpenClBackend::copy_to_host(void* to, const Tensor& from) {
  if (from.numel()) read(to, from);
}
void OpenClBackend::send(const Tensor& to, const Tensor& host) {
  if (to.numel()) write_later(to, host);
}
void OpenClBackend::receive(const Tensor& host, const Tensor& from) {
  if (from.numel()) read_later(host, from);
}
void OpenClBackend::synchronize() { finish(context()); }
int OpenClBackend::current_index() { return current_device(); }
void OpenClBackend::select(int index) { opencl::select(index); }

// The defaults, for masks that have a dimension.
Tensor OpenClBackend::masked_select(const Tensor& x, const Tensor& mask) {
  return Backend::masked_select(as_line(x), as_line(mask));
}
void OpenClBackend::masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& src) {
  Backend::masked_scatter(as_line(self), as_line(mask), src);
}
void OpenClBackend::flip(const Tensor& out, const Tensor& x, const Shape& dims) {
  Shape strides = x.strides();
  int64_t offset = x.offset();
  for (int64_t d : dims) {
    offset += (x.shape()[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  if (x.numel()) copy(out, alias(x, x.shape(), strides, offset));
}

void register_device() {
  static const bool once = [] {
    static EitherBackend either;
    Backend& backend = falls_back() ? either : own();
    register_backend("opencl", &backend, primitives_of<OpenClBackend>());
    return true;
  }();
  (void)once;
}

}  // namespace ember::opencl
