// Picking without sorting everything: the k best of a line, the one of a given rank; and places in
// sorted lines.
#include <algorithm>
#include <memory>
#include <vector>

#include "cpu/kernels/once.h"
#include "cpu/layout.h"
#include "cpu/lines.h"
#include "cpu/parallel.h"
#include "cpu/radix.h"
#include "cpu/sort_lines.h"

namespace ember::cpu {

namespace {

constexpr int64_t kPiece = 65536;  // of a long line, for one thread
constexpr int64_t kShortLine = 512;

// The k smallest of what it is offered: a heap if they are few, else a buffer that is cut back when
// it is full.
template <class P>
class Best {
 public:
  explicit Best(int64_t k) : k_(k), heap_(k <= 64), room_(heap_ ? k : 2 * k) {
    kept_.reserve(size_t(room_));
  }
  P limit() const { return limit_; }
  void add(P p) {  // below the limit
    if (int64_t(kept_.size()) < room_) {
      kept_.push_back(p);
      if (int64_t(kept_.size()) < room_) return;
      if (!heap_) return shrink();
      std::make_heap(kept_.begin(), kept_.end());
    } else {
      std::pop_heap(kept_.begin(), kept_.end());
      kept_.back() = p;
      std::push_heap(kept_.begin(), kept_.end());
    }
    limit_ = kept_.front();
  }
  std::vector<P>& finish() {
    if (int64_t(kept_.size()) > k_) shrink();
    return kept_;
  }

 private:
  void shrink() {
    std::nth_element(kept_.begin(), kept_.begin() + (k_ - 1), kept_.end());
    kept_.resize(size_t(k_));
    limit_ = kept_[size_t(k_ - 1)];
  }
  std::vector<P> kept_;
  P limit_ = P(~P(0));
  int64_t k_;
  bool heap_;
  int64_t room_;
};

template <class T, class P>
struct Selector {
  using O = Order<T>;
  using Key = typename O::Key;

  static void offer(Best<P>& best, const T* x, int64_t begin, int64_t end, Key flip) {
    // Positions only grow, so of equal keys the earlier ones are in already, and a key at the limit
    // is out.
    Key limit = key_of<Key>(best.limit());
    bool open = best.limit() == P(~P(0));
    for (int64_t i = begin; i < end; i++) {
      Key k = Key(O::key(x[i]) ^ flip);
      if (__builtin_expect(k < limit || open, 0)) {
        best.add(pack<P>(k, i));
        limit = key_of<Key>(best.limit());
        open = best.limit() == P(~P(0));
      }
    }
  }

  static bool before(P a, P b) { return key_of<Key>(a) < key_of<Key>(b); }

  // Which of several equals a short line gives, and in what order, is left to the algorithms of the
  // C++ library, as it is in torch: indices agree.
  static void short_topk(const T* x, int64_t n, int64_t k, Key flip, bool sorted,
                         std::vector<P>& kept) {
    kept.clear();
    for (int64_t i = 0; i < n; i++) kept.push_back(pack<P>(Key(O::key(x[i]) ^ flip), i));
    if (k * 64 <= n) {
      std::partial_sort(kept.begin(), kept.begin() + k, kept.end(), before);
    } else {
      std::nth_element(kept.begin(), kept.begin() + (k - 1), kept.end(), before);
      if (sorted) std::sort(kept.begin(), kept.begin() + (k - 1), before);
    }
  }

