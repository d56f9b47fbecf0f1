// A recurrent layer twice: in steps of other ops, which any device and dtype can do and which can
// be differentiated twice, and by the device's kernels.
#include "autograd/engine.h"
#include "ops/recurrent.h"

namespace ember {

namespace {

using Sizes = std::vector<int64_t>;

Tensor part(const Tensor& t, int64_t from, int64_t count) { return narrow(t, 0, from, count); }

// --- in steps ---------------------------------------------------------------------------------

struct State {
  Tensor h, c;
};

State step(Cell cell, const Tensor& given, const State& s, const LayerWeights& w) {
  Tensor recurrent = linear(s.h, w.hh, w.b_hh);
  if (cell == Cell::Gru) {
    TensorList x = chunk(given, 3, 1), r = chunk(recurrent, 3, 1);
    Tensor reset = sigmoid(x[0] + r[0]), update = sigmoid(x[1] + r[1]);
    Tensor fresh = tanh(x[2] + reset * r[2]);
    return {fresh + update * (s.h - fresh), {}};
  }
  Tensor sums = given + recurrent;
  if (cell == Cell::Tanh) return {tanh(sums), {}};
  if (cell == Cell::Relu) return {relu(sums), {}};
  TensorList gates = chunk(sums, 4, 1);
  Tensor c = sigmoid(gates[1]) * s.c + sigmoid(gates[0]) * tanh(gates[2]);
  Tensor h = sigmoid(gates[3]) * tanh(c);
  return {w.hr ? linear(h, w.hr, {}) : h, c};
}

// The states of the sequences that a step has, and of the others: longer first, so they come first.
State first_rows(const State& s, int64_t n) {
  return {part(s.h, 0, n), s.c ? part(s.c, 0, n) : Tensor()};
}
State with_rest(const State& s, const State& whole) {
  const int64_t n = s.h.size(0), rest = whole.h.size(0) - n;
  if (rest == 0) return s;
  return {cat({s.h, part(whole.h, n, rest)}), s.c ? cat({s.c, part(whole.c, n, rest)}) : Tensor()};
}

LayerResult run_in_steps(Cell cell, const Tensor& x, const Sizes& sizes, const Tensor& h,
                         const Tensor& c, const LayerWeights& w, bool reverse) {
  Tensor given = linear(x, w.ih, w.b_ih);
  State state{h, c};
  TensorList outputs(sizes.size());
  int64_t at = reverse ? x.size(0) : 0;
  for (size_t i = 0; i < sizes.size(); i++) {
    const size_t t = reverse ? sizes.size() - 1 - i : i;
    const int64_t n = sizes[t];
    if (reverse) at -= n;
    State next = step(cell, part(given, at, n), first_rows(state, n), w);
    if (!reverse) at += n;
    outputs[t] = next.h;
    state = with_rest(next, state);
  }
  return {outputs.size() == 1 ? outputs[0] : cat(outputs), state.h, state.c};
}

// --- by kernels -------------------------------------------------------------------------------

enum Inputs { kX, kH, kC, kIh, kHh, kBih, kBhh, kHr, kInputs };

LayerWeights weights_of(const TensorList& in) {
  return {in[kIh], in[kHh], in[kBih], in[kBhh], in[kHr]};
}

// What the backward pass needs, and how it is made.
struct Recorded {
  Cell cell;
  bool reverse;
  Sizes sizes;
  Saved inputs[kInputs], gates, y, before, before_h, hidden;

  std::vector<Tensor> operator()(const Grads& g, const std::vector<bool>& needed) const {
    TensorList in(kInputs);
    for (int i = 0; i < kInputs; i++)
      if (inputs[i].defined()) in[size_t(i)] = inputs[i].get();
    return grad_enabled() ? recorded(in, g, needed) : fused(in, g, needed);
  }

  // With create_graph: the layer once more, in steps, and the gradients by the tape itself. Aliases
  // keep what leads from one input to another out of it.
  std::vector<Tensor> recorded(const TensorList& in, const Grads& g,
                               const std::vector<bool>& needed) const {
    TensorList own(kInputs);
    BackwardCall call;
    std::vector<size_t> places;
    for (size_t i = 0; i < kInputs; i++) {
      if (in[i]) own[i] = needed[i] ? view_alias(in[i]) : in[i];
      if (!in[i] || !needed[i]) continue;
      call.inputs.push_back(gradient_edge(own[i]));
      places.push_back(i);
    }
    LayerResult r = run_in_steps(cell, own[kX], sizes, own[kH], own[kC], weights_of(own), reverse);
    const Tensor* outs[] = {&r.y, &r.h, &r.c};
    for (size_t i = 0; i < g.size(); i++) {
      if (!g[i]) continue;
      call.roots.push_back(gradient_edge(*outs[i]));
      call.grads.push_back(g[i]);
    }
    call.keep_graph = call.create_graph = true;
    call.accumulate = false;
    std::vector<Tensor> found = run_backward(std::move(call)), result(kInputs);
    for (size_t i = 0; i < places.size(); i++) result[places[i]] = std::move(found[i]);
    return result;
  }

