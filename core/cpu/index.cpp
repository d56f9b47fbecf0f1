// Indexing by lists of positions: x[i, j] and x[i, j] = v. The dimensions of x are (before,
// indexed, after); the positions become byte offsets, block by block, and each offset moves one run
// over the `after` dimensions.
//
// Note [Order of writes]: positions may repeat, and results must not depend on the number of
// threads. So threads divide the destination, never the positions: each walks all of them in order
// and writes to its own part.
#include "cpu/index.h"

#include "cpu/dispatch.h"
#include "cpu/index_support.h"
#include "cpu/kernels/once.h"
#include "cpu/parallel.h"

namespace ember::cpu {

EMBER_TABLE_BY_LEVEL(IndexKernels, index_kernels, index_kernels)

Tensor dense(const Tensor& t, Dtype dtype) {
  if (t.is_contiguous() && t.dtype() == dtype) return t;
  Tensor out = empty(t.shape(), dtype, t.device());
  backend_of(out).copy(out, t);
  return out;
}

namespace {

constexpr int64_t kBlock = 512;  // positions turned into offsets at a time

// The positions of an Indexing as byte offsets into x.
class Offsets {
 public:
  Offsets(const Tensor& x, const Indexing& at) : wrap_(at.wrap), count_(int(at.indices.size())) {
    for (int k = 0; k < count_; k++) {
      int d = at.first + k;
      Tensor index = dense(at.indices[size_t(k)], Dtype::Int64);
      parts_.push_back({index.data<int64_t>(), x.shape()[d], x.strides()[d] * x.item_size(),
                        k < at.dims.size() ? int(at.dims[k]) : d});
      kept_.push_back(std::move(index));
    }
  }
  int64_t size() const { return kept_[0].numel(); }
  // The offsets lie in [0, extent()).
  int64_t extent() const {
    int64_t last = 0;
    for (const Part& p : parts_) last += (p.size - 1) * p.step;
    return last + 1;
  }

  void read(int64_t begin, int64_t n, int64_t* to) const {
    int64_t index[kBlock];
    for (int k = 0; k < count_; k++) {
      const Part& p = parts_[size_t(k)];
      copy_once(index, p.index + begin, n);
      uint64_t bad = 0;
      for (int64_t i = 0; i < n; i++) {
        int64_t v = index[i];
        if (wrap_) v += v < 0 ? p.size : 0;
        bad |= uint64_t(uint64_t(v) >= uint64_t(p.size));
        to[i] = int64_t(uint64_t(v) * uint64_t(p.step) + (k ? uint64_t(to[i]) : 0));
      }
      if (__builtin_expect(bad != 0, 0)) fail_at(p, index, n);
    }
  }

 private:
  struct Part {
    const int64_t* index;
    int64_t size, step;
    int dim;
  };
  [[noreturn]] void fail_at(const Part& p, const int64_t* index, int64_t n) const {
    for (int64_t i = 0; i < n; i++)
      if (index[i] >= p.size || index[i] < (wrap_ ? -p.size : 0)) {
        check(p.size > 0, Kind::Index, "index is out of bounds for dimension with size 0");
        fail(Kind::Index, "index ", index[i], " is out of bounds for dimension ", p.dim,
             " with size ", p.size);
      }
    fail(Kind::Index, "an index is out of bounds for dimension ", p.dim, " with size ", p.size);
  }
  bool wrap_;
  int count_;
  std::vector<Part> parts_;
  TensorList kept_;
};

// Dimensions that x and the other tensor walk together, innermost first, merged where they can be.
struct Walk {
  int ndim = 0;
  int64_t total = 1;
  int64_t size[kMaxDims], x[kMaxDims], v[kMaxDims];

  void add(int64_t n, int64_t x_step, int64_t v_step) {  // from the inside out
    total *= n;
    if (n == 1) return;
    if (ndim && x_step == size[ndim - 1] * x[ndim - 1] && v_step == size[ndim - 1] * v[ndim - 1]) {
      size[ndim - 1] *= n;
      return;
    }
    size[ndim] = n, x[ndim] = x_step, v[ndim] = v_step;
    ndim++;
  }
  // Byte offsets of the element number `at`.
  std::pair<int64_t, int64_t> operator[](int64_t at) const {
    int64_t x_at = 0, v_at = 0;
    for (int d = 0; d < ndim; d++) {
      int64_t i = at % size[d];
      at /= size[d];
      x_at += i * x[d], v_at += i * v[d];
    }
    return {x_at, v_at};
  }
};

struct Problem {
  Offsets offsets;
  Walk before, after;
  int64_t v_step;  // bytes of the other tensor from one position to the next
  int64_t item;
  bool is_dense_run;  // `after` is one piece of memory in both

