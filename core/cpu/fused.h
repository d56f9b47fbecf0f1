// Kernels that were generated while the program runs (ember/compiler): how they are called, and the
// row kernels that they call in turn.
//
// A kernel is `void kernel(int64_t* words, int64_t begin, int64_t end)`: it does the units begin ..
// end - 1 of its work. The words are the address of a flag for integer divisions by zero, the
// pointers of its tensors, and whatever else it was generated to read: sizes, strides, numbers,
// addresses of row kernels (docs/compile.md).
#pragma once

#include "functions.h"
#include "tensor/dtype.h"

namespace ember::cpu {

using FusedKernel = void (*)(void* words, int64_t begin, int64_t end);

struct FusedItem {
  int64_t* words;
  int64_t units;
};
// Shares the units of all items out to ember's threads, pieces of at least `grain`.
void run_fused(FusedKernel kernel, const FusedItem* items, int64_t count, int64_t grain);

// The kernel of a row for contiguous elements (kernels/table.h), and the dtype it computes in when
// asked for `compute`; no address if there is none.
struct RowKernel {
  void* address = nullptr;
  Dtype native = Dtype::Float32;
};
RowKernel row_kernel(Unary f, Dtype compute);
RowKernel row_grad_kernel(Unary f, Dtype compute);
RowKernel row_kernel(Predicate f, Dtype compute);
RowKernel row_kernel(Binary f, Dtype compute);
RowKernel row_kernel(Compare f, Dtype compute);
RowKernel row_kernel(Ternary f, Dtype compute);

}  // namespace ember::cpu