  static void topk_line(const T* x, int64_t n, int64_t k, bool largest, bool sorted, T* values,
                        int64_t* indices, std::vector<P>& buffer) {
    const Key flip = largest ? Key(~Key(0)) : Key(0);
    if (n <= kShortLine) {
      short_topk(x, n, k, flip, sorted, buffer);
      return unpack(x, k, buffer.data(), values, indices);
    }
    if (k * 8 >= n && n < (int64_t(1) << 32)) {  // hardly less work than sorting
      buffer.resize(size_t(2 * n));
      for (int64_t i = 0; i < n; i++) buffer[size_t(i)] = pack<P>(Key(O::key(x[i]) ^ flip), i);
      return unpack(x, k, radix_sort(buffer.data(), buffer.data() + n, n, int(sizeof(Key))), values,
                    indices);
    }
    Best<P> best(k);
    if (n >= 2 * kPiece && n / k >= 8) {
      const int64_t pieces = (n + kPiece - 1) / kPiece;
      std::vector<std::vector<P>> parts(static_cast<size_t>(pieces));
      parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; p++) {
          Best<P> here(k);
          offer(here, x, p * kPiece, std::min(n, (p + 1) * kPiece), flip);
          parts[size_t(p)] = std::move(here.finish());
        }
      });
      for (auto& part : parts)
        for (P p : part)
          if (p < best.limit()) best.add(p);
    } else {
      offer(best, x, 0, n, flip);
    }
    std::vector<P>& kept = best.finish();
    if (sorted) std::sort(kept.begin(), kept.end());
    unpack(x, k, kept.data(), values, indices);
  }
  static void unpack(const T* x, int64_t k, const P* kept, T* values, int64_t* indices) {
    for (int64_t i = 0; i < k; i++) {
      int64_t at = position_of(kept[i]);
      if (values) values[i] = x[at];
      if (indices) indices[i] = at;
    }
  }

  // Hoare's selection around the median of the first, middle and last element (Numerical
  // Recipes, 8.5); so that of equals it picks the same one as torch.
  static P quickselect(P* a, int64_t n, int64_t k) {
    int64_t low = 0, high = n - 1;
    auto order = [a](int64_t i, int64_t j) {
      if (before(a[j], a[i])) std::swap(a[i], a[j]);
    };
    while (high > low + 1) {
      std::swap(a[low + (high - low) / 2], a[low + 1]);
      order(low + 1, high);
      order(low, high);
      order(low + 1, low);
      int64_t i = low + 1, j = high;
      const P pivot = a[low];
      for (;;) {
        do i++;
        while (before(a[i], pivot));
        do j--;
        while (before(pivot, a[j]));
        if (j < i) break;
        std::swap(a[i], a[j]);
      }
      std::swap(a[low], a[j]);
      if (j <= k) low = i;
      if (j >= k) high = j - 1;
    }
    if (high == low + 1) order(low, high);
    return a[k];
  }

  // The end of the longest run of equals, the first such run.
  static int64_t mode_of(const T* x, int64_t n, std::vector<P>& buffer) {
    buffer.clear();
    for (int64_t i = 0; i < n; i++) buffer.push_back(pack<P>(O::key(x[i]), i));
    std::sort(buffer.begin(), buffer.end(), before);
    int64_t longest = 0, start = 0, best = 0;
    for (int64_t i = 0; i < n; i++) {
      if (i + 1 < n && !before(buffer[size_t(i)], buffer[size_t(i + 1)])) continue;
      if (i + 1 - start > longest) longest = i + 1 - start, best = i;
      start = i + 1;
    }
    return position_of(buffer[size_t(best)]);
  }

  // The position of the element of rank k, counted among all.
  static int64_t kth_of(const T* x, int64_t n, Rank rank, int64_t k, std::vector<P>& buffer) {
    buffer.clear();
    if (n < 4096) {
      for (int64_t i = 0; i < n; i++) buffer.push_back(pack<P>(O::key(x[i]), i));
      if (rank == Rank::Kth) return position_of(quickselect(buffer.data(), n, k));
    } else {  // only the keys whose leading bits are those of the one wanted
      constexpr int kBits = std::min<int>(12, 8 * int(sizeof(Key))),
                    kShift = 8 * int(sizeof(Key)) - kBits;
      std::vector<int64_t> counts(size_t(1) << kBits);
      for (int64_t i = 0; i < n; i++) counts[size_t(O::key(x[i]) >> kShift)]++;
      size_t digit = 0;
      while (k >= counts[digit]) k -= counts[digit++];
      for (int64_t i = 0; i < n; i++) {
        Key key = O::key(x[i]);
        if (size_t(key >> kShift) == digit) buffer.push_back(pack<P>(key, i));
      }
    }
    // Another thread may have changed the line between the passes.
    if (__builtin_expect(k >= int64_t(buffer.size()), 0)) {
      if (buffer.empty()) return 0;
      k = int64_t(buffer.size()) - 1;
    }
    std::nth_element(buffer.begin(), buffer.begin() + k, buffer.end(), before);
    return position_of(buffer[size_t(k)]);
  }

  static int64_t pick_line(const T* x, int64_t n, Rank rank, int64_t k, std::vector<P>& buffer) {
    if (rank == Rank::Kth) return kth_of(x, n, rank, k, buffer);
    if (rank == Rank::Mode) return mode_of(x, n, buffer);
    int64_t nans = 0, first = 0;
    if (std::is_same_v<T, float> || std::is_same_v<T, double> || sizeof(T) == 2)
      for (int64_t i = 0; i < n; i++) nans += O::is_nan(O::key(x[i]));
    while (nans && first + 1 < n && !O::is_nan(O::key(x[first]))) first++;
    if (nans && (rank == Rank::Median || nans == n)) return first;
    return kth_of(x, n, rank, (n - nans - 1) / 2, buffer);
  }
};

