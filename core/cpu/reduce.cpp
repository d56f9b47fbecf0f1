// Folds (sums, products, minima, norms): chooses the type to compute in and drives the kernels of
// kernels/reduce.cpp chunk by chunk. Positions are in reduce_extremes.cpp, variances in
// reduce_variance.cpp.
#include "cpu/reduce.h"

#include <memory>

#include "cpu/reduce_plan.h"
#include "cpu/reduce_source.h"

namespace ember::cpu {
namespace {

constexpr int64_t kRowBlock = 128;  // rows folded before they join the wide accumulator

template <class T>
struct Folder {
  using A = Wide<T>;
  const ReducePlan& plan;
  Source<T> source;
  Fold fold;
  int kernel;  // kSquares where those are summed as they are read
  const ReduceKernelsOf<T>& kernels = kernels_of<T>();

  // acc[0 .. w) for outputs [k, k + w) of the last kept dimension, over `reduced`, starting at
  // `base`.
  void task(const ReducePlan::Dims& reduced, int64_t base, int64_t w, A* acc) const {
    std::fill(acc, acc + w, start_as<A>(fold));
    if (reduced.total == 0) return;
    const int64_t outer = reduced.outer_total();
    const bool runs = plan.by_runs();
    for (int64_t i = 0; i < outer; i++) {
      const int64_t at = base + (outer > 1 ? reduced.offset_of(i).in : 0);
      if (runs)
        along(reduced.last(), at, w, acc);
      else
        across(reduced.last(), at, w, acc);
    }
  }

  void along(const ReducePlan::Dim& run, int64_t at, int64_t w, A* acc) const {
    const int64_t stride = plan.kept.last().in;
    T part[kReduceChunk];
    if (source.in_place(run.in, run.size)) {
      kernels.inner[kernel](w, run.size, source.at(at), stride, part);
      kernels.join[int(fold)](w, part, acc);
      return;
    }
    alignas(64) T buffer[kLoadChunk];
    for (int64_t j = 0; j < w; j++)
      for (int64_t i = 0; i < run.size; i += kLoadChunk) {
        const int64_t n = std::min(kLoadChunk, run.size - i);
        source.fetch(at + j * stride + i * run.in, run.in, n, buffer);
        kernels.inner[kernel](1, n, buffer, 0, part);
        kernels.join[int(fold)](1, part, acc + j);
      }
  }

  void across(const ReducePlan::Dim& rows, int64_t at, int64_t w, A* acc) const {
    const int64_t step = plan.kept.last().in;
    alignas(64) T part[kReduceChunk];
    int64_t i = 0;
    if (source.in_place(step, w)) {
      // A narrow array whose rows follow on is read as a wide one, then folded up.
      const int64_t group = rows.in == w && w <= kReduceChunk / 4 ? kReduceChunk / 2 / w : 1;
      const int64_t wide = w * group;
      for (; i + group <= rows.size;) {
        const int64_t n = std::min(kRowBlock, (rows.size - i) / group);
        std::fill(part, part + wide, start_as<T>(fold));
        kernels.outer[kernel](n, wide, source.at(at + i * rows.in), rows.in * group, part);
        for (int64_t g = 0; g < group; g++) kernels.join[int(fold)](w, part + g * w, acc);
        i += n * group;
      }
      if (i < rows.size) {
        std::fill(part, part + w, start_as<T>(fold));
        kernels.outer[kernel](rows.size - i, w, source.at(at + i * rows.in), rows.in, part);
        kernels.join[int(fold)](w, part, acc);
      }
      return;
    }
    alignas(64) T buffer[kLoadChunk];
    const int64_t some = kLoadChunk / w;
    while (i < rows.size) {
      std::fill(part, part + w, start_as<T>(fold));
      for (int64_t end = std::min(rows.size, i + std::max(kRowBlock, some)); i < end;) {
        const int64_t n = std::min(some, end - i);
        source.fetch_rows(at + i * rows.in, n, rows.in, step, w, buffer);
        kernels.outer[kernel](n, w, buffer, w, part);
        i += n;
      }
      kernels.join[int(fold)](w, part, acc);
    }
  }
};

template <class T>
void run(const ReductionRow& row, const ReduceInput& x, const ReduceOutput& y, double count,
         double p) {
  using A = Wide<T>;
  ReducePlan plan(x, y.strides, nullptr);
  if (plan.kept.total == 0) return;
  const Fold fold = row.fold;
  const bool squares = std::is_floating_point_v<T> && !is_complex(x.dtype) && fold == Fold::sum &&
                       row.map == Map::square;
  const Folder<T> folder{plan, Source<T>(x, squares ? Map::value : row.map, p), fold,
                         squares ? kSquares : int(fold)};
  const ReduceSchedule s(plan);
  const Storer<A> store = storer_of<A>(y.dtype, row.finish);
  const int64_t out_size = item_size(y.dtype), step = plan.kept.last().out;
  auto finish = [&](const ReducePlan::Dim& at, const A* acc) {
    store(at.size, acc, count, p, static_cast<char*>(y.data) + at.out * out_size, step);
  };
  if (s.pieces == 1) {
    parallel_for(s.tasks, s.tasks_per_thread, [&](int64_t begin, int64_t end) {
      A acc[kReduceChunk];
      for (int64_t t = begin; t < end; t++) {
        const ReducePlan::Dim at = s.place(t);
        folder.task(plan.reduced, at.in, at.size, acc);
        finish(at, acc);
      }
    });
    return;
  }
  // Few outputs: pieces of the reduced range side by side, joined in order.
  std::unique_ptr<A[]> parts(new A[size_t(s.pieces * s.tasks * s.chunk)]);
  parallel_for(s.pieces * s.tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const ReduceSchedule::Piece part = s.piece_of(i);
      folder.task(part.reduced, part.in, part.width, parts.get() + i * s.chunk);
    }
  });
  for (int64_t t = 0; t < s.tasks; t++) {
    const ReducePlan::Dim at = s.place(t);
    A* acc = parts.get() + t * s.chunk;
    for (int64_t p = 1; p < s.pieces; p++)
      kernels_of<A>().join[int(fold)](at.size, parts.get() + (p * s.tasks + t) * s.chunk, acc);
    finish(at, acc);
  }
}

