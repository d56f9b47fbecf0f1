// The CPU backend: hands each primitive to its kernels.
#include "cpu/cpu_backend.h"

#include <cstring>

#include "cpu/create.h"
#include "cpu/gemm.h"
#include "cpu/index.h"
#include "cpu/index_support.h"
#include "cpu/lines.h"
#include "cpu/parallel.h"
#include "cpu/pointwise.h"
#include "cpu/reduce.h"
#include "tensor/allocator.h"

namespace ember::cpu {

namespace {

// A primitive's operand as raw memory. A number becomes one element, repeated.
class Raw {
 public:
  Raw(const Input& in, Dtype compute) {
    if (in.tensor) {
      on_cpu(*in.tensor);
      operand = {in.tensor->data(), in.tensor->dtype(),
                 (in.strides ? *in.strides : in.tensor->strides()).data()};
    } else {
      in.scalar.store(compute, value_);
      operand = {value_, compute, kZeroStrides};
    }
  }
  Raw(const Raw&) = delete;
  operator Operand() const { return operand; }
  Operand operand;

 private:
  alignas(16) char value_[16];
};

Operand raw(const Tensor& t) {
  on_cpu(t);
  return {t.data(), t.dtype(), t.strides().data()};
}

ReduceInput reduced(const Tensor& x, const Shape& dims) {
  uint64_t mask = 0;
  for (int64_t d : dims) mask |= uint64_t(1) << d;
  return {x.dtype(), x.dim(), x.shape().data(), x.strides().data(), x.data(), mask};
}
ReduceOutput result(const Tensor& t) {
  if (!t) return {Dtype::Float32, nullptr, nullptr};
  return {t.dtype(), t.strides().data(), t.data()};
}

// Note [Dtypes that are only stored]: what moves or converts elements takes every dtype. What
// computes reads complex32 and float8 as the dtypes that compute for them, and writes neither, so
// that an op whose result would be of such a dtype is an error, as in PyTorch. Pointwise rows say
// for themselves what they take.
Tensor widened(const Tensor& x) {  // undefined if it can be read as it is
  return is_stored_only(x.dtype()) ? dense(x, compute_of(x.dtype())) : Tensor();
}

// `put` writes to a tensor in a way that combines values, which needs a dtype that computes.
template <class Put>
void combined(const Tensor& self, const Tensor& values, ScatterMode mode, const Put& put) {
  if (mode == ScatterMode::Set || !is_stored_only(self.dtype())) return put(self, values);
  Tensor wide = dense(self, compute_of(self.dtype()));
  put(wide, dense(values, wide.dtype()));
  backend_of(self).copy(self, wide);
}

// Of the dtypes that are only stored, PyTorch multiplies matrices of the float8 with digits.
void matmul_of_bytes(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha,
                     const Scalar& beta) {
  const Dtype d = out.dtype();
  if (out.dim() > 2 || !is_float8(d) || d == Dtype::Float8_e8m0fnu) fail_dtype("matmul", d);
  Tensor wide = beta.equal(0) ? empty(out.shape(), Dtype::Float32) : dense(out, Dtype::Float32);
  backend_of(out).matmul(wide, dense(a, Dtype::Float32), dense(b, Dtype::Float32), alpha, beta);
  backend_of(out).copy(out, wide);
}

}  // namespace

void* CpuBackend::allocate(int64_t bytes) { return ember::allocate(size_t(bytes)); }
void CpuBackend::deallocate(void* data, int64_t bytes) { ember::deallocate(data, size_t(bytes)); }
void CpuBackend::copy_bytes(void* to, const void* from, int64_t bytes) {
  std::memcpy(to, from, size_t(bytes));
}
void CpuBackend::copy_from_host(const Tensor& to, const void* from) {
  copy_bytes(to.data(), from, to.numel() * to.item_size());
}
void CpuBackend::copy_to_host(void* to, const Tensor& from) {
  copy_bytes(to, from.data(), from.numel() * from.item_size());
}

void CpuBackend::copy(const Tensor& out, const Tensor& x) {
  cpu::copy(out.dim(), out.shape().data(), raw(out), raw(x));
}
void CpuBackend::fill(const Tensor& out, const Scalar& value) {
  alignas(16) char v[16];
  value.store(out.dtype(), v);
  cpu::fill(out.dim(), out.shape().data(), raw(out), v, out.dtype());
}
void CpuBackend::unary(Unary f, Dtype compute, const Tensor& out, const Input& x, const Params& p) {
  cpu::unary(f, compute_of(compute), out.dim(), out.shape().data(), raw(out), Raw(x, compute), p);
}
void CpuBackend::binary(Binary f, Dtype compute, const Tensor& out, const Input& a,
                        const Input& b) {
  const Dtype number = compute_of(compute);
  cpu::binary(f, compute, out.dim(), out.shape().data(), raw(out), Raw(a, number), Raw(b, number));
}
void CpuBackend::predicate(Predicate f, Dtype compute, const Tensor& out, const Input& x) {
  compute = compute_of(compute);
  cpu::predicate(f, compute, out.dim(), out.shape().data(), raw(out), Raw(x, compute));
}
void CpuBackend::compare(Compare f, Dtype compute, const Tensor& out, const Input& a,
                         const Input& b, const Params& p) {
  compute = compute_of(compute);
  cpu::compare(f, compute, out.dim(), out.shape().data(), raw(out), Raw(a, compute),
               Raw(b, compute), p);
}
void CpuBackend::ternary(Ternary f, Dtype compute, const Tensor& out, const Input& a,
                         const Input& b, const Input& c, const Params& p) {
  compute = compute_of(compute);
  cpu::ternary(f, compute, out.dim(), out.shape().data(), raw(out),
               Raw(a, types_of(f) & kChooses ? Dtype::Bool : compute), Raw(b, compute),
               Raw(c, compute), p);
}
void CpuBackend::unary_grad(Unary f, Dtype compute, const Tensor& out, const Input& g,
                            const Input& keep, const Params& p) {
  compute = compute_of(compute);
  cpu::unary_grad(f, compute, out.dim(), out.shape().data(), raw(out), Raw(g, compute),
                  Raw(keep, compute), p);
}
void CpuBackend::reduce(Reduction f, const Tensor& out, const Tensor& x, const Shape& dims,
                        double p) {
  if (is_stored_only(out.dtype())) refuse_stored_only(name_of(f), out.dtype());
  const Tensor wide = widened(x);
  cpu::reduce(f, reduced(wide ? wide : x, dims), result(out), p);
}
void CpuBackend::extremes(const Tensor& values, const Tensor& indices, const Tensor& x, int dim,
                          bool most) {
  refuse_stored_only(most ? "max" : "min", x.dtype());
  cpu::extremes(most, reduced(x, x.dim() ? Shape{dim} : Shape{}), dim, result(values),
                result(indices));
}
void CpuBackend::variance(const Tensor& out, const Tensor& mean, const Tensor& x, const Shape& dims,
                          double correction, bool root) {
  refuse_stored_only(root ? "std" : "var", out.dtype());
  const Tensor wide = widened(x);
  cpu::variance(reduced(wide ? wide : x, dims), correction, root, result(out), result(mean));
}
void CpuBackend::index_get(const Tensor& out, const Tensor& x, const Indexing& at) {
  on_cpu(x);
  for (const Tensor& i : at.indices) on_cpu(i);
  cpu::index_get(out, x, at);
}
void CpuBackend::index_put(const Tensor& self, const Indexing& at, const Tensor& values,
                           ScatterMode mode) {
  on_cpu(values);
  for (const Tensor& i : at.indices) on_cpu(i);
  combined(self, values, mode,
           [&](const Tensor& to, const Tensor& from) { cpu::index_put(to, at, from, mode); });
}
void CpuBackend::gather(const Tensor& out, const Tensor& x, int dim, const Tensor& index) {
  on_cpu(x, index);
  cpu::gather(out, x, dim, index);
}
void CpuBackend::scatter(const Tensor& self, int dim, const Tensor& index, const Tensor& src,
                         ScatterMode mode) {
  on_cpu(self, index, src);
  combined(self, src, mode,
           [&](const Tensor& to, const Tensor& from) { cpu::scatter(to, dim, index, from, mode); });
}
Tensor CpuBackend::nonzero(const Tensor& x) { return cpu::nonzero(x); }
Tensor CpuBackend::masked_select(const Tensor& x, const Tensor& mask) {
  on_cpu(mask);
  return cpu::masked_select(x, mask);
}
void CpuBackend::masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& src) {
  on_cpu(mask, src);
  cpu::masked_scatter(self, mask, src);
}
void CpuBackend::flip(const Tensor& out, const Tensor& x, const Shape& dims) {
  cpu::flip(out, x, dims);
}
void CpuBackend::join(const Tensor& out, const TensorList& parts, int dim) {
  for (const Tensor& t : parts) on_cpu(t);
  cpu::join(out, parts, dim);
}
Tensor CpuBackend::repeated_positions(const Tensor& counts) {
  return cpu::repeated_positions(counts);
}
void CpuBackend::arange(const Tensor& out, const Scalar& start, const Scalar& step) {
  cpu::arange(out.dtype(), out.data(), out.numel(), out.dim() ? out.stride(0) : 1, start, step);
}
void CpuBackend::triangle(const Tensor& out, const Tensor& x, int64_t diagonal, bool upper) {
  if (!out.is_contiguous() || !x.is_contiguous() || out.dtype() != x.dtype() ||
      x.data() == out.data())
    return Backend::triangle(out, x, diagonal, upper);
  cpu::triangle(out.data(), x.data(), x.numel(), x.size(-2), x.size(-1), x.item_size(), diagonal,
                upper);
}

