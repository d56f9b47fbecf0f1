// Nodes, leaves, and what a tensor knows about its history.
#include "autograd/node.h"

#include "autograd/engine.h"
#include "autograd/tape.h"

#include <cctype>

namespace ember {

namespace {

thread_local uint64_t next_sequence = 0;

// Nodes waiting to be freed while another is being freed (Node::destroy).
thread_local std::vector<Node*>* dying = nullptr;

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
    describe_output(info, leaf_);
  }
  ~Accumulate() override {
    if (Autograd* a = leaf_.impl()->autograd; a && a->accumulator == this) a->accumulator = nullptr;
  }
  void apply(Grads& g, Grads&) override { accumulate_grad(leaf_, std::move(g[0])); }
  std::string display_name() const override { return "AccumulateGrad"; }
  bool is_leaf() const override { return true; }
  const Tensor& leaf() const { return leaf_; }

 private:
  Tensor leaf_;
};

}  // namespace

Node::Node(const char* op) : sequence(next_sequence++), name(op) {}

Node::~Node() {
  if (hooks)
    for (auto& [nr, impl] : hooks->retain)
      if (impl->autograd) impl->autograd->retains_grad = false;
  if (host_object) drop_host_node(this);
}

void Node::destroy() {
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

std::string Node::display_name() const { return camel_case(name) + "Backward0"; }

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
  a.view_version = t.version();
}

bool Tensor::is_leaf() const { return !grad_fn_of(*this); }

