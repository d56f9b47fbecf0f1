// The device of sparse tensors: no memory, and every primitive fails (tensor/sparse.h says why).
#include "backend.h"
#include "tensor/sparse.h"

namespace ember {

namespace {

[[noreturn]] void refuse() {
  fail(Kind::NotImplemented,
       "this operation is not implemented for sparse tensors; use to_dense() on them first");
}

class SparseBackend final : public Backend {
 public:
  void* allocate(int64_t bytes) override {
    if (bytes) refuse();
    return nullptr;
  }
  void deallocate(void*, int64_t) override {}
  void copy_bytes(void*, const void*, int64_t) override { refuse(); }
  void copy_from_host(const Tensor&, const void*) override { refuse(); }
  void copy_to_host(void*, const Tensor&) override { refuse(); }
  void copy(const Tensor&, const Tensor&) override { refuse(); }
  void fill(const Tensor&, const Scalar&) override { refuse(); }
  void unary(Unary, Dtype, const Tensor&, const Input&, const Params&) override { refuse(); }
  void binary(Binary, Dtype, const Tensor&, const Input&, const Input&) override { refuse(); }
  void predicate(Predicate, Dtype, const Tensor&, const Input&) override { refuse(); }
  void compare(Compare, Dtype, const Tensor&, const Input&, const Input&, const Params&) override {
    refuse();
  }
  void ternary(Ternary, Dtype, const Tensor&, const Input&, const Input&, const Input&,
               const Params&) override {
    refuse();
  }
  bool unary_grad(Unary, Dtype, const Tensor&, const Input&, const Input&, const Params&) override {
    refuse();
  }
  void reduce(Reduction, const Tensor&, const Tensor&, const Shape&, double) override { refuse(); }
  void extremes(const Tensor&, const Tensor&, const Tensor&, int, bool) override { refuse(); }
  void variance(const Tensor&, const Tensor&, const Tensor&, const Shape&, double, bool) override {
    refuse();
  }
  void index_get(const Tensor&, const Tensor&, const Indexing&) override { refuse(); }
  void index_put(const Tensor&, const Indexing&, const Tensor&, ScatterMode) override { refuse(); }
  void gather(const Tensor&, const Tensor&, int, const Tensor&) override { refuse(); }
  void scatter(const Tensor&, int, const Tensor&, const Tensor&, ScatterMode) override { refuse(); }
  Tensor nonzero(const Tensor&) override { refuse(); }
  Tensor masked_select(const Tensor&, const Tensor&) override { refuse(); }
  void masked_scatter(const Tensor&, const Tensor&, const Tensor&) override { refuse(); }
  void flip(const Tensor&, const Tensor&, const Shape&) override { refuse(); }
  Tensor repeated_positions(const Tensor&) override { refuse(); }
  void join(const Tensor&, const TensorList&, int) override { refuse(); }
  void arange(const Tensor&, const Scalar&, const Scalar&) override { refuse(); }
  void triangle(const Tensor&, const Tensor&, int64_t, bool) override { refuse(); }
  void matmul(const Tensor&, const Tensor&, const Tensor&, const Scalar&, const Scalar&) override {
    refuse();
  }
  void scan(Scan, const Tensor&, const Tensor&, const Tensor&, int) override { refuse(); }
  void sort(const Tensor&, const Tensor&, const Tensor&, int, bool) override { refuse(); }
  void topk(const Tensor&, const Tensor&, const Tensor&, int, bool, bool) override { refuse(); }
  void pick(const Tensor&, const Tensor&, const Tensor&, int, Rank, int64_t) override { refuse(); }
  void search(const Tensor&, const Tensor&, const Tensor&, const Tensor&, bool) override {
    refuse();
  }
  void cholesky(const Tensor&, const Tensor&) override { refuse(); }
  void solve_triangular(const Tensor&, const Tensor&, bool, bool, bool) override { refuse(); }
  void random(const Tensor&, Generator&, const Draw&) override { refuse(); }
};

}  // namespace

Tensor empty_sparse(const Shape& shape, Dtype dtype) {
  if (sparse_kind == 255) {
    register_backend("sparse", new SparseBackend);
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
