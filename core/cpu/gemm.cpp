// How a product is cut up: a grid of pieces of C for threads, matrix-vector forms, conversions for
// the integers that the kernels do not compute in. Halves: gemm_half.cpp; complex numbers:
// gemm_complex.cpp.
#include "cpu/gemm.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "cpu/dispatch.h"
#include "cpu/gemm_parts.h"
#include "cpu/kernels/gemm_kernels.h"
#include "cpu/parallel.h"

namespace ember::cpu {
namespace {

constexpr int64_t kBytesPerThread = 1 << 18;  // read by a matrix-vector product

EMBER_TABLE_BY_LEVEL(GemmKernels, product_kernels, gemm_kernels)

template <class T>
const GemmKernelsOf<T>& kernels_of() {
  if constexpr (std::is_same_v<T, float>)
    return product_kernels().f32;
  else if constexpr (std::is_same_v<T, double>)
    return product_kernels().f64;
  else if constexpr (std::is_same_v<T, int32_t>)
    return product_kernels().i32;
  else
    return product_kernels().i64;
}

template <class T>
void combine(int64_t n, const T* sum, T alpha, T beta, T* out, int64_t step) {
  for (int64_t i = 0; i < n; i++) {
    T* to = out + i * step;
    *to = beta == T(0) ? T(alpha * sum[i]) : T(alpha * sum[i] + beta * *to);
  }
}

// y = alpha * A x + beta * y with A of m x k, one of its strides 1. False if that form does not
// apply.
template <class T>
bool matrix_vector(int64_t m, int64_t k, const T* a, int64_t a_row, int64_t a_col, const T* x,
                   int64_t x_step, T* y, int64_t y_step, T alpha, T beta) {
  const auto& kernel = kernels_of<T>();
  const bool by_rows = a_col == 1 || k == 1, by_columns = a_row == 1;
  if (!by_rows && !by_columns) return false;
  const int64_t pieces = pieces_for(m * k * int64_t(sizeof(T)), kBytesPerThread);
  const bool plain = alpha == T(1) && beta == T(0);
  if (by_rows && !(by_columns && k < m)) {
    Buffer<T> packed, sums;
    if (x_step != 1 && k > 1) {
      packed = buffer<T>(k);
      for (int64_t j = 0; j < k; j++) packed[j] = x[j * x_step];
      x = packed.get();
    }
    if (m >= 2 * pieces || pieces == 1) {
      T* to = plain ? y : (sums = buffer<T>(m)).get();
      const int64_t step = plain ? y_step : 1;
      parallel_for(m, (m + pieces - 1) / pieces, [&](int64_t begin, int64_t end) {
        kernel.dot_rows(end - begin, k, a + begin * a_row, a_row, x, to + begin * step, step);
      });
      if (!plain) combine(m, to, alpha, beta, y, y_step);
      return true;
    }
    // Few long rows: split them.
    sums = buffer<T>(m * pieces);
    const int64_t length = (k + pieces - 1) / pieces;
    parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; p++) {
        const int64_t from = std::min(k, p * length), to = std::min(k, from + length);
        kernel.dot_rows(m, to - from, a + from, a_row, x + from, sums.get() + p, pieces);
      }
    });
    for (int64_t i = 0; i < m; i++) {
      for (int64_t p = 1; p < pieces; p++) sums[i * pieces] += sums[i * pieces + p];
      combine(1, sums.get() + i * pieces, alpha, beta, y + i * y_step, 1);
    }
    return true;
  }
  // A's columns are adjacent in memory: y is a weighted sum of k rows of length m.
  const bool across =
      m * int64_t(sizeof(T)) >= 1024 * pieces;  // threads take columns, or rows if those are few
  Buffer<T> sums;
  if (across || pieces == 1) {
    T* to = plain && y_step == 1 ? y : (sums = buffer<T>(m)).get();
    parallel_for(m, (m + pieces - 1) / pieces, [&](int64_t begin, int64_t end) {
      kernel.sum_rows(k, end - begin, a + begin, a_col, x, x_step, to + begin);
    });
    if (to != y) combine(m, to, alpha, beta, y, y_step);
    return true;
  }
  sums = buffer<T>(m * pieces);
  const int64_t rows = (k + pieces - 1) / pieces;
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p++) {
      const int64_t from = std::min(k, p * rows), to = std::min(k, from + rows);
      kernel.sum_rows(to - from, m, a + from * a_col, a_col, x + from * x_step, x_step,
                      sums.get() + p * m);
    }
  });
  for (int64_t p = 1; p < pieces; p++)
    for (int64_t i = 0; i < m; i++) sums[i] += sums[p * m + i];
  combine(m, sums.get(), alpha, beta, y, y_step);
  return true;
}

