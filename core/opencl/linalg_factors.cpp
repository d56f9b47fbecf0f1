// LU, LDL and QR factors, and systems solved with them.
#include "opencl/linalg.h"
#include "opencl/sources.h"

namespace ember::opencl {

namespace {

// The columns of b, each solved by one work-item from factors and pivots; `mode` is the kernel's.
void solve(const char* op, const char* kernel, const char* text, const Tensor& factors,
           const Tensor& pivots, const Tensor& b, int32_t mode) {
  const int64_t n = factors.size(-1), columns = b.size(-1), total = batch_count(b) * columns;
  Launch launch = number_kernel(op, kernel, text, b.dtype());
  launch.tensor(factors).value(factors.offset()).tensor(pivots).value(pivots.offset());
  launch.tensor(b).value(b.offset()).faults(op, Kind::Runtime).value(total).value(n);
  launch.value(columns).value(mode);
  run_items(launch, total);
}

}  // namespace

void OpenClBackend::lu(const Tensor& a, const Tensor& pivots, const Tensor& info) {
  const int64_t m = a.size(-2), n = a.size(-1), group = group_for(std::max(m, n));
  Launch launch = number_kernel("linalg.lu", "lu", sources::lu, a.dtype());
  launch.tensor(a).value(a.offset()).tensor(pivots).value(pivots.offset());
  launch.tensor(info).value(info.offset()).value(m).value(n);
  launch.run(batch_count(a) * group, group);
}

void OpenClBackend::lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, Apply op) {
  solve("linalg.lu_solve", "lu_solve", sources::lu, lu, pivots, b, int32_t(op));
}

void OpenClBackend::pivot_order(const Tensor& pivots, const Tensor& rows) {
  const int64_t k = pivots.size(-1), m = rows.size(-1), total = rows.numel() / m;
  Launch launch = number_kernel("lu_unpack", "pivot_order", sources::lu, Dtype::Float32);
  launch.tensor(pivots).value(pivots.offset()).tensor(rows).value(rows.offset());
  launch.faults("lu_unpack", Kind::Runtime).value(total).value(k).value(m);
  run_items(launch, total);
}

void OpenClBackend::ldl(const Tensor& a, const Tensor& pivots, const Tensor& info, bool hermitian) {
  const int64_t n = a.size(-1), group = group_for(n);
  Launch launch = number_kernel("linalg.ldl_factor", "ldl", sources::ldl, a.dtype());
  launch.tensor(a).value(a.offset()).tensor(pivots).value(pivots.offset());
  launch.tensor(info).value(info.offset()).value(n).value(int32_t(hermitian));
  launch.run(batch_count(a) * group, group);
}

void OpenClBackend::ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b,
                              bool hermitian) {
  solve("linalg.ldl_solve", "ldl_solve", sources::ldl, ld, pivots, b, int32_t(hermitian));
}

void OpenClBackend::qr(const Tensor& a, const Tensor& tau) {
  const int64_t m = a.size(-2), n = a.size(-1), group = group_for(std::max(m, n));
  Launch launch = number_kernel("linalg.qr", "qr", sources::qr, a.dtype());
  launch.tensor(a).value(a.offset()).tensor(tau).value(tau.offset()).value(m).value(n);
  launch.run(batch_count(a) * group, group);
}

void OpenClBackend::reflect_identity(const Tensor& a, const Tensor& tau) {
  const int64_t m = a.size(-2), n = a.size(-1), group = group_for(std::max(m, n));
  Launch launch =
      number_kernel("linalg.householder_product", "reflect_identity", sources::qr, a.dtype());
  launch.tensor(a).value(a.offset()).tensor(tau).value(tau.offset()).value(m).value(n);
  launch.value(tau.size(-1)).run(batch_count(a) * group, group);
}

void OpenClBackend::reflect(const Tensor& a, const Tensor& tau, const Tensor& c, bool left,
                            bool adjoint) {
  const int64_t m = a.size(-2), others = c.size(left ? -1 : -2), total = batch_count(c) * others;
  Launch launch = number_kernel("ormqr", "reflect", sources::qr, c.dtype());
  launch.tensor(a).value(a.offset()).tensor(tau).value(tau.offset()).tensor(c).value(c.offset());
  launch.value(total).value(m).value(a.size(-1)).value(tau.size(-1)).value(others);
  launch.value(int32_t(left)).value(int32_t(adjoint)).value(int32_t(left != adjoint));
  run_items(launch, total);
}

}  // namespace ember::opencl
