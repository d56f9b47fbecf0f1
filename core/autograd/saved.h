// A tensor kept for the backward pass. It remembers the version of the tensor and refuses to hand
// out anything else; an output is kept without its node, or the graph would own itself.
#pragma once

#include "autograd/node.h"

namespace ember {

// pack/unpack hooks of the host (autograd.graph.saved_tensors_hooks); the innermost pair counts.
class SavedHooks {
 public:
  std::atomic<uint32_t> refs{0};
  Ref<SavedHooks> outer;
  virtual ~SavedHooks() = default;
  virtual void* pack(const Tensor& t) = 0;  // an object of the host, owned by the caller
  virtual Tensor unpack(void* value) = 0;
  virtual void drop(void* value) = 0;
  void destroy() { delete this; }
};
EMBER_FAST_TLS inline thread_local SavedHooks* saved_hooks =
    nullptr;  // counted by hand (python/saved_hooks.cpp)
EMBER_FAST_TLS inline thread_local bool saved_something =
    false;  // since the last node was made (Node::has_saved)
EMBER_FAST_TLS inline thread_local Node* running_node = nullptr;  // whose rules are being applied
EMBER_FAST_TLS inline thread_local Node* ending_node =
    nullptr;  // the running node, if what it saved is dropped afterwards

class Saved {
 public:
  Saved() = default;
  // An input of the op, or something computed on the way.
  explicit Saved(const Tensor& t) : Saved(t, false, 0) {}
  // A number as a tensor: nobody else sees it, so neither versions nor hooks matter.
  static Saved constant(Tensor t) {
    Saved s;
    s.tensor_ = std::move(t);
    saved_something = true;
    return s;
  }
  // Output `nr` of the op.
  static Saved output(const Tensor& t, uint32_t nr = 0) { return Saved(t, true, nr); }

  // An output has its node as history where rules are recorded; `history`: wherever.
  Tensor get(bool history = false) const;
  operator Tensor() const { return get(); }
  Tensor operator*() const { return get(); }
  bool defined() const { return tensor_.defined() || packed_; }
  // May a rule write over it? Its node has no other use for it, and nobody else has it.
  bool expendable() const;

 private:
  struct Packed {
    std::atomic<uint32_t> refs{0};
    Ref<SavedHooks> hooks;
    void* value = nullptr;
    ~Packed() { hooks->drop(value); }
    void destroy() { delete this; }
  };
  Saved(const Tensor& t, bool output, uint32_t nr);
  void pack(const Tensor& t);
  Tensor with_history(const Tensor& t, bool history) const;
  Tensor tensor_;
  Ref<Packed> packed_;
  uint32_t version_ = 0;
  uint32_t output_nr_ = 0;
  bool output_ = false;
};

}  // namespace ember
