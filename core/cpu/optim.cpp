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
  OptimLoop loop;
};

}  // namespace

void CpuBackend::update(Update f, const TensorList& params, const TensorList& grads,
                        const TensorList& state, const TensorList& scalars,
                        const std::vector<double>& options) {
  const UpdateRow& row = row_of(f);
  const size_t count = params.size();
  const std::vector<double> numbers = step_numbers(f, count, scalars, options);
  int given = 0;
  for (size_t k = 0; k < row.sometimes.size(); k++)
    if (state[(row.state.size() + k) * count]) given |= 1 << k;
  std::vector<Item> items(count);
  int64_t total = 0;
  for (size_t i = 0; i < count; i++) {
    Item& item = items[i];
    item = {};
    item.rows[0] = params[i].data<char>();
    item.rows[1] = grads[i].data<char>();
    for (size_t k = 0; k < row.lists(); k++)
      if (const Tensor& t = state[k * count + i]) item.rows[k + 2] = t.data<char>();
    item.end = total += params[i].numel();
    item.bytes = params[i].item_size();
    item.loop = loops_here()[int(f)][given][type_of(params[i].dtype())];
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
      if (begin < stop) item.loop(stop - begin, rows, &numbers[i * row.numbers.size()]);
      begin = stop;
      i++;
    }
  });
}

}  // namespace ember::cpu
