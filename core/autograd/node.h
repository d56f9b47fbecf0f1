// The tape's data: a node per differentiable op, edges to the nodes of its inputs, and what a
// tensor carries about its own gradient. How nodes are made is in tape.h, how they are run in
// engine.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "autograd/grad_mode.h"
#include "tensor/tensor.h"

namespace ember {

// A short list kept inline up to N entries.
template <class T, int N>
class Few {
 public:
  Few() = default;
  explicit Few(size_t n) { resize(n); }
  Few(Few&& o) noexcept : size_(o.size_), more_(std::move(o.more_)) {
    if (size_ <= N)
      for (size_t i = 0; i < size_; i++) first_[i] = std::move(o.first_[i]);
    o.size_ = 0;
  }
  Few& operator=(Few&& o) noexcept {
    size_ = o.size_;
    more_ = std::move(o.more_);
    for (int i = 0; i < N; i++) first_[i] = std::move(o.first_[i]);
    o.size_ = 0;
    return *this;
  }
  void resize(size_t n) {
    if (n > N && !more_) {
      more_ = std::make_unique<std::vector<T>>(n);
      for (size_t i = 0; i < size_; i++) (*more_)[i] = std::move(first_[i]);
    } else if (more_) {
      more_->resize(n);
    }
    size_ = n;
  }
  size_t size() const { return size_; }
  T* begin() { return more_ ? more_->data() : first_; }
  T* end() { return begin() + size_; }
  const T* begin() const { return more_ ? more_->data() : first_; }
  const T* end() const { return begin() + size_; }
  T& operator[](size_t i) { return begin()[i]; }
  const T& operator[](size_t i) const { return begin()[i]; }

 private:
  T first_[N];
  size_t size_ = 0;
  std::unique_ptr<std::vector<T>> more_;
};

class Node;
using Grads = Few<Tensor, 3>;

inline bool any_defined(const Grads& g) {
  for (const Tensor& t : g)
    if (t) return true;
  return false;
}

struct Edge {
  Ref<Node> node;
  uint32_t nr = 0;  // which output of that node's op
};

// What a gradient that arrives for an output must look like.
struct OutputInfo {
  Shape shape;
  Dtype dtype = Dtype::Float32;
  Device device;
};

// Hooks of one kind on one thing, kept and called by the host language (python/hooks.cpp).
class HookList {
 public:
  virtual ~HookList() = default;
  virtual void on_tensor(Tensor& g) = 0;              // may replace the gradient
  virtual void before(Grads& g) = 0;                  // may replace what arrived at a node
  virtual void after(Grads& dx, const Grads& g) = 0;  // may replace what a node computed
  virtual void accumulated(const Tensor& leaf) = 0;
};

// Hooks are rare; a node or tensor without them pays for one null pointer.
struct NodeHooks {
  std::vector<std::pair<uint32_t, std::unique_ptr<HookList>>> tensor;  // for one output each
  std::unique_ptr<HookList> pre, post;
  std::vector<std::pair<uint32_t, TensorImpl*>> retain;  // retain_grad(): outputs that want .grad
};

// Where an op was called, in anomaly mode; `parent` is the node whose backward made the call.
struct Trace {
  std::string text;
  std::string parent_name;
  std::shared_ptr<Trace> parent;
};

// What one thread at a time may do, though kernels give up the host's lock (TakeTurn, engine.cpp).
struct Turn {
  const void* thread = nullptr;  // whose turn it is
  uint32_t forks = 0;            // when it took its turn: a child does not wait for its parent's
};

class Node {
 public:
  std::atomic<uint32_t> refs{0};
  bool has_saved = false;  // keeps tensors, so it can run only once unless the graph is retained
  bool released = false;
  bool release_later = false;  // a pass inside one of its own rules was done with it
  bool by_turns = true;        // its rules run for one thread at a time: Note [Passes], engine.cpp
  uint64_t sequence;           // later nodes run first
  const char* name;            // of the op, e.g. "mul"
  Few<Edge, 3> edges;          // one per rule; no node where no gradient is needed
  OutputInfo info;             // of output 0
  std::vector<OutputInfo> more;  // of outputs 1, 2 ...
  std::unique_ptr<NodeHooks> hooks;
  void* host_object = nullptr;  // the Python object, while there is one
  bool host_owned = false;      // the Python object survives only through us (python/node_type.cpp)
  bool deferred = false;        // made in a region, so its rules run in one (tensor/deferred.h)
  uint32_t slot = 0;  // index of the node's state in the pass that has claimed it (engine.cpp)
  int64_t pass = -1;  // by its number: in a forked child, an address could come again
  Turn turn;
  Node* inside = nullptr;  // the CopySlices around it, if it changed a view in place (views.cpp)
  std::shared_ptr<Trace> trace;

