#include "backend.h"

namespace ember {

void register_backend(const std::string& name, Backend* backend) {
  uint8_t kind = register_device_kind(name);
  backend->name_ = name;
  backend->kind_ = kind;
  backends[kind] = backend;
}

}  // namespace ember
