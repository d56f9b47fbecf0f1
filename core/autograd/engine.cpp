// The engine: runs nodes in reverse order of their making, on the calling thread, without recursion.
// It, not the rules, sums gradients, reduces them to the shape of what they are for and casts them.
#include "autograd/engine.h"

#include <algorithm>

#include "autograd/saved.h"

namespace ember {

namespace {

// Everything about one node in one backward pass. Passes on other threads have tables of their own.
struct State {
  Node* node = nullptr;
  int64_t dependencies = 0;
  int32_t first_capture = -1;  // index into Pass::captures
  bool needed = true;          // some wanted gradient depends on it
  bool leads = true;           // and lies beyond it, so its rules must run
  Grads grads;
};

// Node -> index of its state: open addressing, as most graphs are small and every nanosecond counts.
class NodeTable {
 public:
  NodeTable() : slots_(64, Slot{nullptr, 0}) {}
  // Index of the node's state; `fresh` tells whether it was added now.
  size_t find_or_add(Node* node, bool& fresh) {
    if (2 * (states.size() + 1) > slots_.size()) grow();
    size_t i = locate(node);
    fresh = !slots_[i].node;
    if (fresh) {
      slots_[i] = {node, uint32_t(states.size())};
      states.emplace_back();
      states.back().node = node;
    }
    return slots_[i].index;
  }
  State* find(Node* node) {
    Slot& s = slots_[locate(node)];
    return s.node ? &states[s.index] : nullptr;
  }
  std::vector<State> states;

 private:
  struct Slot {
    Node* node;
    uint32_t index;
  };
  size_t locate(Node* node) const {
    size_t mask = slots_.size() - 1;
    size_t i = (reinterpret_cast<uintptr_t>(node) >> 4) * 0x9e3779b97f4a7c15ull >> 20 & mask;
    while (slots_[i].node && slots_[i].node != node) i = (i + 1) & mask;
    return i;
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 4, Slot{nullptr, 0});
    old.swap(slots_);
    for (const Slot& s : old)
      if (s.node) slots_[locate(s.node)] = s;
  }
  std::vector<Slot> slots_;
};

struct Capture {
  uint32_t nr;
  int32_t next;     // another capture at the same node
  size_t position;  // in the result
};

thread_local int depth = 0;
thread_local std::vector<std::function<void()>> callbacks;

class Pass {
 public:
  explicit Pass(BackwardCall& call) : call_(call), result_(call.inputs.size()) {}

  std::vector<Tensor> run() {
    count_dependencies();
    if (!call_.inputs.empty()) find_needed();
    for (size_t i = 0; i < call_.roots.size(); i++)
      if (call_.roots[i].node) deliver(call_.roots[i], std::move(call_.grads[i]), nullptr);
    for (State& s : table_.states)
      if (s.dependencies == 0) push(s.node);
    while (!ready_.empty()) {
      std::pop_heap(ready_.begin(), ready_.end(), later_last);
      Node* node = ready_.back();
      ready_.pop_back();
      run_node(*table_.find(node));
    }
    return std::move(result_);
  }

 private:
  static bool later_last(const Node* a, const Node* b) { return a->sequence < b->sequence; }
  void push(Node* node) {
    ready_.push_back(node);
    std::push_heap(ready_.begin(), ready_.end(), later_last);
  }

  void count_dependencies() {
    std::vector<Node*> stack;
    auto visit = [&](Node* node, bool is_root) {
      bool fresh;
      size_t i = table_.find_or_add(node, fresh);
      if (!is_root) table_.states[i].dependencies++;
      if (fresh) stack.push_back(node);
    };
    for (const Edge& root : call_.roots)
      if (root.node) visit(root.node.get(), true);
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      for (const Edge& e : node->edges)
        if (e.node) visit(e.node.get(), false);
    }
  }

