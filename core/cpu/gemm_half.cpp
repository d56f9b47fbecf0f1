// Products of float16 and bfloat16: which of the kernels (kernels/gemm_half.cpp), in how many
// pieces.
#include <vector>

#include "cpu/dispatch.h"
#include "cpu/gemm_parts.h"
#include "cpu/kernels/gemm_kernels.h"

namespace ember::cpu {
namespace {

constexpr int64_t kBytesPerThread = 1 << 17;  // of the matrix that a few rows meet

EMBER_TABLE_BY_LEVEL(GemmHalves, half_kernels, gemm_halves)

const HalfKernels& kernels_for(Dtype dtype) {
  const GemmHalves& kernels = half_kernels();
  if (dtype == Dtype::Float16) return kernels.f16;
  return kernels.bf16_pairs && have_bfloat_pairs() ? *kernels.bf16_pairs : kernels.bf16;
}

const void* at(const void* data, int64_t elements) {
  return static_cast<const uint16_t*>(data) + elements;
}
void* at(void* data, int64_t elements) { return static_cast<uint16_t*>(data) + elements; }

int64_t whole_units(int64_t k) {
  return (k + HalfKernels::kUnit - 1) / HalfKernels::kUnit * HalfKernels::kUnit;
}

// C = alpha * A B + beta * C with few rows of A, one of B's strides 1. Sums of pieces of k are
// added up at the end.
void few_rows(const HalfKernels& kernel, const HalfTask& t) {
  const bool by_dots = t.b_row == 1 || t.k == 1;
  const int64_t x_row = by_dots ? whole_units(t.k) : t.k;
  const int64_t bytes = t.n * t.k * 2, pieces = pieces_for(bytes, kBytesPerThread);
  UnlockedKernel unlocked(pieces == 1 && bytes > kBytesPerThread && !in_parallel_region());
  // Threads take columns of C, or parts of k if those are few.
  const bool across = pieces == 1 || t.n >= (by_dots ? 4 : 256) * pieces;
  const int64_t length = across ? t.n : t.k, unit = HalfKernels::kUnit;
  const int64_t step =
      pieces == 1 ? length : ((length + pieces - 1) / pieces + unit - 1) / unit * unit;
  const int64_t parts = (length + step - 1) / step, size = t.m * t.n;
  const auto memory = buffer<float>(t.m * x_row + (across ? 1 : parts) * size);
  float *x = memory.get(), *y = x + t.m * x_row;
  const auto prepare = [&](int64_t from, int64_t count) {
    for (int64_t i = 0; i < t.m; i++)
      (by_dots ? kernel.pair : kernel.widen)(count, at(t.a, i * t.a_row + from * t.a_col), t.a_col,
                                             x + i * x_row + from);
  };
  if (across) prepare(0, t.k);
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p++) {
      const int64_t from = p * step, count = std::min(step, length - from);
      const int64_t n = across ? count : t.n, k = across ? t.k : count;
      if (!across) prepare(from, count);
      float* to = across ? y + from : y + p * size;
      const float* rows = across ? x : x + from;
      const void* w = at(t.b, from * (across ? t.b_col : t.b_row));
      if (by_dots)
        kernel.dots(n, t.m, k, w, t.b_col, rows, x_row, to, t.n);
      else
        kernel.sums(k, t.m, n, w, t.b_row, rows, x_row, to, t.n);
    }
  });
  for (int64_t p = 1; p < (across ? 1 : parts); p++)
    for (int64_t i = 0; i < size; i++) y[i] += y[p * size + i];
  for (int64_t i = 0; i < t.m; i++)
    kernel.finish(t.n, y + i * t.n, t.alpha, t.beta, at(t.c, i * t.c_row), t.c_col);
}

void many_rows(const HalfKernels& kernel, const HalfTask& task) {
  const int64_t work = task.m * task.n * task.k, pieces = pieces_for(work, kWorkPerThread);
  if (pieces == 1) {
    UnlockedKernel unlocked(work > kWorkPerThread && !in_parallel_region());
    return kernel.gemm(task);
  }
  const Grid grid(task.m, task.n, task.a_col == 1, kernel.block_width(task.k), pieces);
  parallel_for(grid.across * grid.down, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p++) {
      const int64_t i = p / grid.across * grid.height, j = p % grid.across * grid.width;
      HalfTask part = task;
      part.m = std::min(grid.height, task.m - i);
      part.n = std::min(grid.width, task.n - j);
      part.a = at(task.a, i * task.a_row);
      part.b = at(task.b, j * task.b_col);
      part.c = at(task.c, i * task.c_row + j * task.c_col);
      kernel.gemm(part);
    }
  });
}

// C^T = B^T A^T
HalfTask transposed(const HalfTask& t) {
  return {t.n,     t.m,     t.k, t.b,     t.b_col, t.b_row, t.a,
          t.a_col, t.a_row, t.c, t.c_col, t.c_row, t.alpha, t.beta};
}

bool has_few_rows(const HalfKernels& kernel, const HalfTask& t) {
  return t.m <= kernel.few && (t.b_row == 1 || t.b_col == 1 || t.k == 1);
}

}  // namespace

void half_gemm(Dtype dtype, const HalfTask& task) {
  const HalfKernels& kernel = kernels_for(dtype);
  if (task.m == 0 || task.n == 0) return;
  if (task.k == 0 || task.alpha == 0) {
    std::vector<float> zeros(size_t(task.n));
    for (int64_t i = 0; i < task.m; i++) {
      std::fill(zeros.begin(), zeros.end(), 0.0f);
      kernel.finish(task.n, zeros.data(), 1, task.beta, at(task.c, i * task.c_row), task.c_col);
    }
    return;
  }
  const HalfTask turned = transposed(task);
  if (task.m <= task.n && has_few_rows(kernel, task)) return few_rows(kernel, task);
  if (has_few_rows(kernel, turned)) return few_rows(kernel, turned);
  if (has_few_rows(kernel, task)) return few_rows(kernel, task);
  many_rows(kernel, task.c_col != 1 && task.c_row == 1 ? turned : task);
}

}  // namespace ember::cpu
