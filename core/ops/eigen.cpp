// Eigenvalues and eigenvectors, of Hermitian matrices (eigh) and of any (eig).
#include "ops/devices.h"
#include "ops/linalg.h"

namespace ember {

namespace {

std::string no_convergence(int64_t code) {
  return "The algorithm failed to converge because the input matrix is ill-conditioned or has too "
         "many repeated eigenvalues (error code: " +
         std::to_string(code) + ").";
}

struct Eigen {
  Tensor values, vectors;
};

// Differences of eigenvalues, l_j - l_i, with ones on the diagonal.
Tensor gaps_of(const Tensor& values) {
  return unsqueeze(values, -2) - unsqueeze(values, -1) + identity(values.size(-1), values);
}
Tensor diagonal_of(const Tensor& t) { return diagonal(t, 0, -2, -1); }

// --- Hermitian ---------------------------------------------------------------------------------

bool is_upper(const char* op, const std::string& uplo) {
  bool upper = uplo == "U" || uplo == "u";
  check(upper || uplo == "L" || uplo == "l", Kind::Runtime, op,
        ": Expected UPLO argument to be 'L' or 'U', but got ", uplo);
  return upper;
}

Tensor eigh_rule(const Tensor& gl, const Tensor& gv, const Tensor& l, const Tensor& v) {
  if (!gv) return matmul(v * unsqueeze(gl, -2), adjoint_of(v));
  Tensor inner = matmul(adjoint_of(v), gv);
  if (is_complex(v.dtype())) {
    Tensor turn = imag(diagonal_of(inner));
    check_phase("linalg_eigh_backward", turn, zeros_like(turn));
  }
  inner = inner / gaps_of(l);
  inner = inner - diag_embed(diagonal_of(inner));
  if (gl) inner = inner + diag_embed(gl);
  return matmul(v, matmul(inner, adjoint_of(v)));
}

Eigen eigh(const char* op, const Tensor& a, const std::string& uplo, bool vectors) {
  check_linalg_dtype(op, a);
  check_square(op, a);
  bool upper = is_upper(op, uplo);
  vectors = vectors || grad_needed(a);
  Eigen e{empty(batch_of(a, 1), real_of(a.dtype()), a.device()), by_columns(a)};
  if (Backend* kernels = kernels_for(op, a)) {
    Tensor info = info_for(a);
    check_finite(op, upper ? triu(detach(a)) : tril(detach(a)));
    kernels->eigh(e.vectors, e.values, info, upper, vectors);
    check_info(op, info, no_convergence);
  }
  if (!grad_needed(a)) return e;
  Few<Tensor, 3> outs(2);
  outs[0] = e.values, outs[1] = e.vectors;
  tape_many(outs, "linalg_eigh",
            wrt(a, [l = Saved::output(e.values, 0), v = Saved::output(e.vectors, 1)](
                       const Grads& g) { return eigh_rule(g[0], g[1], l.get(), v.get()); }));
  return e;
}

// --- general -----------------------------------------------------------------------------------

// Boeddeker et al., "On the computation of complex-valued gradients" (2017), 4.77, and that the
// vectors have length 1.
Tensor eig_rule(const Tensor& gl, const Tensor& gv, const Tensor& l, const Tensor& v) {
  Tensor vh = adjoint_of(v);
  if (!gv) return solve(vh, unsqueeze(gl, -1) * vh);
  Tensor inner = matmul(vh, gv);
  Tensor turn = imag(diagonal_of(inner));
  check_phase("linalg_eig_backward", turn, zeros_like(turn));
  inner = inner - matmul(vh, v * unsqueeze(real(diagonal_of(inner)), -2));
  inner = inner / conj(gaps_of(l));
  inner = inner - diag_embed(diagonal_of(inner));
  if (gl) inner = inner + diag_embed(gl);
  return solve(vh, matmul(inner, vh));
}

Eigen eig(const char* op, const Tensor& a, bool vectors) {
  check_linalg_dtype(op, a);
  check_square(op, a);
  check(!has_values(a) || item(all(isfinite(detach(a)))).to<bool>(), Kind::Runtime, "torch.", op,
        ": input tensor should not contain infs or NaNs.");
  vectors = vectors || grad_needed(a);
  Dtype dtype = complex_of(a.dtype());
  Eigen e{empty(batch_of(a, 1), dtype, a.device()), Tensor()};
  if (vectors) e.vectors = empty_by_columns(a.shape(), dtype, a.device());
  if (Backend* kernels = kernels_for(op, a)) {
    Tensor info = info_for(a);
    kernels->eig(by_columns(a), e.values, e.vectors, info);
    check_info(op, info, no_convergence);
  }
  if (!grad_needed(a)) return e;
  Few<Tensor, 3> outs(2);
  outs[0] = e.values, outs[1] = e.vectors;
  tape_many(outs, "linalg_eig",
            wrt(a, [l = Saved::output(e.values, 0), v = Saved::output(e.vectors, 1),
                    keep_complex = is_complex(a.dtype())](const Grads& g) {
              Tensor dx = eig_rule(g[0], g[1], l.get(), v.get());
              return keep_complex ? dx : real(dx);
            }));
  return e;
}

}  // namespace

Tensor eigvalsh(const Tensor& a, const std::string& uplo, const char* op) {
  return eigh(op, a, uplo, false).values;
}
std::tuple<Tensor, Tensor> eigh(const Tensor& a, const std::string& uplo) {
  Eigen e = eigh("linalg.eigh", a, uplo, true);
  return {e.values, e.vectors};
}

EMBER_OP("linalg.eigh(Tensor self, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)",
         ([](const Tensor& a, const std::string& uplo) { return eigh(a, uplo); }),
         Function | Out | ExactOut | Leading | Float32,
         "Eigenvalues, ascending, and eigenvectors of symmetric or Hermitian matrices.");
EMBER_OP("linalg.eigvalsh(Tensor self, str UPLO='L') -> Tensor",
         ([](const Tensor& a, const std::string& uplo) {
           return eigvalsh(a, uplo, "linalg.eigvalsh");
         }),
         Function | Out | ExactOut | Leading | Float32,
         "Eigenvalues of symmetric or Hermitian matrices, ascending.");
EMBER_OP("linalg.eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
         ([](const Tensor& a) {
           Eigen e = eig("linalg.eig", a, true);
           return std::tuple(e.values, e.vectors);
         }),
         Function | Out | SafeOut | Leading | Float32,
         "Eigenvalues and eigenvectors of square matrices; both complex.");
EMBER_OP("linalg.eigvals(Tensor self) -> Tensor",
         ([](const Tensor& a) { return eig("linalg.eigvals", a, false).values; }),
         Function | Out | SafeOut | Leading | Float32, "Eigenvalues of square matrices, complex.");

}  // namespace ember
