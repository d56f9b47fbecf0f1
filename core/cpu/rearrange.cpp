// Elements to other places, as they are: cat and flip.
#include <algorithm>

#include "cpu/index.h"
#include "cpu/parallel.h"
#include "cpu/pointwise.h"

namespace ember::cpu {

void join(const Tensor& out, const TensorList& parts, int dim) {
  int64_t outer = 1;
  for (int d = 0; d < dim; d++) outer *= out.shape()[d];
  bool plain = outer > 1 && out.is_contiguous() && out.numel();
  for (const Tensor& t : parts) plain = plain && t.is_contiguous() && t.dtype() == out.dtype();
  if (!plain) {
    int64_t at = 0;
    for (const Tensor& t : parts) {
      copy(t.dim(), t.shape().data(),
           {out.data<char>() + at * out.strides()[dim] * out.item_size(), out.dtype(),
            out.strides().data()},
           {t.data(), t.dtype(), t.strides().data()});
      at += t.shape()[dim];
    }
    return;
  }
  // Row after row, so that the output is written once from front to back.
  struct Run {
    const char* data;
    int64_t bytes, at;
  };
  std::vector<Run> runs;
  int64_t row = 0;
  for (const Tensor& t : parts) {
    int64_t bytes = t.numel() / outer * t.item_size();
    if (bytes) runs.push_back({t.data<char>(), bytes, row});
    row += bytes;
  }
  parallel_for(outer, std::max<int64_t>(1, 4 * kGrain / row), [&](int64_t begin, int64_t end) {
    char* to = out.data<char>() + begin * row;
    for (int64_t r = begin; r < end; r++, to += row)
      for (const Run& run : runs) {
        const char* from = run.data + r * run.bytes;
        if (run.bytes == 4)
          __builtin_memcpy(to + run.at, from, 4);
        else if (run.bytes == 8)
          __builtin_memcpy(to + run.at, from, 8);
        else
          __builtin_memcpy(to + run.at, from, size_t(run.bytes));
      }
  });
}

void flip(const Tensor& out, const Tensor& x, const Shape& dims) {
  // A copy from the last element backwards. Negative strides exist only here.
  Shape strides = x.strides();
  char* from = x.data<char>();
  if (x.numel() == 0) return;
  for (int64_t d : dims) {
    from += (x.shape()[d] - 1) * strides[d] * x.item_size();
    strides[d] = -strides[d];
  }
  copy(out.dim(), out.shape().data(), {out.data(), out.dtype(), out.strides().data()},
       {from, x.dtype(), strides.data()});
}

}  // namespace ember::cpu
