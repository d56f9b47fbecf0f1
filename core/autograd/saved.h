// A tensor kept for the backward pass. It remembers the version of the tensor and refuses to hand out
// anything else; an output is kept without its node, or the graph would own itself.
#pragma once

#include "autograd/node.h"

namespace ember {

// pack/unpack hooks (autograd.graph.saved_tensors_hooks), one pair for each nested context.
struct SavedHooks {
  std::function<std::shared_ptr<void>(const Tensor&)> pack;
  std::function<Tensor(const std::shared_ptr<void>&)> unpack;
};
inline thread_local std::vector<std::shared_ptr<SavedHooks>> saved_hooks;
inline thread_local const char* saved_hooks_disabled = nullptr;  // the message to raise, if disabled
inline thread_local bool saved_something = false;  // since the last node was made (Node::has_saved)
inline thread_local Node* running_node = nullptr;  // whose rules are being applied

class Saved {
 public:
  Saved() = default;
  // An input of the op, or something computed on the way.
  explicit Saved(const Tensor& t) : Saved(t, false) {}
  static Saved output(const Tensor& t) { return Saved(t, true); }

  Tensor get() const;
  operator Tensor() const { return get(); }
  Tensor operator*() const { return get(); }
  bool defined() const { return tensor_.defined() || packed_; }

 private:
  struct Packed {
    std::shared_ptr<SavedHooks> hooks;
    std::shared_ptr<void> value;
  };
  Saved(const Tensor& t, bool output);
  Tensor tensor_;
  uint32_t version_ = 0;
  uint32_t output_nr_ = 0;
  bool output_ = false;
  std::shared_ptr<Packed> packed_;
};

}  // namespace ember
