// Singular values and vectors.
#include "ops/devices.h"
#include "ops/linalg.h"

namespace ember {

namespace {

std::string no_convergence(int64_t code) {
  return "The algorithm failed to converge because the input matrix is ill-conditioned or has too "
         "many repeated singular values (error code: " +
         std::to_string(code) + ").";
}

Svd svd_value(const char* op, const Tensor& a, bool full, bool vectors) {
  check_linalg_dtype(op, a);
  check_matrix(op, a);
  int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  Shape batch = batch_of(a);
  Svd d;
  d.s = empty(with_sizes(batch, {k}), real_of(a.dtype()), a.device());
  if (vectors) {
    d.u = empty_by_columns(with_sizes(batch, {m, full ? m : k}), a.dtype(), a.device());
    d.vh = empty_by_columns(with_sizes(batch, {full ? n : k, n}), a.dtype(), a.device());
  }
  if (Backend* kernels = kernels_for(op, a)) {
    Tensor info = info_for(a);
    check_finite(op, a);
    kernels->svd(by_columns(a), d.s, d.u, d.vh, info);
    check_info(op, info, no_convergence);
  } else if (vectors && full) {  // of a matrix without elements, any orthogonal ones
    NoGrad guard;
    copy_(d.u, identity(m, a));
    copy_(d.vh, identity(n, a));
  }
  return d;
}

Tensor imaginary_diagonal(const Tensor& t) { return imag(diagonal(t, 0, -2, -1)); }

// Townsend, "Differentiating the singular value decomposition" (2016); g are of u, s, vh, each
// narrowed to its first k.
Tensor svd_rule(const Tensor& gu, const Tensor& gs, const Tensor& gvh, const Tensor& u,
                const Tensor& s, const Tensor& vh) {
  if (!gu && !gvh) return matmul(u * unsqueeze(gs, -2), vh);
  int64_t m = u.size(-2), n = vh.size(-1), k = s.size(-1);
  auto skew = [](const Tensor& t) { return t - adjoint_of(t); };
  Tensor squares = s * s;
  Tensor gaps = unsqueeze(squares, -2) - unsqueeze(squares, -1) + identity(k, s);
  Tensor left, right;
  if (gu) left = skew(matmul(adjoint_of(u), gu));
  if (gvh) right = skew(matmul(vh, adjoint_of(gvh)));
  if (is_complex(u.dtype())) {
    Tensor zero = zeros_like(s);
    check_phase("svd_backward", left ? imaginary_diagonal(left) : zero,
                right ? neg(imaginary_diagonal(right)) : zero);
  }
  Tensor inner;
  if (left) inner = left / gaps * unsqueeze(s, -2);
  if (right) {
    Tensor part = unsqueeze(s, -1) * (right / gaps);
    inner = inner ? inner + part : part;
  }
  if (left && right && is_complex(u.dtype()))
    inner = inner + diag_embed(diagonal(left, 0, -2, -1) / (s * Scalar(2.0)));
  if (gs) inner = inner + diag_embed(gs);
  if (m > k && gu) {
    Tensor over = gu / unsqueeze(s, -2);
    return matmul(matmul(u, inner) + over - matmul(u, matmul(adjoint_of(u), over)), vh);
  }
  if (n > k && gvh) {
    Tensor under = gvh / unsqueeze(s, -1);
    return matmul(u, matmul(inner, vh) + under - matmul(matmul(under, adjoint_of(vh)), vh));
  }
  return matmul(u, matmul(inner, vh));
}

}  // namespace

void check_phase(const char* op, const Tensor& a, const Tensor& b) {
  if (!has_values(a)) return;
  NoGrad guard;
  Tensor bad = abs(a - b) > abs(b) * Scalar(1e-2) + Scalar(1e-2);
  check(!item(any(bad)).to<bool>(), Kind::Runtime, op,
        ": The vectors in the complex case are specified up to multiplication by e^{i phi}. The "
        "specified loss function depends on this quantity, so it is ill-defined.");
}

Svd svd(const Tensor& a, bool full_matrices, const char* op) {
  Svd d = svd_value(op, a, full_matrices, true);
  if (!grad_needed(a)) return d;
  Few<Tensor, 3> outs(3);
  outs[0] = d.u, outs[1] = d.s, outs[2] = d.vh;
  tape_many(outs, "linalg_svd",
            wrt(a, [u = Saved::output(d.u, 0), s = Saved::output(d.s, 1),
                    vh = Saved::output(d.vh, 2)](const Grads& g) {
              Tensor values = s.get();
              int64_t k = values.size(-1);
              auto first = [k](const Tensor& t, int64_t dim) {
                return t && t.size(dim) != k ? narrow(t, dim, 0, k) : t;
              };
              return svd_rule(first(g[0], -1), g[1], first(g[2], -2), first(u.get(), -1), values,
                              first(vh.get(), -2));
            }));
  return d;
}

Tensor svdvals(const Tensor& a, const char* op) {
  return grad_needed(a) ? svd(a, false, op).s : svd_value(op, a, false, false).s;
}

namespace {

void check_driver(const char* op, const std::optional<std::string>& driver) {
  check(!driver, Kind::Runtime, op,
        ": keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.");
}

}  // namespace

EMBER_OP(
    "linalg.svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, "
    "Tensor Vh)",
    ([](const Tensor& a, bool full, const std::optional<std::string>& driver) {
      check_driver("linalg.svd", driver);
      Svd d = svd(a, full);
      return std::tuple(d.u, d.s, d.vh);
    }),
    Function | Out | Leading | Float32, "Singular vectors and values: A = U @ diag(S) @ Vh.");
EMBER_OP("linalg.svdvals(Tensor A, *, str? driver=None) -> Tensor",
         ([](const Tensor& a, const std::optional<std::string>& driver) {
           check_driver("linalg.svdvals", driver);
           return svdvals(a);
         }),
         Function | Out | Leading | Float32, "Singular values in descending order.");
EMBER_OP("svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
         ([](const Tensor& self, bool some, bool compute_uv) {
           check_matrix("svd", self, "input");
           if (compute_uv) {
             Svd d = svd(self, !some, "svd");
             return std::tuple(d.u, d.s, adjoint_of(d.vh));
           }
           auto square = [&](int64_t n) {
             return zeros(with_sizes(batch_of(self), {n, n}), self.dtype(), self.device());
           };
           return std::tuple(square(self.size(-2)), svdvals(self, "svd"), square(self.size(-1)));
         }),
         kForms | Out | Leading | Float32,
         "Singular vectors and values: input = U @ diag(S) @ V.mH.");

}  // namespace ember
