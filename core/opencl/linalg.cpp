// Cholesky factors and triangular systems, batch by batch, and the texts of all linear algebra.
#include "opencl/linalg.h"

#include "opencl/device.h"
#include "opencl/sources.h"
#include "opencl/text.h"

namespace ember::opencl {

namespace {
constexpr int64_t kGroup = 64;  // the most work-items for a matrix

std::string number_text(Dtype d) {
  const bool wide = real_of(d) == Dtype::Float64;
  std::string text = wide ? "#define R double\n#define EPS 2.220446049250313e-16\n"
                            "#define TINY 2.2250738585072014e-308\n"
                          : "#define R float\n#define EPS 1.1920929e-07f\n"
                            "#define TINY 1.17549435e-38f\n";
  if (is_complex(d)) text += "#define COMPLEX 1\n";
  return text + define("GROUP", kGroup) + sources::fold + sources::number;
}
}  // namespace

Launch number_kernel(const char* op, const char* name, const char* text, Dtype d) {
  check_computes(op, real_of(d));
  return Launch(name + ("#" + std::to_string(int(d))), name, [&] { return number_text(d) + text; });
}

int64_t group_for(int64_t size) {
  return std::min<int64_t>(size <= 16 ? 8 : kGroup, int64_t(context().properties.group_size));
}

void run_items(Launch& launch, int64_t items) {
  launch.run(items, std::min<int64_t>(16, int64_t(context().properties.group_size)));
}

void OpenClBackend::cholesky(const Tensor& matrices, const Tensor& info) {
  const int64_t n = matrices.size(-1);
  if (n == 0) return own().fill(info, Scalar(0));
  if (matrices.numel() == 0) return;
  Launch launch = number_kernel("cholesky", "cholesky", sources::linalg, matrices.dtype());
  launch.tensor(matrices).value(matrices.offset()).tensor(info).value(info.offset()).value(n);
  const int64_t group = group_for(n);
  launch.run(matrices.numel() / (n * n) * group, group);
}

void OpenClBackend::solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left,
                                     bool unit) {
  if (b.numel() == 0) return;
  const int64_t n = a.size(-1), sides = left ? b.size(-1) : b.size(-2);
  const int64_t total = b.numel() / n;
  Launch launch = number_kernel("solve_triangular", "solve_triangular", sources::linalg, b.dtype());
  launch.tensor(a).value(a.offset()).tensor(b).value(b.offset()).value(total).value(n).value(sides);
  // x a = b is a system with the transpose of a, for each row of b.
  launch.value(left ? n : int64_t(1)).value(left ? int64_t(1) : n);
  launch.value(left ? sides : int64_t(1)).value(left ? int64_t(1) : n);
  launch.value(int32_t(upper == left)).value(int32_t(unit));
  run_items(launch, total);
}

}  // namespace ember::opencl
