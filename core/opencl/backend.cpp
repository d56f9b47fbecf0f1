// The OpenCL backend: hands each primitive to its kernels. What has no kernel here raises
// NotImplementedError with the name of the primitive, or runs on the host if
// EMBER_OPENCL_FALLBACK=1 asks for that.
#include "opencl/register.h"

#include <cstdlib>
#include <cstring>

#include "backend.h"
#include "opencl/device.h"
#include "opencl/kernels.h"
#include "opencl/launch.h"

namespace ember::opencl {

namespace {

bool falls_back() {
  static const bool asked = [] {
    const char* text = std::getenv("EMBER_OPENCL_FALLBACK");
    return text && std::strcmp(text, "1") == 0;
  }();
  return asked;
}

Tensor to_host(const Tensor& t) {
  if (!t) return t;
  Tensor dense = t, host = empty(t.shape(), t.dtype());
  if (!t.is_contiguous()) {
    dense = empty(t.shape(), t.dtype(), t.device());
    copy(dense, t);
  }
  backend_of(t).copy_to_host(host.data(), dense);
  return host;
}
Tensor as_line(const Tensor& t) { return t.dim() ? t : alias(t, {1}, {1}, t.offset()); }
void to_device(const Tensor& t, const Tensor& host) {
  if (!t) return;
  Tensor dense = t.is_contiguous() ? t : empty(t.shape(), t.dtype(), t.device());
  backend_of(t).copy_from_host(dense, host.data());
  if (!dense.same(t)) copy(t, dense);
}

class OpenClBackend final : public Backend {
 public:
  void* allocate(int64_t bytes) override { return bytes > 0 ? take_block(bytes) : nullptr; }
  void deallocate(void* data, int64_t) override {
    if (data) give_block(static_cast<Block*>(data));
  }
  void copy_bytes(void* to, const void* from, int64_t bytes) override {
    if (bytes <= 0) return;
    checked(api().EnqueueCopyBuffer(context().queue, static_cast<const Block*>(from)->buffer,
                                    static_cast<Block*>(to)->buffer, 0, 0, size_t(bytes), 0,
                                    nullptr, nullptr),
            "clEnqueueCopyBuffer");
  }
  void copy_from_host(const Tensor& to, const void* from) override {
    if (to.numel() == 0) return;
    checked(api().EnqueueWriteBuffer(
                context().queue, block_of(to)->buffer, 1, size_t(to.offset() * to.item_size()),
                size_t(to.numel() * to.item_size()), from, 0, nullptr, nullptr),
            "clEnqueueWriteBuffer");
  }
  void copy_to_host(void* to, const Tensor& from) override {
    if (from.numel() == 0) return;
    checked(
        api().EnqueueReadBuffer(context().queue, block_of(from)->buffer, 1,
                                size_t(from.offset() * from.item_size()),
                                size_t(from.numel() * from.item_size()), to, 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  }
  void synchronize() override { finish(); }

  void copy(const Tensor& out, const Tensor& x) override { opencl::copy(out, x); }
  void fill(const Tensor& out, const Scalar& value) override { opencl::fill(out, value); }
  void unary(Unary f, Dtype compute, const Tensor& out, const Input& x, const Params& p) override {
    if (on_host(compute, out, {&x}, [&](Backend& b, const Tensor& o, const Input* in) {
          b.unary(f, compute, o, in[0], p);
        }))
      return;
    opencl::unary(f, compute, out, x, p);
  }
  void binary(Binary f, Dtype compute, const Tensor& out, const Input& a, const Input& b) override {
    if (on_host(compute, out, {&a, &b}, [&](Backend& host, const Tensor& o, const Input* in) {
          host.binary(f, compute, o, in[0], in[1]);
        }))
      return;
    opencl::binary(f, compute, out, a, b);
  }
  void predicate(Predicate f, Dtype compute, const Tensor& out, const Input& x) override {
    if (on_host(compute, out, {&x}, [&](Backend& b, const Tensor& o, const Input* in) {
          b.predicate(f, compute, o, in[0]);
        }))
      return;
    opencl::predicate(f, compute, out, x);
  }
  void compare(Compare f, Dtype compute, const Tensor& out, const Input& a, const Input& b,
               const Params& p) override {
    if (on_host(compute, out, {&a, &b}, [&](Backend& host, const Tensor& o, const Input* in) {
          host.compare(f, compute, o, in[0], in[1], p);
        }))
      return;
    opencl::compare(f, compute, out, a, b, p);
  }
  void ternary(Ternary f, Dtype compute, const Tensor& out, const Input& a, const Input& b,
               const Input& c, const Params& p) override {
    if (on_host(compute, out, {&a, &b, &c}, [&](Backend& host, const Tensor& o, const Input* in) {
          host.ternary(f, compute, o, in[0], in[1], in[2], p);
        }))
      return;
    opencl::ternary(f, compute, out, a, b, c, p);
  }
  bool unary_grad(Unary f, Dtype compute, const Tensor& out, const Input& g, const Input& keep,
                  const Params& p) override {
    return opencl::unary_grad(f, compute, out, g, keep, p);
  }

  void reduce(Reduction f, const Tensor& out, const Tensor& x, const Shape& dims,
              double p) override {
    if (is_complex(x.dtype()) && falls_back()) {
      Tensor o = to_host(out), in = to_host(x);
      backend_of(in).reduce(f, o, in, dims, p);
      return to_device(out, o);
    }
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
    if (is_complex(out.dtype()) && falls_back()) {
      Tensor o = to_host(out), left = to_host(a), right = to_host(b);
      backend_of(o).matmul(o, left, right, alpha, beta);
      return to_device(out, o);
    }
    opencl::matmul(out, a, b, alpha, beta);
  }

  void scan(Scan f, const Tensor& out, const Tensor& indices, const Tensor& x, int dim) override {
    opencl::scan(f, out, indices, x, dim);
  }
  void sort(const Tensor& values, const Tensor& indices, const Tensor& x, int dim,
            bool descending) override {
    opencl::sort(values, indices, x, dim, descending);
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

  void cholesky(const Tensor& matrices, const Tensor& info) override {
    if (!is_complex(matrices.dtype()) || !falls_back()) return opencl::cholesky(matrices, info);
    Tensor m = to_host(matrices), i = to_host(info);
    backend_of(m).cholesky(m, i);
    to_device(matrices, m);
    to_device(info, i);
  }
  void solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left,
                        bool unit) override {
    if (!is_complex(b.dtype()) || !falls_back())
      return opencl::solve_triangular(a, b, upper, left, unit);
    Tensor x = to_host(a), y = to_host(b);
    backend_of(x).solve_triangular(x, y, upper, left, unit);
    to_device(b, y);
  }

  ConvKernels* conv() override { return conv_kernels(); }
  RecurrentKernels* recurrent() override { return recurrent_kernels(); }
  LossKernels* loss() override { return loss_kernels(); }
  OptimKernels* optim() override { return optim_kernels(); }
  NormKernels* norm() override { return norm_kernels(); }
  PoolKernels* pool() override { return pool_kernels(); }

 private:
  // Runs a pointwise primitive that has no kernel here (complex numbers) on the host, if asked to.
  template <class F>
  bool on_host(Dtype compute, const Tensor& out, std::initializer_list<const Input*> ins, F&& f) {
    bool complex = is_complex(compute) || is_complex(out.dtype());
    for (const Input* in : ins) complex |= in->tensor && is_complex(in->tensor->dtype());
    if (!complex || !falls_back()) return false;
    Tensor host = to_host(out), moved[3];
    Input given[3];
    int k = 0;
    for (const Input* in : ins) {
      given[k] = *in;
      if (in->tensor) {
        const Tensor& t = *in->tensor;
        moved[k] = to_host(in->strides ? alias(t, out.shape(), *in->strides, t.offset()) : t);
        given[k].tensor = &moved[k];
        given[k].strides = nullptr;
      }
      k++;
    }
    f(backend_of(host), host, given);
    to_device(out, host);
    return true;
  }
};

}  // namespace

void register_device() {
  static const bool once = (register_backend("opencl", new OpenClBackend), true);
  (void)once;
}

}  // namespace ember::opencl