// C's columns are adjacent.
template <class T>
void matrix_matrix(const GemmTask<T>& task) {
  const auto& kernel = kernels_of<T>();
  const int64_t pieces = pieces_for(task.m * task.n * task.k, kWorkPerThread);
  if (pieces == 1) {
    UnlockedKernel unlocked(task.m * task.n * task.k > kWorkPerThread && !in_parallel_region());
    kernel.gemm(task);
    return;
  }
  const Grid grid(task.m, task.n, task.a_col == 1, kernel.block_width(task.k), pieces);
  parallel_for(grid.across * grid.down, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p++) {
      const int64_t i = p / grid.across * grid.height, j = p % grid.across * grid.width;
      GemmTask<T> part = task;
      part.m = std::min(grid.height, task.m - i);
      part.n = std::min(grid.width, task.n - j);
      part.a += i * task.a_row;
      part.b += j * task.b_col;
      part.c += i * task.c_row + j;
      kernel.gemm(part);
    }
  });
}

template <class T>
void scale(int64_t m, int64_t n, T* c, int64_t row, int64_t col, T beta) {
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      T* to = c + i * row + j * col;
      *to = beta == T(0) ? T(0) : T(beta * *to);
    }
}

template <class T>
T scalar_of(complex128 v) {
  return T(v.real());
}

template <class T>
void product(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_col, const T* b,
             int64_t b_row, int64_t b_col, T* c, int64_t c_row, int64_t c_col, T alpha, T beta) {
  if (m == 0 || n == 0) return;
  if (k == 0 || alpha == T(0)) return scale(m, n, c, c_row, c_col, beta);
  if (n == 1 && matrix_vector(m, k, a, a_row, a_col, b, b_row, c, c_row, alpha, beta)) return;
  if (m == 1 && matrix_vector(n, k, b, b_col, b_row, a, a_col, c, c_col, alpha, beta)) return;
  if (c_col == 1 || n == 1) {
    matrix_matrix<T>({m, n, k, a, a_row, a_col, b, b_row, b_col, c, c_row, alpha, beta});
  } else if (c_row == 1 || m == 1) {
    matrix_matrix<T>({n, m, k, b, b_col, b_row, a, a_col, a_row, c, c_col, alpha, beta});
  } else {
    auto whole = buffer<T>(m * n);
    matrix_matrix<T>({m, n, k, a, a_row, a_col, b, b_row, b_col, whole.get(), n, T(1), T(0)});
    for (int64_t i = 0; i < m; i++)
      combine(n, whole.get() + i * n, alpha, beta, c + i * c_row, c_col);
  }
}

// A contiguous copy, as Wide, of rows x cols elements; keeps the order in which they lie in memory.
template <class Wide, class T>
struct Widened {
  Buffer<Wide> data;
  int64_t row, col;

  Widened(const T* from, int64_t from_row, int64_t from_col, int64_t rows, int64_t cols)
      : data(buffer<Wide>(rows * cols)), row(cols), col(1) {
    if (from_row == 1 && from_col != 1) {
      std::swap(from_row, from_col);
      std::swap(rows, cols);
      row = 1;
      col = cols;
    }
    Wide* to = data.get();
    parallel_for(rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, cols)),
                 [&](int64_t begin, int64_t end) {
                   if (from_col == 1 && from_row == cols)
                     return run(from + begin * cols, 1, to + begin * cols, (end - begin) * cols);
                   for (int64_t i = begin; i < end; i++)
                     run(from + i * from_row, from_col, to + i * cols, cols);
                 });
  }

  static void run(const T* from, int64_t step, Wide* to, int64_t n) {
    for (int64_t i = 0; i < n; i++) to[i] = Wide(from[i * step]);
  }
};

