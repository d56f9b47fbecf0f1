// Cholesky factors and triangular systems, batch by batch.
#include "opencl/kernels.h"
#include "opencl/launch.h"
#include "opencl/sources.h"

namespace ember::opencl {

namespace {
std::string text(const char* what, Dtype d) {
  return std::string("typedef ") + memory_type(d) + " T;\n#define " + what + " 1\n" +
         sources::linalg;
}
}  // namespace

void cholesky(const Tensor& matrices, const Tensor& info) {
  check_computes("cholesky", matrices.dtype());
  const int64_t n = matrices.size(-1);
  if (n == 0) return fill(info, Scalar(0));
  Launch launch("cholesky" + std::to_string(int(matrices.dtype())), "cholesky",
                [&] { return text("CHOLESKY", matrices.dtype()); });
  launch.tensor(matrices).value(matrices.offset()).tensor(info).value(info.offset()).value(n);
  launch.run(matrices.numel() / (n * n) * 64, 64);
}

void solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unit) {
  if (b.numel() == 0) return;
  check_computes("solve_triangular", b.dtype());
  const int64_t n = a.size(-1), sides = left ? b.size(-1) : b.size(-2);
  const int64_t total = b.numel() / n;
  Launch launch("solve" + std::to_string(int(b.dtype())), "solve_triangular",
                [&] { return text("SOLVE", b.dtype()); });
  launch.tensor(a).value(a.offset()).tensor(b).value(b.offset()).value(total).value(n).value(sides);
  // x a = b is a system with the transpose of a, for each row of b.
  launch.value(left ? n : int64_t(1)).value(left ? int64_t(1) : n);
  launch.value(left ? sides : int64_t(1)).value(left ? int64_t(1) : n);
  launch.value(int32_t(upper == left)).value(int32_t(unit));
  launch.run(total, 16);
}

}  // namespace ember::opencl
