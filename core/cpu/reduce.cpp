// Chooses the type to compute in, plans, and drives the kernels of kernels/reduce.cpp chunk by
// chunk.
#include "cpu/reduce.h"

#include <cmath>
#include <limits>
#include <memory>

#include "cpu/dispatch.h"
#include "cpu/kernels/reduce_kernels.h"
#include "cpu/reduce_plan.h"

namespace ember::cpu {
namespace {

constexpr int64_t kReduceGrain = 32768;
constexpr int64_t kLoadChunk = 1024;  // elements brought to the computing type at a time
constexpr int64_t kRowBlock = 128;    // rows folded before they join the wide accumulator

struct Tables {
  const ReduceKernels& reduce;
  const LoadKernels& load;
};
Tables choose() {
  switch (cpu_level()) {
#ifdef EMBER_HAVE_AVX512
    case Level::Avx512: return {avx512::reduce_kernels(), avx512::load_kernels()};
#endif
#ifdef EMBER_HAVE_AVX2
    case Level::Avx2: return {avx2::reduce_kernels(), avx2::load_kernels()};
#endif
    default: return {baseline::reduce_kernels(), baseline::load_kernels()};
  }
}
const Tables& tables() {
  static const Tables chosen = choose();
  return chosen;
}

template <class T>
const ReduceKernelsOf<T>& kernels_of() {
  const ReduceKernels& t = tables().reduce;
  if constexpr (std::is_same_v<T, float>)
    return t.f32;
  else if constexpr (std::is_same_v<T, double>)
    return t.f64;
  else if constexpr (std::is_same_v<T, int32_t>)
    return t.i32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return t.i64;
  else
    return t.c128;
}

template <class T>
Loader loader_of(Dtype from, Map map) {
  const LoadKernels& t = tables().load;
  if (from == dtype_of<T> && map == Map::Value) return nullptr;  // read in place
  const auto& table = [&]() -> const auto& {
    if constexpr (std::is_same_v<T, float>)
      return t.f32;
    else if constexpr (std::is_same_v<T, double>)
      return t.f64;
    else if constexpr (std::is_same_v<T, int32_t>)
      return t.i32;
    else if constexpr (std::is_same_v<T, int64_t>)
      return t.i64;
    else
      return t.c128;
  }();
  Loader found = table[int(from)][int(map)];
  check(found != nullptr, Kind::NotImplemented, "reduction: not implemented for ", from);
  return found;
}

template <class A>
Storer<A> storer_of(Dtype to) {
  const LoadKernels& t = tables().load;
  Storer<A> found;
  if constexpr (std::is_same_v<A, double>)
    found = t.store_f64[int(to)];
  else if constexpr (std::is_same_v<A, int64_t>)
    found = t.store_i64[int(to)];
  else
    found = t.store_c128[int(to)];
  check(found != nullptr, Kind::Type, "reduction: the result does not fit ", to);
  return found;
}

template <class A>
A identity_of(Fold fold) {
  if constexpr (is_complex_type<A>)
    return A(fold == Fold::Prod ? 1 : 0);
  else if constexpr (std::is_floating_point_v<A>) {
    constexpr A inf = std::numeric_limits<A>::infinity();
    return fold == Fold::Prod ? A(1) : fold == Fold::Min ? inf : fold == Fold::Max ? -inf : A(0);
  } else {
    using Limits = std::numeric_limits<A>;
    return fold == Fold::Prod  ? A(1)
           : fold == Fold::Min ? Limits::max()
           : fold == Fold::Max ? Limits::min()
                               : A(0);
  }
}

// What to read and how to read it: in place when it has the computing type, else by chunks through
// a loader.
template <class T>
struct Source {
  const char* data;
  int64_t size;  // bytes of an element
  Loader load;
  Loader gather;  // for elements of the computing type that are not adjacent
  double power;

