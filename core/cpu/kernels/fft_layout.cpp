// Reading lines into the lanes of blocks and writing them back, Note [Lanes] in fft_kernels.h:
// transpositions of W x W numbers in registers.
#include "cpu/kernels/fft_kernels.h"
#include "cpu/kernels/fft_transpose.h"

namespace ember::cpu::EMBER_ISA {
namespace {

template <class T>
void load_lines(int64_t m, const void* const* lines, void* block) {
  constexpr int W = kLanes<T>;
  T* to = static_cast<T*>(block);
  const T* const* from = reinterpret_cast<const T* const*>(lines);
  int64_t c = 0;
  for (; c + W <= m; c += W) {
    Vec<T> v[W];
#pragma GCC unroll 16
    for (int l = 0; l < W; l++) v[l] = at(from[l] + c);
    transpose<T, 1>(v);
#pragma GCC unroll 16
    for (int l = 0; l < W; l++) put(to + (c + l) * W, v[l]);
  }
  if (c < m && m >= W) {  // the rest together with some of what came before
    Vec<T> v[W];
    for (int l = 0; l < W; l++) v[l] = at(from[l] + m - W);
    transpose<T, 1>(v);
    for (int l = 0; l < W; l++) put(to + (m - W + l) * W, v[l]);
    return;
  }
  for (int l = 0; l < W; l++)
    for (int64_t i = c; i < m; i++) to[i * W + l] = from[l][i];
}

template <class T>
void store_lines(int64_t m, const void* block, void* const* lines, int count, double scale) {
  constexpr int W = kLanes<T>;
  const T* from = static_cast<const T*>(block);
  T* const* to = reinterpret_cast<T* const*>(lines);
  const T by = T(scale);
  int64_t c = 0;
  for (; c + W <= m; c += W) {
    Vec<T> v[W];
#pragma GCC unroll 16
    for (int l = 0; l < W; l++) v[l] = at(from + (c + l) * W) * by;
    transpose<T, 1>(v);
    if (count == W) {
#pragma GCC unroll 16
      for (int l = 0; l < W; l++) put(to[l] + c, v[l]);
    } else {
      for (int l = 0; l < count; l++) put(to[l] + c, v[l]);
    }
  }
  for (int l = 0; l < count; l++)
    for (int64_t i = c; i < m; i++) to[l][i] = from[i * W + l] * by;
}

template <class T>
void load_apart(int64_t n, int parts, int64_t stride, const void* const* lines, void* block) {
  constexpr int W = kLanes<T>;
  T* to = static_cast<T*>(block);
  for (int l = 0; l < W; l++) {
    const T* from = static_cast<const T*>(lines[l]);
    for (int64_t i = 0; i < n; i++)
      for (int p = 0; p < parts; p++) to[(i * parts + p) * W + l] = from[i * stride + p];
  }
}
template <class T>
void store_apart(int64_t n, int parts, int64_t stride, const void* block, void* const* lines,
                 int count, double scale) {
  constexpr int W = kLanes<T>;
  const T* from = static_cast<const T*>(block);
  const T by = T(scale);
  for (int l = 0; l < count; l++) {
    T* to = static_cast<T*>(lines[l]);
    for (int64_t i = 0; i < n; i++)
      for (int p = 0; p < parts; p++) to[i * stride + p] = from[(i * parts + p) * W + l] * by;
  }
}

template <class T>
void load_columns(int64_t n, int parts, int64_t stride, const void* x, int count, void* block) {
  constexpr int W = kLanes<T>;
  const auto even = mask<T>([](int l) EMBER_LAMBDA { return 2 * l; });
  const auto odd = mask<T>([](int l) EMBER_LAMBDA { return 2 * l + 1; });
  const T* from = static_cast<const T*>(x);
  T* to = static_cast<T*>(block);
  T padded[2 * W] = {};
  for (int64_t i = 0; i < n; i++, from += stride, to += parts * W) {
    const T* row = from;
    if (count < W) {
      __builtin_memcpy(padded, from, uint64_t(count * parts) * sizeof(T));
      row = padded;
    }
    const Vec<T> a = at(row);
    if (parts == 1) {
      put(to, a);
    } else {
      const Vec<T> b = at(row + W);
      put(to, __builtin_shuffle(a, b, even));
      put(to + W, __builtin_shuffle(a, b, odd));
    }
  }
}

template <class T>
void store_columns(int64_t n, int parts, int64_t stride, const void* block, void* x, int count,
                   double scale) {
  constexpr int W = kLanes<T>;
  const auto low = mask<T>([](int l) EMBER_LAMBDA { return l / 2 + (l & 1) * W; });
  const auto high = mask<T>([](int l) EMBER_LAMBDA { return W / 2 + l / 2 + (l & 1) * W; });
  const T* from = static_cast<const T*>(block);
  T* to = static_cast<T*>(x);
  const T by = T(scale);
  T padded[2 * W];
  for (int64_t i = 0; i < n; i++, to += stride, from += parts * W) {
    T* row = count < W ? padded : to;
    const Vec<T> re = at(from) * by;
    if (parts == 1) {
      put(row, re);
    } else {
      const Vec<T> im = at(from + W) * by;
      put(row, __builtin_shuffle(re, im, low));
      put(row + W, __builtin_shuffle(re, im, high));
    }
    if (count < W) __builtin_memcpy(to, padded, uint64_t(count * parts) * sizeof(T));
  }
}

template <class T>
void turn(int64_t n, int64_t rows, const void* blocks, void* block) {
  constexpr int W = kLanes<T>;
  const T* from = static_cast<const T*>(blocks);
  T* to = static_cast<T*>(block);
  for (int64_t j = 0; j < n; j += W, from += rows * 2 * W)
    for (int part = 0; part < 2; part++) {
      Vec<T> v[W];
#pragma GCC unroll 16
      for (int l = 0; l < W; l++) v[l] = at(from + (2 * l + part) * W);
      transpose<T, 1>(v);
      T* row = to + (2 * j + part) * W;
      if (n - j >= W) {
#pragma GCC unroll 16
        for (int l = 0; l < W; l++) put(row + 2 * l * W, v[l]);
      } else {
        for (int l = 0; l < n - j; l++) put(row + 2 * l * W, v[l]);
      }
    }
}

template <class T>
void add(FftLaneKernels& k) {
  k.load_lines = load_lines<T>;
  k.store_lines = store_lines<T>;
  k.load_apart = load_apart<T>;
  k.store_apart = store_apart<T>;
  k.load_columns = load_columns<T>;
  k.store_columns = store_columns<T>;
  k.turn = turn<T>;
}

}  // namespace

void add_fft_layout(FftTable& table) {
  add<float>(table.f32);
  add<double>(table.f64);
}

}  // namespace ember::cpu::EMBER_ISA
