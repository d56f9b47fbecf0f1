// Where the least or the most along a dimension is, and what it is.
#include "cpu/reduce.h"

#include <memory>

#include "cpu/reduce_plan.h"
#include "cpu/reduce_source.h"

namespace ember::cpu {
namespace {

template <class T>
bool beats(bool most, const Extreme<T>& a, const Extreme<T>& b) {
  if (a.value != a.value) return b.value == b.value;
  return most ? a.value > b.value : a.value < b.value;
}

template <class T>
struct ExtremeFinder {
  const ReducePlan& plan;
  Source<T> source;
  bool most;
  const ReduceKernelsOf<T>& kernels = kernels_of<T>();

  // Rows [from, to) of the reduced dimension for w outputs.
  void task(int64_t base, int64_t from, int64_t to, int64_t w, T* best, int64_t* where) const {
    const ReducePlan::Dim &run = plan.reduced.last(), &last = plan.kept.last();
    if (plan.by_runs()) {
      for (int64_t j = 0; j < w; j++) {
        const Extreme<T> found = along(base + j * last.in, run.in, from, to);
        best[j] = found.value;
        where[j] = found.index;
      }
      return;
    }
    if (source.in_place(last.in, w)) {
      kernels.extremes(most, true, from, to - from, w, source.at(base + from * run.in), run.in,
                       best, where);
      return;
    }
    alignas(64) T buffer[kLoadChunk];
    const int64_t some = kLoadChunk / w;
    for (int64_t i = from; i < to; i += some) {
      const int64_t n = std::min(some, to - i);
      source.fetch_rows(base + i * run.in, n, run.in, last.in, w, buffer);
      kernels.extremes(most, i == from, i, n, w, buffer, w, best, where);
    }
  }

  Extreme<T> along(int64_t at, int64_t step, int64_t from, int64_t to) const {
    if (source.in_place(step, to - from)) {
      Extreme<T> found = kernels.extreme(most, to - from, source.at(at + from * step));
      found.index += from;
      return found;
    }
    alignas(64) T buffer[kLoadChunk];
    Extreme<T> best{T(0), -1};
    for (int64_t i = from; i < to; i += kLoadChunk) {
      const int64_t n = std::min(kLoadChunk, to - i);
      source.fetch(at + i * step, step, n, buffer);
      Extreme<T> found = kernels.extreme(most, n, buffer);
      found.index += i;
      if (best.index < 0 || beats(most, found, best)) best = found;
    }
    return best;
  }
};

template <class T>
void find_extremes(bool most, const ReduceInput& x, const ReduceOutput& values,
                   const ReduceOutput& indices) {
  using A = Wide<T>;
  ReducePlan plan(x, values.data ? values.strides : nullptr,
                  indices.data ? indices.strides : nullptr);
  if (plan.kept.total == 0 || plan.reduced.total == 0) return;
  ExtremeFinder<T> finder{plan, Source<T>(x, Map::value), most};
  const ReduceSchedule s(plan);
  const Storer<A> store = storer_of<A>(values.data ? values.dtype : Dtype::Float64, Finish::whole);
  const ReducePlan::Dim last = plan.kept.last();
  const int64_t size = item_size(values.dtype), length = plan.reduced.last().size;
  auto finish = [&](const ReducePlan::Dim& at, const T* best, const int64_t* where) {
    const int64_t w = at.size;
    if (values.data) {
      A wide[kReduceChunk];
      std::copy(best, best + w, wide);
      store(w, wide, 1, 0, static_cast<char*>(values.data) + at.out * size, last.out);
    }
    if (indices.data)
      for (int64_t j = 0; j < w; j++)
        static_cast<int64_t*>(indices.data)[at.out2 + j * last.out2] = where[j];
  };
  if (s.pieces == 1) {
    parallel_for(s.tasks, s.tasks_per_thread, [&](int64_t begin, int64_t end) {
      T best[kReduceChunk];
      int64_t where[kReduceChunk];
      for (int64_t t = begin; t < end; t++) {
        const ReducePlan::Dim at = s.place(t);
        finder.task(at.in, 0, length, at.size, best, where);
        finish(at, best, where);
      }
    });
    return;
  }
  const int64_t parts = s.pieces * s.tasks;
  std::unique_ptr<T[]> best(new T[size_t(parts * s.chunk)]);
  std::unique_ptr<int64_t[]> where(new int64_t[size_t(parts * s.chunk)]);
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const ReducePlan::Dim at = s.place(i % s.tasks);
      const int64_t from = i / s.tasks * s.piece;
      finder.task(at.in, from, std::min(length, from + s.piece), at.size, best.get() + i * s.chunk,
                  where.get() + i * s.chunk);
    }
  });
  for (int64_t t = 0; t < s.tasks; t++) {
    const ReducePlan::Dim at = s.place(t);
    T* top = best.get() + t * s.chunk;
    int64_t* top_at = where.get() + t * s.chunk;
    for (int64_t p = 1; p < s.pieces; p++)
      for (int64_t j = 0; j < at.size; j++) {
        const int64_t i = (p * s.tasks + t) * s.chunk + j;
        if (beats<T>(most, {best[i], 0}, {top[j], 0})) top[j] = best[i], top_at[j] = where[i];
      }
    finish(at, top, top_at);
  }
}

}  // namespace

void extremes(bool most, const ReduceInput& x, int dim, const ReduceOutput& values,
              const ReduceOutput& indices) {
  ReduceInput one = x;
  one.reduced = uint64_t(1) << dim;
  switch (x.dtype) {
    case Dtype::Float16:
    case Dtype::BFloat16:
    case Dtype::Float32: return find_extremes<float>(most, one, values, indices);
    case Dtype::Float64: return find_extremes<double>(most, one, values, indices);
    case Dtype::Int64:
    case Dtype::UInt32: return find_extremes<int64_t>(most, one, values, indices);
    case Dtype::UInt64:
    case Dtype::Complex64:
    case Dtype::Complex128:
      fail(Kind::NotImplemented, "argmin, argmax: not implemented for ", x.dtype);
    default: return find_extremes<int32_t>(most, one, values, indices);
  }
}

}  // namespace ember::cpu