  Source(const ReduceInput& x, Map map, double power = 0)
      : data(static_cast<const char*>(x.data)),
        size(item_size(x.dtype)),
        load(loader_of<T>(x.dtype, map)),
        power(power) {
    gather = load;
    if (!gather) {
      const LoadKernels& t = tables().load;
      if constexpr (std::is_same_v<T, float>)
        gather = t.f32[int(Dtype::Float32)][0];
      else if constexpr (std::is_same_v<T, double>)
        gather = t.f64[int(Dtype::Float64)][0];
      else if constexpr (std::is_same_v<T, int32_t>)
        gather = t.i32[int(Dtype::Int32)][0];
      else if constexpr (std::is_same_v<T, int64_t>)
        gather = t.i64[int(Dtype::Int64)][0];
      else
        gather = t.c128[int(Dtype::Complex128)][0];
    }
  }
  bool in_place(int64_t step, int64_t n) const { return !load && (step == 1 || n == 1); }
  const T* at(int64_t offset) const { return reinterpret_cast<const T*>(data + offset * size); }
  void fetch(int64_t offset, int64_t step, int64_t n, T* to) const {
    gather(n, data + offset * size, step, power, to);
  }
  void fetch_rows(int64_t offset, int64_t rows, int64_t row_stride, int64_t step, int64_t n,
                  T* to) const {
    if (row_stride == n * step) return fetch(offset, step, rows * n, to);
    for (int64_t r = 0; r < rows; r++) fetch(offset + r * row_stride, step, n, to + r * n);
  }
};

template <class T>
struct Folder {
  using A = Wide<T>;
  const ReducePlan& plan;
  Source<T> source;
  Fold fold;
  const ReduceKernelsOf<T>& kernels = kernels_of<T>();

  // acc[0 .. w) for outputs [k, k + w) of the last kept dimension, over `reduced`, starting at
  // `base`.
  void task(const ReducePlan::Dims& reduced, int64_t base, int64_t w, A* acc) const {
    std::fill(acc, acc + w, identity_of<A>(fold));
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
      kernels.inner[int(fold)](w, run.size, source.at(at), stride, part);
      kernels.join[int(fold)](w, part, acc);
      return;
    }
    alignas(64) T buffer[kLoadChunk];
    for (int64_t j = 0; j < w; j++)
      for (int64_t i = 0; i < run.size; i += kLoadChunk) {
        const int64_t n = std::min(kLoadChunk, run.size - i);
        source.fetch(at + j * stride + i * run.in, run.in, n, buffer);
        kernels.inner[int(fold)](1, n, buffer, 0, part);
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
        std::fill(part, part + wide, identity_of<T>(fold));
        kernels.outer[int(fold)](n, wide, source.at(at + i * rows.in), rows.in * group, part);
        for (int64_t g = 0; g < group; g++) kernels.join[int(fold)](w, part + g * w, acc);
        i += n * group;
      }
      if (i < rows.size) {
        std::fill(part, part + w, identity_of<T>(fold));
        kernels.outer[int(fold)](rows.size - i, w, source.at(at + i * rows.in), rows.in, part);
        kernels.join[int(fold)](w, part, acc);
      }
      return;
    }
    alignas(64) T buffer[kLoadChunk];
    const int64_t some = kLoadChunk / w;
    while (i < rows.size) {
      std::fill(part, part + w, identity_of<T>(fold));
      for (int64_t end = std::min(rows.size, i + std::max(kRowBlock, some)); i < end;) {
        const int64_t n = std::min(some, end - i);
        source.fetch_rows(at + i * rows.in, n, rows.in, step, w, buffer);
        kernels.outer[int(fold)](n, w, buffer, w, part);
        i += n;
      }
      kernels.join[int(fold)](w, part, acc);
    }
  }
};

template <class A>
void join_wide(Fold fold, int64_t n, const A* x, A* acc) {
  if constexpr (std::is_same_v<A, double>)
    kernels_of<double>().join[int(fold)](n, x, acc);
  else if constexpr (std::is_same_v<A, int64_t>)
    kernels_of<int64_t>().join[int(fold)](n, x, acc);
  else
    kernels_of<complex128>().join[int(fold)](n, x, acc);
}

// The part of `reduced` that piece `p` covers, and where it starts.
ReducePlan::Dims piece_of(const ReducePlan::Dims& reduced, const ReduceSchedule& s, int64_t p,
                          int64_t& base) {
  ReducePlan::Dims part = reduced;
  auto& d = part.at[s.split];
  const int64_t from = p * s.piece, size = std::min(s.piece, d.size - from);
  part.total = part.total / d.size * size;
  base += from * d.in;
  d.size = size;
  return part;
}

