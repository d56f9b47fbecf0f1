// Running the tape backwards.
#pragma once

#include "autograd/node.h"

namespace ember {

// The few tensor operations the engine itself needs; ops/grad_support.cpp provides them (ops stand above
// autograd, so they cannot be called by name from here).
struct EngineOps {
  Tensor (*add)(const Tensor& a, const Tensor& b);
  void (*add_inplace)(const Tensor& a, const Tensor& b);
  Tensor (*sum_to)(const Tensor& t, const Shape& shape);
  Tensor (*cast)(const Tensor& t, Dtype dtype);
  Tensor (*clone_like)(const Tensor& t, const Tensor& like);  // a copy in the layout of `like`
  Tensor (*ones_like)(const Tensor& t);
  Tensor (*zeros)(const OutputInfo& info);
  bool (*any_nan)(const Tensor& t);
  // Note [In-place on views], node.cpp: a gradient in its base's layout; the part under a view; and the rest
  // with that part replaced.
  Tensor (*base_like)(const Tensor& g, const Shape& shape, const Shape& strides);
  Tensor (*take_slice)(const Tensor& g, int64_t base_offset, const Shape& shape, const Shape& strides, int64_t offset);
  Tensor (*put_slice)(const Tensor& g, int64_t base_offset, const Shape& shape, const Shape& strides, int64_t offset,
                      const Tensor& part);
  Tensor (*strided_grad)(const Tensor& g, const Shape& base_shape, const Shape& base_strides, int64_t base_offset,
                         const Shape& shape, const Shape& strides, int64_t offset);
};
inline EngineOps engine_ops;

struct BackwardCall {
  std::vector<Edge> roots;
  std::vector<Tensor> grads;           // one per root
  bool keep_graph = false;
  bool create_graph = false;           // record the backward pass itself
  std::vector<Edge> inputs;            // if any: only what leads to these is run
  bool accumulate = true;              // into .grad of `inputs`, instead of returning
};

// Runs the tape; returns the gradients of `inputs` (undefined where none arrived) unless they accumulate.
std::vector<Tensor> run_backward(BackwardCall call);
// Adds `g` to the .grad of a leaf, taking the memory of `g` if nobody else has it.
void accumulate_grad(const Tensor& leaf, Tensor g);
// The leaf that an accumulator node belongs to, or null.
const Tensor* leaf_of(const Node& node);
// The node running on this thread, if any.
Node* current_node();
// Calls `f` when the outermost backward pass on this thread is done.
void queue_callback(std::function<void()> f);
bool backward_running();

}  // namespace ember
