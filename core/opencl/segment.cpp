// Sums over segments: an item adds up what belongs to its elements, so that nothing is written by
// two of them. Transposed products are left to ordered scatters.

#include "opencl/launch.h"
#include "opencl/opencl_backend.h"
#include "opencl/sources.h"
#include "opencl/text.h"

namespace ember::opencl {

namespace {

constexpr int64_t kItems = 64;

int64_t columns_of_item() { return items_work_alone() ? 16 : 1; }

// The arguments that both kernels have.
Launch start(const char* name, const Tensor& out, const CsrRows& at, const Tensor& a,
             const Tensor& b) {
  const Dtype dtype = out.dtype(), acc = accumulator(dtype);
  Launch launch(name + std::to_string(int(dtype)), name, [&] {
    return define("ACC", value_type(acc)) + element("", dtype, acc) +
           define("COLUMNS", columns_of_item()) + sources::segment;
  });
  for (const Tensor* t : {&out, &at.start, &at.columns, &a, &b})
    launch.tensor(*t).value(t->offset());
  launch.faults(name, Kind::Runtime).value(at.start.numel() - 1).value(at.width);
  launch.value(b.size(1)).value(at.columns.numel());
  return launch;
}

}  // namespace

void OpenClBackend::sparse_mm(const Tensor& out, const CsrRows& a, const Tensor& values,
                              const Tensor& dense, bool transposed) {
  if (transposed || is_complex(out.dtype()) || out.dtype() == Dtype::Bool)
    return Backend::sparse_mm(out, a, values, dense, transposed);
  check_holds("sparse_mm", out.dtype());
  if (out.numel() == 0) return;
  const int64_t each = columns_of_item();
  Launch launch = start("sparse_mm", out, a, values, dense);
  launch.run(out.size(0) * ((out.size(1) + each - 1) / each), kItems);
}
void OpenClBackend::sampled_mm(const Tensor& out, const CsrRows& at, const Tensor& a,
                               const Tensor& b) {
  if (is_complex(out.dtype()) || out.dtype() == Dtype::Bool)
    return Backend::sampled_mm(out, at, a, b);
  check_holds("sampled_mm", out.dtype());
  if (out.numel()) start("sampled_mm", out, at, a, b).run(out.numel(), kItems);
}

}  // namespace ember::opencl
