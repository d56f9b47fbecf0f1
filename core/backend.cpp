#include "backend.h"

namespace ember {

void register_backend(const std::string& name, Backend* backend) {
  uint8_t kind = register_device_kind(name);
  backend->name_ = name;
  backend->kind_ = kind;
  backends[kind] = backend;
}

void Backend::random(const Tensor& out, Generator& g, const Draw& draw) {
  Tensor ordered = random::in_memory_order(out, out);
  bool here = out.device().is_cpu(), whole = ordered.is_contiguous();
  Tensor drawn = here && whole ? ordered : empty(ordered.shape(), out.dtype());
  random::fill(drawn.data(), drawn.numel(), out.dtype(), out.is_contiguous(), g, draw);
  if (here) {
    if (!whole) copy(ordered, drawn);
    return;
  }
  Tensor moved = whole ? ordered : empty(ordered.shape(), out.dtype(), out.device());
  copy_from_host(moved, drawn.data());
  if (!whole) copy(ordered, moved);
}

}  // namespace ember
