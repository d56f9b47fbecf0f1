// Recurrent layers: the part that goes step by step, whole sequences at once. What all steps have
// in common (the product with the input, the gradients of the weights) the op computes for all of
// them together.
#pragma once

#include <vector>

#include "backend.h"

namespace ember {

enum class Cell : uint8_t { Tanh, Relu, Lstm, Gru };
constexpr int gates_of(Cell cell) { return cell == Cell::Lstm ? 4 : cell == Cell::Gru ? 3 : 1; }

// Rows of all steps lie one after another, step t having sizes[t] of them; sizes never grow, and
// row i of a step belongs to sequence i. N sequences, `rows` in all, H units, P outputs (H unless
// there is a projection), G gates; in the order of PyTorch: input, forget, cell, output (LSTM);
// reset, update, new (GRU). Every tensor is contiguous, of one floating dtype.
struct Steps {
  Cell cell;
  bool reverse;  // from the last step to the first
  const std::vector<int64_t>& sizes;
};

struct RecurrentForward {
  Tensor gates;       // (rows, G H): what the input gives them; becomes their values
  Tensor weight;      // (G H, P): of the recurrence
  Tensor bias;        // (G H), may be undefined: added to the gates
  Tensor bias_h;      // (G H), GRU only, may be undefined: added to what the recurrence gives
  Tensor projection;  // (P, H), may be undefined
  Tensor h, c;        // (N, P), (N, H): states at the start, become those at the end; c: LSTM only
  Tensor y;           // (rows, P): h after each step
  Tensor before;      // (rows, H), may be undefined: c before each step
  Tensor before_h;    // (rows, P), may be undefined: h before each step
  Tensor hidden;      // (rows, H): LSTM's h before the projection; what GRU's reset gate multiplies
};

struct RecurrentBackward {
  // As the forward pass left them. gates, before: LSTM and GRU; before_h, hidden: GRU (LSTM's
  // hidden is not needed); y: the others.
  Tensor gates, weight, projection, y, before, before_h, hidden;
  Tensor dy;          // (rows, P)
  Tensor dh, dc;      // gradients of the last states, become those of the first
  Tensor dgates;      // (rows, G H): of what the input gives to the gates; may be `gates` itself
  Tensor dgates_h;    // (rows, G H), GRU only: of what the recurrence gives to them
  Tensor dbias;       // (1, G H), may be undefined: the sum of dgates' rows
  Tensor dbias_h;     // (1, G H), may be undefined: the sum of dgates_h's rows
  Tensor dprojected;  // (rows, P), with a projection only: of h after each step, from all sides
};

class RecurrentKernels {
 public:
  virtual ~RecurrentKernels() = default;
  virtual bool can(Dtype dtype) = 0;
  virtual void forward(const Steps& steps, const RecurrentForward& r) = 0;
  virtual void backward(const Steps& steps, const RecurrentBackward& r) = 0;
};

}  // namespace ember
