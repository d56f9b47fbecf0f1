// The shape of a reduction: dimensions sorted by stride and joined where they follow on, split into
// those kept and those reduced, and how the work is cut up. Shared by the loops of reduce*.cpp.
#pragma once

#include <algorithm>

#include "cpu/parallel.h"
#include "cpu/reduce.h"

namespace ember::cpu {

constexpr int kMostDims = 64;

struct ReducePlan {
  struct Dim {
    int64_t size, in, out, out2;
  };
  struct Dims {
    Dim at[kMostDims];
    int count = 0;
    int64_t total = 1;

    void add(Dim d) {
      total *= d.size;
      if (d.size != 1) at[count++] = d;
    }
    // Largest stride first; joined; at least one dimension, so that the last always exists.
    void settle() {
      for (int i = 1; i < count; i++)  // insertion: there are few
        for (int j = i; j > 0 && at[j - 1].in < at[j].in; j--) std::swap(at[j - 1], at[j]);
      int to = 0;
      for (int d = 1; d < count; d++) {
        const Dim &a = at[to], &b = at[d];
        // Of a tensor without elements, strides may be anything, and the products wrap round.
        auto across = [&b](int64_t step) { return int64_t(uint64_t(step) * uint64_t(b.size)); };
        if (a.in == across(b.in) && a.out == across(b.out) && a.out2 == across(b.out2))
          at[to] = {a.size * b.size, b.in, b.out, b.out2};
        else
          at[++to] = b;
      }
      count = count ? to + 1 : 0;
      if (count == 0) at[count++] = {1, 0, 0, 0};
    }
    const Dim& last() const { return at[count - 1]; }
    // Where index `i` of all dimensions but the last lies.
    Dim offset_of(int64_t i) const {
      Dim sum{0, 0, 0, 0};
      for (int d = count - 2; d >= 0; d--) {
        const int64_t index = i % at[d].size;
        i /= at[d].size;
        sum.in += index * at[d].in;
        sum.out += index * at[d].out;
        sum.out2 += index * at[d].out2;
      }
      return sum;
    }
    int64_t outer_total() const { return last().size ? total / last().size : 0; }
  };
  Dims kept, reduced;

  ReducePlan(const ReduceInput& x, const int64_t* out, const int64_t* out2) {
    for (int d = 0; d < x.ndim; d++) {
      if (x.reduced >> d & 1)
        reduced.add({x.shape[d], x.strides[d], 0, 0});
      else
        kept.add({x.shape[d], x.strides[d], out ? out[d] : 0, out2 ? out2[d] : 0});
    }
    kept.settle();
    reduced.settle();
  }

  // Along the reduced dimension, where that is nearer in memory; but short runs are better taken
  // many at once.
  bool by_runs() const {
    const Dim &k = kept.last(), &r = reduced.last();
    if (r.size <= 16 && k.size >= 64) return false;
    return k.size == 1 || (r.size != 1 && r.in < k.in);
  }
};

constexpr int64_t kReduceChunk = 512;    // outputs computed together
constexpr int64_t kReduceGrain = 32768;  // elements that are worth a thread

// Cuts the work into tasks (a range of the last kept dimension each); when those are fewer than the
// threads that pay, also cuts the longest reduced dimension into `pieces`.
struct ReduceSchedule {
  const ReducePlan& plan;
  int64_t chunk, chunks, tasks, tasks_per_thread, pieces = 1, piece = 0;
  int split = 0;

  explicit ReduceSchedule(const ReducePlan& plan) : plan(plan) {
    const int64_t work = plan.kept.total * plan.reduced.total, width = plan.kept.last().size;
    const int64_t threads =
        in_parallel_region() ? 1 : std::clamp<int64_t>(work / kReduceGrain, 1, num_threads());
    const int64_t smallest = plan.by_runs() ? 1 : 64;
    // The columns of a tall matrix: threads take rows, which lie together.
    const bool tall = !plan.by_runs() && plan.kept.outer_total() == 1 && width > kReduceChunk / 2 &&
                      width <= 8 * kReduceChunk && plan.reduced.total >= 64 * threads;
    const int64_t sharing = tall ? 1 : threads;
    // As many chunks for one thread as for another.
    const int64_t each = (width + sharing * kReduceChunk - 1) / (sharing * kReduceChunk);
    const int64_t shares = std::max<int64_t>(1, sharing * each);
    chunk = std::clamp<int64_t>((width + shares - 1) / shares, smallest, kReduceChunk);
    chunks = (width + chunk - 1) / chunk;
    tasks = plan.kept.outer_total() * chunks;
    tasks_per_thread =
        std::max<int64_t>(1, kReduceGrain / std::max<int64_t>(1, plan.reduced.total * chunk));
    if ((tasks >= threads && !tall) || threads == 1) return;
    for (int d = 1; d < plan.reduced.count; d++)
      if (plan.reduced.at[d].size > plan.reduced.at[split].size) split = d;
    const int64_t size = plan.reduced.at[split].size,
                  wanted = std::min(tall ? threads : (threads + tasks - 1) / tasks, size);
    piece = (size + wanted - 1) / wanted;
    // Whole blocks, so that sums do not depend on how many threads share them more than they must.
    if (piece > 4096) piece = (piece + 1023) / 1024 * 1024;
    pieces = (size + piece - 1) / piece;
  }

  // The outputs of task `t`: how many there are and where the first lies.
  ReducePlan::Dim place(int64_t t) const {
    const ReducePlan::Dim at = plan.kept.offset_of(t / chunks), &last = plan.kept.last();
    const int64_t k = t % chunks * chunk;
    return {std::min(chunk, last.size - k), at.in + k * last.in, at.out + k * last.out,
            at.out2 + k * last.out2};
  }

  // Part `i` of pieces * tasks: the elements that it reduces, and the first one's offset.
  struct Piece {
    ReducePlan::Dims reduced;
    int64_t in, width;
  };
  Piece piece_of(int64_t i) const {
    const ReducePlan::Dim at = place(i % tasks);
    Piece part{plan.reduced, at.in, at.size};
    ReducePlan::Dim& cut = part.reduced.at[split];
    const int64_t from = i / tasks * piece, size = std::min(piece, cut.size - from);
    part.reduced.total = part.reduced.total / cut.size * size;
    part.in += from * cut.in;
    cut.size = size;
    return part;
  }
};

}  // namespace ember::cpu
