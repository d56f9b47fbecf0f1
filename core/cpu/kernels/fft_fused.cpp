// The first step of a transform straight from lines, and the last one straight to lines: the block
// between them is read and written once less for each. A tile of W / 2 elements of each line, of
// each of the R streams that a step reads or writes, is transposed in the L1 cache.
#include "cpu/kernels/fft_kernels.h"
#include "cpu/kernels/fft_steps.h"
#include "cpu/kernels/fft_transpose.h"

namespace ember::cpu::EMBER_ISA {
namespace {

template <class T>
EMBER_INLINE void load_tile(const T* const* lines, int64_t at_number, int width, Vec<T>* to) {
  constexpr int W = kLanes<T>;
  if (width == W / 2) {
#pragma GCC unroll 16
    for (int l = 0; l < W; l++) to[l] = at(lines[l] + at_number);
  } else {
    T padded[W] = {};
    for (int l = 0; l < W; l++) {
      __builtin_memcpy(padded, lines[l] + at_number, uint64_t(2 * width) * sizeof(T));
      to[l] = at(padded);
    }
  }
  transpose<T, 1>(to);
}

template <class T>
EMBER_INLINE void store_tile(const Vec<T>* from, T by, T* const* lines, int count,
                             int64_t at_number, int width) {
  constexpr int W = kLanes<T>;
  Vec<T> v[W];
#pragma GCC unroll 16
  for (int l = 0; l < W; l++) v[l] = from[l] * by;
  transpose<T, 1>(v);
  if (width == W / 2 && count == W) {
#pragma GCC unroll 16
    for (int l = 0; l < W; l++) put(lines[l] + at_number, v[l]);
  } else {
    for (int l = 0; l < count; l++) {
      T padded[W];
      put(padded, v[l]);
      __builtin_memcpy(lines[l] + at_number, padded, uint64_t(2 * width) * sizeof(T));
    }
  }
}

template <class T, int R, bool Swap>
void first_step(const FftSteps& steps, const T* const* lines, Vec<T>* out) {
  constexpr int W = kLanes<T>, tile = W / 2;
  const LocalRoots<T, R> roots(steps.roots[0]);
  const T* w = static_cast<const T*>(steps.twiddles[0]);
  const int64_t ido = steps.n / R;
  alignas(64) Vec<T> local[R * W];
  for (int64_t i = 0; i < ido; i += tile) {
    const int width = ido - i < tile ? int(ido - i) : tile;
    for (int j = 0; j < R; j++) load_tile<T>(lines, 2 * (i + ido * j), width, local + j * W);
    butterflies<T, R, Swap, true>(width, local, W, 2, out + 2 * i, 2 * ido, w + 2 * (R - 1) * i,
                                  roots.value);
  }
}

template <class T, int R, bool Swap>
void last_step(const FftSteps& steps, const Vec<T>* in, T* const* lines, int count, T scale) {
  constexpr int W = kLanes<T>, tile = W / 2;
  const LocalRoots<T, R> roots(steps.roots[steps.count - 1]);
  const int64_t l1 = steps.n / R;
  alignas(64) Vec<T> local[R * W] = {};
  for (int64_t k = 0; k < l1; k += tile) {
    const int width = l1 - k < tile ? int(l1 - k) : tile;
    butterflies<T, R, Swap, false>(width, in + 2 * R * k, 2, 2 * R, local, W, nullptr, roots.value);
    for (int j = 0; j < R; j++)
      store_tile<T>(local + j * W, scale, lines, count, 2 * (k + l1 * j), width);
  }
}

template <class T, bool Swap>
void first_as(const FftSteps& steps, const void* const* lines, void* out) {
  auto* from = reinterpret_cast<const T* const*>(lines);
  auto* to = static_cast<Vec<T>*>(out);
  switch (steps.radix[0]) {
    case 3: return first_step<T, 3, Swap>(steps, from, to);
    case 4: return first_step<T, 4, Swap>(steps, from, to);
    case 5: return first_step<T, 5, Swap>(steps, from, to);
    case 7: return first_step<T, 7, Swap>(steps, from, to);
    default: return first_step<T, 8, Swap>(steps, from, to);
  }
}
template <class T>
void first_of_lines(const FftSteps& steps, const void* const* lines, void* out, bool inverse) {
  inverse ? first_as<T, true>(steps, lines, out) : first_as<T, false>(steps, lines, out);
}

template <class T, bool Swap>
void last_as(const FftSteps& steps, const void* in, void* const* lines, int count, T scale) {
  auto* from = static_cast<const Vec<T>*>(in);
  auto* to = reinterpret_cast<T* const*>(lines);
  switch (steps.radix[steps.count - 1]) {
    case 3: return last_step<T, 3, Swap>(steps, from, to, count, scale);
    case 4: return last_step<T, 4, Swap>(steps, from, to, count, scale);
    case 5: return last_step<T, 5, Swap>(steps, from, to, count, scale);
    case 7: return last_step<T, 7, Swap>(steps, from, to, count, scale);
    default: return last_step<T, 8, Swap>(steps, from, to, count, scale);
  }
}
template <class T>
void last_to_lines(const FftSteps& steps, const void* in, void* const* lines, int count,
                   bool inverse, double scale) {
  inverse ? last_as<T, true>(steps, in, lines, count, T(scale))
          : last_as<T, false>(steps, in, lines, count, T(scale));
}

template <class T>
void add(FftLaneKernels& k) {
  k.first_of_lines = first_of_lines<T>;
  k.last_to_lines = last_to_lines<T>;
}

}  // namespace

void add_fft_fused(FftTable& table) {
  add<float>(table.f32);
  add<double>(table.f64);
}

}  // namespace ember::cpu::EMBER_ISA
