// Reductions of contiguous runs (inner) and across rows (outer), on one thread.
// Sums of floats are pairwise: blocks of kBlock elements in many lanes, blocks joined as a tree.
#include "cpu/kernels/reduce_kernels.h"

#include <cmath>
#include <limits>
#include <type_traits>

namespace ember::cpu::EMBER_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX2__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif
constexpr int64_t kBlock = 1024;

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
constexpr int kLanes = kBytes / int(sizeof(T));

// One functor serves scalars and vectors.
template <class T>
struct Sum {
  static constexpr bool pairwise = std::is_floating_point_v<T>;
  static T identity() { return T(0); }
  template <class V>
  static V fold(V acc, V x) {
    return acc + x;
  }
  template <class V>
  static V take(V x) {
    return x;
  }
};
template <class T>
struct SumSquares : Sum<T> {
  template <class V>
  static V take(V x) {
    return x * x;
  }
};
template <class T>
struct Prod {
  static constexpr bool pairwise = false;
  static T identity() { return T(1); }
  template <class V>
  static V fold(V acc, V x) {
    return acc * x;
  }
  template <class V>
  static V take(V x) {
    return x;
  }
};
template <class T>
struct Min {
  static constexpr bool pairwise = false;
  static T identity() {
    return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                       : std::numeric_limits<T>::max();
  }
  template <class V>
  static V fold(V acc, V x) {
    if constexpr (std::is_integral_v<T>)
      return x < acc ? x : acc;
    else
      return ((x < acc) | (x != x)) ? x : acc;
  }
  template <class V>
  static V take(V x) {
    return x;
  }
};
template <class T>
struct Max {
  static constexpr bool pairwise = false;
  static T identity() {
    return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                       : std::numeric_limits<T>::min();
  }
  template <class V>
  static V fold(V acc, V x) {
    if constexpr (std::is_integral_v<T>)
      return x > acc ? x : acc;
    else
      return ((x > acc) | (x != x)) ? x : acc;
  }
  template <class V>
  static V take(V x) {
    return x;
  }
};

template <class T>
constexpr bool kVectorised = !is_complex_type<T>;

// `count` > 0 vectors from x on, folded into one.
template <class T, template <class> class Op>
Vector<T> fold_vectors(int64_t count, const T* x) {
  using O = Op<T>;
  using V = Vector<T>;
  constexpr int L = kLanes<T>, U = 8;
  if (O::pairwise && count * L > kBlock) {
    const int64_t half = (count / 2 * L + kBlock - 1) / kBlock * (kBlock / L);
    return O::fold(fold_vectors<T, Op>(half, x), fold_vectors<T, Op>(count - half, x + half * L));
  }
  V acc[U];
  const int used = count >= U ? U : 1;
  for (int u = 0; u < used; u++) acc[u] = O::take(*(const V*)(x + u * L));
  int64_t i = used;
  if (used == U) {
    for (; i + U <= count; i += U)
#pragma GCC unroll 8
      for (int u = 0; u < U; u++) acc[u] = O::fold(acc[u], O::take(*(const V*)(x + (i + u) * L)));
#pragma GCC unroll 8
    for (int step = U / 2; step; step /= 2)
#pragma GCC unroll 8
      for (int u = 0; u < step; u++) acc[u] = O::fold(acc[u], acc[u + step]);
  }
  for (; i < count; i++) acc[0] = O::fold(acc[0], O::take(*(const V*)(x + i * L)));
  return acc[0];
}

// Fewer elements than a vector has, in lanes that are otherwise neutral.
template <class T, template <class> class Op>
Vector<T> partial_vector(int64_t n, const T* x) {
  T lanes[kLanes<T>];
  for (int l = 0; l < kLanes<T>; l++) lanes[l] = Op<T>::identity();
  for (int64_t i = 0; i < n; i++) lanes[i] = x[i];
  return Op<T>::take(*(const Vector<T>*)lanes);
}

template <class T, template <class> class Op>
T run(int64_t n, const T* x) {
  using O = Op<T>;
  T result = O::identity();
  if constexpr (kVectorised<T>) {
    constexpr int L = kLanes<T>;
    if (n >= L) {
      // Loads that straddle two lines take twice as long; a long row begins with what precedes the
      // first whole one.
      const bool is_long = n >= 16 * L;
      const int64_t head = is_long ? int64_t(-uintptr_t(x) % kBytes / sizeof(T)) : 0;
      const int64_t whole = (n - head) / L, tail = n - head - whole * L;
      Vector<T> all = fold_vectors<T, Op>(whole, x + head);
      if (head) all = O::fold(partial_vector<T, Op>(head, x), all);
      if (is_long && tail) all = O::fold(all, partial_vector<T, Op>(tail, x + n - tail));
      T lanes[L];
      *(Vector<T>*)lanes = all;
      for (int step = L / 2; step; step /= 2)
        for (int l = 0; l < step; l++) lanes[l] = O::fold(lanes[l], lanes[l + step]);
      for (int64_t i = is_long ? n : n - tail; i < n; i++)
        lanes[0] = O::fold(lanes[0], O::take(x[i]));
      return lanes[0];
    }
  }
  if constexpr (O::pairwise && !kVectorised<T>) {
    if (n > kBlock) {
      const int64_t half = (n / 2 + kBlock - 1) / kBlock * kBlock;
      return O::fold(run<T, Op>(half, x), run<T, Op>(n - half, x + half));
    }
  }
  for (int64_t i = 0; i < n; i++) result = O::fold(result, O::take(x[i]));
  return result;
}