template <class Wide, class T>
void wide_product(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b,
                  const MatrixOut& c, Wide alpha, Wide beta) {
  Widened<Wide, T> x(static_cast<const T*>(a.data), a.row, a.col, m, k);
  Widened<Wide, T> y(static_cast<const T*>(b.data), b.row, b.col, k, n);
  auto sum = buffer<Wide>(m * n);
  product<Wide>(m, n, k, x.data.get(), x.row, x.col, y.data.get(), y.row, y.col, sum.get(), n, 1,
                Wide(1), Wide(0));
  T* out = static_cast<T*>(c.data);
  parallel_for(
      m, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n)), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
          Wide* from = sum.get() + i * n;
          if (alpha != Wide(1) || beta != Wide(0)) {
            for (int64_t j = 0; j < n; j++) {
              const Wide sum = alpha * from[j];
              from[j] = beta == Wide(0) ? sum : Wide(sum + beta * Wide(out[i * c.row + j * c.col]));
            }
          }
          for (int64_t j = 0; j < n; j++) out[i * c.row + j * c.col] = T(from[j]);
        }
      });
}

template <class T>
void real_product(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b,
                  const MatrixOut& c, T alpha, T beta) {
  product<T>(m, n, k, static_cast<const T*>(a.data), a.row, a.col, static_cast<const T*>(b.data),
             b.row, b.col, static_cast<T*>(c.data), c.row, c.col, alpha, beta);
}

}  // namespace

Grid::Grid(int64_t m, int64_t n, bool a_in_place, int64_t block, int64_t threads) {
  const int64_t most = std::clamp<int64_t>(n / 96, 1, threads);
  int64_t best = most, least = INT64_MAX;
  for (int64_t x = most; x >= 1; x--) {
    const int64_t y = threads / x;
    if (x * y < threads || (y > 1 && m < 64 * y)) continue;
    const int64_t rows = m / y, columns = n / x;
    const int64_t reads = rows * (a_in_place ? (columns + block - 1) / block : 2);
    const int64_t cost = reads + 2 * columns;
    if (cost < least) best = x, least = cost;
  }
  auto split = [](int64_t size, int64_t parts, int64_t unit) {
    const int64_t each = (size + parts - 1) / parts;
    return (each + unit - 1) / unit * unit;
  };
  width = split(n, best, 16);
  height = split(m, threads / best, 8);
  across = (n + width - 1) / width;
  down = (m + height - 1) / height;
}

void gemm(Dtype dtype, int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b,
          const MatrixOut& c, complex128 alpha, complex128 beta) {
  const double p = alpha.real(), q = beta.real();
  switch (dtype) {
    case Dtype::Float32: return real_product<float>(m, n, k, a, b, c, float(p), float(q));
    case Dtype::Float64: return real_product<double>(m, n, k, a, b, c, p, q);
    case Dtype::Int64: return real_product<int64_t>(m, n, k, a, b, c, int64_t(p), int64_t(q));
    case Dtype::Int32: return real_product<int32_t>(m, n, k, a, b, c, int32_t(p), int32_t(q));
    case Dtype::Float16:
    case Dtype::BFloat16:
      return half_gemm(dtype, {m, n, k, a.data, a.row, a.col, b.data, b.row, b.col, c.data, c.row,
                               c.col, float(p), float(q)});
    case Dtype::Int16:
      return wide_product<int32_t, int16_t>(m, n, k, a, b, c, int32_t(p), int32_t(q));
    case Dtype::Int8:
      return wide_product<int32_t, int8_t>(m, n, k, a, b, c, int32_t(p), int32_t(q));
    case Dtype::UInt8:
      return wide_product<int32_t, uint8_t>(m, n, k, a, b, c, int32_t(p), int32_t(q));
    case Dtype::Complex64:
    case Dtype::Complex128: return complex_gemm(dtype, m, n, k, a, b, c, alpha, beta);
    default: fail(Kind::Runtime, "matrix product: not implemented for ", dtype);
  }
}

