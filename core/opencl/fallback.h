// EMBER_OPENCL_FALLBACK=1: what the device refuses with NotImplementedError, or as it has no
// float64, is done by the CPU, with operands moved there and back. Kernels refuse before they
// change anything, so the host can start from the same operands.
#pragma once

#include <tuple>
#include <utility>

#include "families/fft.h"
#include "families/linalg.h"

namespace ember::opencl {

bool falls_back();
// Whether the host may take over from here.
bool is_missing(const Error& e);
Backend& host();
// With the same layout, as all memory between the first element and the last is copied.
Tensor to_host(const Tensor& t);
void to_device(const Tensor& t, const Tensor& host);
Tensor home(const Tensor& t, Device device);  // a new tensor

// An argument on the host; `back` brings home what was written to it. Most need no moving.
template <class T>
struct Moved {
  const T& there;
  Moved(const T& t, const Shape&) : there(t) {}
  const T& get() { return there; }
  void back() {}
};
template <>
struct Moved<Tensor> {
  const Tensor& there;
  Tensor here;
  Moved(const Tensor& t, const Shape&) : there(t), here(t ? to_host(t) : t) {}
  const Tensor& get() { return here; }
  void back() {
    if (there) to_device(there, here);
  }
};
template <>
struct Moved<Input> {
  Input input;
  Tensor here;
  Moved(const Input& in, const Shape& shape) : input(in) {
    if (!in.tensor) return;
    const Tensor& t = *in.tensor;
    here = to_host(in.strides ? alias(t, shape, *in.strides, t.offset()) : t);
    input.strides = nullptr;
  }
  const Input& get() {
    if (here) input.tensor = &here;
    return input;
  }
  void back() {}
};
template <>
struct Moved<Indexing> {
  Indexing at;
  Moved(const Indexing& i, const Shape&) : at(i) {
    for (size_t k = 0; k < at.indices.size(); k++) at.indices[k] = to_host(at.indices[k]);
  }
  const Indexing& get() { return at; }
  void back() {}
};
template <>
struct Moved<TensorList> {
  TensorList here;
  Moved(const TensorList& list, const Shape&) : here(list) {
    for (size_t k = 0; k < here.size(); k++) here[k] = to_host(here[k]);
  }
  const TensorList& get() { return here; }
  void back() {}
};

// The first tensor there is: the shape that inputs are broadcast to.
template <class... A>
const Tensor& first_tensor(const A&... args) {
  const Tensor* first = nullptr;
  auto look = [&](const auto& arg) {
    if constexpr (std::is_same_v<std::decay_t<decltype(arg)>, Tensor>)
      if (!first && arg) first = &arg;
  };
  (look(args), ...);
  return *first;
}

// An input may share the memory of a result; results come first, so they are written last.
template <class Tuple, size_t... I>
void bring_back(Tuple& moved, std::index_sequence<I...>) {
  (std::get<sizeof...(I) - 1 - I>(moved).back(), ...);
}

template <class Class, class Result, class... P, class... A>
Result on_host(Class& cpu, Result (Class::*f)(P...), const A&... args) {
  const Tensor& first = first_tensor(args...);
  std::tuple<Moved<A>...> moved{Moved<A>(args, first.shape())...};
  auto call = [&](auto&... m) { return (cpu.*f)(m.get()...); };
  if constexpr (std::is_void_v<Result>) {
    std::apply(call, moved);
    bring_back(moved, std::index_sequence_for<A...>());
  } else {
    return home(std::apply(call, moved), first.device());
  }
}

// On the device if it can, else on the host.
template <class Class, class Result, class... P, class... A>
Result either(Class& there, Class& cpu, Result (Class::*f)(P...), const A&... args) {
  try {
    return (there.*f)(args...);
  } catch (const Error& e) {
    if (!is_missing(e)) throw;
  }
  return on_host(cpu, f, args...);
}

class EitherFft final : public FftKernels {
 public:
  explicit EitherFft(FftKernels& device) : device_(device) {}
  void complex_to_complex(const Tensor& out, const Tensor& x, int dim, bool inverse,
                          double scale) override {
    go(&FftKernels::complex_to_complex, out, x, dim, inverse, scale);
  }
  void real_to_complex(const Tensor& out, const Tensor& x, int dim, double scale) override {
    go(&FftKernels::real_to_complex, out, x, dim, scale);
  }
  void complex_to_real(const Tensor& out, const Tensor& x, int dim, double scale) override {
    go(&FftKernels::complex_to_real, out, x, dim, scale);
  }

