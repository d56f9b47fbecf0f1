// RNN, LSTM and GRU over whole sequences, and their cells: checks, layers, directions, dropout.
#include "ops/recurrent.h"
#include "ops/devices.h"

namespace ember {

namespace {

using Sizes = std::vector<int64_t>;

struct Network {
  const char* op;
  Cell cell;
  bool biases;
  int64_t layers;
  double dropout;
  bool train, bidirectional;
};

void check_matrix(const char* op, const char* name, const Tensor& t, int64_t rows, int64_t columns,
                  const Tensor& like) {
  check(t.defined() && t.dim() == 2 && t.size(0) == rows && t.size(1) == columns, Kind::Runtime, op,
        "(): expected ", name, " of shape [", rows, ", ", columns, "], got ",
        t.defined() ? t.shape() : Shape{});
  check(t.dtype() == like.dtype(), Kind::Runtime, op, "(): input has dtype ", like.dtype(), " and ",
        name, " ", t.dtype());
  check(t.device() == like.device(), Kind::Runtime, op, "(): input is on ", like.device(), " and ",
        name, " on ", t.device());
}

// Everything a layer reads without looking.
void check_layer(const char* op, Cell cell, const Tensor& x, const Tensor& h, const Tensor& c,
                 const LayerWeights& w, int64_t batch) {
  check(is_floating(x.dtype()) || is_complex(x.dtype()), Kind::Runtime, op,
        "(): expected floating point input, got ", x.dtype());
  check(w.ih.dim() == 2 && w.hh.dim() == 2, Kind::Runtime, op, "(): weights must be matrices, got ",
        w.ih.shape(), " and ", w.hh.shape());
  const int64_t gates = gates_of(cell), wide = w.hh.size(0), units = wide / gates;
  check(wide % gates == 0, Kind::Runtime, op, "(): expected a multiple of ", gates,
        " rows in the recurrent weight weight_hh, got ", wide);
  const int64_t outputs = w.hr ? w.hr.size(0) : units;
  if (w.hr) check_matrix(op, "the projection", w.hr, outputs, units, x);
  check_matrix(op, "the input weight weight_ih", w.ih, wide, x.size(-1), x);
  check_matrix(op, "the recurrent weight weight_hh", w.hh, wide, outputs, x);
  check_same_device(op, x, {&w.b_ih, &w.b_hh});
  for (const Tensor* bias : {&w.b_ih, &w.b_hh})
    if (*bias)
      check(bias->dim() == 1 && bias->size(0) == wide && bias->dtype() == x.dtype(), Kind::Runtime,
            op, "(): expected a bias of shape [", wide, "] in ", x.dtype(), ", got ", *bias);
  check_matrix(op, "the hidden state", h, batch, outputs, x);
  if (cell == Cell::Lstm) check_matrix(op, "the cell state", c, batch, units, x);
}

LayerWeights take_weights(const Network& net, const TensorList& params, size_t at, size_t each) {
  LayerWeights w{params[at], params[at + 1], {}, {}, {}};
  if (net.biases) w.b_ih = params[at + 2], w.b_hh = params[at + 3];
  if (each == (net.biases ? 5u : 3u)) w.hr = params[at + each - 1];
  return w;
}

struct Output {
  Tensor rows, h, c;
};

// All layers over packed rows; states are (layers * directions, N, size).
Output run(const Network& net, Tensor rows, const Sizes& sizes, const Tensor& h, const Tensor& c,
           const TensorList& params) {
  const char* op = net.op;
  const int64_t directions = net.bidirectional ? 2 : 1;
  const int64_t count = size_product(op, net.layers, directions);
  check(net.layers > 0, Kind::Runtime, op, "(): expected at least one layer, got ", net.layers);
  check(net.dropout >= 0 && net.dropout <= 1, Kind::Runtime, op,
        "(): dropout probability has to be between 0 and 1, but got ", net.dropout);
  const size_t least = net.biases ? 4 : 2, each = params.size() / size_t(count);
  check(params.size() == each * size_t(count) &&
            (each == least || (net.cell == Cell::Lstm && each == least + 1)),
        Kind::Runtime, op, "(): expected ", least, " parameters for each of ", count,
        " layers and directions, got ", params.size());
  for (const Tensor* state : {&h, &c})
    check(!state->defined() || (state->dim() == 3 && state->size(0) == count), Kind::Runtime, op,
          "(): expected hidden states of shape [", count, ", ", sizes[0], ", units], got ",
          state->defined() ? state->shape() : Shape{});
  TensorList last_h, last_c;
  for (int64_t layer = 0; layer < net.layers; layer++) {
    TensorList outputs;
    for (int64_t direction = 0; direction < directions; direction++) {
      const int64_t at = layer * directions + direction;
      LayerWeights w = take_weights(net, params, size_t(at) * each, each);
      Tensor h0 = select(h, 0, at), c0 = c ? select(c, 0, at) : Tensor();
      check_layer(op, net.cell, rows, h0, c0, w, sizes[0]);
      LayerResult r = run_layer(op, net.cell, rows, sizes, h0, c0, w, direction == 1);
      outputs.push_back(r.y);
      last_h.push_back(r.h);
      if (c) last_c.push_back(r.c);
    }
    rows = directions == 2 ? cat(outputs, 1) : outputs[0];
    if (net.dropout > 0 && net.train && layer + 1 < net.layers)
      rows = dropout(rows, net.dropout, true);
  }
  return {rows, stack(last_h), c ? stack(last_c) : Tensor()};
}

Output run_padded(const Network& net, const Tensor& input, const Tensor& h, const Tensor& c,
                  const TensorList& params, bool batch_first) {
  check(input.dim() == 3, Kind::Runtime, net.op, "(): expected input of 3 dimensions, got ",
        input.dim());
  Tensor x = batch_first ? transpose(input, 0, 1) : input;
  const int64_t steps = x.size(0), batch = x.size(1);
  check(steps > 0, Kind::Runtime, "Expected sequence length to be larger than 0 in RNN");
  Output out =
      run(net, reshape(x, {steps * batch, x.size(2)}), Sizes(size_t(steps), batch), h, c, params);
  out.rows = view(out.rows, {steps, batch, out.rows.size(1)});
  if (batch_first) out.rows = transpose(out.rows, 0, 1);
  return out;
}

Sizes sizes_of(const char* op, const Tensor& batch_sizes, const Tensor& data) {
  check(batch_sizes.dim() == 1 && batch_sizes.dtype() == Dtype::Int64 && batch_sizes.numel() > 0,
        Kind::Runtime, op, "(): batch_sizes must be a vector of int64, got ", batch_sizes);
  check(data.dim() == 2, Kind::Runtime, op, "(): expected packed data of 2 dimensions, got ",
        data.dim());
  Tensor host = contiguous(to(batch_sizes, Device{}, std::nullopt));
  Sizes sizes(size_t(host.numel()));
  backend_of(host).copy_to_host(sizes.data(), host);
  int64_t total = 0;
  for (size_t i = 0; i < sizes.size(); i++) {
    check(sizes[i] > 0 && (i == 0 || sizes[i] <= sizes[i - 1]), Kind::Runtime, op,
          "(): batch_sizes must be positive and never grow, but has ", sizes[i], " at ", i);
    check(!__builtin_add_overflow(total, sizes[i], &total), Kind::Runtime, op,
          "(): batch_sizes are too large");
  }
  check(total == data.size(0), Kind::Runtime, op, "(): batch_sizes add up to ", total,
        ", but there are ", data.size(0), " rows of data");
  return sizes;
}

// --- sequences --------------------------------------------------------------------------------

using Pair = std::tuple<Tensor, Tensor>;
using Triple = std::tuple<Tensor, Tensor, Tensor>;

void check_states(const char* op, const TensorList& hx) {
  check(hx.size() == 2, Kind::Runtime, op, " expects two hidden states");
}

EMBER_OP(
    "lstm(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float "
    "dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
    ([](const Tensor& input, const TensorList& hx, const TensorList& params, bool biases,
        int64_t layers, double dropout, bool train, bool bidirectional, bool batch_first) {
      check_states("lstm", hx);
      Network net{"lstm", Cell::Lstm, biases, layers, dropout, train, bidirectional};
      Output o = run_padded(net, input, hx[0], hx[1], params, batch_first);
      return Triple(o.rows, o.h, o.c);
    }),
    Function | Whole | Random,
    "Layers of long short-term memory over sequences: outputs, last h, last c.");
EMBER_OP(
    "lstm(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int "
    "num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)",
    ([](const Tensor& data, const Tensor& batch_sizes, const TensorList& hx,
        const TensorList& params, bool biases, int64_t layers, double dropout, bool train,
        bool bidirectional) {
      check_states("lstm", hx);
      Network net{"lstm", Cell::Lstm, biases, layers, dropout, train, bidirectional};
      Output o = run(net, data, sizes_of("lstm", batch_sizes, data), hx[0], hx[1], params);
      return Triple(o.rows, o.h, o.c);
    }),
    Function | Whole | Random, "The same for packed sequences.");

// The cells with one state differ in name only.
#define EMBER_RECURRENT(name, cell, doc)                                                           \
  EMBER_OP(#name                                                                                   \
           "(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float "    \
           "dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",       \
           ([](const Tensor& input, const Tensor& hx, const TensorList& params, bool biases,       \
               int64_t layers, double dropout, bool train, bool bidirectional, bool batch_first) { \
             Network net{#name, cell, biases, layers, dropout, train, bidirectional};              \
             Output o = run_padded(net, input, hx, {}, params, batch_first);                       \
             return Pair(o.rows, o.h);                                                             \
           }),                                                                                     \
           Function | Whole | Random, "Layers of " doc " over sequences: outputs, last h.");       \
  EMBER_OP(#name                                                                                   \
           "(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int "   \
           "num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)",       \
           ([](const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,                    \
               const TensorList& params, bool biases, int64_t layers, double dropout, bool train,  \
               bool bidirectional) {                                                               \
             Network net{#name, cell, biases, layers, dropout, train, bidirectional};              \
             Output o = run(net, data, sizes_of(#name, batch_sizes, data), hx, {}, params);        \
             return Pair(o.rows, o.h);                                                             \
           }),                                                                                     \
           Function | Whole | Random, "The same for packed sequences.")

EMBER_RECURRENT(gru, Cell::Gru, "gated recurrent units");
EMBER_RECURRENT(rnn_tanh, Cell::Tanh, "h = tanh(W_ih x + b_ih + W_hh h + b_hh)");
EMBER_RECURRENT(rnn_relu, Cell::Relu, "h = relu(W_ih x + b_ih + W_hh h + b_hh)");
#undef EMBER_RECURRENT

// --- cells: one step --------------------------------------------------------------------------

LayerResult run_cell(const char* op, Cell cell, const Tensor& input, const Tensor& h,
                     const Tensor& c, const LayerWeights& w) {
  check(input.dim() == 2 || input.dim() == 1, Kind::Runtime, op,
        "(): expected input of 1 or 2 dimensions, got ", input.dim());
  const bool batched = input.dim() == 2;
  auto row = [&](const Tensor& t) { return batched || !t || t.dim() != 1 ? t : unsqueeze(t, 0); };
  Tensor x = row(input), h0 = row(h), c0 = row(c);
  check(h0.dim() == 2 && h0.size(0) == x.size(0), Kind::Runtime, op, "(): input of shape ",
        x.shape(), " and hidden state of shape ", h0.shape(), " differ in their batch size");
  check_layer(op, cell, x, h0, c0, w, x.size(0));
  LayerResult r = run_layer(op, cell, x, {x.size(0)}, h0, c0, w, false);
  if (batched) return r;
  return {squeeze(r.y, Dims(0)), {}, r.c ? squeeze(r.c, Dims(0)) : Tensor()};
}

EMBER_OP(
    "lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? "
    "b_hh=None) -> (Tensor, Tensor)",
    ([](const Tensor& input, const TensorList& hx, const Tensor& w_ih, const Tensor& w_hh,
        const Tensor& b_ih, const Tensor& b_hh) {
      check_states("lstm_cell", hx);
      LayerResult r =
          run_cell("lstm_cell", Cell::Lstm, input, hx[0], hx[1], {w_ih, w_hh, b_ih, b_hh, {}});
      return Pair(r.y, r.c);
    }),
    Function | Whole, "One step of long short-term memory: the next h and c.");

#define EMBER_CELL(name, cell, doc)                                                           \
  EMBER_OP(#name                                                                              \
           "(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? "  \
           "b_hh=None) -> Tensor",                                                            \
           ([](const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, \
               const Tensor& b_ih, const Tensor& b_hh) {                                      \
             return run_cell(#name, cell, input, hx, {}, {w_ih, w_hh, b_ih, b_hh, {}}).y;     \
           }),                                                                                \
           Function | Whole, doc)

EMBER_CELL(gru_cell, Cell::Gru, "One step of gated recurrent units: the next h.");
EMBER_CELL(rnn_tanh_cell, Cell::Tanh, "tanh(W_ih x + b_ih + W_hh h + b_hh).");
EMBER_CELL(rnn_relu_cell, Cell::Relu, "relu(W_ih x + b_ih + W_hh h + b_hh).");
#undef EMBER_CELL

}  // namespace

}  // namespace ember
