// Reductions of contiguous runs (inner) and across rows (outer), on one thread, and the table of
// all kernels that reduce: places of extremes are in reduce_extremes.h, variances in
// reduce_moments.h.
#include "cpu/kernels/reduce_extremes.h"
#include "cpu/kernels/reduce_moments.h"
#include "cpu/kernels/reduce_run.h"

namespace ember::cpu::EMBER_ISA {
namespace {

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
constexpr bool is_taken(FoldTypes types) {
  return types == FoldTypes::every || (types == FoldTypes::ordered && !is_complex_type<T>) ||
         (types == FoldTypes::whole && std::is_integral_v<T>);
}

template <class T, template <class> class Op>
constexpr void add_fold(ReduceKernelsOf<T>& t, Fold fold) {
  if constexpr (is_taken<T>(Op<T>::takes)) {
    t.inner[int(fold)] = inner<T, Op>;
    t.outer[int(fold)] = outer<T, Op>;
    t.join[int(fold)] = join_chunk<T, Op>;
  }
}

template <class T>
constexpr ReduceKernelsOf<T> kernels_of() {
  ReduceKernelsOf<T> t{};
#define FOLD(name, types, start, join) add_fold<T, folds::name>(t, Fold::name);
#include "reduction_formulas.h"
  if constexpr (!is_complex_type<T>) {
    t.extreme = extreme<T>;
    t.extremes = extremes<T>;
  }
  if constexpr (std::is_floating_point_v<T>) {
    t.inner[kSquares] = inner<T, folds::squares>;
    t.outer[kSquares] = outer<T, folds::squares>;
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
