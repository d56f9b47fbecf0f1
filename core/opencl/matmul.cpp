// Matrix products in tiles of local memory, all batches in one launch.
#include <algorithm>

#include "opencl/complex.h"
#include "opencl/device.h"
#include "opencl/kernels.h"
#include "opencl/launch.h"
#include "opencl/sources.h"

namespace ember::opencl {

void matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha,
            const Scalar& beta) {
  if (is_complex(out.dtype())) return complex_matmul(out, a, b, alpha, beta);
  if (out.numel() == 0) return;
  for (const Tensor* t : {&out, &a, &b}) check_computes("matmul", t->dtype());
  const Dtype acc = is_floating(out.dtype()) ? compute_of(out.dtype()) : Dtype::Int64;
  const int64_t m = out.size(-2), n = out.size(-1), k = a.size(-1);
  // Tiles of 64 x 64 where there is that much to do and the device has local memory for them.
  const bool large = std::min(m, n) > 24 && context().properties.local_memory >= 2 * 16 * 64 * 8;
  const int block = large ? 8 : 2, tile = 8 * block;
  const int batch = out.dim() - 2;
  Walk walk(Shape(out.shape().data(), batch));
  for (const Tensor* t : {&out, &a, &b}) walk.add(Shape(t->strides().data(), batch), t->offset());
  const Geometry g = walk.geometry();
  auto type = [](const char* which, Dtype d) {
    return std::string("#define M_") + which + " " + memory_type(d) + "\n#define LOAD_" + which +
           " " + load_macro(d) + "\n";
  };
  Launch launch(
      "matmul:" + std::to_string(int(out.dtype())) + ',' + std::to_string(int(a.dtype())) + ',' +
          std::to_string(int(b.dtype())) + (large ? "l" : "s"),
      "matmul", [&] {
        return std::string("#define ACC ") + value_type(acc) + "\n#define BLOCK " +
               std::to_string(block) + "\n" + type("OUT", out.dtype()) + type("A", a.dtype()) +
               type("B", b.dtype()) + "#define STORE(p, i, v) " + store_macro(out.dtype()) +
               "(p, i, " + stored(acc, out.dtype(), "v") + ")\n" + sources::matmul;
      });
  launch.tensor(out).tensor(a).tensor(b).value(g).value(m).value(n).value(k);
  for (const Tensor* t : {&out, &a, &b}) launch.value(t->stride(-2)).value(t->stride(-1));
  int32_t keeps = !beta.equal(0);
  launch.scalar(acc, alpha).scalar(acc, beta).value(keeps);
  const int64_t tiles = ((m + tile - 1) / tile) * ((n + tile - 1) / tile);
  launch.run(g.n * tiles * 64, 64);
}

}  // namespace ember::opencl
