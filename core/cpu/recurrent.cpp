// Recurrent layers step by step: a product with the recurrent weights, then the gates. The states
// have one row for each sequence; a step changes the first rows of them, as many as it has. So a
// sequence that ends early keeps its last state, one that joins late (in reverse) has its first,
// and after the last step the states are what the layer returns.

#include <cstring>

#include "cpu/cpu_backend.h"
#include "cpu/dispatch.h"
#include "cpu/gemm.h"
#include "cpu/kernels/recurrent_kernels.h"
#include "cpu/parallel.h"

namespace ember::cpu {

namespace {

constexpr int64_t kGateGrain = 2048;  // units: each costs a few exponentials

template <class T>
const RecurrentLoops<T>& loops_of() {
  static const RecurrentTable& chosen = []() -> const RecurrentTable& {
    EMBER_RETURN_BY_LEVEL(recurrent_table())
  }();
  if constexpr (sizeof(T) == 4)
    return chosen.f32;
  else
    return chosen.f64;
}

template <class T>
constexpr Dtype dtype_of = sizeof(T) == 4 ? Dtype::Float32 : Dtype::Float64;

template <class T>
T* raw(const Tensor& t) {
  return t ? t.data<T>() : nullptr;
}

// C = A B + beta C, again and again with one B of k x n; all rows adjacent.
template <class T>
class Products {
 public:
  Products(const Steps& steps, int64_t k, int64_t n, const Matrix& b) : k_(k), n_(n), b_(b) {
    if (steps.sizes.size() >= 4 && steps.sizes[0] >= 4) packed_.emplace(dtype_of<T>, k, n, b);
  }
  // `ahead`: what the caller reads after the product.
  void run(int64_t m, const T* a, T* c, double beta, PackedMatrix::Memory ahead = {}) const {
    if (packed_)
      packed_->product(m, a, k_, c, n_, beta, ahead);
    else
      gemm(dtype_of<T>, m, n_, k_, {a, k_, 1}, b_, {c, n_, 1}, 1.0, beta);
  }

 private:
  int64_t k_, n_;
  Matrix b_;
  std::optional<PackedMatrix> packed_;
};

template <class T>
void copy(int64_t n, const T* from, T* to) {
  std::memcpy(to, from, size_t(n) * sizeof(T));
}

// Sums of columns, one for each range of sequences (over_sequences) and in the end of them all.
template <class T>
class ColumnSums {
 public:
  explicit ColumnSums(const Tensor& out)
      : columns_(out ? out.numel() : 0), parts_(out ? size_t(num_threads()) : 0) {
    for (auto& part : parts_) part.resize(size_t(columns_));
  }
  // Those of range i of the sequences, zero at first; null if nobody wants the sums.
  T* of_range(int64_t i) { return parts_.empty() ? nullptr : parts_[size_t(i)].data(); }
  void finish(const Tensor& out, const RecurrentLoops<T>& loops) {
    if (parts_.empty()) return;
    T* to = out.data<T>();
    copy(columns_, parts_[0].data(), to);
    for (size_t i = 1; i < parts_.size(); i++) loops.add(columns_, parts_[i].data(), to);
  }

