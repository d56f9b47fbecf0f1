// Scans. Lines of some length are cut into chunks, one work-group each: their folds first, then the
// scan of these, then the elements.
#include "opencl/complex.h"
#include "opencl/device.h"
#include "opencl/lines.h"
#include "opencl/opencl_backend.h"
#include "opencl/sources.h"
#include "opencl/text.h"

namespace ember::opencl {

namespace {

constexpr int64_t kGroup = 64, kChunk = 1024;  // GROUP and CHUNK of kernels/scan.cl

struct Plan {
  Fold f;
  Dtype acc;
};

std::string text(const Plan& plan, Dtype in, Dtype out) {
  std::string types = line_types(plan.acc, in, out);
  const std::string join = text_of(plan.f);
  types = functions_for(plan.acc, join) + types;
  if (plan.f == Fold::max || plan.f == Fold::min)
    types +=
        std::string("#define FINDS 1\n#define GOES_ON(a, b) ((b) != (b) || ((a) == (a) && (b) ") +
        (plan.f == Fold::max ? ">=" : "<=") + " (a)))\n";
  else
    types += "#define JOIN(a, b) (" + (is_complex(plan.acc) ? complex_formula(join) : join) + ")\n";
  return types + sources::scan;
}

// `sources`: where the elements of x come from, if they are folds of chunks.
void run(const Plan& plan, const Tensor& out, const Tensor& indices, const Tensor& x, int dim,
         const Tensor& sources) {
  Lines lines(x, dim, {&out, &x, &indices});
  const std::string key =
      std::to_string(int(plan.f)) + dtype_ids({plan.acc, x.dtype(), out.dtype()});
  auto source = [&] { return text(plan, x.dtype(), out.dtype()); };
  auto arguments = [&](Launch& launch) {
    launch.tensor(out).tensor(indices).tensor(x).value(lines.g).value(lines.n);
    launch.value(lines.step[0]).value(lines.step[1]).value(lines.step[2]);
    launch.value(int32_t(bool(indices)));
  };
  const int64_t many = 64 * std::max<int64_t>(context().properties.compute_units, 4);
  if (!sources && (lines.n <= 32 || (lines.g.n >= many && lines.n < 16 * kChunk))) {
    Launch launch("scan_lines" + key, "scan_lines", source);
    arguments(launch);
    return launch.run(lines.g.n, 16);
  }
  const int64_t chunks = (lines.n + kChunk - 1) / kChunk;
  const bool finds = plan.f == Fold::max || plan.f == Fold::min;
  Tensor totals, places;
  auto launch = [&](bool ends) {
    Launch launch("scan_chunks" + key, "scan_chunks", source);
    arguments(launch);
    launch.tensor(totals).tensor(places).value(chunks).value(int32_t(ends));
    launch.tensor(sources).value(int32_t(bool(sources)));
    launch.run(lines.g.n * chunks * kGroup, kGroup);
  };
  if (chunks > 1) {
    totals = empty({lines.g.n, chunks}, plan.acc, x.device());
    if (finds) places = empty({lines.g.n, chunks}, Dtype::Int64, x.device());
    launch(false);
    run(plan, totals, places, totals, 1, finds ? places : Tensor());
  }
  launch(true);
}

}  // namespace

void OpenClBackend::scan(Fold f, const Tensor& out, const Tensor& indices, const Tensor& x,
                         int dim) {
  if (x.numel() == 0) return;
  check_holds("scan", x.dtype());
  check_holds("scan", out.dtype());
  if (f == Fold::max || f == Fold::min) check_computes("scan", x.dtype());
  Dtype acc = is_integral(out.dtype(), true) ? Dtype::Int64 : compute_of(out.dtype());
  // Gradients subtract these from each other.
  if (f == Fold::logsumexp && context().properties.has_double)
    acc = is_complex(acc) ? Dtype::Complex128 : Dtype::Float64;
  run({f, acc}, out, indices, x, dim, {});
}

}  // namespace ember::opencl