  explicit Node(const char* op);
  virtual ~Node();
  // Gradients of the inputs from those of the outputs (undefined where none arrived).
  virtual void apply(Grads& g, Grads& dx) = 0;
  // Drops what was saved for the backward pass.
  virtual void release() {}
  virtual std::string display_name() const;  // "MulBackward0"
  virtual bool is_leaf() const { return false; }
  // The history of the op's output as a rule sees it: the node itself, unless `inside` says
  // otherwise.
  virtual Ref<Node> output_history() { return inside ? inside->output_history() : Ref<Node>(this); }

  size_t outputs() const { return 1 + more.size(); }
  const OutputInfo& output_info(uint32_t nr) const { return nr == 0 ? info : more[nr - 1]; }
  NodeHooks& ensure_hooks();
  void destroy();  // iterative: a chain of a million nodes does not overflow the stack
};

// As give_back_to_host, for a node.
inline void (*give_back_node)(Node*) = nullptr;

// What a tensor carries about its gradient.
struct Autograd final : Pooled<Autograd> {
  Tensor grad;
  Ref<Node> grad_fn;
  uint32_t output_nr = 0;
  bool requires_grad = false;  // for leaves; others follow from grad_fn
  bool retains_grad = false;
  Node* accumulator = nullptr;           // the leaf's node, while some graph holds it
  Turn turn;                             // of the thread that is adding to `grad`
  std::unique_ptr<HookList> leaf_hooks;  // of a leaf's gradient; they survive the accumulator
  std::unique_ptr<HookList> post_accumulate;
};

Autograd& ensure_autograd(const Tensor& t);
// The node whose output `t` is, brought up to date if `t` is a view whose base was changed in
// place.
const Ref<Node>& grad_fn_of(const Tensor& t);
// Where the gradient of `t` goes: its node, or the accumulator of a leaf, or nowhere.
Edge gradient_edge(const Tensor& t);
// What is wrong with changing a view of this kind in place (or its base, while the view has a
// history).
[[noreturn]] void fail_view(const Tensor& view, bool itself);
void set_grad_fn(const Tensor& t, Ref<Node> node, uint32_t output_nr = 0);
void set_requires_grad(const Tensor& t, bool on);
void retain_grad(const Tensor& t);
// A tensor that dies (or gets a new node) no longer wants a gradient from its node.
void forget_retained(Autograd& a, const TensorImpl* impl);
Tensor detach(const Tensor& t);
void detach_in_place(const Tensor& t);

// A view requires a gradient if its base does, even one made without recording, as in torch.
inline bool Tensor::requires_grad() const {
  auto marked = [](const Autograd* a) { return a && (a->requires_grad || a->grad_fn); };
  if (marked(impl_->autograd)) return true;
  return impl_->base && impl_->view_kind != ViewKind::None && marked(impl_->base->autograd) &&
         is_differentiable(impl_->dtype);
}

inline bool takes_part(const Tensor& t) {
  return t.defined() && t.requires_grad() && is_differentiable(t.dtype()) && !t.impl()->inference &&
         !(grad_mode.only_made && t.is_leaf());
}
inline bool grad_needed() { return false; }
template <class... More>
bool grad_needed(const Tensor& t, const More&... more) {
  return grad_enabled() && (takes_part(t) || grad_needed(more...));
}
inline bool grad_needed(const TensorList& list) {
  for (const Tensor& t : list)
    if (grad_needed(t)) return true;
  return false;
}
inline bool grad_needed(const Operand& o) { return o.is_tensor() && grad_needed(o.tensor()); }
inline bool grad_needed(const Operand& a, const Operand& b) {
  return grad_needed(a) || grad_needed(b);
}

// Anomaly mode: remember where each op was called.
struct Anomaly {
  bool enabled = false;
  bool check_nan = true;
};
inline Anomaly anomaly;
inline std::string (*host_traceback)() = nullptr;
// Warns; an error of the host that is on its way stays so.
inline void (*host_warn)(const std::string& message) = nullptr;

}  // namespace ember
