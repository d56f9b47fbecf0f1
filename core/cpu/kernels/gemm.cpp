// Matrix products on one thread. A block of B stays in L2 while panels of kRows rows of A pass over
// it from L1 (the transpose of Goto's arrangement). Neither A nor B is copied where it can be read
// in place: that copy is what small products cannot afford.
#include "cpu/kernels/gemm_kernels.h"

#include <immintrin.h>

#include <cstdlib>

#include "cpu/kernels/gemm_pack.h"
#include "cpu/kernels/matvec.h"
#include "tensor/dtype.h"

namespace ember::cpu::EMBER_ISA {
namespace {

constexpr int64_t kDepth = 512;             // rows of B in a block: kRows rows of A as deep fit L1
constexpr int64_t kDepthInPlace = 48;       // rows of a large B read in place
constexpr int64_t kBlockBytes = 640 << 10;  // of B, in L2
constexpr int64_t kReachBytes = 512 << 10;  // from the first row of B to its last: pages, sets
constexpr int64_t kFewRows = 64;            // of C: a copy of B would not pay

// Grows, never shrinks: one block of B, one panel of A per thread.
struct Workspace {
  void* data = nullptr;
  size_t size = 0;
  void* get(size_t bytes) {
    if (bytes > size) {
      free(data);
      size = (bytes + 4095) / 4096 * 4096;
      data = aligned_alloc(4096, size);
      if (!data) abort();
    }
    return data;
  }
  ~Workspace() { free(data); }
};
thread_local Workspace workspace;

template <class T>
void gemm(const GemmTask<T>& task) {
  constexpr int L = kLanes<T>;
  constexpr int64_t kWidth = int64_t(kVectors) * L;
  const int64_t m = task.m, n = task.n, k = task.k;
  // Reading B in place is fine while it stays in L2 anyway, or is used only a few times; then few
  // rows of B are visited at once, because each is on a page of its own.
  const bool fits = k * n * int64_t(sizeof(T)) <= kBlockBytes &&
                    k * task.b_row * int64_t(sizeof(T)) <= kReachBytes;
  const bool aligned =
      task.b_row * int64_t(sizeof(T)) % kBytes == 0 && uintptr_t(task.b) % kBytes == 0;
  const bool b_in_place =
      task.b_col == 1 && (m < 2 * kRows || (aligned && (fits || m <= kFewRows)));
  const bool a_packed = task.a_col != 1 && k > 1;
  const int64_t deepest = b_in_place && !fits ? kDepthInPlace : kDepth;
  const int64_t blocks_k = (k + deepest - 1) / deepest;
  const int64_t depth = blocks_k ? (k + blocks_k - 1) / blocks_k : 0;
  int64_t width = kBlockBytes / int64_t(sizeof(T)) / (depth ? depth : 1) / kWidth * kWidth;
  if (width < kWidth) width = kWidth;
  if (width > n || b_in_place) width = n;
  const int64_t a_size = a_packed ? (m + kRows - 1) / kRows * panel_stride<T>(depth) : 0;
  const int64_t block_width = b_in_place ? L : Panels<T>(width).padded() + 2 * kWidth;
  T* block = (T*)workspace.get(size_t(depth * block_width + a_size) * sizeof(T));
  T* a_panels = block + depth * block_width;
  for (int64_t p0 = 0; p0 == 0 || p0 < k; p0 += depth) {
    const int64_t deep = k - p0 < depth ? k - p0 : depth;
    const T beta = p0 == 0 ? task.beta : T(1);
    const T* a0 = task.a + p0 * task.a_col;
    if (a_packed) pack_a(a0, task.a_row, task.a_col, m, deep, a_panels);
    for (int64_t j0 = 0; j0 < n; j0 += width) {
      const int64_t columns = n - j0 < width ? n - j0 : width;
      const T* b = task.b + p0 * task.b_row + j0 * task.b_col;
      const int64_t whole = columns / L * L;  // columns in full vectors
      const Panels<T> panels(columns);
      if (!b_in_place) {
        pack_block(b, task.b_row, task.b_col, deep, columns, block);
      } else if (whole < columns) {
        pack_b(b + whole, task.b_row, 1, deep, columns - whole, L, block);
      }
      for (int64_t i = 0; i < m; i += kRows) {
        const int64_t rows = m - i < kRows ? m - i : kRows;
        Tile<T> t{deep,
                  a_packed ? a_panels + i / kRows * panel_stride<T>(deep) : a0 + i * task.a_row,
                  task.a_row,
                  nullptr,
                  0,
                  nullptr,
                  task.c_row,
                  task.alpha,
                  beta,
                  a0 + (i + kRows) * task.a_row};
        const auto& run = a_packed ? tiles<T, true>.at[rows - 1] : tiles<T, false>.at[rows - 1];
        bool fetch = !a_packed && i + 2 * kRows <= m;
        T* c = task.c + i * task.c_row + j0;
        for (int64_t at = 0; at < panels.count; at++) {
          const int64_t j = panels.start(at), w = panels.width(at);
          t.c = c + j;
          t.b = b_in_place ? b + j : block + j * deep;
          t.b_row = b_in_place ? task.b_row : panels.stride(at);
          if (fetch && !b_in_place && w == kWidth && at > 0) {
            fetch = false;
            tiles<T, false>.fetching(t);
          } else if (w % L == 0) {
            a_packed ? tiles<T, true>.run(rows, w / L, t) : tiles<T, false>.run(rows, w / L, t);
          } else if (!b_in_place) {
            tile_through_buffer(run[w / L], t, rows, w);
          } else {
            if (w > L) run[w / L - 1](t);
            t.b = block;
            t.b_row = L;
            t.c = c + whole;
            tile_through_buffer(run[0], t, rows, w % L);
          }
        }
      }
    }
  }
}

// Packed ahead: blocks of at most kDepth rows of B, each in panels.
constexpr int64_t even_depth(int64_t k) {
  const int64_t blocks = (k + kDepth - 1) / kDepth;
  return blocks ? (k + blocks - 1) / blocks : 1;
}

template <class T>
int64_t packed_size(int64_t k, int64_t n) {
  return k * Panels<T>(n).padded();
}

template <class T>
void pack(int64_t k, int64_t n, const T* b, int64_t b_row, int64_t b_col, T* packed) {
  const int64_t depth = even_depth(k), padded = Panels<T>(n).padded();
  for (int64_t p0 = 0; p0 < k; p0 += depth) {
    const int64_t deep = k - p0 < depth ? k - p0 : depth;
    pack_block(b + p0 * b_row, b_row, b_col, deep, n, packed + p0 * padded);
  }
}

template <class T>
int64_t tile_count(int64_t m, int64_t n) {
  return Panels<T>(n).count * ((m + kRows - 1) / kRows);
}

template <class T>
void gemm_packed(const GemmTask<T>& task, const T* packed, int64_t first, int64_t last) {
  constexpr int L = kLanes<T>;
  const Panels<T> panels(task.n);
  const int64_t depth = even_depth(task.k), down = (task.m + kRows - 1) / kRows;
  for (int64_t p0 = 0; p0 < task.k; p0 += depth) {
    const int64_t deep = task.k - p0 < depth ? task.k - p0 : depth;
    for (int64_t at = first; at < last; at++) {
      const int64_t panel = at / down, j = panels.start(panel), w = panels.width(panel);
      const int64_t i = at % down * kRows, rows = task.m - i < kRows ? task.m - i : kRows;
      Tile<T> t{deep,
                task.a + i * task.a_row + p0,
                task.a_row,
                packed + p0 * panels.padded() + j * deep,
                panels.stride(panel),
                task.c + i * task.c_row + j,
                task.c_row,
                task.alpha,
                p0 == 0 ? task.beta : T(1),
                nullptr};
      if (w % L == 0)
        tiles<T, false>.run(rows, w / L, t);
      else
        tile_through_buffer(tiles<T, false>.at[rows - 1][w / L], t, rows, w);
    }
  }
}

void from_half(int64_t n, const uint16_t* x, float* y) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(x + i))));
#endif
  for (; i < n; i++) y[i] = half_to_float(x[i]);
}

void to_half(int64_t n, const float* x, uint16_t* y) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128((__m128i*)(y + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < n; i++) y[i] = float_to_half(x[i]);
}

void from_bfloat(int64_t n, const uint16_t* x, float* y) {
  uint32_t* bits = (uint32_t*)y;
  for (int64_t i = 0; i < n; i++) bits[i] = uint32_t(x[i]) << 16;
}

void to_bfloat(int64_t n, const float* x, uint16_t* y) {
  for (int64_t i = 0; i < n; i++) y[i] = float_to_bfloat(x[i]);
}

template <class T>
constexpr GemmKernelsOf<T> kernels_of{gemm<T>,        packed_size<T>, pack<T>,    tile_count<T>,
                                      gemm_packed<T>, dot_rows<T>,    sum_rows<T>};

}  // namespace

const GemmKernels& gemm_kernels() {
  static constexpr GemmKernels table{kernels_of<float>,   kernels_of<double>, kernels_of<int32_t>,
                                     kernels_of<int64_t>, from_half,          to_half,
                                     from_bfloat,         to_bfloat};
  return table;
}

}  // namespace ember::cpu::EMBER_ISA
