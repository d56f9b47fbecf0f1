// Operands and results as kernels know them: dense, of one dtype, contiguous or channels-last.
#pragma once

#include "backend.h"
#include "cpu/index_support.h"

namespace ember::cpu {

inline bool is_channels_last(const Tensor& t) {
  return !t.is_contiguous() && t.strides() == channels_last_strides(t.shape());
}

// The tensor itself if it is of that dtype and lies in memory as wanted, else a copy that does.
inline Tensor laid_out(const Tensor& t, Dtype dtype, const Shape& strides) {
  if (t.dtype() == dtype && t.strides() == strides) return t;
  Tensor copy = empty_strided(t.shape(), strides, dtype, t.device());
  backend_of(t).copy(copy, t);
  return copy;
}
inline Tensor laid_out(const Tensor& t, Dtype dtype, bool channels_last) {
  if (!t || !channels_last) return t ? dense(t, dtype) : t;
  return laid_out(t, dtype, channels_last_strides(t.shape()));
}

// Memory to write to in the place of `out`, which may be undefined: its own, if that is of this
// dtype and lies as wanted, or a buffer that store() copies there.
class Output {
 public:
  Output(const Tensor& out, Dtype dtype) : out_(out) {
    if (!out) return;
    const bool as_is = out.is_contiguous() && out.dtype() == dtype;
    memory_ = as_is ? out : empty(out.shape(), dtype, out.device());
  }
  Output(const Tensor& out, Dtype dtype, const Shape& strides) : out_(out) {
    if (!out) return;
    const bool as_is = out.strides() == strides && out.dtype() == dtype;
    memory_ = as_is ? out : empty_strided(out.shape(), strides, dtype, out.device());
  }
  Output(const Tensor& out, Dtype dtype, bool channels_last)
      : Output(out && channels_last ? Output(out, dtype, channels_last_strides(out.shape()))
                                    : Output(out, dtype)) {}
  template <class T = void>
  T* data() const {
    return memory_ ? static_cast<T*>(memory_.data()) : nullptr;
  }
  const Tensor& tensor() const { return memory_; }
  void store() const {
    if (memory_ && !memory_.same(out_)) backend_of(out_).copy(out_, memory_);
  }

 private:
  const Tensor& out_;
  Tensor memory_;
};

}  // namespace ember::cpu
