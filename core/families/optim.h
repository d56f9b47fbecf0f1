// Optimizer steps over whole lists of parameters, in one pass over memory.
#pragma once

#include <vector>

#include "backend.h"
#include "families/optim_steps.h"
#include "functions.h"

namespace ember {

// A row of the pointwise table for whole lists: entry i of `out` from entry i of each input. All
// are contiguous, of one dtype, and entries i of one shape. Numbers, one for all entries or one for
// each, are the last input if there is a list too few, else the row's parameter.
struct ListCall {
  int inputs;  // of the row: Unary, Binary, Ternary
  int row;
  const TensorList& out;
  const TensorList* lists[3];  // null: numbers
  std::vector<double> numbers;
};

// Entry i of each list belongs to parameter i: contiguous, of its size and (real, floating) dtype.
// Parameters share no memory. A list that a step does not use may be empty. `counts` are the
// numbers of this step, from 1. Half-precision values are widened, and rounded once, when they are
// written.
class OptimKernels {
 public:
  virtual ~OptimKernels() = default;
  // buffers: the running gradients, if there is momentum.
  virtual void sgd(const TensorList& params, const TensorList& grads, const TensorList& buffers,
                   const SgdStep& step) = 0;
  // Running means of the gradients and of their squares; the largest of the latter (amsgrad).
  virtual void adam(const TensorList& params, const TensorList& grads, const TensorList& means,
                    const TensorList& squares, const TensorList& largest,
                    const std::vector<double>& counts, const AdamStep& step) = 0;
  // means: of the gradients, if centered; buffers: if there is momentum.
  virtual void rmsprop(const TensorList& params, const TensorList& grads, const TensorList& squares,
                       const TensorList& means, const TensorList& buffers,
                       const RmspropStep& step) = 0;
  // sums: of the squared gradients.
  virtual void adagrad(const TensorList& params, const TensorList& grads, const TensorList& sums,
                       const std::vector<double>& counts, const AdagradStep& step) = 0;
  // False if there is no kernel for it; then nothing has happened.
  virtual bool pointwise(const ListCall&) { return false; }
};

}  // namespace ember
