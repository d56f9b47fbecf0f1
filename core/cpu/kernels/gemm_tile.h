// The register tile of a matrix product, kRows x kVectors vectors of C, and the layouts that it
// reads A and B in. Included by kernels alone.
#pragma once

#include <cstdint>
#include <utility>

#include "cpu/kernels/vector.h"

namespace ember::cpu::EMBER_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kRows = 8, kVectors = 3;
#elif defined(__AVX2__)
constexpr int kRows = 6, kVectors = 2;
#else
constexpr int kRows = 4, kVectors = 2;
#endif

constexpr int kLines = 4;  // of a column of A that are copied at a time

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
  // What of A the tile brings near, or those after it would wait: a fetching tile the rows after
  // its own; one of copied A the columns that are copied next, one in `next_every` turns of its
  // loop.
  const T* next = nullptr;
  int64_t next_step = 0, next_every = 0;  // 0: none
};

enum class Fetch {
  None,
  Rows,     // of A: those after the tile's own
  Columns,  // kLines of the columns of A that are copied next, every `next_every` turns
  Lines,    // any memory, a line every `next_every` turns
};

// One tile of M x N vectors. Packed A holds kRows elements of a column side by side.
template <class T, int M, int N, bool Packed, Fetch fetch = Packed ? Fetch::Columns : Fetch::None>
void tile(const Tile<T>& t) {
  constexpr int kAtOnce = fetch == Fetch::Columns ? kLines : fetch == Fetch::Lines ? 1 : 0;
  using V = Vector<T>;
  constexpr int L = kLanes<T>;
  V sum[M][N] = {};
  const T* a = t.a;
  const T* b = t.b;
  const int64_t a_row = t.a_row, b_row = t.b_row;
  const T* next = t.next;
  int64_t wait = t.next_every;
  for (int64_t p = 0; p < t.k; p++) {
    if (fetch == Fetch::Rows) __builtin_prefetch(t.next + p % kRows * a_row + p / kRows * kRows);
    if (kAtOnce && --wait == 0) {
#pragma GCC unroll 8
      for (int l = 0; l < kAtOnce; l++) __builtin_prefetch(next + l * 64 / int(sizeof(T)), 0, 2);
      next += t.next_step;
      wait = t.next_every;
    }
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

// Tiles of up to kRows rows and kVectors vectors, and ones of a vector more for half as many rows:
// Of::tile<M, N>.
template <class T, class Of>
struct TileTable {
  static constexpr int kHalf = kRows / 2;
  TileFunction<T> at[kRows][kVectors], wide[kHalf];
  template <int... I>
  constexpr explicit TileTable(std::integer_sequence<int, I...>) : at{}, wide{} {
    ((at[I / kVectors][I % kVectors] = Of::template tile<I / kVectors + 1, I % kVectors + 1>), ...);
    ((I < kHalf ? void(wide[I % kHalf] = Of::template tile<I % kHalf + 1, kVectors + 1>) : void()),
     ...);
  }
  // Moves t and puts it back. A copy would wait for the stores of the tile before.
  void run(int64_t rows, int64_t vectors, Tile<T>& t) const {
    if (vectors <= kVectors) return at[rows - 1][vectors - 1](t);
    wide[(rows < kHalf ? rows : kHalf) - 1](t);
    if (rows <= kHalf) return;
    const int64_t a_step = kHalf * (Of::kPacked ? 1 : t.a_row), c_step = kHalf * t.c_row;
    t.a += a_step;
    t.c += c_step;
    wide[rows - kHalf - 1](t);
    t.a -= a_step;
    t.c -= c_step;
  }
};
template <class T, class Of>
constexpr TileTable<T, Of> tile_table{std::make_integer_sequence<int, kRows * kVectors>{}};

template <class T, bool Packed>
struct Plain {
  static constexpr bool kPacked = Packed;
  template <int M, int N>
  static constexpr TileFunction<T> tile = EMBER_ISA::tile<T, M, N, Packed>;
};
template <class T, bool Packed>
struct Tiles : TileTable<T, Plain<T, Packed>> {
  TileFunction<T> fetch_rows = tile<T, kRows, kVectors, Packed, Fetch::Rows>;
  TileFunction<T> fetch_lines = tile<T, kRows, kVectors, Packed, Fetch::Lines>;
  constexpr Tiles() : TileTable<T, Plain<T, Packed>>(tile_table<T, Plain<T, Packed>>) {}
};
template <class T, bool Packed>
constexpr Tiles<T, Packed> tiles{};

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

// The columns of B in panels, each as wide as a tile. Narrow tiles wait for loads of A; so where
// panels of kVectors vectors leave some over, the first panels are a vector wider.
template <class T>
struct Panels {
  static constexpr int64_t kWidth = int64_t(kVectors) * kLanes<T>, kWide = kWidth + kLanes<T>;
  int64_t columns, wide, count;
  explicit Panels(int64_t n) : columns(n), wide(0) {
    const int64_t vectors = (n + kLanes<T> - 1) / kLanes<T>, left = vectors % kVectors;
    const bool enough = n >= left * kWide && (n == left * kWide || vectors > left * (kVectors + 1));
    if (kVectors > 2 && enough) wide = left;
    count = wide + (n - wide * kWide + kWidth - 1) / kWidth;
  }
  int64_t start(int64_t panel) const {
    return panel * kWidth + (panel < wide ? panel : wide) * kLanes<T>;
  }
  int64_t stride(int64_t panel) const { return panel < wide ? kWide : kWidth; }
  int64_t width(int64_t panel) const {  // less than its stride if it is the last
    const int64_t left = columns - start(panel);
    return left < stride(panel) ? left : stride(panel);
  }
  int64_t padded() const { return start(count); }
};

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
