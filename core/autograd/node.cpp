// Nodes, leaves, and what a tensor knows about its history.
#include "autograd/node.h"

#include "autograd/engine.h"
#include "autograd/tape.h"
#include "tensor/deferred.h"

#include <cctype>

namespace ember {

namespace {

thread_local uint64_t next_sequence = 0;

// Nodes waiting to be freed while another is being freed (Node::destroy), and tensors.
thread_local std::vector<Node*>* dying = nullptr;
thread_local std::vector<TensorImpl*>* dying_tensors = nullptr;

std::string camel_case(const char* op) {
  std::string out;
  bool upper = true;
  for (const char* p = op; *p; p++) {
    if (*p == '_' || *p == '.') {
      upper = true;
    } else {
      out += upper ? char(std::toupper(*p)) : *p;
      upper = false;
    }
  }
  return out;
}

// The end of the tape: adds what arrives to the leaf's .grad.
class Accumulate final : public Node, public Pooled<Accumulate> {
 public:
  using Pooled<Accumulate>::operator new;
  using Pooled<Accumulate>::operator delete;
  explicit Accumulate(Tensor leaf) : Node("accumulate"), leaf_(std::move(leaf)) {
    sequence = UINT64_MAX;  // as soon as possible, so that gradients do not pile up
    by_turns = false;       // accumulate_grad() sees to it, and hooks may wait for other threads
    describe_output(info, leaf_);
  }
  ~Accumulate() override {
    if (Autograd* a = leaf_.impl()->autograd; a && a->accumulator == this) a->accumulator = nullptr;
  }
  void apply(Grads& g, Grads&) override {
    // Hooks that run afterwards hold the gradient as well; as in torch they may see the sum.
    accumulate_grad(leaf_, std::move(g[0]), hooks && hooks->post ? 2 : 1);
  }
  std::string display_name() const override { return "AccumulateGrad"; }
  bool is_leaf() const override { return true; }
  const Tensor& leaf() const { return leaf_; }

