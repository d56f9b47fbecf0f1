// The engine: runs nodes in reverse order of their making, on the calling thread, without
// recursion. It, not the rules, sums gradients, reduces them to the shape of what they are for and
// casts them.
//
// Note [Passes]
// A pass finds a node's state by an index that it keeps in the node itself. A node can belong to
// several passes at once: one may run inside a rule or hook of another, or on another thread while
// a kernel runs there. The first pass to reach a node claims it (Node::pass); others keep the node
// in a table of their own. The host's lock is given up only inside kernels, so none of this needs
// atomics. The rules of a node run for one thread at a time (TakeTurn): a pass that does not retain
// the graph drops them afterwards, which must not happen under the feet of another.
#include "autograd/engine.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <unordered_map>

#include "autograd/saved.h"
#include "profile.h"
#include "runtime.h"
#include "tensor/deferred.h"
#include "tensor/rehearsed.h"
#include "tensor/sparse.h"

namespace ember {

namespace {

// Everything about one node in one backward pass.
struct State {
  Node* node;
  uint32_t dependencies = 0;
  int32_t first_capture = -1;  // index into Work::captures
  bool needed = true;          // some wanted gradient depends on it
  bool leads = true;           // and lies beyond it, so its rules must run
  bool seen = false;
  Grads grads;
  explicit State(Node* n) : node(n) {}
};

struct Capture {
  uint32_t nr;
  int32_t next;     // another capture at the same node
  size_t position;  // in the result
};

uint32_t forks = 0;
[[maybe_unused]] const int counts_forks = pthread_atfork(nullptr, nullptr, [] { forks++; });

// Waits until no other thread has the turn. The kernels of the one that has it may let us run. A
// thread may take it again within its own, and threads that a fork left behind have none.
class TakeTurn {
 public:
  explicit TakeTurn(Turn& turn) : turn_(turn) {
    while (__builtin_expect(turn.thread && turn.thread != me() && turn.forks == forks, 0)) {
      Unlocked others(true);
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    before_ = std::exchange(turn, {me(), forks});
    if (before_.forks != forks) before_ = {};
  }
  ~TakeTurn() { turn_ = before_; }
  TakeTurn(const TakeTurn&) = delete;
  TakeTurn& operator=(const TakeTurn&) = delete;
  bool again() const { return before_.thread; }

 private:
  static const void* me() { return &running_node; }  // an address that no other thread has
  Turn& turn_;
  Turn before_;
};

// The memory of a pass, kept for the next one of the thread.
struct Work {
  std::vector<State> states;
  std::vector<Node*> ready, stack;
  std::vector<std::pair<Node*, size_t>> path;
  std::vector<Capture> captures;
  std::vector<std::function<void()>> callbacks;
  std::unordered_map<Node*, uint32_t> shared;  // states of nodes that another pass has claimed

  void clear() {
    constexpr size_t kMostKept = 4096;
    bool small = states.capacity() <= kMostKept;
    if (!small) *this = Work();  // do not sit on the memory of a huge graph
    states.clear();
    ready.clear();
    captures.clear();
    callbacks.clear();
    if (!shared.empty()) shared.clear();
  }
};
thread_local std::vector<std::unique_ptr<Work>> spare_work;

class Pass;
thread_local Pass* running_pass = nullptr;
int64_t passes_started = 0;

std::string forward_traces(const Node& node) {
  std::string text = "Error detected in " + node.display_name() + ".";
  if (!node.trace)
    return text +
           " No forward pass information available. Enable detect anomaly during forward pass for "
           "more information.";
  text += " Traceback of forward call that caused the error:\n" + node.trace->text;
  for (const Trace* t = node.trace.get(); !t->parent_name.empty(); t = t->parent.get()) {
    text += "\n\nPrevious calculation was induced by " + t->parent_name + ".";
    if (!t->parent) return text + " No forward pass information available.";
    text += " Traceback of forward call that induced the previous calculation:\n" + t->parent->text;
  }
  return text;
}

class Pass {
 public:
  explicit Pass(BackwardCall& call)
      : call_(call), result_(call.inputs.size()), outer_(running_pass), id_(passes_started++) {
    if (spare_work.empty()) {
      work_ = std::make_unique<Work>();
    } else {
      work_ = std::move(spare_work.back());
      spare_work.pop_back();
    }
    running_pass = this;
  }
  ~Pass() {
    running_pass = outer_;
    for (State& s : work_->states)
      if (s.node->pass == id_) s.node->pass = -1;
    work_->clear();
    spare_work.push_back(std::move(work_));
  }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  std::vector<Tensor> run() {
    count_dependencies();
    if (!call_.inputs.empty()) find_needed();
    // What was made in a region runs in one.
    if (std::none_of(work_->states.begin(), work_->states.end(),
                     [](const State& s) { return s.node->deferred; })) {
      run_nodes();
    } else {
      DeferredRegion region;
      run_nodes();
      region.close();
    }
    return std::move(result_);
  }

