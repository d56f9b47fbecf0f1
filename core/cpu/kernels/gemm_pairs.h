// bfloat16 by the instruction that multiplies pairs of them (vdpbf16ps, AVX512-BF16) and adds both
// products to a float: twice the work of a float's fused multiply-add, and nothing is widened.
// Subnormal numbers count as zero there. Two adjacent elements along k are a word; words lie where
// the tile of float32 has floats. Included by gemm_half.cpp alone.
#pragma once

#include "cpu/kernels/gemm_pack.h"

#if defined(__AVX512F__)
#define EMBER_HAVE_PAIRS 1
#define EMBER_PAIRS __attribute__((target("avx512bf16")))

namespace ember::cpu::EMBER_ISA {
namespace {

// Two elements where they lie.
typedef float Word __attribute__((aligned(2), may_alias));

inline float word_of(BFloat16 first, BFloat16 second) {
  return bits_to_float(first.bits | uint32_t(second.bits) << 16);
}

EMBER_PAIRS inline Floats add_pairs(Floats sum, Floats a, Floats b) {
  return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}

// One tile of M x N vectors, as tile() in gemm_tile.h.
template <int M, int N, bool Packed>
EMBER_PAIRS void pair_tile(const Tile<float>& t) {
  constexpr int L = kLanes<float>;
  Floats sum[M][N] = {};
  const float *a = t.a, *b = t.b;
  const int64_t a_row = t.a_row, b_row = t.b_row;
  for (int64_t p = 0; p < t.k; p++) {
    Floats y[N];
#pragma GCC unroll 8
    for (int j = 0; j < N; j++) y[j] = load(b + j * L);
#pragma GCC unroll 8
    for (int i = 0; i < M; i++) {
      const Floats x = _mm512_set1_ps(*(const Word*)(a + (Packed ? i : i * a_row)));
#pragma GCC unroll 8
      for (int j = 0; j < N; j++) sum[i][j] = add_pairs(sum[i][j], x, y[j]);
    }
    a += Packed ? kRows : 1;
    b += b_row;
  }
#pragma GCC unroll 8
  for (int i = 0; i < M; i++)
#pragma GCC unroll 8
    for (int j = 0; j < N; j++) {
      Floats* out = (Floats*)(t.c + i * t.c_row + j * L);
      *out = t.beta == 0 ? sum[i][j] : *out + sum[i][j];
    }
}

template <bool Packed>
struct PairTiles {
  static constexpr bool kPacked = Packed;
  template <int M, int N>
  static constexpr TileFunction<float> tile = pair_tile<M, N, Packed>;
};

// Elements first, first + 1 of a column (or row) of which `last` is the end.
inline float word_at(const BFloat16* x, int64_t step, int64_t first, int64_t last) {
  return word_of(x[first * step], first + 1 < last ? x[(first + 1) * step] : BFloat16{0});
}

// Two rows of B, or the last one alone, as a row of words.
inline void pack_two_rows(const BFloat16* b, int64_t b_row, int64_t columns, bool both,
                          float* out) {
  constexpr int L = kLanes<float>;
  int64_t j = 0;
  for (; both && j + L <= columns; j += L)
    *(Words*)(out + j) = load_words(b + j) | load_words(b + b_row + j) << 16;
  for (; j < columns; j++) out[j] = word_of(b[j], both ? b[b_row + j] : BFloat16{0});
}

// A vector's worth of B's columns, of which b_row == 1, as words in rows of `width`.
inline void pack_columns(const BFloat16* b, int64_t b_col, int64_t deep, int64_t width,
                         float* out) {
  constexpr int L = kLanes<float>, kDeep = 2 * L;
  // That many lines ahead of each column, then of the columns after them.
  constexpr int64_t kAhead = 8 * kDeep;
  int64_t p = 0;
  for (; p + kDeep <= deep; p += kDeep) {
    const BFloat16* next = b + p + kAhead + (p + kAhead < deep ? 0 : L * b_col - deep);
    Words x[L];
#pragma GCC unroll 16
    for (int i = 0; i < L; i++) {
      __builtin_prefetch(next + i * b_col);
      x[i] = *(const Pairs*)(b + i * b_col + p);
    }
    turn<uint32_t>(x);
#pragma GCC unroll 16
    for (int i = 0; i < L; i++) *(Words*)(out + (p / 2 + i) * width) = x[i];
  }
  for (; p < deep; p += 2)
    for (int i = 0; i < L; i++) out[p / 2 * width + i] = word_at(b + i * b_col, 1, p, deep);
}

struct Paired {
  using Element = BFloat16;
  static constexpr int64_t kStep = 2;  // elements along k in one step of a tile
  template <bool Packed>
  static void tile(int64_t rows, int64_t vectors, Tile<float>& t) {
    tile_table<float, PairTiles<Packed>>.run(rows, vectors, t);
  }

  // Rows of A are read where they lie if no word is half outside.
  static const float* in_place(const BFloat16* a, int64_t a_row, int64_t deep) {
    return a_row % 2 == 0 && deep % 2 == 0 ? (const float*)a : nullptr;
  }

