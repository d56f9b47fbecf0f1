// Note [Overlap]
// A call that writes to a tensor of the user, by out= or in place, may find that tensor's memory
// among its operands. Ops need not think of it: by the time they run, nothing they read lies where
// they write, but for the cases that they allow. Those are in the forms of the op:
//   (none)      operands that share memory with the output are copied first
//   Aligned     each element is written after the elements at its place were read, so an operand
//               may be the output; anything else that surely overlaps is refused, as in PyTorch
//   Apart       every operand that surely overlaps is refused, but the one that is changed
// Where only the ranges of memory are known to meet (two columns of a matrix), the operand is
// copied. python/op_type.cpp sees to it for calls of ops; operators, assignment to parts of tensors
// and the few functions that are called by these come here by themselves.
#pragma once

#include "ops/ops.h"
#include "tensor/overlap.h"

namespace ember {

enum class Sharing : uint8_t { Copied, Aligned, Apart };
inline Sharing sharing_of(unsigned forms) {
  return forms & Aligned ? Sharing::Aligned : forms & Apart ? Sharing::Apart : Sharing::Copied;
}

[[noreturn]] void fail_overlap(const char* op);

// Must `in` be copied before `op` writes `out`? Raises where the op does not allow the overlap.
bool clashes(const char* op, const Tensor& out, const Tensor& in, Sharing sharing);

// `in`, or a copy of it, to be read while `op` writes `out`.
inline Tensor beside(const char* op, const Tensor& out, const Tensor& in, Sharing sharing) {
  if (__builtin_expect(!share_storage(out, in), 1)) return in;
  return clashes(op, out, in, sharing) ? clone(in) : in;
}

}  // namespace ember
