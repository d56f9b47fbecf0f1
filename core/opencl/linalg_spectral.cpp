// Eigenvalues, singular values and least squares.
#include "opencl/linalg.h"
#include "opencl/sources.h"

namespace ember::opencl {

namespace {

Tensor adjoint_of(const char* op, const Tensor& a) {
  const int64_t m = a.size(-2), n = a.size(-1);
  Tensor out = scratch({batch_count(a), m, n}, a.dtype(), a);  // by columns: (n, m)
  Launch launch = number_kernel(op, "adjoint", sources::svd, a.dtype());
  launch.tensor(out).value(out.offset()).tensor(a).value(a.offset()).value(a.numel());
  launch.value(m).value(n);
  run_items(launch, a.numel());
  return out;
}

// `t` (batch, columns, rows), which is contiguous, as matrices laid out by columns.
Tensor as_columns(const Tensor& t) {
  const int64_t columns = t.size(1), rows = t.size(2);
  return alias(t, {t.size(0), rows, columns}, {rows * columns, 1, rows}, t.offset());
}

// Singular values s (batch, n) of w (batch, n, rows), rows >= n, and, if defined, what goes with
// them: sides (batch, n or more, rows) and shorts (batch, n, n).
void rotate(const char* op, const Tensor& w, int64_t rows, int64_t n, const Tensor& s,
            const Tensor& info, const Tensor& sides, const Tensor& shorts) {
  const int64_t batch = w.numel() / (rows * n), group = group_for(n);
  Tensor room = shorts ? scratch({batch, n, n}, w.dtype(), w) : Tensor();
  Tensor lengths = scratch({batch, n}, s.dtype(), w);
  Launch launch = number_kernel(op, "svd", sources::svd, w.dtype());
  launch.tensor(w).value(w.offset()).tensor(s).value(s.offset()).tensor(info);
  launch.value(info.offset()).tensor(room).tensor(lengths).tensor(sides);
  launch.value(sides ? sides.stride(0) : int64_t(0)).tensor(shorts).value(rows).value(n);
  launch.value(int32_t(sides ? 1 : shorts ? 2 : 0)).run(batch * group, group);
}

}  // namespace

void OpenClBackend::eigh(const Tensor& a, const Tensor& values, const Tensor& info, bool upper,
                         bool vectors) {
  const char* op = "linalg.eigh";
  const int64_t n = a.size(-1), batch = batch_count(a), group = group_for(n);
  Tensor w = scratch({batch, n, n}, a.dtype(), a), v = scratch({batch, n, n}, a.dtype(), a);
  Tensor scales = scratch({batch}, values.dtype(), a),
         found = scratch({batch, n}, values.dtype(), a);
  {
    Launch launch = number_kernel(op, "eigh_shift", sources::eigh, a.dtype());
    launch.tensor(a).value(a.offset()).tensor(w).tensor(scales).value(n).value(int32_t(upper));
    launch.run(batch * group, group);
  }
  rotate(op, w, n, n, values, info, Tensor(), v);
  {
    Launch launch = number_kernel(op, "eigh_values", sources::eigh, a.dtype());
    launch.tensor(a).value(a.offset()).tensor(v).tensor(found).value(batch * n).value(n);
    run_items(launch, batch * n);
  }
  Launch launch = number_kernel(op, "eigh_order", sources::eigh, a.dtype());
  launch.tensor(a).value(a.offset()).tensor(values).value(values.offset()).tensor(v).tensor(found);
  launch.tensor(scales).value(batch * n).value(n).value(int32_t(vectors));
  run_items(launch, batch * n);
}

void OpenClBackend::eig(const Tensor& a, const Tensor& values, const Tensor& vectors,
                        const Tensor& info) {
  const char* op = "linalg.eig";
  const int64_t n = a.size(-1), batch = batch_count(a), group = group_for(n);
  const Dtype d = values.dtype(), own = a.dtype();
  const bool real = !is_complex(own), wanted = bool(vectors);
  const int32_t wants = wanted;
  auto room = [&](Dtype dtype) { return scratch({batch, n, n}, dtype, a); };
  Tensor h = room(own), z = wanted ? room(own) : Tensor(),
         scales = scratch({batch}, real_of(own), a);
  opencl::own().copy(h, alias(a, {batch, n, n}, {n * n, n, 1}, a.offset()));
  {
    Launch launch = number_kernel(op, "hessenberg", sources::hessenberg, own);
    launch.tensor(h).tensor(z).tensor(scales).value(n).value(wants).run(batch * group, group);
  }
  if (real) {
    {
      Launch launch = number_kernel(op, "francis", sources::francis, own);
      launch.tensor(h).tensor(z).tensor(info).value(info.offset()).value(n).value(wants);
      launch.run(batch * group, group);
    }
    Tensor triangle = room(d), turned = wanted ? room(d) : Tensor();
    {
      Launch launch = number_kernel(op, "eig_complex", sources::eig, d);
      launch.tensor(triangle).tensor(turned).tensor(h).tensor(z).tensor(scales).tensor(values);
      launch.value(values.offset()).value(batch).value(n).value(wants);
      run_items(launch, batch);
    }
    h = triangle;
    z = turned;
  } else {
    Tensor turns = scratch({batch, n, 2}, d, a);
    Launch launch = number_kernel(op, "eig_schur", sources::eig, d);
    launch.tensor(h).tensor(z).tensor(turns).tensor(scales).tensor(values).value(values.offset());
    launch.tensor(info).value(info.offset()).value(n).value(wants).run(batch * group, group);
  }
  if (!wanted) return;
  Tensor work = room(d);
  Launch launch = number_kernel(op, "eig_vectors", sources::eig, d);
  launch.tensor(h).tensor(z).tensor(work).tensor(vectors).value(vectors.offset());
  launch.value(batch * n).value(n).value(int32_t(real));
  run_items(launch, batch * n);
}

void OpenClBackend::svd(const Tensor& a, const Tensor& s, const Tensor& u, const Tensor& vh,
                        const Tensor& info) {
  const char* op = "linalg.svd";
  const int64_t m = a.size(-2), n = a.size(-1), batch = batch_count(a);
  const bool wide = m < n, vectors = bool(u);
  const int64_t rows = std::max(m, n), k = std::min(m, n);
  const Tensor w = wide ? adjoint_of(op, a) : a;
  // Of the longer side, as many columns as are wanted; those of the shorter one are all there.
  const int64_t columns = !vectors ? k : wide ? vh.size(-2) : u.size(-1);
  Tensor side, shorter;
  if (vectors) {
    side = scratch({batch, columns, rows}, a.dtype(), a);
    shorter = scratch({batch, k, k}, a.dtype(), a);
  }
  rotate(op, w, rows, k, s, info, side, shorter);
  if (!vectors) return;
  // What is orthogonal to the columns found: the rest of Q, from a QR factorisation of them.
  Tensor q = scratch({batch, columns, rows}, a.dtype(), a), tau = scratch({batch, k}, a.dtype(), a);
  auto first = [&](const Tensor& t) { return alias(t, {batch, k, rows}, t.strides(), t.offset()); };
  Tensor factors = scratch({batch, k, rows}, a.dtype(), a);
  own().copy(factors, first(side));
  qr(as_columns(factors), tau);
  own().copy(first(q), factors);
  reflect_identity(as_columns(q), tau);
  {
    Launch launch = number_kernel(op, "complete", sources::svd, a.dtype());
    launch.tensor(side).tensor(q).value(batch * columns).value(rows);
    launch.value(columns).value(k);
    run_items(launch, batch * columns);
  }
  auto put = [&](const Tensor& to, const Tensor& from) {
    own().copy(alias(to, from.shape(), contiguous_strides(from.shape()), to.offset()), from);
  };
  put(u, wide ? shorter : side);
  put(vh, adjoint_of(op, as_columns(wide ? side : shorter)));
}

void OpenClBackend::least_squares(LeastSquares driver, const Tensor& a, const Tensor& b,
                                  double rcond, const Tensor& rank, const Tensor& s,
                                  const Tensor& info) {
  const char* op = "linalg.lstsq";
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n), batch = batch_count(a);
  const int64_t rows = b.size(-2), columns = b.size(-1), lines = batch * columns;
  if (driver == LeastSquares::Gels) {
    const bool wide = m < n;
    Tensor factors = wide ? as_columns(adjoint_of(op, a)) : a;
    Tensor tau = scratch({batch, k}, a.dtype(), a);
    qr(factors, tau);
    if (!wide) reflect(factors, tau, b, true, true);
    {
      Launch launch = number_kernel(op, "divide", sources::lstsq, a.dtype());
      launch.tensor(factors).value(factors.offset()).tensor(b).value(b.offset()).tensor(info);
      launch.value(info.offset()).value(lines).value(rows).value(k).value(rows).value(columns);
      launch.value(int32_t(wide));
      run_items(launch, lines);
    }
    if (wide) reflect(factors, tau, b, true, false);
    return;
  }
  const Dtype real = real_of(a.dtype());
  Tensor values = s ? s : scratch({batch, k}, real, a);
  Tensor u = scratch({batch, m, m}, a.dtype(), a), vh = scratch({batch, n, k}, a.dtype(), a);
  svd(a, values, as_columns(u), as_columns(vh), info);
  Tensor c = scratch({lines, m}, a.dtype(), a);
  {
    Launch launch = number_kernel(op, "project", sources::lstsq, a.dtype());
    launch.tensor(c).tensor(u).tensor(b).value(b.offset()).value(lines * m).value(m).value(rows);
    launch.value(columns);
    run_items(launch, lines * m);
  }
  if (rcond < 0) rcond = real == Dtype::Float64 ? 2.220446049250313e-16 : 1.1920929e-07;
  Launch launch = number_kernel(op, "combine", sources::lstsq, a.dtype());
  launch.tensor(b).value(b.offset()).tensor(c).tensor(values).value(values.offset());
  launch.tensor(vh).tensor(rank);
  launch.value(rank.offset()).value(lines * rows).value(m).value(n).value(k).value(rows);
  launch.value(columns).scalar(real, Scalar(rcond));
  run_items(launch, lines * rows);
}

}  // namespace ember::opencl
