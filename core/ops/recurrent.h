// One direction of one recurrent layer; recurrent.cpp stacks them.
#pragma once

#include "backend.h"
#include "ops/ops.h"

namespace ember {

struct LayerWeights {
  Tensor ih, hh, b_ih, b_hh, hr;  // biases and the projection may be undefined
};
struct LayerResult {
  Tensor y, h, c;  // outputs of all steps, states after the last; c: LSTM only
};

// x (rows, features): the rows of all steps one after another (families/recurrent.h).
LayerResult run_layer(const char* op, Cell cell, const Tensor& x, const std::vector<int64_t>& sizes,
                      const Tensor& h, const Tensor& c, const LayerWeights& w, bool reverse);

}  // namespace ember
