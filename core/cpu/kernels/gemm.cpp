// Matrix products on one thread. The register tile is kRows x kVectors vectors of C; a block of B
// stays in L2 while panels of kRows rows of A pass over it from L1 (the transpose of Goto's
// arrangement). Neither A nor B is copied where it can be read in place: that copy is what small
// products cannot afford.
#include "cpu/kernels/gemm_kernels.h"

#include <immintrin.h>

#include <cstdlib>
#include <utility>

#include "tensor/dtype.h"

namespace ember::cpu::EMBER_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64, kRows = 8, kVectors = 3;
#elif defined(__AVX2__)
constexpr int kBytes = 32, kRows = 6, kVectors = 2;
#else
constexpr int kBytes = 16, kRows = 4, kVectors = 2;
#endif

constexpr int64_t kDepth = 512;             // rows of B in a block: kRows rows of A as deep fit L1
constexpr int64_t kDepthInPlace = 48;       // rows of a large B read in place
constexpr int64_t kBlockBytes = 640 << 10;  // of B, in L2
constexpr int64_t kReachBytes = 512 << 10;  // from the first row of B to its last: pages, sets
constexpr int64_t kFewRows = 64;            // of C: a copy of B would not pay

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
constexpr int kLanes = kBytes / int(sizeof(T));

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
struct Tile {
  int64_t k;
  const T* a;
  int64_t a_row;
  const T* b;
  int64_t b_row;
  T* c;
  int64_t c_row;
  T alpha, beta;
  const T* next;  // the rows of A that a fetching tile brings near
};

// One tile of M x N vectors. Packed A holds kRows elements of a column side by side. A fetching
// tile also asks for the rows of A that come after these, or the next tiles would wait for them.
template <class T, int M, int N, bool Packed, bool Fetch = false>
void tile(const Tile<T>& t) {
  using V = Vector<T>;
  constexpr int L = kLanes<T>;
  V sum[M][N] = {};
  const T* a = t.a;
  const T* b = t.b;
  const int64_t a_row = t.a_row, b_row = t.b_row;
  for (int64_t p = 0; p < t.k; p++) {
    if (Fetch) __builtin_prefetch(t.next + p % kRows * a_row + p / kRows * kRows);
    V y[N];
#pragma GCC unroll 8
    for (int j = 0; j < N; j++) y[j] = *(const V*)(b + j * L);
#pragma GCC unroll 8
    for (int i = 0; i < M; i++) {
      T x = Packed ? a[i] : a[i * a_row];
#pragma GCC unroll 8
      for (int j = 0; j < N; j++) sum[i][j] += x * y[j];
    }
    a += Packed ? kRows : 1;
    b += b_row;
  }
  T* c = t.c;
  const int64_t c_row = t.c_row;
  const T alpha = t.alpha, beta = t.beta;
  const bool adds = beta != T(0);
#pragma GCC unroll 8
  for (int i = 0; i < M; i++, c += c_row) {
#pragma GCC unroll 8
    for (int j = 0; j < N; j++) {
      V* out = (V*)(c + j * L);
      V r = sum[i][j] * alpha;
      if (adds) r += beta * *out;
      *out = r;
    }
  }
}

template <class T>
using TileFunction = void (*)(const Tile<T>&);

template <class T, bool Packed>
struct Tiles {
  TileFunction<T> at[kRows][kVectors], fetching;
  template <int... I>
  constexpr explicit Tiles(std::integer_sequence<int, I...>)
      : at{}, fetching(tile<T, kRows, kVectors, Packed, true>) {
    ((at[I / kVectors][I % kVectors] = tile<T, I / kVectors + 1, I % kVectors + 1, Packed>), ...);
  }
};
template <class T, bool Packed>
constexpr Tiles<T, Packed> tiles{std::make_integer_sequence<int, kRows * kVectors>{}};

// Transposes kLanes x kLanes elements in registers: each round interleaves the first half with the
// second.
template <class T, bool High, int... I>
inline Vector<T> interleave(Vector<T> a, Vector<T> b, std::integer_sequence<int, I...>) {
  constexpr int L = kLanes<T>;
  return __builtin_shufflevector(a, b, ((I / 2 + (High ? L / 2 : 0)) + (I % 2) * L)...);
}

template <class T>
void transpose(const T* from, int64_t from_row, T* to, int64_t to_row) {
  using V = Vector<T>;
  constexpr int L = kLanes<T>;
  V x[L], y[L];
#pragma GCC unroll 16
  for (int i = 0; i < L; i++) x[i] = *(const V*)(from + i * from_row);
#pragma GCC unroll 4
  for (int round = 1; round < L; round *= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < L / 2; i++) {
      y[2 * i] = interleave<T, false>(x[i], x[i + L / 2], std::make_integer_sequence<int, L>{});
      y[2 * i + 1] = interleave<T, true>(x[i], x[i + L / 2], std::make_integer_sequence<int, L>{});
    }
#pragma GCC unroll 16
    for (int i = 0; i < L; i++) x[i] = y[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < L; i++) *(V*)(to + i * to_row) = x[i];
}