 private:
  Tensor leaf_;
};

}  // namespace

Node::Node(const char* op) : sequence(next_sequence++), name(op), deferred(deferring) {}

Node::~Node() {
  if (hooks)
    for (auto& [nr, impl] : hooks->retain)
      if (impl->autograd) impl->autograd->retains_grad = false;
}

void Node::destroy() {
  if (host_object) return give_back_node(this);
  if (dying) {
    dying->push_back(this);
    return;
  }
  std::vector<Node*> queue;
  dying = &queue;
  delete this;
  while (!queue.empty()) {
    Node* next = queue.back();
    queue.pop_back();
    delete next;
  }
  dying = nullptr;
}

// "sum" is "SumBackward0", "sum#1" (another overload in torch) "SumBackward1".
std::string Node::display_name() const {
  std::string op = camel_case(name), overload = "0";
  if (op == "Square") op = "Pow";  // which it is in torch
  if (size_t mark = op.find('#'); mark != std::string::npos) {
    overload = op.substr(mark + 1);
    op.resize(mark);
  }
  return op + "Backward" + overload;
}

NodeHooks& Node::ensure_hooks() {
  if (!hooks) hooks = std::make_unique<NodeHooks>();
  return *hooks;
}

Autograd& ensure_autograd(const Tensor& t) {
  TensorImpl* impl = t.impl();
  if (!impl->autograd) impl->autograd = new Autograd;
  return *impl->autograd;
}

Edge gradient_edge(const Tensor& t) {
  if (!is_differentiable(t.dtype())) return {};
  if (const Ref<Node>& fn = grad_fn_of(t)) return {fn, t.impl()->autograd->output_nr};
  Autograd* a = t.impl()->autograd;
  if (!a || !a->requires_grad) return {};
  if (!a->accumulator) {
    Ref<Node> node(new Accumulate(t));
    a->accumulator = node.get();
    return {std::move(node), 0};
  }
  return {Ref<Node>(a->accumulator), 0};
}

const Tensor* leaf_of(const Node& node) {
  return node.is_leaf() ? &static_cast<const Accumulate&>(node).leaf() : nullptr;
}

void set_grad_fn(const Tensor& t, Ref<Node> node, uint32_t output_nr) {
  Autograd& a = ensure_autograd(t);
  a.grad_fn = std::move(node);
  a.output_nr = output_nr;
  t.impl()->view_version = t.version();
}

bool Tensor::is_leaf() const { return !grad_fn_of(*this); }

void set_requires_grad(const Tensor& t, bool on) {
  check(on || t.is_leaf() || !t.requires_grad(), Kind::Runtime,
        "you can only change requires_grad flags of leaf variables. If you want to use a computed "
        "variable in a "
        "subgraph that doesn't require differentiation use var_no_grad = var.detach().");
  check(!on || is_differentiable(t.dtype()), Kind::Runtime,
        "only Tensors of floating point dtype can require gradients, or of complex dtype; this one "
        "is ",
        t.dtype());
  check(!on || !t.impl()->inference || inference_mode(), Kind::Runtime,
        "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  if (!t.is_leaf()) return;
  if (on || t.impl()->autograd) ensure_autograd(t).requires_grad = on;
}

void retain_grad(const Tensor& t) {
  check(t.requires_grad(), Kind::Runtime,
        "can't retain_grad on Tensor that has requires_grad=False");
  if (t.is_leaf()) return;
  Autograd& a = ensure_autograd(t);
  if (a.retains_grad) return;
  a.retains_grad = true;
  a.grad_fn->ensure_hooks().retain.push_back({a.output_nr, t.impl()});
}

void forget_retained(Autograd& a, const TensorImpl* impl) {
  if (!a.retains_grad || !a.grad_fn || !a.grad_fn->hooks) return;
  auto& list = a.grad_fn->hooks->retain;
  std::erase_if(list, [&](auto& entry) { return entry.second == impl; });
}

// A chain of tensors, each the gradient of the one before or held by a hook of it, goes through
// their Autograds, so that is where it is cut. What waits must not be found by anybody any more.
void TensorImpl::destroy() {
  if (host_object) return give_back_to_host(this);
  if (__builtin_expect(storage && (storage->watch & kAwaited), 0)) deferred.forget(this);
  if (!autograd) {
    delete this;
    return;
  }
  forget_retained(*autograd, this);
  if (dying_tensors) {
    dying_tensors->push_back(this);
    return;
  }
  std::vector<TensorImpl*> queue;
  dying_tensors = &queue;
  for (TensorImpl* next = this;; queue.pop_back()) {
    delete next->autograd;
    delete next;
    if (queue.empty()) break;
    next = queue.back();
  }
  dying_tensors = nullptr;
}

Tensor detach(const Tensor& t) { return alias(t); }

void detach_in_place(const Tensor& t) {
  check(!t.is_view() || t.impl()->view_kind == ViewKind::None, Kind::Runtime,
        "Can't detach views in-place. Use detach() instead.");
  Autograd* a = t.impl()->autograd;
  if (!a) return;
  forget_retained(*a, t.impl());
  a->retains_grad = a->requires_grad = false;
  a->grad_fn = Ref<Node>();
  a->output_nr = 0;
}

void finish_node(Node& node) {
  node.has_saved = saved_something;
  saved_something = false;
  if (__builtin_expect(anomaly.enabled, 0) && host_traceback) {
    node.trace = std::make_shared<Trace>(Trace{host_traceback(), {}, {}});
    if (running_node) {
      node.trace->parent_name = running_node->display_name();
      node.trace->parent = running_node->trace;
    }
  }
}

void describe_output(OutputInfo& info, const Tensor& out) {
  info.shape = out.shape();
  info.dtype = out.dtype();
  info.device = out.device();
}

void fail_released(const Node& node) {
  fail(Kind::Runtime, node.display_name(),
       ": Trying to backward through the graph a second time (or directly access saved tensors "
       "after they have "
       "already been freed). Saved intermediate values of the graph are freed when you call "
       ".backward() or "
       "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a "
       "second time or if you "
       "need to access saved tensors after calling backward.");
}

}  // namespace ember
