// What depthwise.cpp and pool.cpp share: vectors, and the copy of a plane (plane_kernels.h).
#pragma once

#include "cpu/kernels/plane_kernels.h"
#include "cpu/kernels/vector.h"

namespace ember::cpu::EMBER_ISA {
namespace {

template <class T>
EMBER_INLINE Vector<T> load(const T* p) {
  return *reinterpret_cast<const Vector<T>*>(p);
}

template <class T>
void copy_in(const PlanePlan& p, const void* from, void* to) {
  const T* x = static_cast<const T*>(from);
  for (int64_t y = 0; y < p.in_rows; y++, x += p.in_cols) {
    if (p.in_places[y] < 0) continue;
    T* line = static_cast<T*>(to) + p.in_places[y];
    if (p.phases == 1) {
      const int64_t room = (p.width - p.left + p.spread - 1) / p.spread;
      const int64_t n = p.in_cols < room ? p.in_cols : room;
      if (p.spread == 1)
        __builtin_memcpy(line + p.left, x, uint64_t(n) * sizeof(T));
      else
        for (int64_t i = 0; i < n; i++) line[p.left + i * p.spread] = x[i];
      continue;
    }
    for (int64_t phase = 0; phase < p.phases; phase++) {
      const int64_t first = ((phase - p.left) % p.phases + p.phases) % p.phases;
      const int64_t at = (p.left + first) / p.phases;
      int64_t n = p.in_cols > first ? (p.in_cols - first + p.phases - 1) / p.phases : 0;
      n = n < p.width - at ? n : p.width - at;
      T* part = line + phase * p.part + at;
      const T* in = x + first;
      if (p.phases == 2)
        for (int64_t i = 0; i < n; i++) part[i] = in[2 * i];
      else
        for (int64_t i = 0; i < n; i++) part[i] = in[p.phases * i];
    }
  }
}

// Where a vector of results is read and written. Of the last in a row, too much may be written if
// the next row comes after it.
template <class T>
struct Tile {
  const T* from;
  int64_t row, col, keep;
  EMBER_INLINE void set(const PlanePlan& p, const T* copy, int64_t tile) {
    constexpr int L = kLanes<T>;
    row = tile / p.vectors;
    col = tile % p.vectors * L;
    from = copy + p.starts[row] + col;
    const bool last = row * p.cols + col + L > p.rows * p.cols;
    keep = last && p.cols - col < L ? p.cols - col : L;
  }
  EMBER_INLINE void store(const PlanePlan& p, T* y, Vector<T> v) const {
    T* to = y + row * p.cols + col;
    if (__builtin_expect(keep == kLanes<T>, 1))
      *reinterpret_cast<Vector<T>*>(to) = v;
    else
      for (int64_t i = 0; i < keep; i++) to[i] = v[i];
  }
};

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