 private:
  int64_t columns_;
  std::vector<std::vector<T>> parts_;
};

template <class F>
void over_rows(int64_t rows, int64_t units, F body) {
  parallel_for(rows, std::max<int64_t>(1, kGateGrain / std::max<int64_t>(1, units)), body);
}

// Sequences in a range, if they are shared out among threads.
int64_t range_size(const Steps& steps) {
  return (steps.sizes[0] + num_threads() - 1) / num_threads();
}

// Calls body(first, last) on ranges of sequences. These do not depend on each other: a thread that
// has some of its own never waits for another. But it reads all weights for them, which pays while
// these stay in its cache or meet enough rows; otherwise each product is shared out.
template <class F>
void over_sequences(const Steps& steps, const Tensor& weight, F body) {
  constexpr int64_t kCacheBytes = 1 << 20, kEnoughRows = 16, kEnoughWork = 1 << 19;
  const int64_t count = steps.sizes[0], each = range_size(steps);
  const bool cached = weight.numel() * weight.item_size() <= kCacheBytes;
  const int64_t work = count * int64_t(steps.sizes.size()) * weight.numel();
  const bool split = work >= kEnoughWork && (cached || each >= kEnoughRows);
  parallel_for(count, split ? each : count, body);
}

// The rows that some sequences have at a step.
struct Rows {
  int64_t at = 0, count = 0;
};

// Calls body(rows, those of the next step) for the rows of sequences first ... last - 1 at each
// step, in order or against it.
template <class F>
void each_step(const Steps& steps, bool backwards, int64_t first, int64_t last, F body) {
  const bool down = steps.reverse != backwards;
  const int64_t count = int64_t(steps.sizes.size());
  int64_t at = 0;
  for (int64_t n : steps.sizes) at += down ? n : 0;
  Rows now;
  for (int64_t i = 0; i <= count; i++) {
    const int64_t n = i < count ? steps.sizes[size_t(down ? count - 1 - i : i)] : 0;
    if (down) at -= n;
    const Rows next{at + first, std::max<int64_t>(0, std::min(n, last) - first)};
    if (now.count) body(now, next);
    now = next;
    if (!down) at += n;
  }
}

template <class T>
void forward(const Steps& steps, const RecurrentForward& f) {
  const auto& loops = loops_of<T>();
  const int64_t p = f.weight.size(1), wide = f.weight.size(0), units = wide / gates_of(steps.cell);
  const bool gru = steps.cell == Cell::Gru;
  T *gates = raw<T>(f.gates), *y = raw<T>(f.y), *before = raw<T>(f.before);
  T *before_h = raw<T>(f.before_h), *hidden = raw<T>(f.hidden);
  const T *weight = raw<T>(f.weight), *projection = raw<T>(f.projection);
  std::vector<T> none(f.bias && f.bias_h ? 0 : size_t(wide));
  const T* bias = f.bias ? raw<T>(f.bias) : none.data();
  const T* bias_h = f.bias_h ? raw<T>(f.bias_h) : none.data();
  const Products<T> recur(steps, p, wide, {weight, 1, p});
  std::optional<Products<T>> project;
  if (projection) project.emplace(steps, units, p, Matrix{projection, 1, units});
  over_sequences(steps, f.weight, [&](int64_t first, int64_t last) {
    T *h = raw<T>(f.h) + first * p, *c = raw<T>(f.c) + first * units;
    std::vector<T> sums(gru ? size_t((last - first) * wide) : 0);
    each_step(steps, false, first, last, [&](Rows now, Rows next) {
      const auto [at, n] = now;
      T *in = gates + at * wide, *out = y + at * p;
      if (before_h) copy(n * p, h, before_h + at * p);
      recur.run(n, h, gru ? sums.data() : in, gru ? 0.0 : 1.0,
                {gates + next.at * wide, next.count * wide});
      over_rows(n, units, [&](int64_t begin, int64_t end) {
        const int64_t rows = end - begin, from = begin * units, at_unit = (at + begin) * units;
        T* mine = in + begin * wide;
        switch (steps.cell) {
          case Cell::Lstm:
            loops.lstm(rows, units, bias, mine, c + from, before ? before + at_unit : nullptr,
                       projection ? hidden + at_unit : h + from);
            break;
          case Cell::Gru:
            loops.gru(rows, units, bias, bias_h, mine, sums.data() + begin * wide, h + from,
                      hidden ? hidden + at_unit : nullptr);
            break;
          case Cell::Tanh: loops.tanh(rows, units, bias, mine, h + from); break;
          case Cell::Relu: loops.relu(rows, units, bias, mine, h + from); break;
        }
        if (!projection) copy(rows * p, h + begin * p, out + begin * p);
      });
      if (!projection) return;
      project->run(n, hidden + at * units, out, 0.0);
      copy(n * p, out, h);
    });
  });
}

template <class T>
void backward(const Steps& steps, const RecurrentBackward& b) {
  const auto& loops = loops_of<T>();
  const int64_t p = b.weight.size(1), wide = b.weight.size(0), units = wide / gates_of(steps.cell);
  const bool gru = steps.cell == Cell::Gru;
  const T *gates = raw<T>(b.gates), *y = raw<T>(b.y), *dy = raw<T>(b.dy);
  const T *before = raw<T>(b.before), *hidden = raw<T>(b.hidden), *before_h = raw<T>(b.before_h);
  const T *weight = raw<T>(b.weight), *projection = raw<T>(b.projection);
  T *dgates = raw<T>(b.dgates), *dsums = raw<T>(b.dgates_h), *dprojected = raw<T>(b.dprojected);
  ColumnSums<T> bias(b.dbias), bias_h(b.dbias_h);
  const Products<T> recur(steps, wide, p, {weight, p, 1});
  std::optional<Products<T>> unproject;
  if (projection) unproject.emplace(steps, p, units, Matrix{projection, units, 1});
  over_sequences(steps, b.weight, [&](int64_t first, int64_t last) {
    T *dh = raw<T>(b.dh) + first * p, *dc = raw<T>(b.dc) + first * units;
    std::vector<T> unprojected(projection ? size_t((last - first) * units) : 0);
    const int64_t range = first / range_size(steps);
    T *dbias = bias.of_range(range), *dbias_h = bias_h.of_range(range);
    each_step(steps, true, first, last, [&](Rows now, Rows next) {
      const auto [at, n] = now;
      loops.add(n * p, dy + at * p, dh);
      T* from_above = dh;
      if (projection) {
        copy(n * p, dh, dprojected + at * p);
        from_above = unprojected.data();
        unproject->run(n, dh, from_above, 0.0);
      }
      over_rows(n, units, [&](int64_t begin, int64_t end) {
        const int64_t rows = end - begin, from = begin * units, at_unit = (at + begin) * units;
        const int64_t at_gate = (at + begin) * wide;
        switch (steps.cell) {
          case Cell::Lstm:
            loops.lstm_grad(rows, units, gates + at_gate, before + at_unit, from_above + from,
                            dc + from, dgates + at_gate);
            break;
          case Cell::Gru:
            loops.gru_grad(rows, units, gates + at_gate, before_h + at_unit, hidden + at_unit,
                           dh + from, dgates + at_gate, dsums + at_gate);
            break;
          case Cell::Tanh:
            loops.tanh_grad(rows * units, y + at_unit, dh + from, dgates + at_gate);
            break;
          case Cell::Relu:
            loops.relu_grad(rows * units, y + at_unit, dh + from, dgates + at_gate);
            break;
        }
      });
      if (dbias) loops.sum_rows(n, wide, dgates + at * wide, dbias);
      if (dbias_h) loops.sum_rows(n, wide, dsums + at * wide, dbias_h);
      PackedMatrix::Memory ahead;
      if (gates) ahead = {gates + next.at * wide, next.count * wide};
      recur.run(n, (gru ? dsums : dgates) + at * wide, dh, gru ? 1.0 : 0.0, ahead);
    });
  });
  bias.finish(b.dbias, loops);
  bias_h.finish(b.dbias_h, loops);
}

}  // namespace

void CpuBackend::recurrent(const Steps& steps, const RecurrentForward& r) {
  r.y.dtype() == Dtype::Float32 ? cpu::forward<float>(steps, r) : cpu::forward<double>(steps, r);
}
void CpuBackend::recurrent_grad(const Steps& steps, const RecurrentBackward& r) {
  r.dy.dtype() == Dtype::Float32 ? cpu::backward<float>(steps, r) : cpu::backward<double>(steps, r);
}

}  // namespace ember::cpu