template <class T, template <class> class Op>
void inner(int64_t rows, int64_t n, const T* x, int64_t row_stride, T* out) {
  for (int64_t r = 0; r < rows; r++) out[r] = run<T, Op>(n, x + r * row_stride);
}

template <class T, template <class> class Op, class V>
inline void outer_columns(int64_t rows, const T* x, int64_t row_stride, T* acc) {
  using O = Op<T>;
  V sum = *(V*)acc;
  for (; rows >= 4; rows -= 4, x += 4 * row_stride) {
    const V a = O::fold(O::take(*(const V*)x), O::take(*(const V*)(x + row_stride)));
    const V b =
        O::fold(O::take(*(const V*)(x + 2 * row_stride)), O::take(*(const V*)(x + 3 * row_stride)));
    sum = O::fold(sum, O::fold(a, b));
  }
  for (; rows > 0; rows--, x += row_stride) sum = O::fold(sum, O::take(*(const V*)x));
  *(V*)acc = sum;
}

// Four rows at a time: each row is then a stream that the prefetcher follows, and acc is touched
// once in four.
template <class T, template <class> class Op>
void outer(int64_t rows, int64_t n, const T* x, int64_t row_stride, T* acc) {
  for (; rows > 0; rows -= 4, x += 4 * row_stride) {
    const int64_t some = rows < 4 ? rows : 4;
    int64_t j = 0;
    if constexpr (kVectorised<T>)
      for (; j + kLanes<T> <= n; j += kLanes<T>)
        outer_columns<T, Op, Vector<T>>(some, x + j, row_stride, acc + j);
    for (; j < n; j++) outer_columns<T, Op, T>(some, x + j, row_stride, acc + j);
  }
}

template <class T, template <class> class Op>
void join_chunk(int64_t n, const T* x, Wide<T>* acc) {
  for (int64_t i = 0; i < n; i++) acc[i] = Op<Wide<T>>::fold(acc[i], Wide<T>(x[i]));
}

template <class T>
bool beats(bool most, T x, T best) {
  if constexpr (std::is_integral_v<T>)
    return most ? x > best : x < best;
  else
    return (most ? x > best : x < best) || (x != x && best == best);
}

// Each block's extreme by vector; only the block that holds the best is searched for its place.
template <class T>
Extreme<T> extreme(bool most, int64_t n, const T* x) {
  T best{};
  int64_t from = -1;
  for (int64_t i = 0; i < n; i += kBlock) {
    int64_t w = n - i < kBlock ? n - i : kBlock;
    T v = most ? run<T, Max>(w, x + i) : run<T, Min>(w, x + i);
    if (from < 0 || beats(most, v, best)) {
      best = v;
      from = i;
      if (v != v) break;
    }
  }
  if (best != best) {
    while (x[from] == x[from]) from++;
    best = x[from];
  } else {
    while (!(x[from] == best)) from++;
  }
  return {best, from};
}

// The row numbers of a chunk are kept in integers as wide as T, so that they ride in the same
// lanes.
template <class T, bool Most>
void extremes_of(int64_t first, int64_t rows, int64_t n, const T* x, int64_t row_stride, T* best,
                 int64_t* where) {
  using I = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  constexpr int64_t kColumns = 256;
  for (int64_t j0 = 0; j0 < n; j0 += kColumns) {
    const int64_t w = n - j0 < kColumns ? n - j0 : kColumns;
    I at[kColumns];
    T top[kColumns];
    for (int64_t j = 0; j < w; j++) {
      at[j] = -1;
      top[j] = best[j0 + j];
    }
    for (int64_t r = 0; r < rows; r++) {
      const T* row = x + r * row_stride + j0;
      for (int64_t j = 0; j < w; j++) {
        T v = row[j], b = top[j];
        bool better = Most ? v > b : v < b;
        if constexpr (!std::is_integral_v<T>) better |= (v != v) & (b == b);
        top[j] = better ? v : b;
        at[j] = better ? I(r) : at[j];
      }
    }
    for (int64_t j = 0; j < w; j++) {
      best[j0 + j] = top[j];
      if (at[j] >= 0) where[j0 + j] = first + at[j];
    }
  }
}

template <class T>
void extremes(bool most, bool start, int64_t first, int64_t rows, int64_t n, const T* x,
              int64_t row_stride, T* best, int64_t* where) {
  if (start) {
    for (int64_t j = 0; j < n; j++) {
      best[j] = x[j];
      where[j] = first;
    }
    x += row_stride;
    first++;
    rows--;
  }
  if (most)
    extremes_of<T, true>(first, rows, n, x, row_stride, best, where);
  else
    extremes_of<T, false>(first, rows, n, x, row_stride, best, where);
}