  int64_t id() const { return id_; }
  std::vector<std::function<void()>>& callbacks() { return work_->callbacks; }
  bool will_run(Node* node) {
    State* s = find(node);
    return s && (node->is_leaf() ? s->needed && call_.accumulate : s->leads);
  }

 private:
  void run_nodes() {
    for (size_t i = 0; i < call_.roots.size(); i++)
      deliver(call_.roots[i], std::move(call_.grads[i]), nullptr);
    for (const Edge& root : call_.roots) {
      State& s = state_of(root.node.get());
      if (s.dependencies == 0 && !std::exchange(s.seen, true)) push(s.node);
    }
    while (!work_->ready.empty()) run_node(pop());
    auto queued = std::move(work_->callbacks);
    for (size_t i = 0; i < queued.size(); i++) {
      queued[i]();
      for (auto& f : std::exchange(work_->callbacks, {})) queued.push_back(std::move(f));
    }
  }

  // --- states: Note [Passes] ---
  State* find(Node* node) {
    if (__builtin_expect(node->pass == id_, 1)) return &work_->states[node->slot];
    auto it = work_->shared.find(node);
    return it == work_->shared.end() ? nullptr : &work_->states[it->second];
  }
  State& state_of(Node* node) { return *find(node); }
  State& add(Node* node, bool& fresh) {
    State* s = find(node);
    fresh = !s;
    if (s) return *s;
    auto slot = uint32_t(work_->states.size());
    if (node->pass < 0) {
      node->pass = id_;
      node->slot = slot;
    } else {
      work_->shared.emplace(node, slot);
    }
    return work_->states.emplace_back(node);
  }

  // --- the queue: of the nodes that wait for nothing, the one made last runs first ---
  static bool later_last(const Node* a, const Node* b) { return a->sequence < b->sequence; }
  void push(Node* node) {
    work_->ready.push_back(node);
    std::push_heap(work_->ready.begin(), work_->ready.end(), later_last);
  }
  Node* pop() {
    std::pop_heap(work_->ready.begin(), work_->ready.end(), later_last);
    Node* node = work_->ready.back();
    work_->ready.pop_back();
    return node;
  }
  void arrived(State& s) {
    if (--s.dependencies == 0) push(s.node);
  }

  void count_dependencies() {
    std::vector<Node*>& stack = work_->stack;
    bool fresh;
    for (const Edge& root : call_.roots) {
      add(root.node.get(), fresh);
      if (fresh) stack.push_back(root.node.get());
    }
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      for (const Edge& e : node->edges) {
        if (!e.node) continue;
        add(e.node.get(), fresh).dependencies++;
        if (fresh) stack.push_back(e.node.get());
      }
    }
  }

  // Marks the nodes from which one of the wanted inputs can be reached.
  void find_needed() {
    for (State& s : work_->states) s.needed = s.leads = false;
    for (size_t i = 0; i < call_.inputs.size(); i++) {
      const Edge& e = call_.inputs[i];
      State* s = e.node ? find(e.node.get()) : nullptr;
      if (!s) continue;
      work_->captures.push_back({e.nr, s->first_capture, i});
      s->first_capture = int32_t(work_->captures.size() - 1);
    }
    // Depth first; a node is judged when all its successors are.
    auto& path = work_->path;
    path.clear();
    auto enter = [&](Node* n) {
      if (!std::exchange(state_of(n).seen, true)) path.push_back({n, 0});
    };
    for (const Edge& root : call_.roots) {
      enter(root.node.get());
      while (!path.empty()) {
        auto& [node, at] = path.back();
        if (at < node->edges.size()) {
          if (Node* next = node->edges[at++].node.get()) enter(next);
          continue;
        }
        State& s = state_of(node);
        for (const Edge& e : node->edges)
          if (e.node && state_of(e.node.get()).needed) s.leads = true;
        s.needed = s.leads || s.first_capture >= 0;
        path.pop_back();
      }
    }
    for (State& s : work_->states) s.seen = false;
  }

