// Type promotion: the dtype in which operands meet, by PyTorch's rules.
#pragma once

#include <initializer_list>

#include "tensor/tensor.h"

namespace ember {

Dtype promote(Dtype a, Dtype b);
// The complex dtype with parts of dtype `d`, which has to be floating or complex itself.
Dtype complex_type(Dtype d);

// Tensors with dimensions decide; 0-d tensors, and then numbers, only if they are of a higher
// category (bool < integer < floating < complex).
class Promotion {
 public:
  void add(const Tensor& t) {
    if (t.dim() > 0)
      join(tensors_, t.dtype());
    else
      join(zero_dim_, t.dtype());
  }
  void add(const Scalar& s) { join(numbers_, dtype_of_scalar(s)); }
  void add(const Operand& o) {
    if (o.is_tensor())
      add(o.tensor());
    else
      add(o.scalar());
  }
  Dtype result() const;

 private:
  using Maybe = int;  // a Dtype, or -1
  static void join(Maybe& into, Dtype d) {
    into = into < 0 ? int(d) : int(promote(Dtype(into), d));
  }
  Maybe tensors_ = -1, zero_dim_ = -1, numbers_ = -1;
};

inline Dtype result_type(const Operand& a, const Operand& b) {
  Promotion p;
  p.add(a);
  p.add(b);
  return p.result();
}
Dtype result_type(const TensorList& tensors);
// May a value of dtype `from` be written to an output of dtype `to`?
bool can_cast(Dtype from, Dtype to);

}  // namespace ember
