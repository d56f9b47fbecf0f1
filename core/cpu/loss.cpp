// Drives the kernels of kernels/loss.cpp: checks targets, shares lines out to threads.

#include "cpu/cpu_backend.h"
#include "cpu/dispatch.h"
#include "cpu/kernels/loss_kernels.h"
#include "cpu/parallel.h"
#include "cpu/typed.h"

namespace ember::cpu {

namespace {

constexpr int64_t kLossGrain = 8192;  // an exponential costs a few additions

EMBER_TABLE_BY_LEVEL(LossTable, table, loss_kernels)

template <class T>
const LossKernelsOf<T>& kernels_for() {
  if constexpr (std::is_same_v<T, float>)
    return table().f32;
  else
    return table().f64;
}

void check_targets(const int64_t* target, int64_t n, int64_t classes, int64_t ignored) {
  for (int64_t i = 0; i < n; i++) {
    const int64_t t = target[i];
    check((t >= 0 && t < classes) || t == ignored, Kind::Index, "Target ", t, " is out of bounds.");
  }
}

// x and what goes with it, as dense memory of type T.
template <class T>
struct Problem {
  int64_t n, c, s;
  Source<T> x, weight;
  Source<int64_t> target;
  Result<T> sums;
  ClassLines<T> all;

  Problem(const Tensor& x_, const Tensor& logsumexp, const ClassLoss& l)
      : n(x_.size(0)),
        c(x_.size(1)),
        s(x_.size(2)),
        x(x_),
        weight(l.weight),
        target(l.target),
        sums(logsumexp) {
    check_targets(target.data, n * s, c, l.ignored);
    T total = T(c);
    if (weight.data) {
      total = 0;
      for (int64_t i = 0; i < c; i++) total += weight.data[i];
    }
    all = {n * s,
           c,
           s,
           x.data,
           target.data,
           weight.data,
           total,
           l.ignored,
           T(l.smoothing),
           sums.data,
           sums.data ? sums.data + n * s : nullptr};
  }

  // Calls body(lines, first line, first element) on pieces.
  template <class F>
  void each(bool reads_x, F body) const {
    const int64_t cost = reads_x ? c : 1;
    if (s == 1)
      return parallel_for(n, 1 + kLossGrain / cost, [&](int64_t begin, int64_t end) {
        body(part(begin, end - begin, begin * c), begin, begin * c);
      });
    const int64_t chunks = (s + kLossColumns - 1) / kLossColumns;
    parallel_for(n * chunks, 1 + kLossGrain / (cost * std::min(s, kLossColumns)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; i++) {
                     const int64_t column = i % chunks * kLossColumns;
                     const int64_t line = i / chunks * s + column, at = i / chunks * c * s + column;
                     body(part(line, std::min(kLossColumns, s - column), at), line, at);
                   }
                 });
  }

 private:
  ClassLines<T> part(int64_t line, int64_t lines, int64_t at) const {
    ClassLines<T> l = all;
    l.lines = lines;
    l.x += at;
    l.target += line;
    if (l.max) l.max += line, l.log_sum += line;
    return l;
  }
};

}  // namespace

void CpuBackend::class_loss(const Tensor& loss, const Tensor& count, const Tensor& logsumexp,
                            const Tensor& x, const ClassLoss& l) {
  for_type(x, [&](auto type) {
    using T = decltype(type);
    const Problem<T> p(x, logsumexp, l);
    Result<T> to(loss), counts(count);
    auto run = p.s == 1 ? kernels_for<T>().rows : kernels_for<T>().across;
    p.each(logsumexp.defined() || l.smoothing != 0,
           [&](const ClassLines<T>& lines, int64_t line, int64_t) {
             run(lines, to.data + line, counts.data + line);
           });
    to.store(), counts.store(), p.sums.store();
  });
}

void CpuBackend::class_loss_grad(const Tensor& dx, const Tensor& g, const Tensor& logsumexp,
                                 const Tensor& x, const ClassLoss& l) {
  for_type(x, [&](auto type) {
    using T = decltype(type);
    const Problem<T> p(x, logsumexp, l);
    const Source<T> up(g);
    Result<T> to(dx);
    if (logsumexp && p.sums.tensor().data() != logsumexp.data())
      backend_of(logsumexp).copy(p.sums.tensor(), logsumexp);
    auto run = p.s == 1 ? kernels_for<T>().rows_grad : kernels_for<T>().across_grad;
    p.each(true, [&](const ClassLines<T>& lines, int64_t line, int64_t at) {
      run(lines, up.data + line, to.data + at);
    });
    to.store();
  });
}

}  // namespace ember::cpu
