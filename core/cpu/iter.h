// Drives contiguous kernels over strided, broadcast, mixed-dtype operands. Plans once: drops axes
// of one element, sorts axes by the output's strides, merges what can be walked as one; then works
// in tiles that fit the L1 cache. Operands that are contiguous in a tile and of the kernel's type
// are used where they lie; the others are gathered and converted into scratch memory, and the
// result is scattered likewise.
#pragma once

#include <cstdint>

#include "cpu/kernels/table.h"
#include "tensor/dtype.h"

namespace ember::cpu {

constexpr int kMaxDims = 64;
constexpr int kMaxOperands = 4;

// The output comes first.
struct Strided {
  char* data;
  Dtype dtype;             // in memory
  Dtype native;            // in the kernel
  const int64_t* strides;  // in elements
};

// A kernel of one, two or three inputs.
struct Kernel {
  int inputs;
  union {
    Kernel1 one;
    Kernel2 two;
    Kernel3 three;
  };
  const Params* params;
  Kernel2 number =
      nullptr;  // the same for a second input of one element, if there is such a kernel

  Kernel(Kernel1 k, const Params& p) : inputs(1), one(k), params(&p) {}
  Kernel(Kernel2 k, const Params& p) : inputs(2), two(k), params(&p) {}
  Kernel(Kernel3 k, const Params& p) : inputs(3), three(k), params(&p) {}

  void operator()(char* const* at, int64_t n) const {
    if (inputs == 1)
      one(at[1], at[0], n, *params);
    else if (inputs == 2)
      two(at[1], at[2], at[0], n, *params);
    else
      three(at[1], at[2], at[3], at[0], n, *params);
  }
};

void run(const Kernel& call, int ndim, const int64_t* shape, const Strided* operands);
void run_copy(int ndim, const int64_t* shape, const Strided& out, const Strided& x);

// True if elements lie one after another in the order of the axes.
inline bool is_dense(int ndim, const int64_t* shape, const int64_t* strides) {
  int64_t expected = 1;
  for (int d = ndim - 1; d >= 0; d--) {
    if (shape[d] == 1) continue;
    if (strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}
inline int64_t element_count(int ndim, const int64_t* shape) {
  int64_t n = 1;
  for (int d = 0; d < ndim; d++) n *= shape[d];
  return n;
}

}  // namespace ember::cpu
