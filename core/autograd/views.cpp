// The history of views: what happens to it when a view or its base is changed in place.
//
// Note [In-place on views]
// When a view is changed in place its base changes too, so the change must enter the base's
// history: the base gets a CopySlices node, which hands the part of the gradient under the view to
// the op's own rules and passes the rest on to what the base was before. Every other view of the
// base notices by the storage's version that its grad_fn is stale, and makes a new one from the
// base when asked for it (grad_fn_of). Both nodes know base and view by their geometry in the
// storage; ops/regions.cpp moves gradients between the two.
#include "autograd/engine.h"
#include "autograd/tape.h"

namespace ember {

namespace {

class CopySlices final : public Node {
 public:
  CopySlices(const Tensor& base, const Tensor& view, Ref<Node> inner, size_t before)
      : Node("copy_slices"), base_(base), view_(view), inner_(std::move(inner)), before_(before) {
    edges.resize(inner_->edges.size());
    for (size_t i = 0; i < edges.size(); i++)
      edges[i] = i == before ? gradient_edge(base) : inner_->edges[i];
    has_saved = inner_->has_saved;
    by_turns = inner_->by_turns;
    trace = inner_->trace;
    inner_->inside = this;
    describe_output(info, base);
  }
  ~CopySlices() override { inner_->inside = nullptr; }

  void apply(Grads& g, Grads& dx) override {
    if (!any_defined(g)) return;
    Tensor whole = std::move(g[0]);
    // With the gradient to ourselves we copy the small part and write into the whole; otherwise the
    // reverse.
    bool ours = !grad_enabled() && whole.impl()->refs == 1 && whole.storage()->refs == 1 &&
                !whole.storage()->release && whole.strides() == base_.strides &&
                is_dense(whole.shape(), whole.strides());
    Grads part(1), inner_dx(inner_->edges.size());
    part[0] = engine_ops.region_take(whole, base_, view_);
    if (ours) part[0] = engine_ops.clone_like(part[0], part[0]);
    Node* outer = std::exchange(running_node, inner_.get());
    try {
      inner_->apply(part, inner_dx);
    } catch (...) {
      running_node = outer;
      throw;
    }
    running_node = outer;
    part[0] = Tensor();
    for (size_t i = 0; i < inner_dx.size(); i++) {
      if (i != before_)
        dx[i] = std::move(inner_dx[i]);
      else if (edges[i].node)
        dx[i] = engine_ops.region_put(std::move(whole), base_, view_,
                                      fitted(std::move(inner_dx[i])), ours);
    }
  }
  void release() override {
    inner_->release();
    released = inner_->released;
  }
  std::string display_name() const override { return "CopySlices"; }
  Ref<Node> output_history() override;

 private:
  // What the engine does for ordinary nodes: the part as the view was before the op.
  Tensor fitted(Tensor part) const {
    if (part && !(part.shape() == view_.shape)) part = engine_ops.sum_to(part, view_.shape);
    if (part && part.dtype() != view_.dtype) part = engine_ops.cast(part, view_.dtype);
    return part;
  }
  Geometry base_, view_;
  Ref<Node> inner_;
  size_t before_;
};

// The history of a view whose base was changed in place.
class ViewOfBase final : public Node {
 public:
  ViewOfBase(const Geometry& base, const Geometry& view, Edge edge)
      : Node("as_strided"), base_(base), view_(view) {
    edges.resize(1);
    info = {view.shape, view.dtype, edge.node ? edge.node->output_info(edge.nr).device : Device()};
    edges[0] = std::move(edge);
    if (__builtin_expect(anomaly.enabled, 0)) finish_node(*this);
  }
  ViewOfBase(const Tensor& base, const Tensor& view)
      : ViewOfBase(Geometry(base), Geometry(view), gradient_edge(base)) {}
  void apply(Grads& g, Grads& dx) override {
    if (g[0]) dx[0] = engine_ops.region_grad(g[0], base_, view_);
  }