  std::vector<Tensor> fused(const TensorList& in, const Grads& g,
                            const std::vector<bool>& needed) const {
    const Tensor &x = in[kX], &w = in[kHh], &hr = in[kHr];
    const Shape y_shape{x.size(0), in[kH].size(1)}, gates_shape{x.size(0), w.size(0)};
    auto fresh = [&](const Shape& shape) { return empty(shape, x.dtype(), x.device()); };
    // The kernel changes the gradients of the states, so they are copies.
    auto start = [](const Tensor& grad, const Tensor& like) {
      return grad ? clone(grad, MemoryFormat::Contiguous)
                  : zeros(like.shape(), like.dtype(), like.device());
    };
    auto kept = [](const Saved& saved) { return saved.defined() ? saved.get() : Tensor(); };
    const bool gru = cell == Cell::Gru, in_place = gates.expendable();
    RecurrentBackward b;
    b.gates = kept(gates);
    b.weight = contiguous(w);
    b.y = kept(y);
    if (hr) b.projection = contiguous(hr);
    b.before = kept(before);
    b.before_h = kept(before_h);
    b.hidden = kept(hidden);
    b.dy = g[0] ? contiguous(g[0]) : zeros(y_shape, x.dtype(), x.device());
    b.dh = start(g[1], in[kH]);
    if (cell == Cell::Lstm) b.dc = start(g[2], in[kC]);
    b.dgates = in_place ? b.gates : fresh(gates_shape);
    if (gru) b.dgates_h = fresh(gates_shape);
    if (hr) b.dprojected = fresh(y_shape);
    if (needed[kBih] || (needed[kBhh] && !gru)) b.dbias = fresh({1, w.size(0)});
    if (needed[kBhh] && gru) b.dbias_h = fresh({1, w.size(0)});
    backend_of(x).recurrent_grad({cell, reverse, sizes}, b);

    const Tensor& recurrent = gru ? b.dgates_h : b.dgates;
    std::vector<Tensor> result(kInputs);
    if (needed[kX]) result[kX] = mm(b.dgates, in[kIh]);
    if (needed[kIh]) result[kIh] = mm(transpose(b.dgates, 0, 1), x);
    if (needed[kHh]) result[kHh] = mm(transpose(recurrent, 0, 1), b.before_h);
    if (needed[kBih]) result[kBih] = select(b.dbias, 0, 0);
    if (needed[kBhh]) {
      Tensor sums = select(gru ? b.dbias_h : b.dbias, 0, 0);
      result[kBhh] = needed[kBih] && !gru ? clone(sums) : sums;
    }
    if (needed[kHr]) result[kHr] = mm(transpose(b.dprojected, 0, 1), b.hidden);
    if (needed[kH]) result[kH] = b.dh;
    if (needed[kC]) result[kC] = b.dc;
    return result;
  }
};

LayerResult run_fused(const char* op, Cell cell, const Tensor& x, const Sizes& sizes,
                      const Tensor& h, const Tensor& c, const LayerWeights& w, bool reverse) {
  const bool record = grad_needed(TensorList{x, h, c, w.ih, w.hh, w.b_ih, w.b_hh, w.hr});
  const int64_t rows = x.size(0), units = w.hh.size(0) / gates_of(cell);
  RecurrentForward f;
  {
    NoGrad guard;
    f.gates = linear(x, w.ih, {});
    // Both biases add to the same sums, but for GRU's new gate.
    if (w.b_ih) f.bias = contiguous(w.b_ih);
    if (cell == Cell::Gru && w.b_hh) f.bias_h = contiguous(w.b_hh);
    if (cell != Cell::Gru && w.b_hh) f.bias = f.bias ? f.bias + w.b_hh : contiguous(w.b_hh);
    f.weight = contiguous(w.hh);
    if (w.hr) f.projection = contiguous(w.hr);
    f.h = clone(h, MemoryFormat::Contiguous);
    if (c) f.c = clone(c, MemoryFormat::Contiguous);
  }
  f.y = empty({rows, h.size(1)}, x.dtype(), x.device());
  if (cell == Cell::Lstm && record) f.before = empty({rows, units}, x.dtype(), x.device());
  if (record && (cell == Cell::Gru || w.hh.requires_grad()))
    f.before_h = empty({rows, h.size(1)}, x.dtype(), x.device());
  if (w.hr || (cell == Cell::Gru && record)) f.hidden = empty({rows, units}, x.dtype(), x.device());
  backend_of(x).recurrent({cell, reverse, sizes}, f);
  LayerResult result{f.y, f.h, f.c};
  if (!record) return result;

  const TensorList inputs{x, h, c, w.ih, w.hh, w.b_ih, w.b_hh, w.hr};
  Recorded rule{cell, reverse, sizes, {}, {}, {}, {}, {}, {}};
  for (size_t i = 0; i < kInputs; i++)
    if (inputs[i]) rule.inputs[i] = Saved(inputs[i]);
  if (cell == Cell::Lstm || cell == Cell::Gru)
    rule.gates = Saved(f.gates);
  else
    rule.y = Saved::output(f.y);
  if (f.before) rule.before = Saved(f.before);
  if (f.before_h) rule.before_h = Saved(f.before_h);
  if (f.hidden) rule.hidden = Saved(f.hidden);
  Few<Tensor, 3> outs(c ? 3 : 2);
  outs[0] = result.y;
  outs[1] = result.h;
  if (c) outs[2] = result.c;
  tape_list_many(outs, op, inputs, std::move(rule));
  return result;
}

}  // namespace

LayerResult run_layer(const char* op, Cell cell, const Tensor& x, const Sizes& sizes,
                      const Tensor& h, const Tensor& c, const LayerWeights& w, bool reverse) {
  const Backend& backend = backend_of(x);
  if (backend.has(Primitive::recurrent, x.dtype()) && backend.has(Primitive::recurrent_grad))
    return run_fused(op, cell, x, sizes, h, c, w, reverse);
  return run_in_steps(cell, x, sizes, h, c, w, reverse);
}

}  // namespace ember