void gemm(Dtype dtype, const Batch& batch, int64_t m, int64_t n, int64_t k, const Matrix& a,
          const Matrix& b, const MatrixOut& c, complex128 alpha, complex128 beta) {
  int64_t count = 1, dims = 0, axis = -1;
  for (int d = 0; d < batch.ndim; d++) {
    count *= batch.shape[d];
    if (batch.shape[d] != 1) axis = d, dims++;
  }
  if (count == 0) return;
  if (count == 1) return gemm(dtype, m, n, k, a, b, c, alpha, beta);
  // One B for all, and rows of A and C that follow on from one matrix to the next: a single tall
  // product.
  if (dims == 1 && batch.b[axis] == 0 && batch.a[axis] == m * a.row && batch.c[axis] == m * c.row)
    return gemm(dtype, m * count, n, k, a, b, c, alpha, beta);
  const int64_t size = item_size(dtype), threads = num_threads();
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      int64_t at_a = 0, at_b = 0, at_c = 0, rest = i;
      for (int d = batch.ndim - 1; d >= 0; d--) {
        const int64_t index = rest % batch.shape[d];
        rest /= batch.shape[d];
        at_a += index * batch.a[d];
        at_b += index * batch.b[d];
        at_c += index * batch.c[d];
      }
      gemm(dtype, m, n, k, {static_cast<const char*>(a.data) + at_a * size, a.row, a.col, a.conj},
           {static_cast<const char*>(b.data) + at_b * size, b.row, b.col, b.conj},
           {static_cast<char*>(c.data) + at_c * size, c.row, c.col}, alpha, beta);
    }
  };
  if (count >= threads || m * n * k < kWorkPerThread)
    parallel_for(count, std::max<int64_t>(1, kWorkPerThread / std::max<int64_t>(1, m * n * k)),
                 run);
  else
    run(0, count);
}

namespace {

template <class T>
Tensor packed_memory(Dtype dtype, int64_t k, int64_t n, const Matrix& b) {
  const auto& kernel = kernels_of<T>();
  Tensor memory = empty({kernel.packed_size(k, n)}, dtype);
  kernel.pack(k, n, static_cast<const T*>(b.data), b.row, b.col, memory.data<T>());
  return memory;
}

}  // namespace

PackedMatrix::PackedMatrix(Dtype dtype, int64_t k, int64_t n, const Matrix& b)
    : dtype_(dtype),
      k_(k),
      n_(n),
      memory_(dtype == Dtype::Float32 ? packed_memory<float>(dtype, k, n, b)
                                      : packed_memory<double>(dtype, k, n, b)) {}

template <class T>
void PackedMatrix::run(int64_t m, const void* a, int64_t a_row, void* c, int64_t c_row, double beta,
                       Memory ahead) const {
  const auto& kernel = kernels_of<T>();
  const GemmTask<T> task{m,         n_,
                         k_,        static_cast<const T*>(a),
                         a_row,     1,
                         nullptr,   0,
                         0,         static_cast<T*>(c),
                         c_row,     T(1),
                         T(beta),   static_cast<const T*>(ahead.data),
                         ahead.size};
  if (m == 0 || n_ == 0) return;
  if (k_ == 0) return scale(m, n_, task.c, c_row, int64_t(1), T(beta));
  const int64_t tiles = kernel.tile_count(m, n_);
  const int64_t pieces = pieces_for(m * n_ * k_, kWorkPerThread);
  parallel_for(tiles, (tiles + pieces - 1) / pieces, [&](int64_t begin, int64_t end) {
    GemmTask<T> part = task;
    part.ahead += begin * task.ahead_size / tiles;
    part.ahead_size = (end - begin) * task.ahead_size / tiles;
    kernel.gemm_packed(part, memory_.data<T>(), begin, end);
  });
}

void PackedMatrix::product(int64_t m, const void* a, int64_t a_row, void* c, int64_t c_row,
                           double beta, Memory ahead) const {
  dtype_ == Dtype::Float32 ? run<float>(m, a, a_row, c, c_row, beta, ahead)
                           : run<double>(m, a, a_row, c, c_row, beta, ahead);
}

void dot(Dtype dtype, int64_t n, const void* x, int64_t x_step, const void* y, int64_t y_step,
         void* out, bool conj) {
  const bool turn = y_step != 1 && x_step == 1 && !is_complex(dtype);
  if (turn) std::swap(x, y), std::swap(x_step, y_step);
  gemm(dtype, 1, 1, n, {x, 0, x_step, conj}, {y, y_step, 1}, {out, 1, 1});
}

}  // namespace ember::cpu