  Problem(const Tensor& x, const Indexing& at, const Tensor& v)
      : offsets(x, at), item(x.item_size()) {
    int k = int(at.indices.size()), m = at.indices[0].dim(), rest = x.dim() - at.first - k;
    for (int d = rest - 1; d >= 0; d--)
      after.add(x.shape()[at.first + k + d], x.strides()[at.first + k + d] * item,
                v.strides()[at.first + m + d] * item);
    for (int d = at.first - 1; d >= 0; d--)
      before.add(x.shape()[d], x.strides()[d] * item, v.strides()[d] * item);
    v_step = position_step(v, at.first, m).value_or(0) * item;
    is_dense_run = after.ndim == 0 || (after.ndim == 1 && after.x[0] == item && after.v[0] == item);
  }
  // The stride over the positions' dimensions, if they are one line.
  static std::optional<int64_t> position_step(const Tensor& v, int first, int m) {
    Walk w;
    for (int d = m - 1; d >= 0; d--) w.add(v.shape()[first + d], v.strides()[first + d], 0);
    if (w.ndim > 1) return std::nullopt;
    return w.ndim ? w.x[0] : 0;
  }
  int64_t block() const {
    return std::clamp<int64_t>(kGrain / std::max<int64_t>(after.total, 1), 1, kBlock);
  }
};

// Calls line(x, x_step, v, v_step, n) for each line of the `after` dimensions.
template <class Line>
void each_line(const Walk& w, char* x, char* v, Line&& line) {
  const int64_t n = w.size[0], lines = w.total / n;
  for (int64_t i = 0; i < lines; i++) {
    int64_t at = i, x_at = 0, v_at = 0;
    for (int d = 1; d < w.ndim; d++) {
      int64_t j = at % w.size[d];
      at /= w.size[d];
      x_at += j * w.x[d], v_at += j * w.v[d];
    }
    line(x + x_at, w.x[0], v + v_at, w.v[0], n);
  }
}

}  // namespace

void index_get(const Tensor& out, const Tensor& x, const Indexing& at) {
  if (at.indices[0].numel() == 0) return;
  const Problem p(x, at, out);
  const IndexKernels& k = index_kernels();
  const int64_t block = p.block(), blocks = (p.offsets.size() + block - 1) / block;
  char *from = x.data<char>(), *to = out.data<char>();
  Move move = kernels().move[size_index(p.item)];
  auto take = k.take[size_index(p.item)];
  const int64_t run = p.after.total * p.item;
  const bool empty = out.numel() == 0;  // the positions are checked all the same
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, block * p.after.total));
  const int64_t repeats = std::max<int64_t>(p.before.total, 1);
  parallel_for(blocks * repeats, grain, [&](int64_t begin, int64_t end) {
    int64_t offset[kBlock], n = 0, read = -1;
    for (int64_t t = begin; t < end; t++) {
      const int64_t b = t / repeats, first = b * block;
      if (b != read) {
        n = std::min(block, p.offsets.size() - first);
        p.offsets.read(first, n, offset);
        read = b;
      }
      if (empty) continue;
      auto [x_at, v_at] = p.before[t % repeats];
      char *source = from + x_at, *target = to + v_at + first * p.v_step;
      if (p.after.ndim == 0) {
        take(source, offset, target, p.v_step, n);
      } else if (p.is_dense_run) {
        for (int64_t i = 0; i < n; i++)
          __builtin_memcpy(target + i * p.v_step, source + offset[i], size_t(run));
      } else {
        for (int64_t i = 0; i < n; i++)
          each_line(p.after, source + offset[i], target + i * p.v_step,
                    [&](char* a, int64_t a_step, char* b2, int64_t b_step, int64_t count) {
                      move(a, a_step, 0, b2, b_step, 0, count, 1);
                    });
      }
    }
  });
}

void index_put(const Tensor& self, const Indexing& at, const Tensor& given, ScatterMode mode) {
  if (at.indices[0].numel() == 0) return;
  Tensor values = given;
  if (!Problem::position_step(given, at.first, at.indices[0].dim()))
    values = dense(given, given.dtype());
  const Problem p(self, at, values);
  const IndexKernels& k = index_kernels();
  const int s = size_index(p.item), column = int(self.dtype());
  Move move = kernels().move[s];
  auto put = mode == ScatterMode::Set ? k.put[s] : k.put_with[int(mode)][column];
  auto combine = k.combine[int(mode)][column];
  const int64_t block = p.block(), positions = p.offsets.size(), run = p.after.total * p.item;
  char *to = self.data<char>(), *from = values.data<char>();
  const bool set = mode == ScatterMode::Set;
  const bool empty = values.numel() == 0;

  // Writes those of all positions whose offset is in [low, high), at places [begin, end) of the
  // dimensions before.
  auto write = [&](int64_t begin, int64_t end, int64_t low, int64_t high) {
    int64_t offset[kBlock];
    for (int64_t first = 0; first < positions; first += block) {
      const int64_t n = std::min(block, positions - first);
      p.offsets.read(first, n, offset);
      if (empty) continue;
      for (int64_t t = begin; t < end; t++) {
        auto [x_at, v_at] = p.before[t];
        char *target = to + x_at, *source = from + v_at + first * p.v_step;
        if (p.after.ndim == 0) {
          put(target, offset, source, p.v_step, n);
          continue;
        }
        for (int64_t i = 0; i < n; i++) {
          if (offset[i] < low || offset[i] >= high) continue;
          char *x = target + offset[i], *v = source + i * p.v_step;
          if (!set)
            each_line(p.after, x, v,
                      [&](char* a, int64_t a_step, char* b, int64_t b_step, int64_t count) {
                        combine(a, a_step, b, b_step, count);
                      });
          else if (p.is_dense_run)
            __builtin_memcpy(x, v, size_t(run));
          else
            each_line(p.after, x, v,
                      [&](char* a, int64_t a_step, char* b, int64_t b_step, int64_t count) {
                        move(b, b_step, 0, a, a_step, 0, count, 1);
                      });
        }
      }
    }
  };
  const int64_t before = std::max<int64_t>(p.before.total, 1),
                work = positions * std::max<int64_t>(p.after.total, 1);
  if (before > 1 || p.after.ndim == 0 || work <= kGrain) {  // see Note [Order of writes]
    parallel_for(before, std::max<int64_t>(1, kGrain / work),
                 [&](int64_t b, int64_t e) { write(b, e, 0, INT64_MAX); });
    return;
  }
  const int64_t parts = num_threads(), extent = p.offsets.extent(),
                part = (extent + parts - 1) / parts;
  parallel_for(parts, 1, [&](int64_t b, int64_t e) { write(0, 1, b * part, e * part); });
}

}  // namespace ember::cpu