// sorted[0 .. n) holds the place of v: the number of elements below it, or not above it. `order`
// has been checked, but another thread may have changed it since.
template <class T, bool right>
int64_t place_of(const T* sorted, const int64_t* order, int64_t n, T v) {
  int64_t first = 0;
  const int64_t size = n;
  while (n > 0) {
    int64_t half = n / 2, at = first + half;
    if (order) {
      at = read_once(order + at);
      at = uint64_t(at) < uint64_t(size) ? at : 0;
    }
    T middle = sorted[at];
    bool after = right ? !(middle > v) : !(middle >= v);
    first = after ? first + half + 1 : first;
    n = after ? n - half - 1 : half;
  }
  return first;
}

}  // namespace

void topk(const Tensor& values, const Tensor& indices, const Tensor& x, int dim, bool largest,
          bool sorted) {
  const Tensor& shaped = values ? values : indices;
  if (shaped.numel() == 0) return;
  const int64_t k = shaped.dim() ? shaped.size(dim) : 1;
  Rows from(x, dim);
  const Tensor value_rows = dim_last(values, dim), place_rows = dim_last(indices, dim);
  const Output v(value_rows, x.dtype()), at(place_rows, Dtype::Int64);
  with_order(x.dtype(), from.n, [&](auto tag, auto packed) {
    using T = typename decltype(tag)::type;
    using P = typename decltype(packed)::type;
    const T* in = from.template data<T>();
    T* to = v.template data<T>();
    int64_t* places = at.template data<int64_t>();
    auto lines = [&](int64_t begin, int64_t end) {
      std::vector<P> buffer;
      for (int64_t r = begin; r < end; r++)
        Selector<T, P>::topk_line(in + r * from.n, from.n, k, largest, sorted,
                                  to ? to + r * k : nullptr, places ? places + r * k : nullptr,
                                  buffer);
    };
    if (from.rows < num_threads())
      lines(0, from.rows);
    else
      parallel_for(from.rows, 1 + 8192 / from.n, lines);
  });
  v.store();
  at.store();
}

void pick(const Tensor& values, const Tensor& indices, const Tensor& x, int dim, Rank rank,
          int64_t k) {
  if (values.numel() == 0) return;
  Rows from(x, dim);
  const Tensor value_rows = dim_last(values, dim), place_rows = dim_last(indices, dim);
  const Output v(value_rows, x.dtype()), at(place_rows, Dtype::Int64);
  with_order(x.dtype(), from.n, [&](auto tag, auto packed) {
    using T = typename decltype(tag)::type;
    using P = typename decltype(packed)::type;
    const T* in = from.template data<T>();
    T* to = v.template data<T>();
    int64_t* places = at.template data<int64_t>();
    parallel_for(from.rows, 1 + 4096 / from.n, [&](int64_t begin, int64_t end) {
      std::vector<P> buffer;
      for (int64_t r = begin; r < end; r++) {
        int64_t found = Selector<T, P>::pick_line(in + r * from.n, from.n, rank, k, buffer);
        to[r] = in[r * from.n + found];
        places[r] = found;
      }
    });
  });
  v.store();
  at.store();
}

void search(const Tensor& out, const Tensor& sorted, const Tensor& values, const Tensor& sorter,
            bool right) {
  if (out.numel() == 0) return;
  // Bytes of bool may be any; converted, they are 0 and 1.
  const Dtype dtype = sorted.dtype() == Dtype::Bool ? Dtype::UInt8 : sorted.dtype();
  Tensor lines = dense(sorted, dtype), wanted = dense(values, dtype);
  Tensor order = sorter ? dense(sorter, Dtype::Int64) : Tensor();
  const Output to(out, Dtype::Int64);
  const int64_t n = sorted.size(-1),
                per_line = sorted.dim() == 1 ? values.numel() : values.size(-1);
  with_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_complex_type<T>) {
      fail(Kind::NotImplemented, "searchsorted(): complex numbers have no order");
    } else {
      const T *from = lines.data<T>(), *v = wanted.data<T>();
      const int64_t* by = order ? order.data<int64_t>() : nullptr;
      int64_t* result = to.template data<int64_t>();
      parallel_for(out.numel(), 2048, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
          int64_t at = i / per_line * n;
          result[i] = right ? place_of<T, true>(from + at, by ? by + at : nullptr, n, v[i])
                            : place_of<T, false>(from + at, by ? by + at : nullptr, n, v[i]);
        }
      });
    }
  });
  to.store();
}

}  // namespace ember::cpu
