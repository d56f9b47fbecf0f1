// Sorting lines: by radix, least significant digit first, or by comparison where lines are short.
#include <algorithm>
#include <memory>
#include <vector>

#include "cpu/layout.h"
#include "cpu/lines.h"
#include "cpu/parallel.h"
#include "cpu/radix.h"
#include "cpu/sort_lines.h"

namespace ember::cpu {

namespace {

constexpr int64_t kManyElements = 1 << 16;  // of a line that several threads sort

// The same on all threads: each counts and moves its own piece.
template <class P>
P* parallel_radix_sort(P* a, P* b, int64_t n, int digits) {
  const int64_t pieces = num_threads(), piece = (n + pieces - 1) / pieces;
  std::vector<int64_t> counts(size_t(pieces * kDigits));
  for (int d = 0; d < digits; d++) {
    std::fill(counts.begin(), counts.end(), 0);
    parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; p++) {
        int64_t count[kDigits] = {};
        for (int64_t i = p * piece, last = std::min(n, i + piece); i < last; i++)
          count[digit_of(a[i], d)]++;
        std::copy(count, count + kDigits, &counts[size_t(p * kDigits)]);
      }
    });
    int64_t sum = 0;
    bool alike = false;
    for (int k = 0; k < kDigits; k++) {
      int64_t before = sum;
      for (int64_t p = 0; p < pieces; p++) {
        int64_t& c = counts[size_t(p * kDigits + k)];
        int64_t here = c;
        c = sum;
        sum += here;
      }
      alike = alike || sum - before == n;
    }
    if (alike) continue;
    parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; p++) {
        int64_t to[kDigits];
        std::copy_n(&counts[size_t(p * kDigits)], kDigits, to);
        for (int64_t i = p * piece, last = std::min(n, i + piece); i < last; i++)
          b[to[digit_of(a[i], d)]++] = a[i];
      }
    });
    std::swap(a, b);
  }
  return a;
}

template <class T, class P>
struct Sorter {
  using O = Order<T>;
  using Key = typename O::Key;
  bool descending;
  int64_t n;

  void pack_line(const T* x, P* to, int64_t begin, int64_t end) const {
    const Key flip = descending ? Key(~Key(0)) : Key(0);
    for (int64_t i = begin; i < end; i++) to[i] = pack<P>(Key(O::key(x[i]) ^ flip), i);
  }
  void unpack_line(const T* x, const P* from, T* values, int64_t* indices, int64_t begin,
                   int64_t end) const {
    const Key flip = descending ? Key(~Key(0)) : Key(0);
    if (indices)
      for (int64_t i = begin; i < end; i++) indices[i] = position_of(from[i]);
    if (values)
      for (int64_t i = begin; i < end; i++) {
        Key k = Key(key_of<Key>(from[i]) ^ flip);
        values[i] = __builtin_expect(O::is_exact(k), 1) ? O::value(k) : x[position_of(from[i])];
      }
  }
  // The sorted line is in a or in b.
  P* sort_line(P* a, P* b) const {
    if (n < 64 + 32 * int64_t(sizeof(Key))) {
      std::sort(a, a + n);
      return a;
    }
    return radix_sort(a, b, n, int(sizeof(Key)));
  }
  void lines(int64_t begin, int64_t end, const T* x, T* values, int64_t* indices) const {
    std::unique_ptr<P[]> buffer(new P[size_t(2 * n)]);
    for (int64_t r = begin; r < end; r++) {
      const T* line = x + r * n;
      pack_line(line, buffer.get(), 0, n);
      const P* sorted = sort_line(buffer.get(), buffer.get() + n);
      unpack_line(line, sorted, values ? values + r * n : nullptr,
                  indices ? indices + r * n : nullptr, 0, n);
    }
  }
  void long_line(const T* x, T* values, int64_t* indices) const {
    std::unique_ptr<P[]> buffer(new P[size_t(2 * n)]);
    P *a = buffer.get(), *b = a + n;
    parallel_for(n, kGrain, [&](int64_t begin, int64_t end) { pack_line(x, a, begin, end); });
    const P* sorted = num_threads() > 1 && !in_parallel_region()
                          ? parallel_radix_sort(a, b, n, int(sizeof(Key)))
                          : radix_sort_long(a, b);
    parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
      unpack_line(x, sorted, values, indices, begin, end);
    });
  }
  P* radix_sort_long(P* a, P* b) const {
    return n < (int64_t(1) << 32) ? radix_sort(a, b, n, int(sizeof(Key)))
                                  : parallel_radix_sort(a, b, n, int(sizeof(Key)));
  }
};

}  // namespace

void sort(const Tensor& values, const Tensor& indices, const Tensor& x, int dim, bool descending) {
  if (x.numel() == 0) return;
  Rows from(x, dim);
  const Tensor value_rows = dim_last(values, dim), place_rows = dim_last(indices, dim);
  const Output v(value_rows, x.dtype()), at(place_rows, Dtype::Int64);
  with_order(x.dtype(), from.n, [&](auto tag, auto packed) {
    using T = typename decltype(tag)::type;
    using P = typename decltype(packed)::type;
    Sorter<T, P> sorter{descending, from.n};
    const T* in = from.template data<T>();
    T* to = v.template data<T>();
    int64_t* places = at.template data<int64_t>();
    if (from.n >= kManyElements && from.rows < num_threads()) {
      for (int64_t r = 0; r < from.rows; r++)
        sorter.long_line(in + r * from.n, to ? to + r * from.n : nullptr,
                         places ? places + r * from.n : nullptr);
    } else {
      parallel_for(from.rows, 1 + 4096 / from.n,
                   [&](int64_t begin, int64_t end) { sorter.lines(begin, end, in, to, places); });
    }
  });
  v.store();
  at.store();
}

}  // namespace ember::cpu
