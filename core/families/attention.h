// Attention without the matrix of scores: blocks of keys, and a softmax that is corrected as larger
// scores come (Dao et al. 2022, arXiv:2205.14135).
#pragma once

#include "backend.h"

namespace ember {

struct AttentionOptions {
  Tensor mask;   // added to the scores: (B, H, L, S), repeated by strides of 0; or undefined
  bool causal;   // query i sees keys up to i
  double scale;  // of the scores, before the mask
};

class AttentionKernels {
 public:
  virtual ~AttentionKernels() = default;

  // out (B, H, L, D) = softmax(q k' * scale + mask) v, for q (B, H, L, E), k (B, G, S, E) and
  // v (B, G, S, D), where H is a multiple of G: neighbouring heads share keys. logsumexp (B, H, L)
  // is what backward() needs of the scores. A query that sees nothing gets zeros. Any strides.
  virtual void forward(const Tensor& out, const Tensor& logsumexp, const Tensor& q, const Tensor& k,
                       const Tensor& v, const AttentionOptions& options) = 0;
  virtual void backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& g,
                        const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                        const Tensor& logsumexp, const AttentionOptions& options) = 0;
};

}  // namespace ember
