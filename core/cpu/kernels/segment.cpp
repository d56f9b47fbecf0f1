// Products with sparse matrices: rows of a dense matrix added up, or multiplied in pairs.
#include "cpu/kernels/segment_kernels.h"

#include "cpu/kernels/once.h"

namespace ember::cpu::EMBER_ISA {
namespace {

// The widest vector that the level is sure to do well; unaligned.
template <class T>
struct Pack {
  typedef T type __attribute__((vector_size(64), aligned(sizeof(T)), may_alias));
  static constexpr int64_t width = 64 / sizeof(T);
};
template <class T>
using PackOf = typename Pack<T>::type;

// Both have been checked, but another thread may have changed them since.
inline int64_t start_of(const Csr& a, int64_t row) {
  const int64_t k = read_once(a.start + row);
  return uint64_t(k) <= uint64_t(a.nnz) ? k : a.nnz;
}
inline int64_t column_of(const Csr& a, int64_t k) {
  const int64_t c = read_once(a.columns + k);
  return uint64_t(c) < uint64_t(a.width) ? c : 0;
}

// out[0 .. n) += v * x[0 .. n)
template <class T>
inline void add_scaled(T* out, T v, const T* x, int64_t n) {
  constexpr int64_t w = Pack<T>::width;
  int64_t j = 0;
  for (; j + w <= n; j += w) {
    auto& to = *reinterpret_cast<PackOf<T>*>(out + j);
    to += v * *reinterpret_cast<const PackOf<T>*>(x + j);
  }
  for (; j < n; j++) out[j] += v * x[j];
}

// One row of the product, a strip of columns at a time that stays in registers.
template <class T, int kPacks>
inline void gather_strip(const Csr& a, const T* values, const T* x, T* out, int64_t n, int64_t from,
                         int64_t to) {
  constexpr int64_t w = Pack<T>::width;
  PackOf<T> sum[kPacks] = {};
  for (int64_t k = from; k < to; k++) {
    const T* row = x + column_of(a, k) * n;
    for (int p = 0; p < kPacks; p++)
      sum[p] += values[k] * *reinterpret_cast<const PackOf<T>*>(row + p * w);
  }
  for (int p = 0; p < kPacks; p++) *reinterpret_cast<PackOf<T>*>(out + p * w) = sum[p];
}

// The product with a vector.
template <class T>
void multiply_vector(const Csr& a, const T* values, const T* x, T* out, int64_t begin,
                     int64_t end) {
  for (int64_t r = begin; r < end; r++) {
    T sum = 0;
    for (int64_t k = start_of(a, r), last = start_of(a, r + 1); k < last; k++)
      sum += values[k] * x[column_of(a, k)];
    out[r] = sum;
  }
}

template <class T>
void multiply(const Csr& a, const T* values, const T* x, T* out, int64_t n, int64_t begin,
              int64_t end) {
  constexpr int64_t w = Pack<T>::width;
  if (n == 1) return multiply_vector(a, values, x, out, begin, end);
  for (int64_t r = begin; r < end; r++) {
    int64_t from = start_of(a, r), to = start_of(a, r + 1), j = 0;
    T* row = out + r * n;
    for (; j + 4 * w <= n; j += 4 * w) gather_strip<T, 4>(a, values, x + j, row + j, n, from, to);
    for (; j + w <= n; j += w) gather_strip<T, 1>(a, values, x + j, row + j, n, from, to);
    if (j == n) continue;
    for (int64_t i = j; i < n; i++) row[i] = 0;
    for (int64_t k = from; k < to; k++) {
      const T* line = x + column_of(a, k) * n;
      for (int64_t i = j; i < n; i++) row[i] += values[k] * line[i];
    }
  }
}

template <class T>
void scatter(const Csr& a, const T* values, const T* x, T* out, int64_t n, int64_t begin,
             int64_t end) {
  for (int64_t r = 0; r < a.rows; r++)
    for (int64_t k = start_of(a, r), last = start_of(a, r + 1); k < last; k++)
      add_scaled(out + column_of(a, k) * n + begin, values[k], x + r * n + begin, end - begin);
}

template <class T>
inline T dot(const T* x, const T* y, int64_t n) {
  constexpr int64_t w = Pack<T>::width;
  PackOf<T> sums = {};
  int64_t j = 0;
  for (; j + w <= n; j += w)
    sums += *reinterpret_cast<const PackOf<T>*>(x + j) * *reinterpret_cast<const PackOf<T>*>(y + j);
  T sum = 0;
  for (int64_t i = 0; i < w; i++) sum += sums[i];
  for (; j < n; j++) sum += x[j] * y[j];
  return sum;
}

template <class T>
void sample(const Csr& a, const T* x, const T* y, T* out, int64_t n, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; r++)
    for (int64_t k = start_of(a, r), last = start_of(a, r + 1); k < last; k++)
      out[k] = dot(x + r * n, y + column_of(a, k) * n, n);
}

bool ordered(const Csr& a) {
  int64_t falls = 0;
  for (int64_t r = 0; r < a.rows; r++) falls += a.start[r] > a.start[r + 1];
  return a.start[0] == 0 && a.start[a.rows] == a.nnz && !falls;
}
bool inside(const Csr& a) {
  int64_t out = 0;
  for (int64_t k = 0; k < a.nnz; k++) out += uint64_t(a.columns[k]) >= uint64_t(a.width);
  return !out;
}

}  // namespace

const SegmentTable& segment_loops() {
  static const SegmentTable table = {
      ordered,
      inside,
      {multiply<float>, scatter<float>, sample<float>},
      {multiply<double>, scatter<double>, sample<double>},
  };
  return table;
}

}  // namespace ember::cpu::EMBER_ISA
