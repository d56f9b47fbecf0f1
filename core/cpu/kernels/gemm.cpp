// Matrix products on one thread. A block of B stays in L2 while panels of kRows rows of A pass over
// it from L1 (the transpose of Goto's arrangement). Neither A nor B is copied where it can be read
// in place: that copy is what small products cannot afford.
#include "cpu/kernels/gemm_kernels.h"

#include "cpu/kernels/gemm_blocks.h"
#include "cpu/kernels/gemm_pack.h"
#include "cpu/kernels/matvec.h"

namespace ember::cpu::EMBER_ISA {
namespace {

constexpr int64_t kDepthInPlace = 48;       // rows of a large B read in place
constexpr int64_t kReachBytes = 512 << 10;  // from the first row of B to its last: pages, sets
constexpr int64_t kFewRows = 64;            // of C: a copy of B would not pay

thread_local Workspace workspace;

// A block of B, copied or in place, which all rows of A meet.
template <class T>
struct Block {
  const T* b;
  int64_t b_row, deep, columns;
  bool in_place;
  const T* rest;  // in place: a copy of the columns that do not fill a vector
};

// A tile of C at panel `at`; t.a and the first column of C are given.
template <class T, bool Packed>
void run_tile(const Block<T>& block, const Panels<T>& panels, int64_t at, int64_t rows, bool fetch,
              Tile<T>& t) {
  constexpr int L = kLanes<T>;
  const int64_t j = panels.start(at), w = panels.width(at);
  const auto& run = tiles<T, Packed>.at[rows - 1];
  T* c = t.c;
  t.c = c + j;
  t.b = block.in_place ? block.b + j : block.b + j * block.deep;
  t.b_row = block.in_place ? block.b_row : panels.stride(at);
  if (fetch) {
    tiles<T, Packed>.fetch_rows(t);
  } else if (w % L == 0) {
    tiles<T, Packed>.run(rows, w / L, t);
  } else if (!block.in_place) {
    tile_through_buffer(run[w / L], t, rows, w);
  } else {
    if (w > L) run[w / L - 1](t);
    t.b = block.rest;
    t.b_row = L;
    t.c = c + block.columns / L * L;
    tile_through_buffer(run[0], t, rows, w % L);
  }
  t.c = c;
}

// Copies of groups of rows of A: of all if several blocks of B meet them, or else of the one in use
// and the next.
template <class T>
struct Groups {
  T* strips;
  int64_t count;
  bool copied;
  T* at(int64_t row, int64_t deep) const {
    return strips + row / kGroup<T> % count * kStrips<T> * strip_stride<T>(deep);
  }
};

// All rows of A, read in place, by a block of B. A tile of the second panel also asks for the rows
// after its own.
template <class T>
void rows_in_place(const GemmTask<T>& task, const Block<T>& block, const T* a, T beta, T* c) {
  constexpr int64_t kWidth = int64_t(kVectors) * kLanes<T>;
  const Panels<T> panels(block.columns);
  for (int64_t i = 0; i < task.m; i += kRows) {
    const int64_t rows = task.m - i < kRows ? task.m - i : kRows;
    Tile<T> t{block.deep, a + i * task.a_row,          task.a_row, nullptr,
              0,          c + i * task.c_row,          task.c_row, task.alpha,
              beta,       a + (i + kRows) * task.a_row};
    bool fetch = !block.in_place && i + 2 * kRows <= task.m;
    for (int64_t at = 0; at < panels.count; at++) {
      const bool now = fetch && panels.width(at) == kWidth && at > 0;
      run_tile<T, false>(block, panels, at, rows, now, t);
      if (now) fetch = false;
    }
  }
}

// The same with copied A. While the tiles of one group run, the next is brought near and copied, a
// few columns after each tile: memory is read while the processor computes. For a block of B after
// the first all groups are there.
template <class T>
void rows_by_groups(const GemmTask<T>& task, const Block<T>& block, const T* a, T beta, T* c,
                    const Groups<T>& groups) {
  const int64_t deep = block.deep, stride = strip_stride<T>(deep);
  const Panels<T> panels(block.columns);
  auto height = [&](int64_t i) { return task.m - i < kGroup<T> ? task.m - i : kGroup<T>; };
  auto pack = [&](int64_t i, int64_t first, int64_t last) {
    pack_group(a + i * task.a_row, task.a_row, task.a_col, height(i), first, last, stride,
               groups.at(i, deep));
  };
  if (!groups.copied) pack(0, 0, deep);
  for (int64_t i = 0; i < task.m; i += kGroup<T>) {
    const int64_t rows = height(i), ahead = i + kGroup<T>;
    const int64_t tiles = panels.count * ((rows + kRows - 1) / kRows);
    const bool copies = !groups.copied && ahead < task.m;
    int64_t run = 0, copied = 0;
    for (int64_t s = 0; s < rows; s += kRows) {
      Tile<T> t{deep,       groups.at(i, deep) + s / kRows * stride,
                0,          nullptr,
                0,          c + (i + s) * task.c_row,
                task.c_row, task.alpha,
                beta};
      for (int64_t at = 0; at < panels.count; at++) {
        const int64_t until = copies ? deep * ++run / tiles : 0, count = until - copied;
        t.next = a + ahead * task.a_row + copied * task.a_col;
        t.next_step = task.a_col;
        t.next_every = count ? deep / count : 0;
        run_tile<T, true>(block, panels, at, rows - s < kRows ? rows - s : kRows, false, t);
        if (count) pack(ahead, copied, until);
        copied = until;
      }
    }
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
      task.b_row * int64_t(sizeof(T)) % kVectorBytes == 0 && uintptr_t(task.b) % kVectorBytes == 0;
  const bool b_in_place =
      task.b_col == 1 && (m < 2 * kRows || (aligned && (fits || m <= kFewRows)));
  const bool a_packed = task.a_col != 1 && k > 1;
  const int64_t depth = even_depth(k, b_in_place && !fits ? kDepthInPlace : kDepth);
  const int64_t widest = block_width<T>(k), width = widest > n || b_in_place ? n : widest;
  const int64_t b_size = depth * (b_in_place ? L : Panels<T>(width).padded() + 2 * kWidth);
  const int64_t groups = !a_packed ? 0 : width < n ? (m + kGroup<T> - 1) / kGroup<T> : 2;
  const int64_t a_size = groups * kStrips<T> * strip_stride<T>(depth);
  T* copy = (T*)workspace.get(size_t(b_size + a_size) * sizeof(T));
  for (int64_t p0 = 0; p0 == 0 || p0 < k; p0 += depth) {
    const int64_t deep = k - p0 < depth ? k - p0 : depth;
    const T beta = p0 == 0 ? task.beta : T(1);
    for (int64_t j0 = 0; j0 < n; j0 += width) {
      const int64_t columns = n - j0 < width ? n - j0 : width, whole = columns / L * L;
      const T* b = task.b + p0 * task.b_row + j0 * task.b_col;
      if (!b_in_place)
        pack_block(b, task.b_row, task.b_col, deep, columns, copy);
      else if (whole < columns)
        pack_b(b + whole, task.b_row, 1, deep, columns - whole, L, copy);
      const Block<T> block{b_in_place ? b : copy, task.b_row, deep, columns, b_in_place, copy};
      const T* a = task.a + p0 * task.a_col;
      if (a_packed)
        rows_by_groups(task, block, a, beta, task.c + j0, {copy + b_size, groups, j0 > 0});
      else
        rows_in_place(task, block, a, beta, task.c + j0);
    }
  }
}

// Packed ahead: blocks of at most kDepth rows of B, each in panels.
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
  const int64_t turns = task.k * (last - first), lines = task.ahead_size * int64_t(sizeof(T)) / 64;
  const int64_t every = lines ? turns / lines + 1 : 0;
  const T* ahead = task.ahead;
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
                ahead,
                64 / int64_t(sizeof(T)),
                every};
      if (every && rows == kRows && w == kVectors * L) {
        tiles<T, false>.fetch_lines(t);
        ahead += deep / every * t.next_step;
      } else if (w % L == 0) {
        tiles<T, false>.run(rows, w / L, t);
      } else {
        tile_through_buffer(tiles<T, false>.at[rows - 1][w / L], t, rows, w);
      }
    }
  }
}

template <class T>
constexpr GemmKernelsOf<T> kernels_of{gemm<T>,       block_width<T>, packed_size<T>, pack<T>,
                                      tile_count<T>, gemm_packed<T>, dot_rows<T>,    sum_rows<T>};

}  // namespace

const GemmKernels& gemm_kernels() {
  static constexpr GemmKernels table{kernels_of<float>, kernels_of<double>, kernels_of<int32_t>,
                                     kernels_of<int64_t>};
  return table;
}

}  // namespace ember::cpu::EMBER_ISA
