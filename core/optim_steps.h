// The numbers of one optimizer step, plain enough for kernel files to include.
#pragma once

namespace ember {

struct SgdStep {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
  bool first;  // the buffers have no values yet: they become the gradients
};

struct AdamStep {
  double lr, beta1, beta2, eps, weight_decay;
  bool decoupled;  // the parameters decay, not the gradients
  bool amsgrad, maximize;
};

struct RmspropStep {
  double lr, alpha, eps, weight_decay, momentum;
  bool centered, maximize;
};

struct AdagradStep {
  double lr, lr_decay, eps, weight_decay;
  bool maximize;
};

}  // namespace ember
