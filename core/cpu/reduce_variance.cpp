// Variance and mean in one pass: the moments of parts, joined (Chan et al. 1979).
#include "cpu/reduce.h"

#include <limits>
#include <memory>

#include "cpu/reduce_plan.h"
#include "cpu/reduce_source.h"

namespace ember::cpu {
namespace {

Moments join_moments(const Moments& a, const Moments& b) {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  const double count = a.count + b.count, delta = b.mean - a.mean, share = b.count / count;
  return {count, a.mean + delta * share, a.squares + b.squares + delta * delta * a.count * share};
}

template <class T>
struct Spread {
  const ReducePlan& plan;
  Source<T> source;
  const ReduceKernelsOf<T>& kernels = kernels_of<T>();

  // Returns the count, which is the same for every output.
  double task(const ReducePlan::Dims& reduced, int64_t base, int64_t w, double* mean,
              double* squares) const {
    std::fill(mean, mean + w, 0.0);
    std::fill(squares, squares + w, 0.0);
    double count = 0;
    if (reduced.total == 0) return 0;
    const int64_t outer = reduced.outer_total();
    const ReducePlan::Dim &run = reduced.last(), &last = plan.kept.last();
    alignas(64) T buffer[kLoadChunk];
    for (int64_t i = 0; i < outer; i++, count += double(run.size)) {
      const int64_t at = base + (outer > 1 ? reduced.offset_of(i).in : 0);
      if (plan.by_runs()) {
        for (int64_t j = 0; j < w; j++) {
          const Moments all =
              join_moments({count, mean[j], squares[j]}, along(run, at + j * last.in));
          mean[j] = all.mean;
          squares[j] = all.squares;
        }
      } else if (source.in_place(last.in, w)) {
        kernels.moments_outer(run.size, w, source.at(at), run.in, count, mean, squares);
      } else {
        // Some rows at a time: one alone would leave the work to the slow joining step.
        const int64_t most = std::max<int64_t>(1, kLoadChunk / w);
        for (int64_t r = 0; r < run.size; r += most) {
          const int64_t n = std::min(most, run.size - r);
          source.fetch_rows(at + r * run.in, n, run.in, last.in, w, buffer);
          kernels.moments_outer(n, w, buffer, w, count + double(r), mean, squares);
        }
      }
    }
    return count;
  }

  Moments along(const ReducePlan::Dim& run, int64_t at) const {
    if (source.in_place(run.in, run.size)) return kernels.moments(run.size, source.at(at));
    alignas(64) T buffer[kLoadChunk];
    Moments all{0, 0, 0};
    for (int64_t i = 0; i < run.size; i += kLoadChunk) {
      const int64_t n = std::min(kLoadChunk, run.size - i);
      source.fetch(at + i * run.in, run.in, n, buffer);
      all = join_moments(all, kernels.moments(n, buffer));
    }
    return all;
  }
};

template <class T>
void find_variance(const ReduceInput& x, double correction, bool root, const ReduceOutput& variance,
                   const ReduceOutput& mean) {
  ReducePlan plan(x, variance.data ? variance.strides : nullptr,
                  mean.data ? mean.strides : nullptr);
  if (plan.kept.total == 0) return;
  Spread<T> spread{plan, Source<T>(x, Map::value)};
  const ReduceSchedule s(plan);
  const ReducePlan::Dim last = plan.kept.last();
  const double n = double(plan.reduced.total), divisor = std::max(0.0, n - correction);
  auto finish = [&](const ReducePlan::Dim& at, double* means, double* squares) {
    const int64_t w = at.size;
    if (n == 0) std::fill(means, means + w, std::numeric_limits<double>::quiet_NaN());
    for (int64_t j = 0; j < w; j++) squares[j] /= divisor;
    if (variance.data)
      storer_of<double>(variance.dtype, root ? Finish::root : Finish::whole)(
          w, squares, 1, 0, static_cast<char*>(variance.data) + at.out * item_size(variance.dtype),
          last.out);
    if (mean.data)
      storer_of<double>(mean.dtype, Finish::whole)(
          w, means, 1, 0, static_cast<char*>(mean.data) + at.out2 * item_size(mean.dtype),
          last.out2);
  };
  if (s.pieces == 1) {
    parallel_for(s.tasks, s.tasks_per_thread, [&](int64_t begin, int64_t end) {
      double means[kReduceChunk], squares[kReduceChunk];
      for (int64_t t = begin; t < end; t++) {
        const ReducePlan::Dim at = s.place(t);
        spread.task(plan.reduced, at.in, at.size, means, squares);
        finish(at, means, squares);
      }
    });
    return;
  }
  const int64_t parts = s.pieces * s.tasks;
  std::unique_ptr<double[]> buffer(new double[size_t(parts * (2 * s.chunk + 1))]);
  double *means = buffer.get(), *squares = means + parts * s.chunk,
         *counts = squares + parts * s.chunk;
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const ReduceSchedule::Piece part = s.piece_of(i);
      counts[i] = spread.task(part.reduced, part.in, part.width, means + i * s.chunk,
                              squares + i * s.chunk);
    }
  });
  for (int64_t t = 0; t < s.tasks; t++) {
    const ReducePlan::Dim at = s.place(t);
    for (int64_t j = 0; j < at.size; j++) {
      Moments all{0, 0, 0};
      for (int64_t p = 0; p < s.pieces; p++) {
        const int64_t i = p * s.tasks + t;
        all = join_moments(all, {counts[i], means[i * s.chunk + j], squares[i * s.chunk + j]});
      }
      means[t * s.chunk + j] = all.mean;
      squares[t * s.chunk + j] = all.squares;
    }
    finish(at, means + t * s.chunk, squares + t * s.chunk);
  }
}

}  // namespace

void variance(const ReduceInput& x, double correction, bool root, const ReduceOutput& variance,
              const ReduceOutput& mean) {
  const bool twice = x.dtype == Dtype::Float64;
  if (twice)
    find_variance<double>(x, correction, root, variance, mean);
  else
    find_variance<float>(x, correction, root, variance, mean);
}

}  // namespace ember::cpu