void CpuBackend::matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha,
                        const Scalar& beta) {
  on_cpu(out, a, b);
  int batch = out.dim() - 2;
  if (is_stored_only(out.dtype())) return matmul_of_bytes(out, a, b, alpha, beta);
  int64_t m = out.size(-2), n = out.size(-1), k = a.size(-1);
  Matrix x{a.data(), a.stride(-2), a.stride(-1)}, y{b.data(), b.stride(-2), b.stride(-1)};
  MatrixOut z{out.data(), out.stride(-2), out.stride(-1)};
  complex128 by = alpha.to<complex128>(), keep = beta.to<complex128>();
  if (batch == 0) return gemm(out.dtype(), m, n, k, x, y, z, by, keep);
  Batch over{batch, out.shape().data(), a.strides().data(), b.strides().data(),
             out.strides().data()};
  gemm(out.dtype(), over, m, n, k, x, y, z, by, keep);
}
void CpuBackend::scan(Fold f, const Tensor& out, const Tensor& indices, const Tensor& x, int dim) {
  refuse_stored_only("scan", out.dtype());
  cpu::scan(f, out, indices, x, dim);
}
void CpuBackend::sort(const Tensor& values, const Tensor& indices, const Tensor& x, int dim,
                      bool descending) {
  refuse_stored_only("sort", x.dtype());
  cpu::sort(values, indices, x, dim, descending);
}
void CpuBackend::topk(const Tensor& values, const Tensor& indices, const Tensor& x, int dim,
                      bool largest, bool sorted) {
  refuse_stored_only("topk", x.dtype());
  cpu::topk(values, indices, x, dim, largest, sorted);
}
void CpuBackend::pick(const Tensor& values, const Tensor& indices, const Tensor& x, int dim,
                      Rank rank, int64_t k) {
  refuse_stored_only("select", x.dtype());
  cpu::pick(values, indices, x, dim, rank, k);
}
void CpuBackend::search(const Tensor& out, const Tensor& sorted, const Tensor& values,
                        const Tensor& sorter, bool right) {
  on_cpu(sorted, values, sorter);
  cpu::search(out, sorted, values, sorter, right);
}
void CpuBackend::softmax(const Tensor& out, const Tensor& x, int dim, bool log) {
  refuse_stored_only("softmax", out.dtype());
  cpu::softmax(out, x, dim, log);
}
void CpuBackend::softmax_grad(const Tensor& out, const Tensor& g, const Tensor& y, int dim,
                              bool log) {
  refuse_stored_only("softmax", out.dtype());
  cpu::softmax_grad(out, g, y, dim, log);
}
void CpuBackend::logsumexp(const Tensor& out, const Tensor& x, int dim) {
  refuse_stored_only("logsumexp", out.dtype());
  cpu::logsumexp(out, x, dim);
}

bool CpuBackend::takes(Primitive p, Dtype dtype) const {
  if (p != Primitive::recurrent) return true;
  return dtype == Dtype::Float32 || dtype == Dtype::Float64;
}

namespace {
const bool registered = (register_backend("cpu", new CpuBackend), true);

}  // namespace

}  // namespace ember::cpu
