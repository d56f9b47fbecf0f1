// Whether ops are put on the tape: per thread, as torch.no_grad and torch.inference_mode do.
#pragma once

#include "tensor/mode.h"

namespace ember {

// Inference mode beats enable_grad: what is made in it cannot be recorded.
inline bool grad_enabled() { return grad_mode.enabled && !grad_mode.inference; }
inline bool inference_mode() { return grad_mode.inference; }

// Sets whether gradients are recorded until the end of the scope.
class GradGuard {
 public:
  explicit GradGuard(bool enabled) : before_(grad_mode.enabled) { grad_mode.enabled = enabled; }
  ~GradGuard() { grad_mode.enabled = before_; }
  GradGuard(const GradGuard&) = delete;
  GradGuard& operator=(const GradGuard&) = delete;

 private:
  bool before_;
};
struct NoGrad : GradGuard {
  NoGrad() : GradGuard(false) {}
};

}  // namespace ember