// `rows` x `columns` of B into rows of `width` elements, the rest of each row zero.
template <class T>
void pack_b(const T* b, int64_t b_row, int64_t b_col, int64_t rows, int64_t columns, int64_t width,
            T* out) {
  if (b_col == 1) {
    for (int64_t p = 0; p < rows; p++, out += width) {
      const T* from = b + p * b_row;
      for (int64_t j = 0; j < columns; j++) out[j] = from[j];
      for (int64_t j = columns; j < width; j++) out[j] = T(0);
    }
    return;
  }
  constexpr int L = kLanes<T>;
  int64_t squares = b_row == 1 ? rows / L * L : 0;
  for (int64_t j = 0; j < columns;) {
    int64_t w = j + L <= columns ? L : 1, p = 0;
    if (w == L)
      for (; p < squares; p += L) transpose(b + p + j * b_col, b_col, out + p * width + j, width);
    for (; p < rows; p++)
      for (int64_t q = 0; q < w; q++) out[p * width + j + q] = b[p * b_row + (j + q) * b_col];
    j += w;
  }
  for (int64_t p = 0; p < rows; p++)
    for (int64_t j = columns; j < width; j++) out[p * width + j] = T(0);
}

// A line more than a panel needs, or panels 4 KB apart would crowd one another out of L1.
template <class T>
constexpr int64_t panel_stride(int64_t depth) {
  return depth * kRows + 64 / int64_t(sizeof(T));
}

// `rows` x `depth` of A into panels of kRows rows, each panel holding a column's elements side by
// side.
template <class T>
void pack_a(const T* a, int64_t a_row, int64_t a_col, int64_t rows, int64_t depth, T* out) {
  const int64_t stride = panel_stride<T>(depth);
  if (a_row == 1) {
    constexpr int64_t kStrip = 24 * kRows;
    for (int64_t i0 = 0; i0 < rows; i0 += kStrip) {
      const int64_t end = rows - i0 < kStrip ? rows : i0 + kStrip;
      for (int64_t p = 0; p < depth; p++) {
        const T* from = a + p * a_col;
        T* to = out + i0 / kRows * stride + p * kRows;
        int64_t i = i0;
        for (; i + kRows <= end; i += kRows, to += stride)
          for (int q = 0; q < kRows; q++) to[q] = from[i + q];
        for (int q = 0; i < end; i++, q++) to[q] = from[i];
      }
    }
    return;
  }
  for (int64_t i = 0; i < rows; i += kRows, out += stride)
    for (int64_t p = 0; p < depth; p++)
      for (int64_t q = 0; q < kRows && i + q < rows; q++)
        out[p * kRows + q] = a[(i + q) * a_row + p * a_col];
}

// A tile that sticks out of C goes through a buffer.
template <class T>
void tile_through_buffer(TileFunction<T> run, Tile<T> t, int64_t rows, int64_t columns) {
  alignas(64) T buffer[kRows * kVectors * kLanes<T>];
  T* c = t.c;
  int64_t c_row = t.c_row;
  T beta = t.beta;
  t.c = buffer;
  t.c_row = kVectors * kLanes<T>;
  t.beta = T(0);
  run(t);
  const T* from = buffer;
  for (int64_t i = 0; i < rows; i++, from += t.c_row, c += c_row) {
    if (beta == T(0))
      for (int64_t j = 0; j < columns; j++) c[j] = from[j];
    else
      for (int64_t j = 0; j < columns; j++) c[j] = from[j] + beta * c[j];
  }
}

// How many of the columns left the next tile takes. A vector left over is worth more as two tiles
// of two than as three and one: a tile of one vector waits for loads of A.
template <class T>
constexpr int64_t next_width(int64_t left) {
  constexpr int64_t kWidth = int64_t(kVectors) * kLanes<T>;
  if (kVectors == 3 && left > kWidth && left <= kWidth + kLanes<T>) return 2 * kLanes<T>;
  return left < kWidth ? left : kWidth;
}