 private:
  template <class F, class... A>
  void go(F f, const A&... args) {
    either(device_, *host().fft(), f, args...);
  }
  FftKernels& device_;
};

class EitherLinalg final : public LinalgKernels {
 public:
  explicit EitherLinalg(LinalgKernels& device) : device_(device) {}
  void lu(const Tensor& a, const Tensor& pivots, const Tensor& info) override {
    go(&LinalgKernels::lu, a, pivots, info);
  }
  void lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, Apply op) override {
    go(&LinalgKernels::lu_solve, lu, pivots, b, op);
  }
  void pivot_order(const Tensor& pivots, const Tensor& rows) override {
    go(&LinalgKernels::pivot_order, pivots, rows);
  }
  void ldl(const Tensor& a, const Tensor& pivots, const Tensor& info, bool hermitian) override {
    go(&LinalgKernels::ldl, a, pivots, info, hermitian);
  }
  void ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian) override {
    go(&LinalgKernels::ldl_solve, ld, pivots, b, hermitian);
  }
  void qr(const Tensor& a, const Tensor& tau) override { go(&LinalgKernels::qr, a, tau); }
  void reflect_identity(const Tensor& a, const Tensor& tau) override {
    go(&LinalgKernels::reflect_identity, a, tau);
  }
  void reflect(const Tensor& a, const Tensor& tau, const Tensor& c, bool left,
               bool adjoint) override {
    go(&LinalgKernels::reflect, a, tau, c, left, adjoint);
  }
  void eigh(const Tensor& a, const Tensor& values, const Tensor& info, bool upper,
            bool vectors) override {
    go(&LinalgKernels::eigh, a, values, info, upper, vectors);
  }
  void eig(const Tensor& a, const Tensor& values, const Tensor& vectors,
           const Tensor& info) override {
    go(&LinalgKernels::eig, a, values, vectors, info);
  }
  void svd(const Tensor& a, const Tensor& s, const Tensor& u, const Tensor& vh,
           const Tensor& info) override {
    go(&LinalgKernels::svd, a, s, u, vh, info);
  }
  void least_squares(LeastSquares driver, const Tensor& a, const Tensor& b, double rcond,
                     const Tensor& rank, const Tensor& s, const Tensor& info) override {
    go(&LinalgKernels::least_squares, driver, a, b, rcond, rank, s, info);
  }

 private:
  template <class F, class... A>
  void go(F f, const A&... args) {
    either(device_, *host().linalg(), f, args...);
  }
  LinalgKernels& device_;
};

// A backend around a device's, with the primitives by their names in backend.h. What is not here is
// the device's own.
template <class Own>
class EitherBackend final : public Own {
 public:
  void copy(const Tensor& out, const Tensor& x) override { go(&Backend::copy, out, x); }
  void fill(const Tensor& out, const Scalar& value) override { go(&Backend::fill, out, value); }

