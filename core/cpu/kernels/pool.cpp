// Maxima and means of windows, one plane at a time, or one sample if channels come last.
#include "cpu/kernels/once.h"
#include "cpu/kernels/planes.h"

namespace ember::cpu::EMBER_ISA {
namespace {

template <class T>
constexpr T kLowest = std::is_floating_point_v<T> ? -T(__builtin_inf())
                      : sizeof(T) == 4            ? T(INT32_MIN)
                                                  : T(INT64_MIN);
// An integer as wide as T, so that values and their places go through vectors together.
template <class T>
using Place = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

template <class T>
void fill(void* copy, int64_t n) {
  T* to = static_cast<T*>(copy);
  for (int64_t i = 0; i < n; i++) to[i] = kLowest<T>;
}

// --- sliding maxima ------------------------------------------------------------------------------

template <class T, int N, bool places>
EMBER_INLINE void max_tiles(const PlanePlan& p, const MaxPlaces& at, const T* copy, T* y,
                            int64_t* indices, int64_t first) {
  constexpr int L = kLanes<T>;
  using I = Place<T>;
  Tile<T> tile[N];
  Vector<T> best[N];
  Vector<I> tap[N];
#pragma GCC unroll 4
  for (int u = 0; u < N; u++) {
    tile[u].set(p, copy, first + u);
    best[u] = kLowest<T> - Vector<T>{};
    tap[u] = I(-1) - Vector<I>{};
  }
  for (int64_t k = 0; k < p.taps; k++) {
    const int64_t offset = p.offsets[k];
#pragma GCC unroll 4
    for (int u = 0; u < N; u++) {
      const Vector<T> v = load(tile[u].from + offset);
      if constexpr (places) {
        const Vector<I> take = (v > best[u]) | (v != v);
        best[u] = take ? v : best[u];
        tap[u] = take ? I(k) - Vector<I>{} : tap[u];
      } else {
        best[u] = (v > best[u]) | (v != v) ? v : best[u];
      }
    }
  }
#pragma GCC unroll 4
  for (int u = 0; u < N; u++) {
    tile[u].store(p, y, best[u]);
    if constexpr (places) {
      I taps[L];
      *reinterpret_cast<Vector<I>*>(taps) = tap[u];
      const int64_t row = tile[u].row, col = tile[u].col;
      const int64_t left = p.cols - col, n = left < L ? left : L;
      int64_t* to = indices + row * p.cols + col;
      for (int64_t i = 0; i < n; i++) {
        const int64_t k = taps[i];
        to[i] = __builtin_expect(k >= 0, 1) ? at.bases[row] + (col + i) * at.step + at.shifts[k]
                                            : at.first_row[row] + at.first_col[col + i];
      }
    }
  }
}

template <class T, bool places>
void max_plane(const PlanePlan& p, const MaxPlaces& at, const T* copy, T* y, int64_t* indices) {
  const int64_t count = p.rows * p.vectors;
  int64_t t = 0;
  for (; t + 4 <= count; t += 4) max_tiles<T, 4, places>(p, at, copy, y, indices, t);
  for (; t < count; t++) max_tiles<T, 1, places>(p, at, copy, y, indices, t);
}

template <class T>
void max_sliding(const PlanePlan& p, const MaxPlaces& at, const void* copy, void* y,
                 int64_t* indices) {
  const T* from = static_cast<const T*>(copy);
  T* to = static_cast<T*>(y);
  if (indices)
    max_plane<T, true>(p, at, from, to, indices);
  else
    max_plane<T, false>(p, at, from, to, nullptr);
}

// --- windows as lists --------------------------------------------------------------------------

// Calls f(i, k): result i of the first two axes together, and the input's lines in its windows.
template <class F>
EMBER_INLINE void each_line(const PoolPlan& p, int64_t o0, int64_t o1, F f) {
  for (int64_t i0 = p.first[0][o0]; i0 < p.last[0][o0]; i0 += p.step[0])
    for (int64_t i1 = p.first[1][o1]; i1 < p.last[1][o1]; i1 += p.step[1]) f(i0 * p.in[1] + i1);
}

template <class T>
void max(const PoolPlan& p, const void* from, void* to, int64_t* indices) {
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  for (int64_t o0 = 0; o0 < p.out[0]; o0++)
    for (int64_t o1 = 0; o1 < p.out[1]; o1++)
      for (int64_t o2 = 0; o2 < p.out[2]; o2++) {
        T best = kLowest<T>;
        int64_t place = (p.first[0][o0] * p.in[1] + p.first[1][o1]) * p.in[2] + p.first[2][o2];
        each_line(p, o0, o1, [&](int64_t line) EMBER_LAMBDA {
          for (int64_t i = p.first[2][o2]; i < p.last[2][o2]; i += p.step[2]) {
            const T v = x[line * p.in[2] + i];
            if (v > best || v != v) best = v, place = line * p.in[2] + i;
          }
        });
        *y++ = best;
        if (indices) *indices++ = place;
      }
}

template <class T>
void max_grad(int64_t inputs, int64_t places, const void* from, const int64_t* indices, void* to) {
  const T* g = static_cast<const T*>(from);
  T* dx = static_cast<T*>(to);
  for (int64_t i = 0; i < inputs; i++) dx[i] = 0;
  for (int64_t i = 0; i < places; i++) {
    const int64_t at = read_once(indices + i);  // users have them, and can change them
    if (__builtin_expect(uint64_t(at) < uint64_t(inputs), 1)) dx[at] += g[i];
  }
}

template <class T>
EMBER_INLINE T divided(T sum, int64_t by) {
  return sum / T(by);
}

template <class T>
EMBER_INLINE T sum_of(const T* x, int64_t n) {
  constexpr int L = kLanes<T>;
  Vector<T> sum[2] = {};
  int64_t i = 0;
  for (; i + 2 * L <= n; i += 2 * L) sum[0] += load(x + i), sum[1] += load(x + i + L);
  for (; i + L <= n; i += L) sum[0] += load(x + i);
  sum[0] += sum[1];
  T lanes[L];
  *reinterpret_cast<Vector<T>*>(lanes) = sum[0];
#pragma GCC unroll 8
  for (int step = L / 2; step; step /= 2)
#pragma GCC unroll 8
    for (int l = 0; l < step; l++) lanes[l] += lanes[l + step];
  for (; i < n; i++) lanes[0] += x[i];
  return lanes[0];
}

template <class T>
void mean_of_all(int64_t n, const void* from, void* to) {
  *static_cast<T*>(to) = sum_of(static_cast<const T*>(from), n) / T(n);
}

template <class T>
void mean(const PoolPlan& p, const void* from, void* to, void* scratch) {
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  T* total = static_cast<T*>(scratch);  // of each column, padding included
  const int64_t room = mean_scratch(p) - p.out[2], width = p.in[2], out = p.out[2];
  T* line = total + room;
  for (int64_t i = 0; i < room; i++) total[i] = 0;
  for (int64_t o0 = 0; o0 < p.out[0]; o0++)
    for (int64_t o1 = 0; o1 < p.out[1]; o1++, y += out) {
      T* columns = total + p.padding;
      bool any = false;
      each_line(p, o0, o1, [&](int64_t at) EMBER_LAMBDA {
        const T* in = x + at * width;
        if (any)
          for (int64_t i = 0; i < width; i++) columns[i] += in[i];
        else
          for (int64_t i = 0; i < width; i++) columns[i] = in[i];
        any = true;
      });
      if (!any)
        for (int64_t i = 0; i < width; i++) columns[i] = 0;
      if (p.stride) {
        for (int64_t i = 0; i < out; i++) line[i] = total[i * p.stride];
        for (int64_t k = 1; k < p.kernel; k++) {
          if (p.stride == 1)
            for (int64_t i = 0; i < out; i++) line[i] += total[i + k];
          else if (p.stride == 2)
            for (int64_t i = 0; i < out; i++) line[i] += total[2 * i + k];
          else
            for (int64_t i = 0; i < out; i++) line[i] += total[i * p.stride + k];
        }
      } else {
        for (int64_t i = 0; i < out; i++) {
          T sum = 0;
          for (int64_t j = p.first[2][i]; j < p.last[2][i]; j++) sum += columns[j];
          line[i] = sum;
        }
      }
      const int64_t rows = p.count[0][o0] * p.count[1][o1];
      for (int64_t i = 0; i < out; i++)
        y[i] = divided(line[i], p.divisor ? p.divisor : rows * p.count[2][i]);
    }
}

template <class T>
void mean_grad(const PoolPlan& p, const void* from, void* to, void* scratch) {
  const T* g = static_cast<const T*>(from);
  T* dx = static_cast<T*>(to);
  T* total = static_cast<T*>(scratch);
  const int64_t room = mean_scratch(p) - p.out[2], width = p.in[2], out = p.out[2];
  T* line = total + room;
  for (int64_t i = 0; i < p.in[0] * p.in[1] * width; i++) dx[i] = 0;
  for (int64_t o0 = 0; o0 < p.out[0]; o0++)
    for (int64_t o1 = 0; o1 < p.out[1]; o1++, g += out) {
      const int64_t rows = p.count[0][o0] * p.count[1][o1];
      for (int64_t i = 0; i < out; i++)
        line[i] = divided(g[i], p.divisor ? p.divisor : rows * p.count[2][i]);
      for (int64_t i = 0; i < room; i++) total[i] = 0;
      T* columns = total + p.padding;
      if (p.stride) {
        for (int64_t k = 0; k < p.kernel; k++) {
          if (p.stride == 1)
            for (int64_t i = 0; i < out; i++) total[i + k] += line[i];
          else
            for (int64_t i = 0; i < out; i++) total[i * p.stride + k] += line[i];
        }
      } else {
        for (int64_t i = 0; i < out; i++)
          for (int64_t j = p.first[2][i]; j < p.last[2][i]; j++) columns[j] += line[i];
      }
      each_line(p, o0, o1, [&](int64_t at) EMBER_LAMBDA {
        T* into = dx + at * width;
        for (int64_t i = 0; i < width; i++) into[i] += columns[i];
      });
    }
}

// --- channels last -------------------------------------------------------------------------------

// Calls f(place, position) for every element of the window of each result, starting with
// start(place).
template <class Start, class F, class End>
EMBER_INLINE void each_window(const PoolPlan& p, Start start, F f, End end) {
  int64_t place = 0;
  for (int64_t o0 = 0; o0 < p.out[0]; o0++)
    for (int64_t o1 = 0; o1 < p.out[1]; o1++)
      for (int64_t o2 = 0; o2 < p.out[2]; o2++, place++) {
        start(place, (p.first[0][o0] * p.in[1] + p.first[1][o1]) * p.in[2] + p.first[2][o2],
              p.divisor ? p.divisor : p.count[0][o0] * p.count[1][o1] * p.count[2][o2]);
        each_line(p, o0, o1, [&](int64_t line) EMBER_LAMBDA {
          for (int64_t i = p.first[2][o2]; i < p.last[2][o2]; i += p.step[2]) f(line * p.in[2] + i);
        });
        end();
      }
}

template <class T>
void max_last(const PoolPlan& p, int64_t begin, int64_t end, const void* from, void* to,
              int64_t* indices, void* scratch) {
  using I = Place<T>;
  const int64_t n = end - begin;
  const T* x = static_cast<const T*>(from) + begin;
  T* y = nullptr;
  int64_t* at = nullptr;
  I* place = static_cast<I*>(scratch);
  each_window(
      p,
      [&](int64_t result, int64_t first, int64_t) EMBER_LAMBDA {
        y = static_cast<T*>(to) + result * p.channels + begin;
        if (indices) at = indices + result * p.channels + begin;
        for (int64_t c = 0; c < n; c++) y[c] = kLowest<T>, place[c] = I(first);
      },
      [&](int64_t position) EMBER_LAMBDA {
        const T* in = x + position * p.channels;
        T* best = y;
        I* where = place;
        const I here = I(position);
        if (indices) {
#pragma omp simd
          for (int64_t c = 0; c < n; c++) {
            const bool take = in[c] > best[c] || in[c] != in[c];
            best[c] = take ? in[c] : best[c];
            where[c] = take ? here : where[c];
          }
        } else {
#pragma omp simd
          for (int64_t c = 0; c < n; c++)
            best[c] = in[c] > best[c] || in[c] != in[c] ? in[c] : best[c];
        }
      },
      [&]() EMBER_LAMBDA {
        if (indices)
          for (int64_t c = 0; c < n; c++) at[c] = place[c];
      });
}

template <class T>
void max_grad_last(const PoolPlan& p, int64_t begin, int64_t end, const void* from,
                   const int64_t* indices, void* to) {
  T* dx = static_cast<T*>(to);
  const int64_t inputs = p.in[0] * p.in[1] * p.in[2];
  for (int64_t i = 0; i < inputs; i++)
    for (int64_t c = begin; c < end; c++) dx[i * p.channels + c] = 0;
  for (int64_t o = 0; o < p.out[0] * p.out[1] * p.out[2]; o++) {
    const T* g = static_cast<const T*>(from) + o * p.channels;
    const int64_t* at = indices + o * p.channels;
    for (int64_t c = begin; c < end; c++) {
      const int64_t place = read_once(at + c);
      if (__builtin_expect(uint64_t(place) < uint64_t(inputs), 1))
        dx[place * p.channels + c] += g[c];
    }
  }
}

template <class T>
void mean_last(const PoolPlan& p, int64_t begin, int64_t end, const void* from, void* to) {
  const int64_t n = end - begin;
  const T* x = static_cast<const T*>(from) + begin;
  T* y = nullptr;
  int64_t by = 1;
  each_window(
      p,
      [&](int64_t result, int64_t, int64_t divisor) EMBER_LAMBDA {
        y = static_cast<T*>(to) + result * p.channels + begin;
        by = divisor;
        for (int64_t c = 0; c < n; c++) y[c] = 0;
      },
      [&](int64_t position) EMBER_LAMBDA {
        const T* in = x + position * p.channels;
        T* sum = y;
#pragma omp simd
        for (int64_t c = 0; c < n; c++) sum[c] += in[c];
      },
      [&]() EMBER_LAMBDA {
        for (int64_t c = 0; c < n; c++) y[c] = divided(y[c], by);
      });
}

template <class T>
void mean_grad_last(const PoolPlan& p, int64_t begin, int64_t end, const void* from, void* to,
                    void* scratch) {
  const int64_t n = end - begin;
  T *dx = static_cast<T*>(to) + begin, *part = static_cast<T*>(scratch);
  for (int64_t i = 0; i < p.in[0] * p.in[1] * p.in[2]; i++)
    for (int64_t c = 0; c < n; c++) dx[i * p.channels + c] = 0;
  each_window(
      p,
      [&](int64_t result, int64_t, int64_t divisor) EMBER_LAMBDA {
        const T* g = static_cast<const T*>(from) + result * p.channels + begin;
        for (int64_t c = 0; c < n; c++) part[c] = divided(g[c], divisor);
      },
      [&](int64_t position) EMBER_LAMBDA {
        T* into = dx + position * p.channels;
        const T* add = part;
#pragma omp simd
        for (int64_t c = 0; c < n; c++) into[c] += add[c];
      },
      [&]() EMBER_LAMBDA {});
}

template <class T>
constexpr PoolKernelsOf kKernels = {kLanes<T>,        copy_in<T>,  fill<T>,          max_sliding<T>,
                                    max<T>,           max_grad<T>, mean_of_all<T>,   mean<T>,
                                    mean_grad<T>,     max_last<T>, max_grad_last<T>, mean_last<T>,
                                    mean_grad_last<T>};

}  // namespace

const PoolKernelsOf& pool_kernels(PoolType type) {
  switch (type) {
    case kPoolF32: return kKernels<float>;
    case kPoolF64: return kKernels<double>;
    case kPoolI32: return kKernels<int32_t>;
    default: return kKernels<int64_t>;
  }
}

}  // namespace ember::cpu::EMBER_ISA