  // Marks the nodes from which one of the wanted inputs can be reached.
  void find_needed() {
    for (State& s : table_.states) s.needed = s.leads = false;
    for (size_t i = 0; i < call_.inputs.size(); i++) {
      const Edge& e = call_.inputs[i];
      State* s = e.node ? table_.find(e.node.get()) : nullptr;
      if (!s) continue;
      captures_.push_back({e.nr, s->first_capture, i});
      s->first_capture = int32_t(captures_.size() - 1);
    }
    // Depth first; a node is judged when all its successors are.
    std::vector<std::pair<Node*, size_t>> stack;
    std::vector<bool> seen(table_.states.size());
    auto index = [&](Node* n) { return size_t(table_.find(n) - table_.states.data()); };
    auto enter = [&](Node* n) {
      size_t i = index(n);
      if (seen[i]) return;
      seen[i] = true;
      stack.push_back({n, 0});
    };
    for (const Edge& root : call_.roots) {
      if (!root.node) continue;
      enter(root.node.get());
      while (!stack.empty()) {
        auto& [node, at] = stack.back();
        if (at < node->edges.size()) {
          Node* next = node->edges[at++].node.get();
          if (next) enter(next);
          continue;
        }
        State& s = *table_.find(node);
        for (const Edge& e : node->edges)
          if (e.node && table_.find(e.node.get())->needed) s.leads = true;
        s.needed = s.leads || s.first_capture >= 0;
        stack.pop_back();
      }
    }
  }

  // Adds a gradient to what has arrived for an output of a node.
  void deliver(const Edge& to, Tensor g, const Node* from) {
    State& s = *table_.find(to.node.get());
    if (!g || !s.needed) return;
    fit(g, s.node->output_info(to.nr), from);
    if (s.grads.size() == 0) s.grads.resize(s.node->outputs());
    Tensor& slot = s.grads[to.nr];
    if (!slot) {
      slot = std::move(g);
      return;
    }
    // Add in place when the sum so far is ours alone and the addition need not be recorded.
    bool ours = !grad_enabled() && slot.impl()->refs == 1 && slot.storage()->refs == 1 && !has_internal_overlap(slot);
    if (ours)
      engine_ops.add_inplace(slot, g);
    else
      slot = engine_ops.add(slot, g);
  }

  static void fit(Tensor& g, const OutputInfo& info, const Node* from) {
    if (!(g.shape() == info.shape)) {
      bool reducible = g.dim() >= info.shape.size();
      for (int i = 1; reducible && i <= info.shape.size(); i++) {
        int64_t have = g.size(-i), want = info.shape[info.shape.size() - i];
        reducible = have == want || want == 1;
      }
      check(reducible, Kind::Runtime, "Function ", from ? from->display_name() : "backward",
            " returned an invalid gradient: got ", g.shape(), " but expected shape compatible with ", info.shape);
      g = engine_ops.sum_to(g, info.shape);
    }
    if (g.dtype() != info.dtype) {
      check(is_differentiable(g.dtype()), Kind::Runtime, "Function ", from ? from->display_name() : "backward",
            " returned a gradient of dtype ", g.dtype(), "; expected ", info.dtype);
      g = engine_ops.cast(g, info.dtype);
    }
    check(g.device().kind == info.device.kind, Kind::Runtime, "Function ", from ? from->display_name() : "backward",
          " returned a gradient on device ", g.device(), " but expected device ", info.device);
  }

  static void run_tensor_hooks(NodeHooks& hooks, Grads& grads) {
    for (size_t i = 0; i < hooks.tensor.size(); i++) {
      auto hook = hooks.tensor[i];  // a copy: the hook may remove itself
      if (hook.nr >= grads.size() || !grads[hook.nr]) continue;
      if (Tensor replaced = hook.call(grads[hook.nr])) grads[hook.nr] = std::move(replaced);
    }
    for (size_t i = 0; i < hooks.pre.size(); i++) {
      auto hook = hooks.pre[i];
      hook.call(grads);
    }
    for (auto& [nr, impl] : hooks.retain) {
      if (!grads[nr]) continue;
      Tensor t{Ref<TensorImpl>(impl)};
      Tensor& grad = ensure_autograd(t).grad;
      grad = !grad ? grads[nr] : engine_ops.add(grad, grads[nr]);
    }
  }

