// Runs generated kernels, and finds the row kernels that they call.
#include "cpu/fused.h"

#include <algorithm>
#include <vector>

#include "cpu/dispatch.h"
#include "cpu/parallel.h"

namespace ember::cpu {

void run_fused(FusedKernel kernel, const FusedItem* items, int64_t count, int64_t grain) {
  bool zero_division = false;
  std::vector<int64_t> ends(size_t(count), 0);
  int64_t total = 0;
  for (int64_t i = 0; i < count; i++) {
    items[i].words[0] = reinterpret_cast<int64_t>(&zero_division);
    ends[size_t(i)] = total += items[i].units;
  }
  parallel_for(total, grain, [&](int64_t begin, int64_t end) {
    auto at = std::upper_bound(ends.begin(), ends.end(), begin);
    for (int64_t i = at - ends.begin(); begin < end; i++) {
      const int64_t last = std::min(end, ends[size_t(i)]);
      const int64_t first = ends[size_t(i)] - items[i].units;
      if (begin < last) kernel(items[i].words, begin - first, last - first);
      begin = std::max(begin, last);
    }
  });
  check(!zero_division, Kind::Runtime, "ZeroDivisionError");
}

namespace {

template <class K>
RowKernel found(const K (&row)[kColumns], Dtype compute) {
  const Dtype native = native_of(row, compute);
  return {reinterpret_cast<void*>(row[int(native)]), native};
}

}  // namespace

RowKernel row_kernel(Unary f, Dtype d) { return found(kernels().unary[int(f)], d); }
RowKernel row_grad_kernel(Unary f, Dtype d) { return found(kernels().unary_grad[int(f)], d); }
RowKernel row_kernel(Predicate f, Dtype d) { return found(kernels().predicate[int(f)], d); }
RowKernel row_kernel(Binary f, Dtype d) { return found(kernels().binary[int(f)], d); }
RowKernel row_kernel(Compare f, Dtype d) { return found(kernels().compare[int(f)], d); }
RowKernel row_kernel(Ternary f, Dtype d) { return found(kernels().ternary[int(f)], d); }

}  // namespace ember::cpu
