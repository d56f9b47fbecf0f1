// Ops that return `self` with something changed, and their in-place and out= forms in one body:
//     Change c("index_fill", self, dest);
//     backend_of(self).index_put(c.out, ...);
//     if (!c.needs_grad(self, value)) return c.out;
//     return c.tape(wrt(self, ...), wrt(value, ...));
#pragma once

#include "ops/ops.h"

namespace ember {

// Hands a result over: as it is, or written to out=, which must have its dtype.
inline Tensor deliver(const char* op, Dest dest, Tensor result) {
  if (!dest.tensor) return result;
  const Tensor& out = *dest.tensor;
  check(out.dtype() == result.dtype(), Kind::Runtime, op, "(): Expected out tensor to have dtype ",
        result.dtype(), ", but got ", out.dtype(), " instead");
  check(!dest.keeps_shape || out.shape() == result.shape(), Kind::Runtime, op,
        "(): unsupported operation: the output has shape ", out.shape(), " instead of ",
        result.shape(), " and cannot be resized, as it shares memory with an operand. Please ",
        "clone() it before performing the operation.");
  copy_to_out(op, out, result);
  return out;
}

class Change {
 public:
  Change(const char* op, const Tensor& self, Dest dest,
         MemoryFormat format = MemoryFormat::Contiguous)
      : Change(op, self, dest, self.shape(), format) {}
  // `shape`: that of the result, to which self is broadcast; `format`: that of a new one.
  Change(const char* op, const Tensor& self, Dest dest, const Shape& shape,
         MemoryFormat format = MemoryFormat::Contiguous)
      : op_(op), dest_(dest) {
    NoGrad guard;
    if (dest.in_place) {
      check(self.shape() == shape, Kind::Runtime, op, "_(): output with shape ", self.shape(),
            " doesn't match the broadcast shape ", shape);
      out = self;
    } else if (dest.tensor) {
      out = output_for(op, dest, shape, self.dtype(), self.device());
      if (!out.same(self)) backend_of(out).copy(out, expand(self, shape));
    } else if (self.shape() == shape) {
      out = clone(self, format);
    } else {
      out = empty(shape, self.dtype(), self.device());
      backend_of(out).copy(out, expand(self, shape));
    }
  }
  ~Change() {
    if (dest_.tensor) bump_version(out);
  }
  Change(const Change&) = delete;

  template <class... T>
  bool needs_grad(const T&... inputs) const {
    return (!dest_.tensor || dest_.in_place) && grad_needed(inputs...);
  }
  // The first rule is the one for self.
  template <class... F>
  Tensor tape(Wrt<F>... w) {
    if (!dest_.in_place) return ember::tape(out, op_, std::move(w)...);
    bump_version(out);
    dest_.tensor = nullptr;
    tape_inplace(out, op_, std::move(w)...);
    return out;
  }

  Tensor out;

 private:
  const char* op_;
  Dest dest_;
};

}  // namespace ember
