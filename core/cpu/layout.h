// Tensors laid out for kernels that know two orders in memory: contiguous and channels-last.
#pragma once

#include "backend.h"
#include "cpu/index_support.h"

namespace ember::cpu {

inline bool is_channels_last(const Tensor& t) {
  return !t.is_contiguous() && t.strides() == channels_last_strides(t.shape());
}

// The tensor itself if it lies in memory as wanted, else a copy that does.
inline Tensor laid_out(const Tensor& t, Dtype dtype, bool channels_last) {
  if (!t || !channels_last) return t ? dense(t, dtype) : t;
  Shape strides = channels_last_strides(t.shape());
  if (t.dtype() == dtype && t.strides() == strides) return t;
  Tensor copy = empty_strided(t.shape(), strides, dtype, t.device());
  backend_of(t).copy(copy, t);
  return copy;
}

// Memory to write to in the place of `out`, which may be undefined: its own, or a buffer that
// store() copies there.
class Output {
 public:
  Output(const Tensor& out, Dtype dtype, bool channels_last) : out_(out) {
    if (!out) return;
    const bool as_is = channels_last ? is_channels_last(out) : out.is_contiguous();
    memory_ = as_is && out.dtype() == dtype
                  ? out
                  : empty_strided(out.shape(),
                                  channels_last ? channels_last_strides(out.shape())
                                                : contiguous_strides(out.shape()),
                                  dtype, out.device());
  }
  void* data() const { return memory_ ? memory_.data() : nullptr; }
  const Tensor& tensor() const { return memory_; }
  void store() const {
    if (memory_ && !memory_.same(out_)) backend_of(out_).copy(out_, memory_);
  }

 private:
  const Tensor& out_;
  Tensor memory_;
};

}  // namespace ember::cpu
