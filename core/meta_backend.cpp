// The meta device: shapes and dtypes without data. Every primitive does nothing.
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
  void copy(const Tensor&, const Tensor&) override {}
  void fill(const Tensor&, const Scalar&) override {}
  void unary(Unary, Dtype, const Tensor&, const Input&, const Params&) override {}
  void binary(Binary, Dtype, const Tensor&, const Input&, const Input&) override {}
  void predicate(Predicate, Dtype, const Tensor&, const Input&) override {}
  void compare(Compare, Dtype, const Tensor&, const Input&, const Input&, const Params&) override {}
  void ternary(Ternary, Dtype, const Tensor&, const Input&, const Input&, const Input&,
               const Params&) override {}
  bool unary_grad(Unary, Dtype, const Tensor&, const Input&, const Input&, const Params&) override {
    return true;
  }
  void cholesky(const Tensor&, const Tensor&) override {}
  void solve_triangular(const Tensor&, const Tensor&, bool, bool, bool) override {}
  void index_get(const Tensor&, const Tensor&, const Indexing&) override {}
  void index_put(const Tensor&, const Indexing&, const Tensor&, ScatterMode) override {}
  void gather(const Tensor&, const Tensor&, int, const Tensor&) override {}
  void scatter(const Tensor&, int, const Tensor&, const Tensor&, ScatterMode) override {}
  void masked_scatter(const Tensor&, const Tensor&, const Tensor&) override {}
  void flip(const Tensor&, const Tensor&, const Shape&) override {}
  void join(const Tensor&, const TensorList&, int) override {}
  void reduce(Reduction, const Tensor&, const Tensor&, const Shape&, double) override {}
  void extremes(const Tensor&, const Tensor&, const Tensor&, int, bool) override {}
  void variance(const Tensor&, const Tensor&, const Tensor&, const Shape&, double, bool) override {}
  void arange(const Tensor&, const Scalar&, const Scalar&) override {}
  void triangle(const Tensor&, const Tensor&, int64_t, bool) override {}
  void random(const Tensor&, Generator&, const Draw&) override {}
  void matmul(const Tensor&, const Tensor&, const Tensor&, const Scalar&, const Scalar&) override {}
  void scan(Scan, const Tensor&, const Tensor&, const Tensor&, int) override {}
  void sort(const Tensor&, const Tensor&, const Tensor&, int, bool) override {}
  void topk(const Tensor&, const Tensor&, const Tensor&, int, bool, bool) override {}
  void pick(const Tensor&, const Tensor&, const Tensor&, int, Rank, int64_t) override {}
  void search(const Tensor&, const Tensor&, const Tensor&, const Tensor&, bool) override {}
  void softmax(const Tensor&, const Tensor&, int, bool) override {}
  void softmax_grad(const Tensor&, const Tensor&, const Tensor&, int, bool) override {}
  void logsumexp(const Tensor&, const Tensor&, int) override {}
};

const bool registered = (register_backend("meta", new MetaBackend), true);

}  // namespace

}  // namespace ember
