// The OpenCL backend: hands each primitive to its kernels. What has no kernel here raises
// NotImplementedError with the name of the primitive, or runs on the host if asked to
// (fallback.h).
#include "opencl/register.h"

#include "backend.h"
#include "opencl/fallback.h"
#include "opencl/kernels.h"
#include "opencl/random.h"
#include "opencl/transfer.h"

namespace ember::opencl {

namespace {

Tensor as_line(const Tensor& t) { return t.dim() ? t : alias(t, {1}, {1}, t.offset()); }

class OpenClBackend : public Backend {
 public:
  void* allocate(int64_t bytes) override { return bytes > 0 ? take_block(bytes) : nullptr; }
  void deallocate(void* data, int64_t) override {
    if (data) give_block(static_cast<Block*>(data));
  }
  void copy_bytes(void* to, const void* from, int64_t bytes) override {
    if (bytes > 0)
      opencl::copy_bytes(*static_cast<Block*>(to), *static_cast<const Block*>(from), bytes);
  }
  void copy_from_host(const Tensor& to, const void* from) override {
    if (to.numel()) write(to, from);
  }
  void copy_to_host(void* to, const Tensor& from) override {
    if (from.numel()) read(to, from);
  }
  void send(const Tensor& to, const Tensor& host) override {
    if (to.numel()) write_later(to, host);
  }
  void receive(const Tensor& host, const Tensor& from) override {
    if (from.numel()) read_later(host, from);
  }
  void synchronize() override { finish(context()); }
  int current_index() override { return current_device(); }
  void select(int index) override { opencl::select(index); }

  void copy(const Tensor& out, const Tensor& x) override { opencl::copy(out, x); }
  void fill(const Tensor& out, const Scalar& value) override { opencl::fill(out, value); }
  void unary(Unary f, Dtype compute, const Tensor& out, const Input& x, const Params& p) override {
    opencl::unary(f, compute, out, x, p);
  }
  void binary(Binary f, Dtype compute, const Tensor& out, const Input& a, const Input& b) override {
    opencl::binary(f, compute, out, a, b);
  }
  void predicate(Predicate f, Dtype compute, const Tensor& out, const Input& x) override {
    opencl::predicate(f, compute, out, x);
  }
  void compare(Compare f, Dtype compute, const Tensor& out, const Input& a, const Input& b,
               const Params& p) override {
    opencl::compare(f, compute, out, a, b, p);
  }
  void ternary(Ternary f, Dtype compute, const Tensor& out, const Input& a, const Input& b,
               const Input& c, const Params& p) override {
    opencl::ternary(f, compute, out, a, b, c, p);
  }
  bool unary_grad(Unary f, Dtype compute, const Tensor& out, const Input& g, const Input& keep,
                  const Params& p) override {
    return opencl::unary_grad(f, compute, out, g, keep, p);
  }

  void reduce(Reduction f, const Tensor& out, const Tensor& x, const Shape& dims,
              double p) override {
    opencl::reduce(f, out, x, dims, p);
  }
  void extremes(const Tensor& values, const Tensor& indices, const Tensor& x, int dim,
                bool most) override {
    opencl::extremes(values, indices, x, dim, most);
  }
  void variance(const Tensor& out, const Tensor& mean, const Tensor& x, const Shape& dims,
                double correction, bool root) override {
    opencl::variance(out, mean, x, dims, correction, root);
  }

  void index_get(const Tensor& out, const Tensor& x, const Indexing& at) override {
    opencl::index_get(out, x, at);
  }
  void index_put(const Tensor& self, const Indexing& at, const Tensor& values,
                 ScatterMode mode) override {
    opencl::index_put(self, at, values, mode);
  }
  void gather(const Tensor& out, const Tensor& x, int dim, const Tensor& index) override {
    opencl::gather(out, x, dim, index);
  }
  void scatter(const Tensor& self, int dim, const Tensor& index, const Tensor& src,
               ScatterMode mode) override {
    opencl::scatter(self, dim, index, src, mode);
  }
  Tensor nonzero(const Tensor& x) override { return opencl::nonzero(x); }
  Tensor repeated_positions(const Tensor& counts) override {
    return opencl::repeated_positions(counts);
  }
  // The defaults, for masks that have a dimension.
  Tensor masked_select(const Tensor& x, const Tensor& mask) override {
    return Backend::masked_select(as_line(x), as_line(mask));
  }
  void masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& src) override {
    Backend::masked_scatter(as_line(self), as_line(mask), src);
  }
  void flip(const Tensor& out, const Tensor& x, const Shape& dims) override {
    Shape strides = x.strides();
    int64_t offset = x.offset();
    for (int64_t d : dims) {
      offset += (x.shape()[d] - 1) * strides[d];
      strides[d] = -strides[d];
    }
    if (x.numel()) opencl::copy(out, alias(x, x.shape(), strides, offset));
  }

  void matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha,
              const Scalar& beta) override {
    opencl::matmul(out, a, b, alpha, beta);
  }

  void scan(Scan f, const Tensor& out, const Tensor& indices, const Tensor& x, int dim) override {
    opencl::scan(f, out, indices, x, dim);
  }
  void sort(const Tensor& values, const Tensor& indices, const Tensor& x, int dim,
            bool descending) override {
    opencl::sort(values, indices, x, dim, descending);
  }
  void topk(const Tensor& values, const Tensor& indices, const Tensor& x, int dim, bool largest,
            bool) override {
    opencl::topk(values, indices, x, dim, largest);
  }
  void pick(const Tensor& values, const Tensor& indices, const Tensor& x, int dim, Rank rank,
            int64_t k) override {
    opencl::pick(values, indices, x, dim, rank, k);
  }
  void search(const Tensor& out, const Tensor& sorted, const Tensor& values, const Tensor& sorter,
              bool right) override {
    opencl::search(out, sorted, values, sorter, right);
  }
  void softmax(const Tensor& out, const Tensor& x, int dim, bool log) override {
    opencl::softmax(out, x, dim, log);
  }
  void softmax_grad(const Tensor& out, const Tensor& g, const Tensor& y, int dim,
                    bool log) override {
    opencl::softmax_grad(out, g, y, dim, log);
  }

  void random(const Tensor& out, Generator& g, const Draw& draw) override {
    opencl::random(out, g, draw);
  }

  void cholesky(const Tensor& matrices, const Tensor& info) override {
    opencl::cholesky(matrices, info);
  }
  void solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left,
                        bool unit) override {
    opencl::solve_triangular(a, b, upper, left, unit);
  }

  ConvKernels* conv() override { return conv_kernels(); }
  SegmentKernels* segment() override { return segment_kernels(); }
  RecurrentKernels* recurrent() override { return recurrent_kernels(); }
  LossKernels* loss() override { return loss_kernels(); }
  OptimKernels* optim() override { return optim_kernels(); }
  NormKernels* norm() override { return norm_kernels(); }
  PoolKernels* pool() override { return pool_kernels(); }
  FftKernels* fft() override { return &fft_kernels(); }
  LinalgKernels* linalg() override { return &linalg_kernels(); }
};

}  // namespace

void register_device() {
  static const bool once = [] {
    Backend* fallback = falls_back() ? new EitherBackend<OpenClBackend> : nullptr;
    register_backend("opencl", fallback ? fallback : new OpenClBackend);
    return true;
  }();
  (void)once;
}

}  // namespace ember::opencl