  void run_node(State& s) {
    Node& node = *s.node;
    Grads g = std::move(s.grads);
    bool any = false;
    if (g.size() == 0) g.resize(node.outputs());
    for (const Tensor& t : g) any = any || t.defined();
    if (any && s.needed) {
      if (node.is_leaf())
        if (auto& hooks = leaf_of(node)->impl()->autograd->leaf_hooks) run_tensor_hooks(*hooks, g);
      if (node.hooks) run_tensor_hooks(*node.hooks, g);
      for (int32_t c = s.first_capture; c >= 0; c = captures_[size_t(c)].next)
        result_[captures_[size_t(c)].position] = g[captures_[size_t(c)].nr];
      bool runs = node.is_leaf() ? call_.accumulate : s.leads;
      if (runs) return apply(node, g);
    }
    satisfy(node);
  }

  // The node did not run: its successors must not wait for it.
  void satisfy(Node& node) {
    for (const Edge& e : node.edges)
      if (e.node) arrived(e.node.get());
  }
  void arrived(Node* node) {
    if (--table_.find(node)->dependencies == 0) push(node);
  }

  void apply(Node& node, Grads& g) {
    Grads dx(node.edges.size());
    Grads kept;
    bool post = node.hooks && !node.hooks->post.empty();
    if (post) {
      kept.resize(g.size());
      for (size_t i = 0; i < g.size(); i++) kept[i] = g[i];
    }
    Node* outer = std::exchange(running_node, &node);
    Ref<Node> alive(&node);
    try {
      node.apply(g, dx);
    } catch (...) {
      running_node = outer;
      if (node.forward_trace && host_warn)
        host_warn("Error detected in " + node.display_name() + ". Traceback of forward call that caused the error:\n" +
                  *node.forward_trace);
      throw;
    }
    running_node = outer;
    if (!call_.keep_graph) node.release();
    if (post)
      for (size_t i = 0; i < node.hooks->post.size(); i++) {
        auto hook = node.hooks->post[i];
        hook.call(dx, kept);
      }
    if (__builtin_expect(anomaly.enabled && anomaly.check_nan, 0)) check_nan(node, dx);
    for (Tensor& t : g) t = Tensor();  // so that a gradient on its way to a leaf is ours alone
    for (size_t i = 0; i < node.edges.size(); i++) {
      const Edge& e = node.edges[i];
      if (!e.node) continue;
      deliver(e, std::move(dx[i]), &node);
      arrived(e.node.get());
    }
  }

  static void check_nan(Node& node, const Grads& dx) {
    for (size_t i = 0; i < dx.size(); i++) {
      if (!dx[i] || !engine_ops.any_nan(dx[i])) continue;
      if (node.forward_trace && host_warn)
        host_warn("Error detected in " + node.display_name() + ". Traceback of forward call that caused the error:\n" +
                  *node.forward_trace);
      fail(Kind::Runtime, "Function '", node.display_name(), "' returned nan values in its ", i, "th output.");
    }
  }

  BackwardCall& call_;
  std::vector<Tensor> result_;
  std::vector<Capture> captures_;
  NodeTable table_;
  std::vector<Node*> ready_;
};

}  // namespace

std::vector<Tensor> run_backward(BackwardCall call) {
  GradGuard guard(call.create_graph);
  depth++;
  std::vector<Tensor> result;
  try {
    Pass pass(call);
    result = pass.run();
  } catch (...) {
    if (--depth == 0) callbacks.clear();
    throw;
  }
  if (--depth == 0) {
    auto queued = std::exchange(callbacks, {});
    for (auto& f : queued) f();
  }
  return result;
}

void accumulate_grad(const Tensor& leaf, Tensor g) {
  if (!g) return;
  Autograd& a = ensure_autograd(leaf);
  if (!a.grad) {
    bool ours = !grad_enabled() && g.impl()->refs == 1 && g.storage()->refs == 1 && g.strides() == leaf.strides() &&
                !g.storage()->release;
    a.grad = ours ? std::move(g) : engine_ops.clone_like(g, leaf);
  } else if (grad_enabled()) {
    a.grad = engine_ops.add(a.grad, g);
  } else {
    engine_ops.add_inplace(a.grad, g);
  }
  for (size_t i = 0; i < a.post_accumulate.size(); i++) {
    auto hook = a.post_accumulate[i].second;
    hook(leaf);
  }
}

Node* current_node() { return running_node; }
void queue_callback(std::function<void()> f) { callbacks.push_back(std::move(f)); }
bool backward_running() { return depth > 0; }

}  // namespace ember
