// QR factors, and products of Householder reflectors, which is how LAPACK keeps Q.
#include "ops/devices.h"
#include "ops/linalg.h"

namespace ember {

namespace {

struct Reflectors {
  Tensor a, tau;
};

Reflectors geqrf(const char* op, const Tensor& a) {
  check_linalg_dtype(op, a);
  check_matrix(op, a);
  Reflectors r{by_columns(a),
               zeros(with_sizes(batch_of(a), {smaller_size(a)}), a.dtype(), a.device())};
  if (Backend* kernels = kernels_for(op, a)) kernels->qr(r.a, r.tau);
  return r;
}

// The first `columns` columns of the product of reflectors.
Tensor first_columns(const char* op, const Reflectors& r, int64_t columns) {
  NoGrad guard;
  int64_t m = r.a.size(-2), have = std::min(columns, r.a.size(-1));
  Tensor q = empty_by_columns(with_sizes(batch_of(r.a), {m, columns}), r.a.dtype(), r.a.device());
  if (columns > have) fill_(q, Scalar(0));
  if (r.a.numel() && have) copy_(narrow(q, -1, 0, have), narrow(r.a, -1, 0, have));
  if (r.tau.size(-1) == 0) {
    copy_(q, narrow(identity(m, q), -1, 0, columns));
  } else if (Backend* kernels = kernels_for(op, q, {r.tau})) {
    kernels->reflect_identity(q, r.tau);
  }
  return q;
}

// X + X^H, with half the diagonal, which is real: the adjoint of taking the inverse of that.
Tensor symmetric_part(const Tensor& x) {
  Tensor t = x + adjoint_of(x);
  Tensor half = real(diagonal(t, 0, -2, -1)) * Scalar(0.5);
  return t - diag_embed(diagonal(t, 0, -2, -1)) + diag_embed(to(half, t.dtype()));
}

// m >= n. Seeger et al., "Auto-differentiating linear algebra" (2017)
Tensor tall_rule(const Tensor& gq, const Tensor& gr, const Tensor& q, const Tensor& r) {
  Tensor inner;
  if (gr) inner = matmul(gr, adjoint_of(r));
  if (gq) {
    Tensor part = matmul(adjoint_of(q), gq);
    inner = inner ? inner - part : neg(part);
  }
  Tensor right = matmul(q, symmetric_part(triu(inner)));
  if (gq) right = right + gq;
  return solve_triangular(adjoint_of(r), right, false, false, false);
}

// What sticks out of the square on the right is Q times that part of R.
Tensor qr_rule(const Tensor& gq, const Tensor& gr, const Tensor& q, const Tensor& r) {
  int64_t m = q.size(-2), n = r.size(-1);
  if (m >= n) return tall_rule(gq, gr, q, r);
  auto square = [m](const Tensor& t) { return narrow(t, -1, 0, m); };
  if (!gr) {
    Tensor da = tall_rule(gq, gr, q, square(r));
    return cat({da, zeros(with_sizes(batch_of(r), {m, n - m}), r.dtype(), r.device())}, -1);
  }
  Tensor gr2 = narrow(gr, -1, m, n - m), r2 = narrow(r, -1, m, n - m);
  Tensor extra = matmul(q, matmul(r2, adjoint_of(gr2)));
  Tensor da = tall_rule(gq ? gq + extra : extra, square(gr), q, square(r));
  return cat({da, matmul(q, gr2)}, -1);
}

std::tuple<Tensor, Tensor> qr(const char* op, const Tensor& a, const std::string& mode) {
  bool full = mode == "complete", only_r = mode == "r";
  check(full || only_r || mode == "reduced", Kind::Runtime, op, " received unrecognized mode '",
        mode, "' but expected one of 'reduced' (default), 'r', or 'complete'");
  Reflectors f = geqrf(op, a);
  int64_t m = a.size(-2), n = a.size(-1), rows = full ? m : std::min(m, n);
  Tensor q = only_r ? empty({0}, a.dtype(), a.device()) : first_columns(op, f, rows), r;
  {
    NoGrad guard;
    r = by_columns(triu(narrow(f.a, -2, 0, rows)));
  }
  if (!grad_needed(a)) return {q, r};
  Few<Tensor, 3> outs(2);
  outs[0] = q, outs[1] = r;
  tape_many(outs, "linalg_qr",
            wrt(a, [q = Saved::output(q, 0), r = Saved::output(r, 1), full, only_r, m,
                    n](const Grads& g) {
              check(!only_r, Kind::Runtime,
                    "linalg_qr_backward: The derivative of linalg.qr "
                    "depends on Q, which is not computed when mode='r'. Please use "
                    "linalg.qr(A, mode='reduced') if you are going to require gradients.");
              check(!full || m <= n, Kind::Runtime,
                    "linalg_qr_backward: The QR decomposition is "
                    "not differentiable when mode='complete' and nrows > ncols.");
              return qr_rule(g[0], g[1], q.get(), r.get());
            }));
  return {q, r};
}

}  // namespace

EMBER_OP("linalg.qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)",
         ([](const Tensor& a, const std::string& mode) { return qr("linalg.qr", a, mode); }),
         Function | Out | Leading | Float32,
         "An orthogonal Q and an upper triangular R with A = Q @ R.");
EMBER_OP("qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)",
         ([](const Tensor& a, bool some) { return qr("qr", a, some ? "reduced" : "complete"); }),
         kForms | Out | Leading | Float32,
         "An orthogonal Q and an upper triangular R with input = Q @ R.");
EMBER_OP("geqrf(Tensor self) -> (Tensor a, Tensor tau)", ([](const Tensor& a) {
           Reflectors r = geqrf("geqrf", a);
           if (!grad_needed(a)) return std::tuple(r.a, r.tau);
           Few<Tensor, 3> outs(2);
           outs[0] = r.a, outs[1] = r.tau;
           tape_many(outs, "geqrf", wrt(a, [](const Grads&) -> Tensor {
                       fail(Kind::NotImplemented, "the derivative for 'geqrf' is not implemented.");
                     }));
           return std::tuple(r.a, r.tau);
         }),
         kForms | Out | Leading | Float32,
         "R and below it the Householder reflectors of Q, and their factors.");

// --- products of reflectors --------------------------------------------------------------------

namespace {

// Column i of `a` as the vector of reflector i: 0 above place i, 1 there.
Tensor reflector(const Tensor& a, int64_t i) {
  Tensor v = narrow(a, -1, i, 1), batch = narrow(v, -2, 0, 1);
  int64_t m = a.size(-2);
  TensorList parts;
  if (i)
    parts.push_back(expand(zeros({1, 1}, a.dtype(), a.device()), with_sizes(batch_of(a), {i, 1})));
  parts.push_back(ones_like(detach(batch)));
  parts.push_back(narrow(v, -2, i + 1, m - i - 1));
  return cat(parts, -2);
}

// Gradients of the vectors and factors of H_1 ... H_k, from that of y = H_1 ... H_k c. Reflectors
// are taken off one by one: y becomes H_(i+1) ... H_k c, and g goes past H_i.
Reflectors reflectors_rule(const Tensor& gy, const Tensor& result, const Tensor& a,
                           const Tensor& tau) {
  Tensor g = gy, y = result;
  int64_t k = tau.size(-1), m = a.size(-2);
  TensorList ga, gtau;
  for (int64_t i = 0; i < k; i++) {
    Tensor v = reflector(a, i), vh = adjoint_of(v), t = unsqueeze(narrow(tau, -1, i, 1), -1);
    Tensor undo = t / (t * matmul(vh, v) - Scalar(1.0));  // H_i^-1 = I - undo v v^H
    y = y - undo * matmul(v, matmul(vh, y));
    Tensor right = matmul(g, adjoint_of(matmul(vh, y)));  // (g y^H) v
    Tensor left = matmul(y, adjoint_of(matmul(vh, g)));   // (g y^H)^H v
    Tensor dv = neg(conj(t) * right + t * left);
    ga.push_back(cat({zeros_like(narrow(dv, -2, 0, i + 1)), narrow(dv, -2, i + 1, m - i - 1)}, -2));
    gtau.push_back(neg(squeeze(matmul(vh, right), Dims(-1))));
    g = g - conj(t) * matmul(v, matmul(vh, g));
  }
  int64_t rest = a.size(-1) - k;
  if (rest || !k) ga.push_back(zeros(with_sizes(batch_of(a), {m, rest}), a.dtype(), a.device()));
  if (!k) gtau.push_back(zeros_like(tau));
  return {cat(ga, -1), cat(gtau, -1)};
}

Tensor householder_product(const Tensor& a, const Tensor& tau) {
  const char* op = "linalg.householder_product";
  check_same_device(op, a, {&tau});
  check_matrix(op, a, "input");
  check(a.size(-2) >= a.size(-1), Kind::Runtime, op,
        ": input.shape[-2] must be greater than or equal to input.shape[-1], got ", a.shape());
  check(tau.dim() >= 1 && a.size(-1) >= tau.size(-1), Kind::Runtime, op,
        ": input.shape[-1] must be greater than or equal to tau.shape[-1], got ", a.shape(),
        " and ", tau.shape());
  check(a.dim() - tau.dim() == 1, Kind::Runtime, op,
        ": Expected tau to have one dimension less than input, but got tau.ndim equal to ",
        tau.dim(), " and input.ndim is equal to ", a.dim());
  check(batch_of(a) == batch_of(tau, 1), Kind::Runtime, op,
        ": Expected batch dimensions of tau to be equal to input.shape[:-2], but got ",
        batch_of(tau, 1), " and ", batch_of(a));
  check(a.dtype() == tau.dtype(), Kind::Runtime, op, ": tau dtype ", type_name(tau.dtype()),
        " does not match input dtype ", a.dtype());
  check_linalg_dtype(op, a, "input");
  Tensor q = first_columns(op, {detach(a), contiguous(detach(tau))}, a.size(-1));
  if (!grad_needed(a, tau)) return q;
  return tape_list(q, "linalg_householder_product", {a, tau},
                   [a = Saved(a), tau = Saved(tau), q = Saved::output(q)](
                       const Tensor& g, const std::vector<bool>&) {
                     Reflectors d = reflectors_rule(g, q.get(), a.get(), tau.get());
                     return std::vector<Tensor>{d.a, d.tau};
                   });
}

void check_ormqr(const Tensor& a, const Tensor& tau, const Tensor& c, bool left) {
  const char* op = "torch.ormqr";
  check_same_device(op, a, {&tau, &c});
  check_matrix(op, a, "input");
  check_matrix(op, c, "other");
  int64_t m = c.size(left ? -2 : -1);
  check(tau.dim() >= 1 && m >= tau.size(-1), Kind::Runtime, op, ": other.shape[", left ? -2 : -1,
        "] must be greater than or equal to tau.shape[-1]");
  check(m == a.size(-2), Kind::Runtime, op, ": other.shape[", left ? -2 : -1,
        "] must be equal to input.shape[-2], got ", m, " and ", a.size(-2));
  check(tau.size(-1) <= a.size(-1), Kind::Runtime, op,
        ": tau.shape[-1] must be less than or equal to input.shape[-1], got ", tau.size(-1),
        " and ", a.size(-1));
  check(a.dim() - tau.dim() == 1, Kind::Runtime, op,
        ": Expected tau to have one dimension less than input, but got ", tau.dim(), " and ",
        a.dim());
  check(batch_of(a) == batch_of(tau, 1), Kind::Runtime, op,
        ": Expected batch dimensions of tau to be equal to input.shape[:-2], but got ",
        batch_of(tau, 1), " and ", batch_of(a));
  check(a.dim() == c.dim() && batch_of(a) == batch_of(c), Kind::Runtime, op,
        ": Expected batch dimensions of other to be equal to input.shape[:-2], but got ",
        batch_of(c), " and ", batch_of(a));
  check(a.dtype() == tau.dtype() && a.dtype() == c.dtype(), Kind::Runtime, op,
        ": Expected input, tau and other to have the same dtype, got ", a.dtype(), ", ",
        tau.dtype(), " and ", c.dtype());
  check_linalg_dtype(op, a, "input");
}

Tensor ormqr(const Tensor& a, const Tensor& tau, const Tensor& c, bool left, bool adjoint);

// Gradients of Q in its four positions, each as that of some y = Q c.
Reflectors ormqr_rule(const Tensor& g, const Tensor& y, const Tensor& a, const Tensor& tau,
                      const Tensor& c, bool left, bool adjoint) {
  if (!left) return ormqr_rule(adjoint_of(g), adjoint_of(y), a, tau, adjoint_of(c), true, !adjoint);
  if (!adjoint) return reflectors_rule(g, y, a, tau);
  return reflectors_rule(c, ormqr(a, tau, g, true, false), a, tau);
}

Tensor ormqr(const Tensor& a, const Tensor& tau, const Tensor& c, bool left, bool adjoint) {
  check_ormqr(a, tau, c, left);
  Tensor y = by_columns(c);
  if (tau.numel())
    if (Backend* kernels = kernels_for("ormqr", y, {a, tau}))
      kernels->reflect(by_columns(a), contiguous(detach(tau)), y, left, adjoint);
  if (!grad_needed(a, tau, c)) return y;
  return tape_list(y, "ormqr", {a, tau, c},
                   [a = Saved(a), tau = Saved(tau), c = Saved(c), y = Saved::output(y), left,
                    adjoint](const Tensor& g, const std::vector<bool>& needed) {
                     Tensor vectors = a.get(), factors = tau.get();
                     Reflectors d;
                     if (needed[0] || needed[1])
                       d = ormqr_rule(g, y.get(), vectors, factors, c.get(), left, adjoint);
                     Tensor gc = needed[2] ? ormqr(vectors, factors, g, left, !adjoint) : Tensor();
                     return std::vector<Tensor>{d.a, d.tau, gc};
                   });
}

}  // namespace

EMBER_OP("linalg.householder_product(Tensor input, Tensor tau) -> Tensor", &householder_product,
         Function | Out | SafeOut | Leading | Float32,
         "The first columns of a product of Householder reflectors.");
EMBER_OP("orgqr(Tensor self, Tensor input2) -> Tensor", &householder_product,
         kForms | Out | SafeOut | Leading | Float32,
         "The first columns of a product of Householder reflectors.");
EMBER_OP(
    "ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> "
    "Tensor",
    &ormqr, kForms | Out | SafeOut | Leading | Float32,
    "A matrix multiplied from the left or right by a product of reflectors, or its adjoint.");

}  // namespace ember
