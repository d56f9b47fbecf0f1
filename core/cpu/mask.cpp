// Masks: nonzero, masked_select, masked_scatter. Blocks are counted first, so that each knows where
// its part of the result begins and threads can work on them independently. And the positions that
// repeat_interleave takes.
#include <algorithm>
#include <numeric>

#include "cpu/index.h"
#include "cpu/index_support.h"
#include "cpu/kernels/once.h"
#include "cpu/parallel.h"

namespace ember::cpu {

namespace {

// A mask in memory order, cut into blocks, and how many elements are set before each.
class Counted {
 public:
  static constexpr int64_t kBlock = 16384;

  explicit Counted(const Tensor& mask) : mask_(dense(mask, Dtype::Bool)), n_(mask.numel()) {
    const int64_t blocks = (n_ + kBlock - 1) / kBlock;
    before_.resize(size_t(blocks) + 1);
    parallel_for(blocks, 2, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; b++) {
        const uint8_t* bytes = data() + b * kBlock;
        const int64_t n = std::min(kBlock, n_ - b * kBlock);
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++) count += bytes[i] != 0;
        before_[size_t(b) + 1] = count;
      }
    });
    std::partial_sum(before_.begin(), before_.end(), before_.begin());
  }
  int64_t total() const { return before_.back(); }
  const uint8_t* data() const { return mask_.data<uint8_t>(); }

  // each(first, n, at, end): the n elements of the mask from `first` on hold the set ones of
  // numbers [at, end). Loops run until the last of these is found. So they may write without
  // asking, and go back over what was wrong: a random mask would have every second branch
  // mispredicted. If the mask has changed since it was counted, they may find fewer.
  template <class F>
  void for_blocks(F&& each) const {
    parallel_for(int64_t(before_.size()) - 1, 2, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; b++)
        each(b * kBlock, std::min(kBlock, n_ - b * kBlock), before_[size_t(b)],
             before_[size_t(b) + 1]);
    });
  }

 private:
  Tensor mask_;
  int64_t n_;
  std::vector<int64_t> before_;
};

}  // namespace

Tensor nonzero(const Tensor& x) {
  const Counted counted(x);
  const int ndim = x.dim();
  // One line for each dimension, as users split the result into columns.
  Tensor lines = empty({ndim, counted.total()}, Dtype::Int64, x.device());
  const int64_t total = counted.total();
  int64_t* out = lines.data<int64_t>();
  if (total && ndim)
    counted.for_blocks([&](int64_t first, int64_t n, int64_t begin, int64_t end) {
      const uint8_t* set = counted.data() + first;
      int64_t at = begin;
      for (int64_t i = 0; at < end && i < n; i++) {
        out[at] = first + i;
        at += set[i] != 0;
      }
      std::fill(out + at, out + end, first + n - 1);
      // Line 0 holds places in memory order; take them apart from the last dimension on. They rise,
      // so the quotient is counted up rather than divided for.
      for (int d = ndim - 1; d > 0 && begin < end; d--) {
        const int64_t size = x.shape()[d];
        int64_t quotient = out[begin] / size, base = quotient * size;
        for (int64_t i = begin; i < end; i++) {
          for (; out[i] - base >= size; base += size) quotient++;
          out[d * total + i] = out[i] - base;
          out[i] = quotient;
        }
      }
    });
  return alias(lines, {total, ndim}, {1, total}, 0);
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  const Counted counted(mask);
  Tensor source = dense(x, x.dtype()), out = empty({counted.total()}, x.dtype(), x.device());
  with_item_size(x.item_size(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = source.data<T>();
    T* to = out.data<T>();
    counted.for_blocks([&](int64_t first, int64_t n, int64_t at, int64_t end) {
      const uint8_t* set = counted.data() + first;
      for (int64_t i = 0; at < end && i < n; i++) {
        to[at] = from[first + i];
        at += set[i] != 0;
      }
      std::fill(to + at, to + end, T());
    });
  });
  return out;
}

void masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& src) {
  const Counted counted(mask);
  check(counted.total() <= src.numel(), Kind::Runtime,
        "masked_scatter: Number of elements of source (", src.numel(),
        ") < number of ones in mask (", counted.total(), ")");
  Tensor to = dense(self, self.dtype()), from = dense(src, self.dtype());
  with_item_size(self.item_size(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    counted.for_blocks([&](int64_t first, int64_t n, int64_t at, int64_t end) {
      const uint8_t* set = counted.data() + first;
      const T* values = from.data<T>();
      T* out = to.data<T>() + first;
      for (int64_t i = 0; at < end && i < n; i++) {
        out[i] = set[i] ? values[at] : out[i];
        at += set[i] != 0;
      }
    });
  });
  if (!to.same(self)) backend_of(self).copy(self, to);
}

Tensor repeated_positions(const Tensor& counts) {
  const Tensor line = dense(counts, Dtype::Int64);
  const int64_t n = line.numel();
  std::vector<int64_t> count(static_cast<size_t>(n));
  if (n) copy_once(count.data(), line.data<int64_t>(), n);
  int64_t total = 0;
  for (size_t i = 0; i < count.size(); i++) {
    check(count[i] >= 0, Kind::Runtime, "repeats can not be negative, got ", count[i]);
    check(!__builtin_add_overflow(total, count[i], &total), Kind::Runtime,
          "repeat_interleave(): too many elements");
  }
  Tensor out = empty({total}, Dtype::Int64, counts.device());
  int64_t* to = out.data<int64_t>();
  for (int64_t i = 0; i < n; i++) to = std::fill_n(to, count[size_t(i)], i);
  return out;
}

}  // namespace ember::cpu
