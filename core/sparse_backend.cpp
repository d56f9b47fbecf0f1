// The device of sparse tensors: no memory, and every primitive fails (tensor/sparse.h says why).
#include "backend.h"
#include "tensor/sparse.h"

namespace ember {

namespace {

template <class... T>
[[noreturn]] void refuse_all(const T&...) {
  fail(Kind::NotImplemented,
       "this operation is not implemented for sparse tensors; use to_dense() on them first");
}

class SparseBackend final : public Backend {
 public:
  void* allocate(int64_t bytes) override {
    if (bytes) refuse_all();
    return nullptr;
  }
  void deallocate(void*, int64_t) override {}
  void copy_bytes(void*, const void*, int64_t) override { refuse_all(); }
  void copy_from_host(const Tensor&, const void*) override { refuse_all(); }
  void copy_to_host(void*, const Tensor&) override { refuse_all(); }
#define PRIMITIVE(need, result, name, ...) \
  result name(EMBER_PARAMETERS(__VA_ARGS__)) override { refuse_all(EMBER_NAMES(__VA_ARGS__)); }
#include "primitives.h"
};

}  // namespace

Tensor empty_sparse(const Shape& shape, Dtype dtype) {
  if (sparse_kind == 255) {
    register_backend("sparse", new SparseBackend, {});  // ops ask has(): it has none
    sparse_kind = register_device_kind("sparse");
  }
  int64_t numel = 1;
  for (int64_t d : shape) {
    check(d >= 0, Kind::Runtime, "Trying to create tensor with negative dimension ", d, ": ",
          shape);
    check(!__builtin_mul_overflow(numel, d, &numel), Kind::Runtime,
          "sparse tensor: the number of elements of ", shape, " does not fit an int64");
  }
  Tensor t = empty({0}, dtype, Device(sparse_kind));
  set_geometry(t, shape, Shape::filled(shape.size(), 0), 0);
  t.storage()->resizable = false;
  return t;
}

}  // namespace ember
