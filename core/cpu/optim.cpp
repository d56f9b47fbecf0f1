// Shares the elements of all parameters out to threads as if they were one row, so that a few large
// ones among many small ones keep every thread busy.

#include <algorithm>

#include "cpu/cpu_backend.h"
#include "cpu/dispatch.h"
#include "cpu/kernels/optim_kernels.h"
#include "cpu/parallel.h"

namespace ember::cpu {

namespace {

constexpr int64_t kOptimGrain = 8192;

EMBER_TABLE_BY_LEVEL(OptimLoops, loops_here, optim_loops)

OptimType type_of(Dtype d) {
  switch (d) {
    case Dtype::Float32: return kOptimF32;
    case Dtype::Float64: return kOptimF64;
    case Dtype::BFloat16: return kOptimBF16;
    default: return kOptimF16;
  }
}

// One parameter and what belongs to it, as raw memory.
struct Item {
  char* rows[kOptimRows];
  int64_t end;  // elements of this parameter and of those before it
  int64_t bytes;
  OptimType type;
};

// Calls run(type, elements, rows, parameter) on stretches that together are all elements.
template <class F>
void over_all(const TensorList* const (&lists)[kOptimRows], F run) {
  const TensorList& params = *lists[0];
  std::vector<Item> items(params.size());
  int64_t total = 0;
  for (size_t i = 0; i < params.size(); i++) {
    Item& item = items[i];
    for (int r = 0; r < kOptimRows; r++)
      item.rows[r] = lists[r] && !lists[r]->empty() ? (*lists[r])[i].data<char>() : nullptr;
    item.end = total += params[i].numel();
    item.bytes = params[i].item_size();
    item.type = type_of(params[i].dtype());
  }
  parallel_for(total, kOptimGrain, [&](int64_t begin, int64_t end) {
    auto after = [](int64_t at, const Item& item) { return at < item.end; };
    size_t i = size_t(std::upper_bound(items.begin(), items.end(), begin, after) - items.begin());
    while (begin < end) {
      const Item& item = items[i];
      const int64_t start = i ? items[i - 1].end : 0, stop = std::min(end, item.end);
      void* rows[kOptimRows];
      for (int r = 0; r < kOptimRows; r++)
        rows[r] = item.rows[r] ? item.rows[r] + (begin - start) * item.bytes : nullptr;
      if (begin < stop) run(item.type, stop - begin, rows, i);
      begin = stop;
      i++;
    }
  });
}

}  // namespace

void CpuBackend::sgd(const TensorList& params, const TensorList& grads, const TensorList& buffers,
                     const SgdStep& step) {
  const auto& loops = loops_here().sgd;
  over_all({&params, &grads, &buffers},
           [&](OptimType type, int64_t n, OptimRows rows, size_t) { loops[type](n, rows, step); });
}
void CpuBackend::adam(const TensorList& params, const TensorList& grads, const TensorList& means,
                      const TensorList& squares, const TensorList& largest, const TensorList& steps,
                      const AdamStep& step) {
  const std::vector<double> counts = count_steps(steps);
  const auto& loops = loops_here().adam;
  over_all({&params, &grads, &means, &squares, &largest},
           [&](OptimType type, int64_t n, OptimRows rows, size_t i) {
             loops[type](n, rows, counts[i], step);
           });
}
void CpuBackend::rmsprop(const TensorList& params, const TensorList& grads,
                         const TensorList& squares, const TensorList& means,
                         const TensorList& buffers, const TensorList& steps,
                         const RmspropStep& step) {
  count_steps(steps);
  const auto& loops = loops_here().rmsprop;
  over_all({&params, &grads, &squares, &means, &buffers},
           [&](OptimType type, int64_t n, OptimRows rows, size_t) { loops[type](n, rows, step); });
}
void CpuBackend::adagrad(const TensorList& params, const TensorList& grads, const TensorList& sums,
                         const TensorList& steps, const AdagradStep& step) {
  const std::vector<double> counts = count_steps(steps);
  const auto& loops = loops_here().adagrad;
  over_all({&params, &grads, &sums}, [&](OptimType type, int64_t n, OptimRows rows, size_t i) {
    loops[type](n, rows, counts[i], step);
  });
}

}  // namespace ember::cpu