  void unary(Unary f, Dtype compute, const Tensor& out, const Input& x, const Params& p) override {
    go(&Backend::unary, f, compute, out, x, p);
  }
  void binary(Binary f, Dtype compute, const Tensor& out, const Input& a, const Input& b) override {
    go(&Backend::binary, f, compute, out, a, b);
  }
  void predicate(Predicate f, Dtype compute, const Tensor& out, const Input& x) override {
    go(&Backend::predicate, f, compute, out, x);
  }
  void compare(Compare f, Dtype compute, const Tensor& out, const Input& a, const Input& b,
               const Params& p) override {
    go(&Backend::compare, f, compute, out, a, b, p);
  }
  void ternary(Ternary f, Dtype compute, const Tensor& out, const Input& a, const Input& b,
               const Input& c, const Params& p) override {
    go(&Backend::ternary, f, compute, out, a, b, c, p);
  }
  void reduce(Reduction f, const Tensor& out, const Tensor& x, const Shape& dims,
              double p) override {
    go(&Backend::reduce, f, out, x, dims, p);
  }
  void extremes(const Tensor& values, const Tensor& indices, const Tensor& x, int dim,
                bool most) override {
    go(&Backend::extremes, values, indices, x, dim, most);
  }
  void variance(const Tensor& out, const Tensor& mean, const Tensor& x, const Shape& dims,
                double correction, bool root) override {
    go(&Backend::variance, out, mean, x, dims, correction, root);
  }
  void index_get(const Tensor& out, const Tensor& x, const Indexing& at) override {
    go(&Backend::index_get, out, x, at);
  }
  void index_put(const Tensor& self, const Indexing& at, const Tensor& values,
                 ScatterMode mode) override {
    go(&Backend::index_put, self, at, values, mode);
  }
  void gather(const Tensor& out, const Tensor& x, int dim, const Tensor& index) override {
    go(&Backend::gather, out, x, dim, index);
  }
  void scatter(const Tensor& self, int dim, const Tensor& index, const Tensor& src,
               ScatterMode mode) override {
    go(&Backend::scatter, self, dim, index, src, mode);
  }
  Tensor nonzero(const Tensor& x) override { return go(&Backend::nonzero, x); }
  Tensor masked_select(const Tensor& x, const Tensor& mask) override {
    return go(&Backend::masked_select, x, mask);
  }
  void masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& src) override {
    go(&Backend::masked_scatter, self, mask, src);
  }
  void flip(const Tensor& out, const Tensor& x, const Shape& dims) override {
    go(&Backend::flip, out, x, dims);
  }
  Tensor repeated_positions(const Tensor& counts) override {
    return go(&Backend::repeated_positions, counts);
  }
  void join(const Tensor& out, const TensorList& parts, int dim) override {
    go(&Backend::join, out, parts, dim);
  }
  void arange(const Tensor& out, const Scalar& start, const Scalar& step) override {
    go(&Backend::arange, out, start, step);
  }
  void triangle(const Tensor& out, const Tensor& x, int64_t diagonal, bool upper) override {
    go(&Backend::triangle, out, x, diagonal, upper);
  }
  void matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha,
              const Scalar& beta) override {
    go(&Backend::matmul, out, a, b, alpha, beta);
  }
  void scan(Scan f, const Tensor& out, const Tensor& indices, const Tensor& x, int dim) override {
    go(&Backend::scan, f, out, indices, x, dim);
  }
  void sort(const Tensor& values, const Tensor& indices, const Tensor& x, int dim,
            bool descending) override {
    go(&Backend::sort, values, indices, x, dim, descending);
  }
  void topk(const Tensor& values, const Tensor& indices, const Tensor& x, int dim, bool largest,
            bool sorted) override {
    go(&Backend::topk, values, indices, x, dim, largest, sorted);
  }
  void pick(const Tensor& values, const Tensor& indices, const Tensor& x, int dim, Rank rank,
            int64_t k) override {
    go(&Backend::pick, values, indices, x, dim, rank, k);
  }
  void search(const Tensor& out, const Tensor& sorted, const Tensor& values, const Tensor& sorter,
              bool right) override {
    go(&Backend::search, out, sorted, values, sorter, right);
  }
  void softmax(const Tensor& out, const Tensor& x, int dim, bool log) override {
    go(&Backend::softmax, out, x, dim, log);
  }
  void softmax_grad(const Tensor& out, const Tensor& g, const Tensor& y, int dim,
                    bool log) override {
    go(&Backend::softmax_grad, out, g, y, dim, log);
  }
  void logsumexp(const Tensor& out, const Tensor& x, int dim) override {
    go(&Backend::logsumexp, out, x, dim);
  }
  void cholesky(const Tensor& matrices, const Tensor& info) override {
    go(&Backend::cholesky, matrices, info);
  }
  void solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left,
                        bool unit) override {
    go(&Backend::solve_triangular, a, b, upper, left, unit);
  }

  FftKernels* fft() override { return &fft_; }
  LinalgKernels* linalg() override { return &linalg_; }

 private:
  template <class Result, class... P, class... A>
  Result go(Result (Backend::*f)(P...), const A&... args) {
    return either<Backend>(device_, host(), f, args...);
  }
  Own device_;
  EitherFft fft_{*device_.fft()};
  EitherLinalg linalg_{*device_.linalg()};
};

}  // namespace ember::opencl