  // Adds a gradient to what has arrived for an output of a node; returns the node's state.
  State& deliver(const Edge& to, Tensor g, const Node* from, size_t position = 0) {
    State* s = find(to.node.get());
    if (!g || !s->needed) return *s;
    // Rules know dense gradients only; that of a leaf may stay sparse.
    if (is_sparse(g) && !(s->node->is_leaf() && g.shape() == s->node->info.shape &&
                          g.dtype() == s->node->info.dtype))
      g = sparse_to_dense(g);
    fit(g, s->node->output_info(to.nr), from, position);
    if (s->grads.size() == 0) s->grads.resize(s->node->outputs());
    Tensor& slot = s->grads[to.nr];
    if (!slot) {
      slot = std::move(g);
      return *s;
    }
    if (is_sparse(slot) || is_sparse(g)) {
      slot = sparse_add(slot, g, false);
      return *s;
    }
    // Add in place when the sum so far is ours alone and the addition need not be recorded.
    bool ours = !grad_enabled() && slot.impl()->refs == 1 && slot.storage()->refs == 1 &&
                !slot.storage()->release && !has_internal_overlap(slot);
    if (ours)
      engine_ops.add_inplace(slot, g);
    else
      slot = engine_ops.add(slot, g);
    return *s;
  }

  static void fit(Tensor& g, const OutputInfo& info, const Node* from, size_t position) {
    if (__builtin_expect(!(g.shape() == info.shape), 0)) {
      bool reducible = g.dim() >= info.shape.size();
      for (int i = 1; reducible && i <= info.shape.size(); i++) {
        int64_t have = g.size(-i), want = info.shape[info.shape.size() - i];
        reducible = have == want || want == 1;
      }
      if (!reducible)
        misfit(from, position, "got ", g.shape(), " but expected shape compatible with ",
               info.shape);
      g = engine_ops.sum_to(g, info.shape);
    }
    if (__builtin_expect(g.dtype() != info.dtype, 0)) g = engine_ops.cast(g, info.dtype);
    if (__builtin_expect(g.device().kind != info.device.kind, 0) && !is_sparse(g)) {
      if (info.device.kind == wrapper_kind)
        g = lift_to_wrapper(g);
      else if (g.device().kind != wrapper_kind)
        misfit(from, position, "expected device ", info.device, " but got ", g.device());
    }
  }
  template <class... Parts>
  [[noreturn]] static void misfit(const Node* from, size_t position, const Parts&... parts) {
    fail(Kind::Runtime, "Function ", from ? from->display_name() : "backward",
         " returned an invalid gradient at index ", position, " - ", parts...);
  }

  // As in torch: hooks on tensors in the order of their registration, then retain_grad.
  static void run_tensor_hooks(Node& node, Grads& g) {
    if (node.is_leaf())
      if (auto& hooks = leaf_of(node)->impl()->autograd->leaf_hooks) hooks->on_tensor(g[0]);
    if (!node.hooks) return;
    for (size_t i = 0; i < node.hooks->tensor.size(); i++)
      node.hooks->tensor[i].second->on_tensor(g[node.hooks->tensor[i].first]);
    // Other threads may ask for more gradients, or drop them, while a kernel adds.
    for (size_t i = 0; i < node.hooks->retain.size(); i++) {
      auto [nr, impl] = node.hooks->retain[i];
      if (!g[nr]) continue;
      Tensor t{Ref<TensorImpl>(impl)};
      Tensor before = ensure_autograd(t).grad;
      Tensor sum = !before ? g[nr] : engine_ops.add(before, g[nr]);
      ensure_autograd(t).grad = std::move(sum);
    }
  }

  void run_node(Node* node) {
    State& s = state_of(node);
    Grads g = std::move(s.grads);
    bool runs = false;
    if (s.needed) {
      if (g.size() == 0) g.resize(node->outputs());
      runs = node->is_leaf() ? call_.accumulate : s.leads;
      // As in torch: a gradient on its way through a node is captured as it arrived, one that ends
      // here after hooks.
      if (runs) capture(s, g);
      if (node->hooks || node->is_leaf()) run_tensor_hooks(*node, g);
      if (!runs) {
        capture(s, g);
        // backward(inputs=) asks the node itself; autograd.grad() asks for what arrives there.
        if (call_.accumulate && node->hooks && node->hooks->pre) node->hooks->pre->before(g);
      }
    }
    if (runs) return apply(*node, g);
    // The node does not run: its successors must not wait for it.
    for (const Edge& e : node->edges)
      if (e.node) arrived(state_of(e.node.get()));
  }

  void capture(const State& s, const Grads& g) {
    for (int32_t c = s.first_capture; c >= 0; c = work_->captures[size_t(c)].next)
      result_[work_->captures[size_t(c)].position] = g[work_->captures[size_t(c)].nr];
  }

