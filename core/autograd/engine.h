// Running the tape backwards.
#pragma once

#include "autograd/node.h"

namespace ember {

// Which elements of a storage a tensor consists of.
struct Geometry {
  Shape shape, strides;
  int64_t offset;
  Dtype dtype;
  explicit Geometry(const Tensor& t)
      : shape(t.shape()), strides(t.strides()), offset(t.offset()), dtype(t.dtype()) {}
};

// The few tensor operations the engine itself needs; ops/grad_support.cpp provides them (ops stand
// above autograd, so they cannot be called by name from here).
struct EngineOps {
  Tensor (*add)(const Tensor& a, const Tensor& b);
  void (*add_inplace)(const Tensor& a, const Tensor& b);
  Tensor (*sum_to)(const Tensor& t, const Shape& shape);
  Tensor (*cast)(const Tensor& t, Dtype dtype);
  Tensor (*clone_like)(const Tensor& t, const Tensor& like);  // a copy in the layout of `like`
  Tensor (*ones_like)(const Tensor& t);
  Tensor (*zeros)(const OutputInfo& info);
  bool (*any_nan)(const Tensor& t);
  // A base's gradient and that of a view of it: the part under the view; the whole with that part
  // replaced (by zeros if undefined; in the memory of `whole` if it is `ours`); and the whole that
  // is 0 but for that part.
  Tensor (*region_take)(const Tensor& whole, const Geometry& base, const Geometry& view);
  Tensor (*region_put)(Tensor whole, const Geometry& base, const Geometry& view, const Tensor& part,
                       bool ours);
  Tensor (*region_grad)(const Tensor& part, const Geometry& base, const Geometry& view);
};
inline EngineOps engine_ops;
// Whether a leaf's .grad lies in memory as the leaf does; else as the gradient came.
inline bool grad_layout_follows = true;

// A kind of device whose tensors stand for objects of the host that carry out ops themselves
// (python/wrappers.cpp). Such a gradient may arrive at a leaf of any device, and any other one at
// such a tensor, for which it is lifted.
inline uint8_t wrapper_kind = 255;
inline Tensor (*lift_to_wrapper)(const Tensor&) = nullptr;

struct BackwardCall {
  std::vector<Edge> roots;
  std::vector<Tensor> grads;  // one per root
  bool keep_graph = false;
  bool create_graph = false;  // record the backward pass itself
  std::vector<Edge> inputs;   // if any: only what leads to these is run
  bool accumulate = true;     // into .grad of `inputs`, instead of returning
};

// Runs the tape; returns the gradients of `inputs` (undefined where none arrived) unless they
// accumulate.
std::vector<Tensor> run_backward(BackwardCall call);
// Adds `g` to the .grad of a leaf, taking the memory of `g` if nobody else has it.
// `holders`: how many references to the gradient may be there for it to become .grad itself.
void accumulate_grad(const Tensor& leaf, Tensor g, uint32_t holders = 1);
// The leaf that an accumulator node belongs to, or null.
const Tensor* leaf_of(const Node& node);
// The node running on this thread, if any.
Node* current_node();
// Calls `f` when the backward pass that runs on this thread is done.
void queue_callback(std::function<void()> f);
// The number of the pass running on this thread, -1 outside; and whether that pass will run `node`.
int64_t current_pass();
bool will_run(Node* node);

}  // namespace ember