// A block of B into panels, each as wide as its tile. Rows that lie in memory in one piece are read
// in one piece: the processor foresees that, but not a panel's steps from row to row.
template <class T>
void pack_block(const T* b, int64_t b_row, int64_t b_col, int64_t deep, int64_t columns, T* out) {
  using V = Vector<T>;
  constexpr int L = kLanes<T>;
  constexpr int64_t kWidth = int64_t(kVectors) * L;
  const bool by_rows = b_col == 1;
  for (int64_t p = 0; by_rows && p < deep; p++) {
    const T* from = b + p * b_row;
    T* to = out + p * kWidth;
    for (int64_t j = 0, w; j < columns; j += w, to += kWidth * deep) {
      w = next_width<T>(columns - j);
      if (w % L) break;
      for (int64_t q = 0; q < w; q += L) *(V*)(to + q) = *(const V*)(from + j + q);
    }
  }
  for (int64_t j = 0, w; j < columns; j += w, out += kWidth * deep) {
    w = next_width<T>(columns - j);
    if (!by_rows || w % L) pack_b(b + j * b_col, b_row, b_col, deep, w, kWidth, out);
  }
}

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
  const int64_t panels_size = a_packed ? (m + kRows - 1) / kRows * panel_stride<T>(depth) : 0;
  const int64_t block_width = b_in_place ? L : (width + kWidth - 1) / kWidth * kWidth;
  T* block = (T*)workspace.get(size_t(depth * block_width + panels_size) * sizeof(T));
  T* panels = block + depth * block_width;
  for (int64_t p0 = 0; p0 == 0 || p0 < k; p0 += depth) {
    const int64_t deep = k - p0 < depth ? k - p0 : depth;
    const T beta = p0 == 0 ? task.beta : T(1);
    const T* a0 = task.a + p0 * task.a_col;
    if (a_packed) pack_a(a0, task.a_row, task.a_col, m, deep, panels);
    for (int64_t j0 = 0; j0 < n; j0 += width) {
      const int64_t columns = n - j0 < width ? n - j0 : width;
      const T* b = task.b + p0 * task.b_row + j0 * task.b_col;
      const int64_t whole = columns / L * L;  // columns in full vectors
      if (!b_in_place) {
        pack_block(b, task.b_row, task.b_col, deep, columns, block);
      } else if (whole < columns) {
        pack_b(b + whole, task.b_row, 1, deep, columns - whole, L, block);
      }
      for (int64_t i = 0; i < m; i += kRows) {
        const int64_t rows = m - i < kRows ? m - i : kRows;
        Tile<T> t{
            deep,       a_packed ? panels + i / kRows * panel_stride<T>(deep) : a0 + i * task.a_row,
            task.a_row, nullptr,
            0,          nullptr,
            task.c_row, task.alpha,
            beta,       a0 + (i + kRows) * task.a_row};
        const auto& run = a_packed ? tiles<T, true>.at[rows - 1] : tiles<T, false>.at[rows - 1];
        bool fetch = !a_packed && i + 2 * kRows <= m;
        T* c = task.c + i * task.c_row + j0;
        T* packed = block;
        for (int64_t j = 0, w; j < columns; j += w, packed += kWidth * deep) {
          w = next_width<T>(columns - j);
          t.c = c + j;
          if (!b_in_place) {
            t.b = packed;
            t.b_row = kWidth;
            if (fetch && w == kWidth && j > 0) {
              fetch = false;
              tiles<T, false>.fetching(t);
            } else if (w % L == 0) {
              run[w / L - 1](t);
            } else {
              tile_through_buffer(run[w / L], t, rows, w);
            }
            continue;
          }
          t.b = b + j;
          t.b_row = task.b_row;
          if (w >= L) run[w / L - 1](t);
          if (w % L) {
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

// Packed ahead: blocks of at most kDepth rows of B, each in panels of kWidth columns.
constexpr int64_t even_depth(int64_t k) {
  const int64_t blocks = (k + kDepth - 1) / kDepth;
  return blocks ? (k + blocks - 1) / blocks : 1;
}

template <class T>
void pack(int64_t k, int64_t n, const T* b, int64_t b_row, int64_t b_col, T* packed) {
  constexpr int64_t kWidth = int64_t(kVectors) * kLanes<T>;
  const int64_t depth = even_depth(k);
  for (int64_t p0 = 0; p0 < k; p0 += depth) {
    const int64_t deep = k - p0 < depth ? k - p0 : depth;
    for (int64_t j = 0; j < n; j += kWidth, packed += deep * kWidth)
      pack_b(b + p0 * b_row + j * b_col, b_row, b_col, deep, n - j < kWidth ? n - j : kWidth,
             kWidth, packed);
  }
}

template <class T>
void gemm_packed(const GemmTask<T>& task, const T* packed, int64_t first, int64_t last) {
  constexpr int L = kLanes<T>;
  constexpr int64_t kWidth = int64_t(kVectors) * L;
  const int64_t depth = even_depth(task.k), panels = (task.n + kWidth - 1) / kWidth;
  const int64_t down = (task.m + kRows - 1) / kRows;
  for (int64_t p0 = 0; p0 < task.k; p0 += depth) {
    const int64_t deep = task.k - p0 < depth ? task.k - p0 : depth;
    for (int64_t at = first; at < last; at++) {
      const int64_t j = at / down * kWidth, i = at % down * kRows;
      const int64_t w = task.n - j < kWidth ? task.n - j : kWidth;
      const int64_t rows = task.m - i < kRows ? task.m - i : kRows;
      const auto& run = tiles<T, false>.at[rows - 1];
      Tile<T> t{deep,
                task.a + i * task.a_row + p0,
                task.a_row,
                packed + p0 * panels * kWidth + j * deep,
                kWidth,
                task.c + i * task.c_row + j,
                task.c_row,
                task.alpha,
                p0 == 0 ? task.beta : T(1),
                nullptr};
      if (w % L == 0)
        run[w / L - 1](t);
      else
        tile_through_buffer(run[w / L], t, rows, w);
    }
  }
}

template <class T, int R>
void dot_some_rows(int64_t n, const T* a, int64_t a_row, const T* x, T* y, int64_t y_step) {
  using V = Vector<T>;
  constexpr int L = kLanes<T>, U = R == 1 ? 8 : 2;
  V sum[R][U] = {};
  int64_t j = 0;
  for (; j + L * U <= n; j += L * U)
#pragma GCC unroll 8
    for (int u = 0; u < U; u++) {
      V v = *(const V*)(x + j + u * L);
#pragma GCC unroll 8
      for (int r = 0; r < R; r++) sum[r][u] += v * *(const V*)(a + r * a_row + j + u * L);
    }
  for (; j + L <= n; j += L) {
    V v = *(const V*)(x + j);
    for (int r = 0; r < R; r++) sum[r][0] += v * *(const V*)(a + r * a_row + j);
  }
  for (int r = 0; r < R; r++) {
    for (int u = 1; u < U; u++) sum[r][0] += sum[r][u];
    T total = 0;
    for (int l = 0; l < L; l++) total += sum[r][0][l];
    for (int64_t q = j; q < n; q++) total += x[q] * a[r * a_row + q];
    y[r * y_step] = total;
  }
}

template <class T>
void dot_rows(int64_t rows, int64_t n, const T* a, int64_t a_row, const T* x, T* y,
              int64_t y_step) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4)
    dot_some_rows<T, 4>(n, a + i * a_row, a_row, x, y + i * y_step, y_step);
  for (; i < rows; i++) dot_some_rows<T, 1>(n, a + i * a_row, a_row, x, y + i * y_step, y_step);
}

// y (+)= the sum of R rows of `a` times their x; a chunk of y stays in L1 between calls.
template <class T, int R>
void add_some_rows(int64_t n, const T* a, int64_t a_row, const T* x, int64_t x_step, T* y,
                   bool first) {
  T f[R];
  for (int r = 0; r < R; r++) f[r] = x[r * x_step];
  if (first) {
    for (int64_t j = 0; j < n; j++) {
      T s = f[0] * a[j];
#pragma GCC unroll 8
      for (int r = 1; r < R; r++) s += f[r] * a[r * a_row + j];
      y[j] = s;
    }
  } else {
    for (int64_t j = 0; j < n; j++) {
      T s = y[j];
#pragma GCC unroll 8
      for (int r = 0; r < R; r++) s += f[r] * a[r * a_row + j];
      y[j] = s;
    }
  }
}

template <class T>
void sum_rows(int64_t rows, int64_t n, const T* a, int64_t a_row, const T* x, int64_t x_step,
              T* y) {
  constexpr int64_t kChunk = 16384 / sizeof(T);
  for (int64_t j = 0; j < n; j += kChunk) {
    int64_t w = n - j < kChunk ? n - j : kChunk, i = 0;
    if (rows == 0)
      for (int64_t q = 0; q < w; q++) y[j + q] = T(0);
    for (; i + 4 <= rows; i += 4)
      add_some_rows<T, 4>(w, a + i * a_row + j, a_row, x + i * x_step, x_step, y + j, i == 0);
    for (; i < rows; i++)
      add_some_rows<T, 1>(w, a + i * a_row + j, a_row, x + i * x_step, x_step, y + j, i == 0);
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
constexpr GemmKernelsOf<T> kernels_of{gemm<T>,        kVectors * kLanes<T>, kRows,      pack<T>,
                                      gemm_packed<T>, dot_rows<T>,          sum_rows<T>};

}  // namespace

const GemmKernels& gemm_kernels() {
  static constexpr GemmKernels table{kernels_of<float>,   kernels_of<double>, kernels_of<int32_t>,
                                     kernels_of<int64_t>, from_half,          to_half,
                                     from_bfloat,         to_bfloat};
  return table;
}

}  // namespace ember::cpu::EMBER_ISA