template <class T>
void run(const ReduceInput& x, const ReduceOutput& y, Fold fold, Map map, double power,
         double scale, double root) {
  using A = Wide<T>;
  ReducePlan plan(x, y.strides, nullptr);
  if (plan.kept.total == 0) return;
  Folder<T> folder{plan, Source<T>(x, map, power), fold};
  ReduceSchedule s(plan, kReduceGrain);
  const Storer<A> store = storer_of<A>(y.dtype);
  const ReducePlan::Dim last = plan.kept.last();
  const int64_t out_size = item_size(y.dtype);
  auto place = [&](int64_t t, int64_t& w) {
    ReducePlan::Dim at = plan.kept.offset_of(t / s.chunks);
    const int64_t k = t % s.chunks * s.chunk;
    w = std::min(s.chunk, last.size - k);
    at.in += k * last.in;
    at.out += k * last.out;
    return at;
  };
  if (s.pieces == 1) {
    parallel_for(
        s.tasks,
        std::max<int64_t>(1, kReduceGrain / std::max<int64_t>(1, plan.reduced.total * s.chunk)),
        [&](int64_t begin, int64_t end) {
          A acc[kReduceChunk];
          for (int64_t t = begin; t < end; t++) {
            int64_t w;
            const ReducePlan::Dim at = place(t, w);
            folder.task(plan.reduced, at.in, w, acc);
            store(w, acc, scale, root, static_cast<char*>(y.data) + at.out * out_size, last.out);
          }
        });
    return;
  }
  // Few outputs: pieces of the reduced range side by side, joined in order.
  std::unique_ptr<A[]> parts(new A[size_t(s.pieces * s.tasks * s.chunk)]);
  parallel_for(s.pieces * s.tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      int64_t w;
      int64_t base = place(i % s.tasks, w).in;
      const ReducePlan::Dims reduced = piece_of(plan.reduced, s, i / s.tasks, base);
      folder.task(reduced, base, w, parts.get() + i * s.chunk);
    }
  });
  for (int64_t t = 0; t < s.tasks; t++) {
    int64_t w;
    const ReducePlan::Dim at = place(t, w);
    A* acc = parts.get() + t * s.chunk;
    for (int64_t p = 1; p < s.pieces; p++)
      join_wide(fold, w, parts.get() + (p * s.tasks + t) * s.chunk, acc);
    store(w, acc, scale, root, static_cast<char*>(y.data) + at.out * out_size, last.out);
  }
}

int64_t reduced_count(const ReduceInput& x) {
  int64_t n = 1;
  for (int d = 0; d < x.ndim; d++)
    if (x.reduced >> d & 1) n *= x.shape[d];
  return n;
}

// Complex sums are real sums with one more dimension.
void complex_sum(const ReduceInput& x, const ReduceOutput& y, double scale) {
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
    run<float>(real, to, Fold::Sum, Map::Value, 0, scale, 1);
  else
    run<double>(real, to, Fold::Sum, Map::Value, 0, scale, 1);
}

void run_sum(Fold fold, Map map, const ReduceInput& x, const ReduceOutput& y, double scale) {
  if (is_complex(x.dtype)) {
    if (fold == Fold::Sum && map == Map::Value) return complex_sum(x, y, scale);
    return run<complex128>(x, y, fold, map, 0, scale, 1);
  }
  if (is_floating(x.dtype)) {
    const bool twice = x.dtype == Dtype::Float64 || y.dtype == Dtype::Float64;
    return twice ? run<double>(x, y, fold, map, 0, scale, 1)
                 : run<float>(x, y, fold, map, 0, scale, 1);
  }
  if (is_floating(y.dtype)) return run<double>(x, y, fold, Map::Value, 0, scale, 1);
  run<int64_t>(x, y, fold, Map::Value, 0, 1, 1);
}

void run_extreme(Fold fold, const ReduceInput& x, const ReduceOutput& y) {
  switch (x.dtype) {
    case Dtype::Float16:
    case Dtype::BFloat16:
    case Dtype::Float32: return run<float>(x, y, fold, Map::Value, 0, 1, 1);
    case Dtype::Float64: return run<double>(x, y, fold, Map::Value, 0, 1, 1);
    case Dtype::Int64:
    case Dtype::UInt32: return run<int64_t>(x, y, fold, Map::Value, 0, 1, 1);
    case Dtype::UInt64:
    case Dtype::Complex64:
    case Dtype::Complex128: fail(Kind::NotImplemented, "min, max: not implemented for ", x.dtype);
    default: return run<int32_t>(x, y, fold, Map::Value, 0, 1, 1);
  }
}

