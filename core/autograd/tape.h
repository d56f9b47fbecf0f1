// Putting an op on the tape:
//     return tape(out, "mul", wrt(a, [b = Saved(b)](const Tensor& g) { return g * conj(b); }),
//                             wrt(b, [a = Saved(a)](const Tensor& g) { return g * conj(a); }));
// One rule per input. A rule returns the gradient of its input from the gradient of the output; it
// need not care about broadcasting, dtype or accumulation: the engine does (engine.cpp). A rule
// whose input needs no gradient is dropped at once, with its captures. Everything lives in one
// pooled node.
#pragma once

#include <optional>
#include <tuple>

#include "autograd/saved.h"

namespace ember {

template <class F>
struct Wrt {
  const Tensor& input;
  F rule;
};
template <class F>
Wrt<std::decay_t<F>> wrt(const Tensor& input, F&& rule) {
  return {input, std::forward<F>(rule)};
}

inline Tensor undefined_tensor;  // the "input" of an operand that is a number
template <class F>
Wrt<std::decay_t<F>> wrt(const Operand& input, F&& rule) {
  return {input.is_tensor() ? input.tensor() : undefined_tensor, std::forward<F>(rule)};
}

// Raised where a node is run again after its saved tensors were freed.
[[noreturn]] void fail_released(const Node& node);

template <class... F>
class RuleNode final : public Node, public Pooled<RuleNode<F...>> {
 public:
  using Pooled<RuleNode<F...>>::operator new;
  using Pooled<RuleNode<F...>>::operator delete;
  explicit RuleNode(const char* op) : Node(op) { edges.resize(sizeof...(F)); }

  template <size_t I, class W>
  void set(W& w) {
    if (!w.input.defined()) return;
    edges[I] = gradient_edge(w.input);
    if (edges[I].node) std::get<I>(rules_).emplace(std::move(w.rule));
  }

  void apply(Grads& g, Grads& dx) override {
    if (released) fail_released(*this);
    if (!any_defined(g)) return;
    apply_each(g, dx, std::index_sequence_for<F...>{});
  }
  void release() override {
    if (!has_saved) return;  // like torch, an op that keeps nothing may run again
    released = true;
    std::apply([](auto&... rule) { (rule.reset(), ...); }, rules_);
  }

 private:
  template <size_t... I>
  void apply_each(Grads& g, Grads& dx, std::index_sequence<I...>) {
    (apply_one(std::get<I>(rules_), g, dx[I]), ...);
  }
  template <class Rule>
  void apply_one(std::optional<Rule>& rule, Grads& g, Tensor& dx) {
    if (!rule) return;
    if constexpr (std::is_invocable_v<Rule&, const Tensor&>)
      dx = (*rule)(g[0]);
    else
      dx = (*rule)(static_cast<const Grads&>(g));  // ops with several outputs
  }
  std::tuple<std::optional<F>...> rules_;
};

void finish_node(Node& node);  // notes has_saved, and the traceback in anomaly mode
void describe_output(OutputInfo& info, const Tensor& out);
// Makes output `nr` of `node` the history of `self`, which an op has just changed in place; edge
// `before` of the node leads to what `self` was. If `self` is a view, its base is rebased as well.
void rebase_history(const Tensor& self, Ref<Node> node, uint32_t nr = 0, size_t before = 0);

template <class... F>
Ref<Node> make_node(const char* op, Wrt<F>&... w) {
  auto* node = new RuleNode<F...>(op);
  Ref<Node> ref(node);
  [&]<size_t... I>(std::index_sequence<I...>) {
    (node->template set<I>(w), ...);
  }(std::index_sequence_for<F...>{});
  finish_node(*node);
  return ref;
}

// For an op with one output.
template <class... F>
Tensor tape(Tensor out, const char* op, Wrt<F>... w) {
  Ref<Node> node = make_node(op, w...);
  describe_output(node->info, out);
  set_grad_fn(out, std::move(node));
  return out;
}

// For an op that changed `self` in place: the first rule is the one for `self`.
template <class... F>
void tape_inplace(const Tensor& self, const char* op, Wrt<F>... w) {
  Ref<Node> node = make_node(op, w...);
  describe_output(node->info, self);
  rebase_history(self, std::move(node));
}

// For an op with several outputs: rules take `const Grads& g`, with an undefined tensor for each
// output that received no gradient. Outputs that are not differentiable (indices) are left out.
template <int N, class... F>
void tape_many(const Few<Tensor, N>& outs, const char* op, Wrt<F>... w) {
  Ref<Node> node = make_node(op, w...);
  node->more.resize(outs.size() - 1);
  for (size_t i = 0; i < outs.size(); i++) {
    describe_output(i ? node->more[i - 1] : node->info, outs[i]);
    set_grad_fn(outs[i], node, uint32_t(i));
  }
}

// One rule for all inputs, for ops whose gradients share work (batch norm) or whose inputs are a
// list (cat). rule(g, needed) -> std::vector<Tensor>; `needed[i]` says whether the gradient of
// input i is wanted.
template <class F>
class ListNode final : public Node {
 public:
  ListNode(const char* op, const TensorList& inputs, F rule) : Node(op), rule_(std::move(rule)) {
    edges.resize(inputs.size());
    for (size_t i = 0; i < inputs.size(); i++)
      if (inputs[i]) edges[i] = gradient_edge(inputs[i]);
  }
  void apply(Grads& g, Grads& dx) override {
    if (released) fail_released(*this);
    if (!any_defined(g)) return;
    std::vector<bool> needed(edges.size());
    for (size_t i = 0; i < edges.size(); i++) needed[i] = bool(edges[i].node);
    std::vector<Tensor> result;
    if constexpr (std::is_invocable_v<F&, const Tensor&, const std::vector<bool>&>)
      result = (*rule_)(g[0], needed);
    else
      result = (*rule_)(static_cast<const Grads&>(g), needed);
    for (size_t i = 0; i < result.size(); i++) dx[i] = std::move(result[i]);
  }
  void release() override {
    if (!has_saved) return;
    released = true;
    rule_.reset();
  }

 private:
  std::optional<F> rule_;
};

template <class F>
Tensor tape_list(Tensor out, const char* op, const TensorList& inputs, F rule) {
  Ref<Node> node(new ListNode<F>(op, inputs, std::move(rule)));
  finish_node(*node);
  describe_output(node->info, out);
  set_grad_fn(out, std::move(node));
  return out;
}
template <int N, class F>
void tape_list_many(const Few<Tensor, N>& outs, const char* op, const TensorList& inputs, F rule) {
  Ref<Node> node(new ListNode<F>(op, inputs, std::move(rule)));
  finish_node(*node);
  node->more.resize(outs.size() - 1);
  for (size_t i = 0; i < outs.size(); i++) {
    describe_output(i ? node->more[i - 1] : node->info, outs[i]);
    set_grad_fn(outs[i], node, uint32_t(i));
  }
}

}  // namespace ember
