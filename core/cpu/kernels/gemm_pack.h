// Copies of A and B as the register tile reads them, widened on the way if they are halves (S, of
// the memory copied from, is not T). Included by kernels alone.
#pragma once

#include "cpu/kernels/gemm_load.h"
#include "cpu/kernels/gemm_tile.h"

namespace ember::cpu::EMBER_ISA {
namespace {

// Turns kLanes x kLanes elements in registers: each round interleaves the first half with the
// second.
template <class T, bool High, int... I>
inline Vector<T> interleave(Vector<T> a, Vector<T> b, std::integer_sequence<int, I...>) {
  constexpr int L = kLanes<T>;
  return __builtin_shufflevector(a, b, ((I / 2 + (High ? L / 2 : 0)) + (I % 2) * L)...);
}

template <class T>
inline void turn(Vector<T>* x) {
  constexpr int L = kLanes<T>;
  Vector<T> y[L];
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
}

template <class S>
constexpr bool kIsHalf = std::is_same_v<S, Half> || std::is_same_v<S, BFloat16>;

// Transposes kLanes columns of B, kDeep elements of each. Pairs of halves are turned as one.
template <class S>
constexpr int kDeep = kLanes<decltype(widened(S()))> * (kIsHalf<S> ? 2 : 1);

template <class T, class S>
void transpose(const S* from, int64_t from_row, T* to, int64_t to_row) {
  constexpr int L = kLanes<T>;
  if constexpr (kIsHalf<S>) {
    Words x[L];
#pragma GCC unroll 16
    for (int i = 0; i < L; i++) x[i] = *(const Pairs*)(from + i * from_row);
    turn<uint32_t>(x);
#pragma GCC unroll 16
    for (int i = 0; i < L; i++) {
      const Two two = split<S>(x[i]);
      *(Floats*)(to + 2 * i * to_row) = two.first;
      *(Floats*)(to + (2 * i + 1) * to_row) = two.second;
    }
  } else {
    Vector<T> x[L];
#pragma GCC unroll 16
    for (int i = 0; i < L; i++) x[i] = load(from + i * from_row);
    turn<T>(x);
#pragma GCC unroll 16
    for (int i = 0; i < L; i++) *(Vector<T>*)(to + i * to_row) = x[i];
  }
}

// `rows` x `columns` of B into rows of `width` elements, the rest of each row zero.
template <class T, class S>
void pack_b(const S* b, int64_t b_row, int64_t b_col, int64_t rows, int64_t columns, int64_t width,
            T* out) {
  if (b_col == 1) {
    for (int64_t p = 0; p < rows; p++, out += width) {
      const S* from = b + p * b_row;
      for (int64_t j = 0; j < columns; j++) out[j] = widened(from[j]);
      for (int64_t j = columns; j < width; j++) out[j] = T(0);
    }
    return;
  }
  constexpr int L = kLanes<T>;
  constexpr int64_t kStep = kDeep<S>;
  const int64_t squares = b_row == 1 ? rows / kStep * kStep : 0;
  for (int64_t j = 0; j < columns;) {
    int64_t w = j + L <= columns ? L : 1, p = 0;
    if (w == L)
      for (; p < squares; p += kStep)
        transpose(b + p + j * b_col, b_col, out + p * width + j, width);
    for (; p < rows; p++)
      for (int64_t q = 0; q < w; q++)
        out[p * width + j + q] = widened(b[p * b_row + (j + q) * b_col]);
    j += w;
  }
  for (int64_t p = 0; p < rows; p++)
    for (int64_t j = columns; j < width; j++) out[p * width + j] = T(0);
}

// A is copied in groups of strips, each as high as a tile. Of a transposed A a group is kLines from
// each column: a column is a page of its own, which should give more than a line at each visit.
template <class T>
constexpr int64_t kStrips = kLines * 64 / (kRows * int64_t(sizeof(T)));
template <class T>
constexpr int64_t kGroup = kStrips<T> * kRows;

// A line more than a strip needs, or strips 4 KB apart would crowd one another out of L1.
template <class T>
constexpr int64_t strip_stride(int64_t depth) {
  return depth * kRows + 64 / int64_t(sizeof(T));
}

// Columns first ... last - 1 of a group of A, of which there are `rows` rows, into its strips, each
// of which holds a column's elements side by side.
template <class T>
void pack_group(const T* a, int64_t a_row, int64_t a_col, int64_t rows, int64_t first, int64_t last,
                int64_t stride, T* out) {
  for (int64_t p = first; p < last; p++) {
    const T* from = a + p * a_col;
    T* to = out + p * kRows;
    if (a_row == 1 && rows == kGroup<T>) {
#pragma GCC unroll 16
      for (int64_t s = 0; s < kStrips<T>; s++)
        __builtin_memcpy(to + s * stride, from + s * kRows, kRows * sizeof(T));
    } else {
      for (int64_t i = 0; i < rows; i++) to[i / kRows * stride + i % kRows] = from[i * a_row];
    }
  }
}

// A block of B into panels, each as wide as its tile. Rows that lie in memory in one piece are read
// in one piece: the processor foresees that, but not a panel's steps from row to row.
template <class T, class S>
void pack_block(const S* b, int64_t b_row, int64_t b_col, int64_t deep, int64_t columns, T* out) {
  using V = Vector<T>;
  constexpr int L = kLanes<T>;
  const Panels<T> panels(columns);
  const bool by_rows = b_col == 1;
  const int64_t whole = by_rows ? panels.count - (columns % L != 0) : 0;
  for (int64_t p = 0; p < deep; p++) {
    const S* from = b + p * b_row;
    for (int64_t at = 0; at < whole; at++) {
      T* to = out + panels.start(at) * deep + p * panels.stride(at);
      for (int64_t q = 0, w = panels.width(at); q < w; q += L, from += L)
        *(V*)(to + q) = load(from);
    }
  }
  for (int64_t at = whole; at < panels.count; at++) {
    const int64_t j = panels.start(at);
    pack_b(b + j * b_col, b_row, b_col, deep, panels.width(at), panels.stride(at), out + j * deep);
  }
}

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
