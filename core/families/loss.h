// Losses over classes, fused: log_softmax and the choice of the target in one pass, and the
// gradient in one pass. x is (N, C, S), contiguous, with classes in the middle; targets are int64
// (N, S). Weights of classes (C) may be undefined. Outputs are allocated.
#pragma once

#include "backend.h"

namespace ember {

struct ClassLoss {
  Tensor target, weight;
  int64_t ignored;   // a target that counts for nothing
  double smoothing;  // how much of each target is spread over all classes
};

class LossKernels {
 public:
  virtual ~LossKernels() = default;

  // loss (N, S): of each target, weighted; count (N, S): the weight of each target, 0 where it is
  // ignored. With `logsumexp` (N, S) defined, x are logits and it is filled; otherwise they are
  // log-probabilities. A target out of bounds is an IndexError.
  virtual void classes(const Tensor& loss, const Tensor& count, const Tensor& logsumexp,
                       const Tensor& x, const ClassLoss& l) = 0;
  // dx from g (N, S), the gradient of each loss.
  virtual void classes_grad(const Tensor& dx, const Tensor& g, const Tensor& logsumexp,
                            const Tensor& x, const ClassLoss& l) = 0;
};

}  // namespace ember
