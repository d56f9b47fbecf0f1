// Products with weights of 8 or 4 bits: a few rows meet them where they lie (kernels/weights.cpp),
// for many they are widened, a block at a time.
#include <algorithm>

#include "cpu/cpu_backend.h"
#include "cpu/dispatch.h"
#include "cpu/gemm_parts.h"
#include "cpu/kernels/weight_kernels.h"
#include "cpu/pointwise.h"

namespace ember::cpu {
namespace {

EMBER_TABLE_BY_LEVEL(WeightTables, tables, weight_kernels)

constexpr int64_t kFew = 16;
constexpr int64_t kBytesPerThread = 1 << 16;
constexpr int64_t kBlock = 1 << 20;  // widened weights at a time, which stay in the cache

void few_rows(const WeightKernels& kernel, const Weights& w, int64_t rows, int64_t few,
              const float* x, int64_t x_row, float* y) {
  const auto sums = buffer<float>(w.offsets ? few * w.groups : 0);
  for (int64_t i = 0; w.offsets && i < few; i++)
    for (int64_t g = 0; g < w.groups; g++) {
      const float* from = x + i * x_row;
      double sum = 0;
      for (int64_t j = g * w.group; j < std::min((g + 1) * w.group, w.k); j++) sum += from[j];
      sums[size_t(i * w.groups + g)] = float(sum);
    }
  const int64_t pieces = pieces_for(rows * w.row, kBytesPerThread);
  const int64_t step = ((rows + pieces - 1) / pieces + 3) / 4 * 4;
  UnlockedKernel unlocked(pieces == 1 && rows * w.row > kBytesPerThread && !in_parallel_region());
  parallel_for((rows + step - 1) / step, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p++)
      kernel.dots(w.from(p * step), std::min(step, rows - p * step), few, x, x_row, sums.get(),
                  y + p * step, rows);
  });
}

void many_rows(const WeightKernels& kernel, const Weights& w, int64_t rows, int64_t many,
               const float* x, int64_t x_row, float* y) {
  const int64_t block = std::clamp<int64_t>(kBlock / w.k, 1, rows);
  const auto wide = buffer<float>(block * w.k);
  for (int64_t at = 0; at < rows; at += block) {
    const int64_t count = std::min(block, rows - at);
    parallel_for(count, std::max<int64_t>(1, 4 * kGrain / w.k), [&](int64_t begin, int64_t end) {
      kernel.widen(w.from(at + begin), end - begin, wide.get() + begin * w.k, w.k);
    });
    gemm(Dtype::Float32, many, count, w.k, {x, x_row, 1}, {wide.get(), 1, w.k}, {y + at, rows, 1});
  }
}

}  // namespace

void CpuBackend::weights_matmul(const Tensor& out, const Tensor& x, const Tensor& weights,
                                const Tensor& scales, const Tensor& offsets) {
  on_cpu(x, weights, scales, offsets);
  const int64_t m = x.size(0), k = x.size(1), rows = weights.size(0), groups = scales.size(1);
  if (m == 0 || rows == 0) return;
  if (k == 0) return fill(out, Scalar(0));
  const bool bytes = weights.dtype() == Dtype::Int8;
  const WeightKernels& kernel = bytes ? tables().of_8_bits : tables().of_4_bits;
  const Weights w{weights.data<uint8_t>(),
                  weights.size(1),
                  scales.data<float>(),
                  offsets ? offsets.data<float>() : nullptr,
                  k,
                  (k + groups - 1) / groups,
                  groups};
  // Rows of x as floats, with zeros up to a whole unit.
  const int64_t x_row = (k + kWeightUnit - 1) / kWeightUnit * kWeightUnit;
  const auto floats = buffer<float>(m * x_row);
  if (x_row != k) std::fill_n(floats.get(), m * x_row, 0.0f);
  const int64_t strides[] = {x_row, 1};
  cpu::copy(2, x.shape().data(), {floats.get(), Dtype::Float32, strides},
            {x.data(), x.dtype(), x.strides().data()});
  const bool direct = out.dtype() == Dtype::Float32 && out.is_contiguous();
  const auto memory = buffer<float>(direct ? 0 : m * rows);
  float* y = direct ? out.data<float>() : memory.get();
  (m <= kFew ? few_rows : many_rows)(kernel, w, rows, m, floats.get(), x_row, y);
  if (direct) return;
  const int64_t of_y[] = {rows, 1};
  cpu::copy(2, out.shape().data(), {out.data(), out.dtype(), out.strides().data()},
            {y, Dtype::Float32, of_y});
}

}  // namespace ember::cpu
