// The meta device: shapes and dtypes without data. Every primitive does nothing, but those whose
// result has a size that depends on data.
#include "backend.h"

namespace ember {

namespace {

class MetaBackend final : public Backend {
 public:
  void* allocate(int64_t) override { return nullptr; }
  void deallocate(void*, int64_t) override {}
  void copy_bytes(void*, const void*, int64_t) override {}
  void copy_from_host(const Tensor&, const void*) override {}
  void copy_to_host(void*, const Tensor&) override {
    fail(Kind::NotImplemented, "Cannot copy out of meta tensor; no data!");
  }
#define PRIMITIVE(need, result, name, ...)                                                 \
  result name(EMBER_PARAMETERS(__VA_ARGS__)) override {                                    \
    if constexpr (!std::is_void_v<result>) return Backend::name(EMBER_NAMES(__VA_ARGS__)); \
  }
#include "primitives.h"
};

const bool registered = (register_backend("meta", new MetaBackend), true);

}  // namespace

}  // namespace ember