template <class T>
void run_norm(const ReduceInput& x, const ReduceOutput& y, double p) {
  const bool complex = is_complex(x.dtype);
  if (p == 2)
    return run<T>(x, y, complex ? Fold::Sum : Fold::SumSquares, complex ? Map::Square : Map::Value,
                  0, 1, 2);
  if (p == 1) return run<T>(x, y, Fold::Sum, Map::Abs, 0, 1, 1);
  if (std::isinf(p)) return run<T>(x, y, p > 0 ? Fold::Max : Fold::Min, Map::Abs, 0, 1, 1);
  run<T>(x, y, Fold::Sum, Map::AbsPower, p, 1, p);
}

}  // namespace

void reduce(Reduce op, const ReduceInput& x, const ReduceOutput& y, double p) {
  switch (op) {
    case Reduce::Sum: return run_sum(Fold::Sum, Map::Value, x, y, 1);
    case Reduce::Mean: return run_sum(Fold::Sum, Map::Value, x, y, 1.0 / double(reduced_count(x)));
    case Reduce::NanSum: return run_sum(Fold::Sum, Map::NanToZero, x, y, 1);
    case Reduce::Prod: return run_sum(Fold::Prod, Map::Value, x, y, 1);
    case Reduce::Min: return run_extreme(Fold::Min, x, y);
    case Reduce::Max: return run_extreme(Fold::Max, x, y);
    case Reduce::Any:
    case Reduce::All: {
      // max and min of 0s and 1s; nothing at all is neither the largest nor the smallest integer
      if (reduced_count(x) == 0)
        return run<int64_t>(x, y, op == Reduce::Any ? Fold::Sum : Fold::Prod, Map::Nonzero, 0, 1,
                            1);
      return run<int32_t>(x, y, op == Reduce::Any ? Fold::Max : Fold::Min, Map::Nonzero, 0, 1, 1);
    }
    case Reduce::CountNonzero: return run<int64_t>(x, y, Fold::Sum, Map::Nonzero, 0, 1, 1);
    case Reduce::Norm: {
      if (p == 0) return run<int64_t>(x, y, Fold::Sum, Map::Nonzero, 0, 1, 1);
      const bool twice = real_of(x.dtype) == Dtype::Float64 || y.dtype == Dtype::Float64;
      return twice ? run_norm<double>(x, y, p) : run_norm<float>(x, y, p);
    }
  }
}

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
  ExtremeFinder<T> finder{plan, Source<T>(x, Map::Value), most};
  ReduceSchedule s(plan, kReduceGrain);
  const Storer<A> store = storer_of<A>(values.data ? values.dtype : Dtype::Float64);
  const ReducePlan::Dim last = plan.kept.last();
  const int64_t size = item_size(values.dtype), length = plan.reduced.last().size;
  auto place = [&](int64_t t, int64_t& w) {
    ReducePlan::Dim at = plan.kept.offset_of(t / s.chunks);
    const int64_t k = t % s.chunks * s.chunk;
    w = std::min(s.chunk, last.size - k);
    return ReducePlan::Dim{0, at.in + k * last.in, at.out + k * last.out, at.out2 + k * last.out2};
  };
  auto finish = [&](const ReducePlan::Dim& at, int64_t w, const T* best, const int64_t* where) {
    if (values.data) {
      A wide[kReduceChunk];
      std::copy(best, best + w, wide);
      store(w, wide, 1, 1, static_cast<char*>(values.data) + at.out * size, last.out);
    }
    if (indices.data)
      for (int64_t j = 0; j < w; j++)
        static_cast<int64_t*>(indices.data)[at.out2 + j * last.out2] = where[j];
  };
  if (s.pieces == 1) {
    parallel_for(s.tasks,
                 std::max<int64_t>(1, kReduceGrain / std::max<int64_t>(1, length * s.chunk)),
                 [&](int64_t begin, int64_t end) {
                   T best[kReduceChunk];
                   int64_t where[kReduceChunk];
                   for (int64_t t = begin; t < end; t++) {
                     int64_t w;
                     const ReducePlan::Dim at = place(t, w);
                     finder.task(at.in, 0, length, w, best, where);
                     finish(at, w, best, where);
                   }
                 });
    return;
  }
  const int64_t parts = s.pieces * s.tasks;
  std::unique_ptr<T[]> best(new T[size_t(parts * s.chunk)]);
  std::unique_ptr<int64_t[]> where(new int64_t[size_t(parts * s.chunk)]);
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      int64_t w;
      const ReducePlan::Dim at = place(i % s.tasks, w);
      const int64_t from = i / s.tasks * s.piece;
      finder.task(at.in, from, std::min(length, from + s.piece), w, best.get() + i * s.chunk,
                  where.get() + i * s.chunk);
    }
  });
  for (int64_t t = 0; t < s.tasks; t++) {
    int64_t w;
    const ReducePlan::Dim at = place(t, w);
    T* top = best.get() + t * s.chunk;
    int64_t* top_at = where.get() + t * s.chunk;
    for (int64_t p = 1; p < s.pieces; p++)
      for (int64_t j = 0; j < w; j++) {
        const int64_t i = (p * s.tasks + t) * s.chunk + j;
        if (beats<T>(most, {best[i], 0}, {top[j], 0})) top[j] = best[i], top_at[j] = where[i];
      }
    finish(at, w, top, top_at);
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
  Spread<T> spread{plan, Source<T>(x, Map::Value)};
  ReduceSchedule s(plan, kReduceGrain);
  const ReducePlan::Dim last = plan.kept.last();
  const double n = double(plan.reduced.total), divisor = std::max(0.0, n - correction);
  auto place = [&](int64_t t, int64_t& w) {
    ReducePlan::Dim at = plan.kept.offset_of(t / s.chunks);
    const int64_t k = t % s.chunks * s.chunk;
    w = std::min(s.chunk, last.size - k);
    return ReducePlan::Dim{0, at.in + k * last.in, at.out + k * last.out, at.out2 + k * last.out2};
  };
  auto finish = [&](const ReducePlan::Dim& at, int64_t w, double* means, double* squares) {
    if (n == 0) std::fill(means, means + w, std::numeric_limits<double>::quiet_NaN());
    for (int64_t j = 0; j < w; j++) squares[j] /= divisor;
    if (variance.data)
      storer_of<double>(variance.dtype)(
          w, squares, 1, root ? 2 : 1,
          static_cast<char*>(variance.data) + at.out * item_size(variance.dtype), last.out);
    if (mean.data)
      storer_of<double>(mean.dtype)(w, means, 1, 1,
                                    static_cast<char*>(mean.data) + at.out2 * item_size(mean.dtype),
                                    last.out2);
  };
  if (s.pieces == 1) {
    parallel_for(
        s.tasks,
        std::max<int64_t>(1, kReduceGrain / std::max<int64_t>(1, plan.reduced.total * s.chunk)),
        [&](int64_t begin, int64_t end) {
          double means[kReduceChunk], squares[kReduceChunk];
          for (int64_t t = begin; t < end; t++) {
            int64_t w;
            const ReducePlan::Dim at = place(t, w);
            spread.task(plan.reduced, at.in, w, means, squares);
            finish(at, w, means, squares);
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
      int64_t w;
      int64_t base = place(i % s.tasks, w).in;
      const ReducePlan::Dims reduced = piece_of(plan.reduced, s, i / s.tasks, base);
      counts[i] = spread.task(reduced, base, w, means + i * s.chunk, squares + i * s.chunk);
    }
  });
  for (int64_t t = 0; t < s.tasks; t++) {
    int64_t w;
    const ReducePlan::Dim at = place(t, w);
    for (int64_t j = 0; j < w; j++) {
      Moments all{0, 0, 0};
      for (int64_t p = 0; p < s.pieces; p++) {
        const int64_t i = p * s.tasks + t;
        all = join_moments(all, {counts[i], means[i * s.chunk + j], squares[i * s.chunk + j]});
      }
      means[t * s.chunk + j] = all.mean;
      squares[t * s.chunk + j] = all.squares;
    }
    finish(at, w, means + t * s.chunk, squares + t * s.chunk);
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