 private:
  Geometry base_, view_;
};

// What the op left in the view is a part of what it left in the base.
Ref<Node> CopySlices::output_history() {
  return Ref<Node>(new ViewOfBase(base_, view_, {Ref<Node>(this), 0}));
}

// Gives `t` a new node; a gradient that it retains is now that of its new value.
void renew_history(const Tensor& t, Ref<Node> node, uint32_t nr) {
  Autograd& a = ensure_autograd(t);
  forget_retained(a, t.impl());
  bool retained = std::exchange(a.retains_grad, false);
  set_grad_fn(t, std::move(node), nr);
  a.requires_grad = false;
  if (retained) retain_grad(t);
}

std::string op_of(const Tensor& t) {
  const Autograd* a = t.impl()->autograd;
  if (!a || !a->grad_fn) return "an op";
  std::string name = a->grad_fn->display_name();
  size_t end = name.rfind("Backward");
  return end == std::string::npos ? name : name.substr(0, end);
}

bool is_tracked_view(const TensorImpl& impl) {
  return impl.base && impl.view_kind != ViewKind::None;
}

}  // namespace

void fail_view(const Tensor& view, bool itself) {
  ViewKind kind = view.impl()->view_kind;
  const char* changed = itself ? " is being modified inplace"
                               : " its base or another view of its base has been modified inplace";
  if (kind == ViewKind::NoGrad || kind == ViewKind::Inference) {
    const char* mode = kind == ViewKind::NoGrad ? "no_grad" : "inference";
    const Autograd* own = view.impl()->autograd;
    std::ostringstream what;
    if (own && own->grad_fn)
      what << "Output " << own->output_nr << " of " << own->grad_fn->display_name()
           << " is a view of a view which was created in " << mode;
    else
      what << "A view was created in " << mode;
    fail(Kind::Runtime, what.str(), " mode and", changed,
         kind == ViewKind::NoGrad ? " with grad mode enabled" : " in normal mode",
         ". Given that this use case is ambiguous and error-prone, it is forbidden. You can "
         "clarify your code by moving "
         "both the view and the inplace either both inside the ",
         mode, kind == ViewKind::Inference ? "_mode" : "",
         " block (if you don't want the inplace to be tracked) or both outside (if you want the "
         "inplace to be tracked).");
  }
  uint32_t nr = view.impl()->autograd ? view.impl()->autograd->output_nr : 0;
  if (kind == ViewKind::MultiOutput)
    fail(Kind::Runtime, "Output ", nr, " of ", op_of(view), " is a view and", changed,
         ". This view is the output of a function that returns multiple views. Such functions do "
         "not allow the output "
         "views to be modified inplace. You should replace the inplace operation by an "
         "out-of-place one.");
  fail(Kind::Runtime, "Output ", nr, " of ", op_of(view), " is a view and", changed,
       ". This view was created inside a custom Function (or because an input was returned as-is) "
       "and the autograd logic "
       "to handle view+inplace would override the custom backward associated with the custom "
       "Function, leading to "
       "incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of "
       "the custom Function.");
}

const Ref<Node>& grad_fn_of(const Tensor& t) {
  static const Ref<Node> none;
  TensorImpl* impl = t.impl();
  if (is_tracked_view(*impl)) {
    if (__builtin_expect(impl->view_version != impl->storage->version, 0)) {
      const Autograd* base = impl->base->autograd;
      if (base && base->grad_fn && is_differentiable(impl->dtype)) {
        if (impl->view_kind != ViewKind::Plain) fail_view(t, false);
        renew_history(t, Ref<Node>(new ViewOfBase(Tensor(impl->base), t)), 0);
      } else {
        impl->view_version = impl->storage->version;
      }
    }
  }
  return impl->autograd ? impl->autograd->grad_fn : none;
}

void rebase_history(const Tensor& self, Ref<Node> node, uint32_t nr, size_t before) {
  if (!is_tracked_view(*self.impl())) return renew_history(self, std::move(node), nr);
  if (self.impl()->view_kind != ViewKind::Plain) fail_view(self, true);
  Tensor base(self.impl()->base);
  renew_history(base, Ref<Node>(new CopySlices(base, self, std::move(node), before)), 0);
  // The view's own history is made anew at once: its version is the current one.
  renew_history(self, Ref<Node>(new ViewOfBase(base, self)), 0);
}

}  // namespace ember