int64_t reduced_count(const ReduceInput& x) {
  int64_t n = 1;
  for (int d = 0; d < x.ndim; d++)
    if (x.reduced >> d & 1) n *= x.shape[d];
  return n;
}

// Complex sums are real sums with one more dimension.
void complex_sum(const ReductionRow& row, const ReduceInput& x, const ReduceOutput& y,
                 double count) {
  int64_t shape[kMostDims + 1], in[kMostDims + 1], out[kMostDims + 1];
  for (int d = 0; d < x.ndim; d++) {
    shape[d] = x.shape[d];
    in[d] = 2 * x.strides[d];
    out[d] = x.reduced >> d & 1 ? 0 : 2 * y.strides[d];
  }
  shape[x.ndim] = 2;
  in[x.ndim] = out[x.ndim] = 1;
  ReduceInput real{real_of(x.dtype), x.ndim + 1, shape, in, x.data, x.reduced};
  ReduceOutput to{real_of(y.dtype), out, y.data};
  if (real.dtype == Dtype::Float32 && to.dtype == Dtype::Float32)
    run<float>(row, real, to, count, 0);
  else
    run<double>(row, real, to, count, 0);
}

}  // namespace

// What is computed in follows from what is asked: whether elements are 0, which is largest, or a
// sum of them, which may need more room than they have.
void reduce(Reduction f, const ReduceInput& x, const ReduceOutput& y, double p) {
  const ReductionRow& row = row_of(f, p);
  const double n = double(reduced_count(x));
  if (row.map == Map::nonzero)
    return row.fold == Fold::sum ? run<int64_t>(row, x, y, n, p) : run<int32_t>(row, x, y, n, p);
  if (row.map == Map::value && (row.fold == Fold::max || row.fold == Fold::min)) {
    switch (x.dtype) {
      case Dtype::Float16:
      case Dtype::BFloat16:
      case Dtype::Float32: return run<float>(row, x, y, n, p);
      case Dtype::Float64: return run<double>(row, x, y, n, p);
      case Dtype::Int64:
      case Dtype::UInt32: return run<int64_t>(row, x, y, n, p);
      case Dtype::UInt64:
      case Dtype::Complex64:
      case Dtype::Complex128: fail(Kind::NotImplemented, "min, max: not implemented for ", x.dtype);
      default: return run<int32_t>(row, x, y, n, p);
    }
  }
  if (is_complex(y.dtype)) {
    if (row.fold == Fold::sum && row.map == Map::value) return complex_sum(row, x, y, n);
    return run<complex128>(row, x, y, n, p);
  }
  if (!is_floating(y.dtype) && !is_floating(x.dtype)) return run<int64_t>(row, x, y, n, p);
  const bool twice =
      y.dtype == Dtype::Float64 || real_of(x.dtype) == Dtype::Float64 || is_integral(x.dtype, true);
  return twice ? run<double>(row, x, y, n, p) : run<float>(row, x, y, n, p);
}

}  // namespace ember::cpu