void set_requires_grad(const Tensor& t, bool on) {
  check(on || t.is_leaf() || !t.requires_grad(), Kind::Runtime,
        "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
        "subgraph that doesn't require differentiation use var_no_grad = var.detach().");
  check(!on || is_differentiable(t.dtype()), Kind::Runtime,
        "only Tensors of floating point and complex dtype can require gradients, this one is ", t.dtype());
  check(!on || !t.impl()->inference || inference_mode(), Kind::Runtime,
        "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  if (!t.is_leaf()) return;
  if (on || t.impl()->autograd) ensure_autograd(t).requires_grad = on;
}

void retain_grad(const Tensor& t) {
  check(t.requires_grad(), Kind::Runtime, "can't retain_grad on Tensor that has requires_grad=False");
  if (t.is_leaf()) return;
  Autograd& a = ensure_autograd(t);
  if (a.retains_grad) return;
  a.retains_grad = true;
  a.grad_fn->ensure_hooks().retain.push_back({a.output_nr, t.impl()});
}

// A tensor that dies (or is rebased) no longer wants a gradient from its node.
static void forget_retained(Autograd& a, TensorImpl* impl) {
  if (!a.retains_grad || !a.grad_fn || !a.grad_fn->hooks) return;
  auto& list = a.grad_fn->hooks->retain;
  std::erase_if(list, [&](auto& entry) { return entry.second == impl; });
}

void TensorImpl::destroy() {
  if (host_object && host_owned) drop_host_object(this);
  if (autograd) {
    forget_retained(*autograd, this);
    delete autograd;
  }
  delete this;
}

Tensor detach(const Tensor& t) { return alias(t); }

void finish_node(Node& node) {
  node.has_saved = saved_something;
  saved_something = false;
  if (__builtin_expect(anomaly.enabled, 0) && host_traceback)
    node.forward_trace = std::make_unique<std::string>(host_traceback());
}

void describe_output(OutputInfo& info, const Tensor& out) {
  info.shape = out.shape();
  info.dtype = out.dtype();
  info.device = out.device();
}

void fail_released(const Node& node) {
  fail(Kind::Runtime, node.name,
       "(): Trying to backward through the graph a second time (or directly access saved tensors after they have "
       "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
       "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you "
       "need to access saved tensors after calling backward.");
}

// --- in-place changes and views -------------------------------------------------------------------
//
// Note [In-place on views]
// When a view is changed in place its base changes too, so the change must enter the base's history: the base
// gets a CopySlices node, which hands the part of the gradient under the view to the op's own rules and passes
// the rest on to what the base was before. Every other view of the base notices by the storage's version that
// its grad_fn is stale, and makes a new one from the base when asked for it (grad_fn_of).

namespace {

struct Geometry {
  Shape shape, strides;
  int64_t offset;
  explicit Geometry(const Tensor& t) : shape(t.shape()), strides(t.strides()), offset(t.offset()) {}
};

class CopySlices final : public Node {
 public:
  CopySlices(const Tensor& base, const Tensor& view, Ref<Node> inner)
      : Node("copy_slices"), base_(base), view_(view), inner_(std::move(inner)) {
    edges.resize(inner_->edges.size());
    edges[0] = gradient_edge(base);
    for (size_t i = 1; i < edges.size(); i++) edges[i] = inner_->edges[i];
    has_saved = inner_->has_saved;
    describe_output(info, base);
  }
  void apply(Grads& g, Grads& dx) override {
    if (released) fail_released(*this);
    Tensor rest = engine_ops.base_like(g[0], base_.shape, base_.strides);
    Grads slice(1);
    slice[0] = engine_ops.take_slice(rest, base_.offset, view_.shape, view_.strides, view_.offset);
    Grads inner_dx(inner_->edges.size());
    Node* outer = std::exchange(running_node, inner_.get());
    inner_->apply(slice, inner_dx);
    running_node = outer;
    dx[0] = engine_ops.put_slice(rest, base_.offset, view_.shape, view_.strides, view_.offset, inner_dx[0]);
    for (size_t i = 1; i < inner_dx.size(); i++) dx[i] = std::move(inner_dx[i]);
  }
  void release() override {
    inner_->release();
    released = inner_->released;
  }
  std::string display_name() const override { return "CopySlices"; }

 private:
  Geometry base_, view_;
  Ref<Node> inner_;
};

// The history of a view whose base was changed in place.
class ViewOfBase final : public Node {
 public:
  ViewOfBase(const Tensor& base, const Tensor& view) : Node("as_strided"), base_(base), view_(view) {
    edges.resize(1);
    edges[0] = gradient_edge(base);
    describe_output(info, view);
  }
  void apply(Grads& g, Grads& dx) override {
    dx[0] = engine_ops.strided_grad(g[0], base_.shape, base_.strides, base_.offset, view_.shape, view_.strides,
                                    view_.offset);
  }

 private:
  Geometry base_, view_;
};

}  // namespace

const Ref<Node>& grad_fn_of(const Tensor& t) {
  static const Ref<Node> none;
  TensorImpl* impl = t.impl();
  if (impl->base && impl->view_kind != ViewKind::None) {
    Autograd* a = impl->autograd;
    uint32_t version = impl->storage->version;
    bool stale = a ? a->view_version != version : version != 0;
    if (stale) {
      Tensor base(impl->base);
      if (impl->base->autograd && impl->base->autograd->grad_fn && impl->base->dtype == impl->dtype) {
        Autograd& fresh = ensure_autograd(t);
        if (fresh.view_version != version || !fresh.grad_fn) {
          Ref<Node> node(new ViewOfBase(base, t));
          forget_retained(fresh, impl);
          bool retained = std::exchange(fresh.retains_grad, false);
          set_grad_fn(t, std::move(node));
          if (retained) retain_grad(t);
        }
      } else if (a) {
        a->view_version = version;
      }
    }
  }
  return impl->autograd ? impl->autograd->grad_fn : none;
}

void rebase_history(const Tensor& self, Ref<Node> node) {
  TensorImpl* impl = self.impl();
  Tensor target = self;
  if (impl->base && impl->view_kind != ViewKind::None) {
    Tensor base(impl->base);
    node = Ref<Node>(new CopySlices(base, self, std::move(node)));
    target = base;
  }
  Autograd& a = ensure_autograd(target);
  forget_retained(a, target.impl());
  bool retained = std::exchange(a.retains_grad, false);
  set_grad_fn(target, std::move(node));
  a.requires_grad = false;
  if (retained) retain_grad(target);
  if (!target.same(self)) {  // make the view's own history anew at once: its version is the current one
    Autograd& v = ensure_autograd(self);
    bool keep = v.retains_grad;
    forget_retained(v, impl);
    v.retains_grad = false;
    set_grad_fn(self, Ref<Node>(new ViewOfBase(target, self)));
    if (keep) retain_grad(self);
  }
}

}  // namespace ember