  void apply(Node& node, Grads& g) {
    Grads dx(node.edges.size());
    Node* outer = std::exchange(running_node, &node);
    Node* outer_ending = std::exchange(ending_node, call_.keep_graph ? nullptr : &node);
    profile::Span span;
    if (profile::on()) span.begin(node.display_name(), profile::Kind::Backward);
    try {
      if (__builtin_expect(bool(node.hooks), 0)) {
        apply_with_hooks(node, g, dx);
      } else {
        apply_rules(node, g, dx, !call_.keep_graph);
        if (__builtin_expect(bool(node.hooks), 0)) run_late_hooks(node, g.size(), dx);
      }
      if (__builtin_expect(anomaly.enabled && anomaly.check_nan, 0)) check_nan(node, dx);
    } catch (...) {
      running_node = outer;
      ending_node = outer_ending;
      if (anomaly.enabled && host_warn) host_warn(forward_traces(node));
      throw;
    }
    running_node = outer;
    ending_node = outer_ending;
    g = Grads();  // so that a gradient on its way to a leaf is ours alone
    for (size_t i = 0; i < node.edges.size(); i++) {
      const Edge& e = node.edges[i];
      if (e.node) arrived(deliver(e, std::move(dx[i]), &node, i));
    }
  }

  static void apply_rules(Node& node, Grads& g, Grads& dx, bool last) {
    if (!node.by_turns) {
      node.apply(g, dx);
      if (last) node.release();
      return;
    }
    TakeTurn turn(node.turn);
    node.apply(g, dx);
    release(node, turn, last);
  }
  static void release(Node& node, const TakeTurn& turn, bool last) {
    if (__builtin_expect(turn.again(), 0))
      node.release_later |= last;
    else if (last || node.release_later)
      node.release();
  }

  void apply_with_hooks(Node& node, Grads& g, Grads& dx) {
    if (node.hooks->pre) node.hooks->pre->before(g);
    if (!node.hooks->post) return apply_rules(node, g, dx, !call_.keep_graph);
    Grads kept(g.size());
    for (size_t i = 0; i < g.size(); i++) kept[i] = g[i];
    apply_rules(node, g, dx, false);
    node.hooks->post->after(dx, kept);
    TakeTurn turn(node.turn);  // hooks still find what was saved
    release(node, turn, !call_.keep_graph);
  }

  // Hooks that came while the rules ran: what arrived is gone, as in torch.
  static void run_late_hooks(Node& node, size_t outputs, Grads& dx) {
    if (node.hooks->post) node.hooks->post->after(dx, Grads(outputs));
  }

  static void check_nan(Node& node, const Grads& dx) {
    for (size_t i = 0; i < dx.size(); i++)
      if (dx[i] && engine_ops.any_nan(is_sparse(dx[i]) ? sparse_to_dense(dx[i]) : dx[i]))
        fail(Kind::Runtime, "Function '", node.display_name(), "' returned nan values in its ", i,
             "th output.");
  }

  BackwardCall& call_;
  std::vector<Tensor> result_;
  std::unique_ptr<Work> work_;
  Pass* outer_;
  int64_t id_;
};

}  // namespace

std::vector<Tensor> run_backward(BackwardCall call) {
  GradGuard guard(call.create_graph);
  Pass pass(call);
  return pass.run();
}

void accumulate_grad(const Tensor& leaf, Tensor g, uint32_t holders) {
  Autograd& a = ensure_autograd(leaf);
  if (__builtin_expect(rehearsed.graded != nullptr, 0)) rehearsed.graded(leaf);
  if (g) {
    check(g.shape() == leaf.shape(), Kind::Runtime, "a gradient of shape ", g.shape(),
          " arrived at a leaf that has shape ", leaf.shape(), " since set_() changed it");
    TakeTurn turn(a.turn);   // a sum over several threads must not lose a part
    Tensor before = a.grad;  // ours, should another thread set .grad while a kernel adds
    if (is_sparse(g) || (before && is_sparse(before))) {
      a.grad = sparse_add(before, g, !grad_enabled());
    } else if (!before) {
      bool ours = !grad_enabled() && g.impl()->refs <= holders && g.storage()->refs == 1 &&
                  (g.strides() == leaf.strides() || !grad_layout_follows) && !g.storage()->release;
      a.grad = ours ? std::move(g) : engine_ops.clone_like(g, grad_layout_follows ? leaf : g);
    } else if (grad_enabled()) {
      a.grad = engine_ops.add(before, g);
    } else {
      engine_ops.add_inplace(before, g);
    }
  }
  if (a.post_accumulate) a.post_accumulate->accumulated(leaf);
}

Node* current_node() { return running_node; }
int64_t current_pass() { return running_pass ? running_pass->id() : -1; }
bool will_run(Node* node) {
  check(running_pass, Kind::Runtime,
        "_will_engine_execute_node(): only valid while a backward pass runs");
  return running_pass->will_run(node);
}
void queue_callback(std::function<void()> f) {
  check(running_pass, Kind::Runtime, "Final callbacks can only be installed during backward pass.");
  running_pass->callbacks().push_back(std::move(f));
}

}  // namespace ember