inline Moments join(Moments a, Moments b) {  // Chan, Golub, LeVeque
  if (a.count == 0) return b;
  double count = a.count + b.count, delta = b.mean - a.mean, share = b.count / count;
  return {count, a.mean + delta * share, a.squares + b.squares + delta * delta * a.count * share};
}

template <class T>
T squares_from(int64_t n, const T* x, T mean) {
  using V = Vector<T>;
  constexpr int L = kLanes<T>, U = 4;
  V acc[U] = {};
  int64_t i = 0;
  for (; i + L * U <= n; i += L * U)
#pragma GCC unroll 8
    for (int u = 0; u < U; u++) {
      V d = *(const V*)(x + i + u * L) - mean;
      acc[u] += d * d;
    }
  acc[0] = (acc[0] + acc[1]) + (acc[2] + acc[3]);
  T lanes[L], sum = 0;
  *(V*)lanes = acc[0];
  for (int l = 0; l < L; l++) sum += lanes[l];
  for (; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
  return sum;
}

// A block is summed, then its distances from its own mean are squared while it is in L1; one pass
// over memory.
template <class T>
Moments moments(int64_t n, const T* x) {
  Moments all{0, 0, 0};
  for (int64_t i = 0; i < n; i += kBlock) {
    int64_t w = n - i < kBlock ? n - i : kBlock;
    T shift = run<T, Sum>(w, x + i) / T(w);
    // `shift` is within an ulp of the block's mean, which adds w * ulp^2 to the squares: nothing.
    all = join(all, Moments{double(w), double(shift), double(squares_from(w, x + i, shift))});
  }
  return all;
}

template <class T>
void moments_outer(int64_t rows, int64_t n, const T* x, int64_t row_stride, double before,
                   double* mean, double* squares) {
  constexpr int64_t kColumns = 256, kStep = 16;
  for (int64_t j0 = 0; j0 < n; j0 += kColumns) {
    const int64_t w = n - j0 < kColumns ? n - j0 : kColumns;
    double count = before;
    for (int64_t r = 0; r < rows; r += kStep) {
      const int64_t height = rows - r < kStep ? rows - r : kStep;
      const T* from = x + r * row_stride + j0;
      T m[kColumns], s[kColumns];
      for (int64_t j = 0; j < w; j++) m[j] = s[j] = 0;
      for (int64_t q = 0; q < height; q++)
        for (int64_t j = 0; j < w; j++) m[j] += from[q * row_stride + j];
      const T scale = T(1) / T(height);
      for (int64_t j = 0; j < w; j++) m[j] *= scale;
      for (int64_t q = 0; q < height; q++)
        for (int64_t j = 0; j < w; j++) {
          T d = from[q * row_stride + j] - m[j];
          s[j] += d * d;
        }
      const double total = count + double(height), share = double(height) / total,
                   cross = count * share;
      double* mean_to = mean + j0;
      double* squares_to = squares + j0;
      for (int64_t j = 0; j < w; j++) {
        double delta = double(m[j]) - mean_to[j];
        mean_to[j] += delta * share;
        squares_to[j] += double(s[j]) + delta * delta * cross;
      }
      count = total;
    }
  }
}

template <class T>
constexpr ReduceKernelsOf<T> kernels_of() {
  ReduceKernelsOf<T> t{};
  t.inner[int(Fold::Sum)] = inner<T, Sum>;
  t.inner[int(Fold::Prod)] = inner<T, Prod>;
  t.outer[int(Fold::Sum)] = outer<T, Sum>;
  t.outer[int(Fold::Prod)] = outer<T, Prod>;
  t.join[int(Fold::Sum)] = t.join[int(Fold::SumSquares)] = join_chunk<T, Sum>;
  t.join[int(Fold::Prod)] = join_chunk<T, Prod>;
  if constexpr (!is_complex_type<T>) {
    t.inner[int(Fold::Min)] = inner<T, Min>;
    t.inner[int(Fold::Max)] = inner<T, Max>;
    t.outer[int(Fold::Min)] = outer<T, Min>;
    t.outer[int(Fold::Max)] = outer<T, Max>;
    t.join[int(Fold::Min)] = join_chunk<T, Min>;
    t.join[int(Fold::Max)] = join_chunk<T, Max>;
    t.extreme = extreme<T>;
    t.extremes = extremes<T>;
  }
  if constexpr (std::is_floating_point_v<T>) {
    t.inner[int(Fold::SumSquares)] = inner<T, SumSquares>;
    t.outer[int(Fold::SumSquares)] = outer<T, SumSquares>;
    t.moments = moments<T>;
    t.moments_outer = moments_outer<T>;
  }
  return t;
}

}  // namespace

const ReduceKernels& reduce_kernels() {
  static constexpr ReduceKernels table{kernels_of<float>(), kernels_of<double>(),
                                       kernels_of<int32_t>(), kernels_of<int64_t>(),
                                       kernels_of<complex128>()};
  return table;
}

}  // namespace ember::cpu::EMBER_ISA