  static void row(int64_t n, const BFloat16* x, float* out) {
    if (n % 2) out[n / 2] = word_of(x[n - 1], BFloat16{0});
    __builtin_memcpy(out, x, size_t(n / 2) * sizeof(float));
  }

  static void strips(const BFloat16* a, int64_t a_row, int64_t a_col, int64_t rows, int64_t deep,
                     int64_t stride, float* out) {
    constexpr int L = kLanes<float>;
    for (int64_t p = 0; p < deep; p += 2) {
      const BFloat16* from = a + p * a_col;
      float* to = out + p / 2 * kRows;
      int64_t i = 0;
      if (a_row == 1 && p + 2 <= deep)
        for (; i + L <= rows; i += L) {
          alignas(64) float words[L];
          *(Words*)words = load_words(from + i) | load_words(from + a_col + i) << 16;
          for (int s = 0; s < L; s += kRows)
            __builtin_memcpy(to + (i + s) / kRows * stride, words + s, kRows * sizeof(float));
        }
      for (; i < rows; i++)
        to[i / kRows * stride + i % kRows] = word_at(from + i * a_row, a_col, 0, deep - p);
    }
  }

  static void block(const BFloat16* b, int64_t b_row, int64_t b_col, int64_t deep, int64_t columns,
                    float* out) {
    constexpr int L = kLanes<float>;
    const Panels<float> panels(columns);
    const int64_t steps = (deep + 1) / 2;
    if (b_col == 1)  // whole rows, as they lie in memory
      for (int64_t p = 0; p < deep; p += 2)
        for (int64_t at = 0; at < panels.count; at++)
          pack_two_rows(b + p * b_row + panels.start(at), b_row, panels.width(at), p + 1 < deep,
                        out + panels.start(at) * steps + p / 2 * panels.stride(at));
    for (int64_t at = 0; at < panels.count; at++) {
      const int64_t width = panels.width(at), stride = panels.stride(at);
      const BFloat16* from = b + panels.start(at) * b_col;
      float* to = out + panels.start(at) * steps;
      int64_t j = b_col == 1 ? width : 0;
      if (b_row == 1)
        for (; j + L <= width; j += L) pack_columns(from + j * b_col, b_col, deep, stride, to + j);
      for (; j < stride; j++)
        for (int64_t p = 0; p < deep; p += 2)
          to[p / 2 * stride + j] = j < width ? word_at(from + j * b_col, b_row, p, deep) : 0;
    }
  }
};

// --- a few rows ---------------------------------------------------------------------------------

// The last n elements of a row, then zeros.
inline Floats load_last_words(const BFloat16* x, int64_t n) {
  return (Floats)_mm512_maskz_loadu_epi16((__mmask32(1) << n) - 1, x);
}

// R rows of W by X rows of x, as dots_of() in gemm_half.cpp.
template <int R, int X>
EMBER_PAIRS void pair_dots(int64_t k, const BFloat16* w, int64_t w_row, const float* x,
                           int64_t x_row, Floats* total) {
  constexpr int kDeep = 2 * kLanes<float>;
  Floats sum[X][R] = {}, other[X][R] = {};
  int64_t j = 0;
  // Few sums are kept in two parts, or a step would wait for the one before.
  if constexpr (R * X <= 8)
    for (; j + 2 * kDeep <= k; j += 2 * kDeep)
#pragma GCC unroll 4
      for (int r = 0; r < R; r++) {
        const BFloat16* row = w + r * w_row + j;
        bring_row(row + R * w_row);
        bring_row(row + R * w_row + kDeep);
        const Floats u = (Floats) * (const Pairs*)row, v = (Floats) * (const Pairs*)(row + kDeep);
#pragma GCC unroll 4
        for (int i = 0; i < X; i++) {
          const float* by = x + i * x_row + j / 2;
          sum[i][r] = add_pairs(sum[i][r], u, load(by));
          other[i][r] = add_pairs(other[i][r], v, load(by + kDeep / 2));
        }
      }
  for (; j < k; j += kDeep) {
    Floats u[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) {
      const BFloat16* row = w + r * w_row + j;
      bring_row(row + R * w_row);
      u[r] = j + kDeep <= k ? (Floats) * (const Pairs*)row : load_last_words(row, k - j);
    }
#pragma GCC unroll 8
    for (int i = 0; i < X; i++) {
      const Floats v = load(x + i * x_row + j / 2);
#pragma GCC unroll 4
      for (int r = 0; r < R; r++) sum[i][r] = add_pairs(sum[i][r], u[r], v);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < X; i++)
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) total[i * R + r] = R * X <= 8 ? sum[i][r] + other[i][r] : sum[i][r];
}

// Whole words, for pair_dots: the rest is zero.
inline void pair_row(int64_t k, const void* x, int64_t step, float* out) {
  const BFloat16* from = (const BFloat16*)x;
  if (step == 1) {
    Paired::row(k, from, out);
  } else {
    for (int64_t p = 0; p < k; p += 2) out[p / 2] = word_at(from, step, p, k);
  }
  constexpr int L = kLanes<float>;
  for (int64_t p = (k + 1) / 2; p % L; p++) out[p] = 0;
}

}  // namespace
}  // namespace ember::cpu::EMBER_ISA

#endif
