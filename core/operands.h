// What primitives take besides tensors and numbers, and how code that is made of their table
// (primitives.h) looks into it: every struct lists its fields, with the role of each.
#pragma once

#include <type_traits>
#include <vector>

#include "expand.h"
#include "functions.h"
#include "optim_steps.h"
#include "random/draw.h"
#include "reductions.h"
#include "tensor/tensor.h"

namespace ember {

enum class Role : uint8_t { Out, In, Changed, Attr };

// An argument of a primitive, as EMBER_GIVEN makes it.
template <Role role_, class T>
struct Given {
  static constexpr Role role = role_;
  using Type = T;
  const char* name;
  const T& value;
};

// Makes fields(s, visit) call visit(role, name, field) for each field of a struct.
#define EMBER_FIELDS(Struct, ...)                           \
  template <class S, class V>                               \
    requires std::is_same_v<std::remove_const_t<S>, Struct> \
  void fields(S& s, V&& visit) {                            \
    EMBER_EACH(EMBER_FIELD_OF, __VA_ARGS__)                 \
  }
#define EMBER_FIELD_OF(field) EMBER_FIELD_ field
#define EMBER_FIELD_(role, name) visit(Role::role, #name, s.name);

// The names of an enum's values, in their order: name_of(value).
#define EMBER_VALUES(Enum, ...)                    \
  constexpr const char* name_of(Enum value) {      \
    constexpr const char* names[] = {__VA_ARGS__}; \
    return names[int(value)];                      \
  }

enum class Rank : uint8_t { Kth, Median, NanMedian, Mode };
enum class ScatterMode : uint8_t { Set, Add, Mul, Max, Min };
enum class Apply : uint8_t { Plain, Transpose, Adjoint };
enum class LeastSquares : uint8_t { Gels, Gelsy, Gelsd, Gelss };
enum class Sampler : uint8_t {
  Bernoulli,
  Poisson,
  Binomial,
  Gamma,
  Dirichlet,
  Multinomial,
  FirstEvents
};
enum class Cell : uint8_t { Tanh, Relu, Lstm, Gru };
EMBER_VALUES(Rank, "kth", "median", "nanmedian", "mode")
EMBER_VALUES(ScatterMode, "set", "add", "mul", "max", "min")
EMBER_VALUES(Apply, "plain", "transpose", "adjoint")
EMBER_VALUES(LeastSquares, "gels", "gelsy", "gelsd", "gelss")
EMBER_VALUES(Sampler, "bernoulli", "poisson", "binomial", "gamma", "dirichlet", "multinomial",
             "first_events")
EMBER_VALUES(Cell, "tanh", "relu", "lstm", "gru")
EMBER_VALUES(Distribution, "uniform", "normal", "exponential", "cauchy", "log_normal", "geometric",
             "bernoulli", "integers", "integers_of_dtype", "permutation")

// An operand of a pointwise primitive: a tensor broadcast to the output's shape, or a number.
struct Input {
  const Tensor* tensor = nullptr;
  const Shape* strides =
      nullptr;  // broadcast strides in elements, if they differ from the tensor's own
  Scalar scalar;

  // The tensor with the shape of the output.
  Tensor spread(const Shape& shape) const {
    return strides ? alias(*tensor, shape, *strides, tensor->offset()) : *tensor;
  }
};

// A row of the pointwise table with so many inputs: Unary, Binary, Ternary.
struct ListRow {
  int inputs, row;
};
inline const char* name_of(ListRow f) {
  return f.inputs == 1   ? name_of(Unary(f.row))
         : f.inputs == 2 ? name_of(Binary(f.row))
                         : name_of(Ternary(f.row));
}

// How many matrices a batch holds.
inline int64_t batch_count(const Tensor& a) { return a.numel() / (a.size(-2) * a.size(-1)); }

// Positions picked out of a tensor: index tensors (int64, all of one shape I) for its dimensions
// first, first + 1 ... The result has I in the place of these dimensions.
struct Indexing {
  TensorList indices;
  int first = 0;
  Shape dims;        // what to call the dimensions in error messages, if not first, first + 1 ...
  bool wrap = true;  // negative positions count from the end
};
EMBER_FIELDS(Indexing, (In, indices), (Attr, first), (Attr, dims), (Attr, wrap))

EMBER_FIELDS(Params, (Attr, p0), (Attr, p1), (Attr, p2))
EMBER_FIELDS(Draw, (Attr, kind), (Attr, a), (Attr, b), (Attr, low), (Attr, width))

// How the kernel of a convolution moves over the input; one entry per axis. The padding after the
// input is whatever the size of y makes it.
struct Moves {
  Shape stride, padding, dilation;
  int64_t groups = 1;
};
EMBER_FIELDS(Moves, (Attr, stride), (Attr, padding), (Attr, dilation), (Attr, groups))

// The windows along one axis: window i holds first[i], first[i] + step ... below last[i], all
// inside the input.
struct PoolAxis {
  std::vector<int64_t> first, last;
  std::vector<int64_t> count;  // what a mean divides by, which may count padding
  int64_t step = 1;
  // Sliding windows are known by these as well; stride is 0 for others.
  int64_t kernel = 0, stride = 0, padding = 0;

  int64_t size() const { return int64_t(first.size()); }
};
using PoolWindows = std::vector<PoolAxis>;
EMBER_FIELDS(PoolAxis, (Attr, first), (Attr, last), (Attr, count), (Attr, step), (Attr, kernel),
             (Attr, stride), (Attr, padding))

// Weighted sums along one axis: result i is the sum over t of weight[i, t] * x[index[i, t]].
struct Taps {
  int64_t width = 0;  // of each result
  std::vector<int64_t> index;
  std::vector<double> weight;

  int64_t size() const { return int64_t(index.size()) / width; }
};
EMBER_FIELDS(Taps, (Attr, width), (Attr, index), (Attr, weight))

// A sparse matrix of R rows: row r has the elements start[r] .. start[r + 1] - 1 of `columns` and
// of the values. Both are int64 and contiguous.
struct CsrRows {
  Tensor start;    // (R + 1)
  Tensor columns;  // (nnz)
  int64_t width;   // columns of the matrix
};
EMBER_FIELDS(CsrRows, (In, start), (In, columns), (Attr, width))

struct AttentionOptions {
  Tensor mask;   // added to the scores: (B, H, L, S), repeated by strides of 0; or undefined
  bool causal;   // query i sees keys up to i
  double scale;  // of the scores, before the mask
};
EMBER_FIELDS(AttentionOptions, (In, mask), (Attr, causal), (Attr, scale))

struct ClassLoss {
  Tensor target, weight;  // int64 (N, S); of classes (C), may be undefined
  int64_t ignored;        // a target that counts for nothing
  double smoothing;       // how much of each target is spread over all classes
};
EMBER_FIELDS(ClassLoss, (In, target), (In, weight), (Attr, ignored), (Attr, smoothing))

constexpr int gates_of(Cell cell) { return cell == Cell::Lstm ? 4 : cell == Cell::Gru ? 3 : 1; }

// Rows of all steps lie one after another, step t having sizes[t] of them; sizes never grow, and
// row i of a step belongs to sequence i. N sequences, `rows` in all, H units, P outputs (H unless
// there is a projection), G gates; in the order of PyTorch: input, forget, cell, output (LSTM);
// reset, update, new (GRU). Every tensor is contiguous, of one floating dtype.
struct Steps {
  Cell cell;
  bool reverse;  // from the last step to the first
  const std::vector<int64_t>& sizes;
};
EMBER_FIELDS(Steps, (Attr, cell), (Attr, reverse), (Attr, sizes))

struct RecurrentForward {
  Tensor gates;       // (rows, G H): what the input gives them; becomes their values
  Tensor weight;      // (G H, P): of the recurrence
  Tensor bias;        // (G H), may be undefined: added to the gates
  Tensor bias_h;      // (G H), GRU only, may be undefined: added to what the recurrence gives
  Tensor projection;  // (P, H), may be undefined
  Tensor h, c;        // (N, P), (N, H): states at the start, become those at the end; c: LSTM only
  Tensor y;           // (rows, P): h after each step
  Tensor before;      // (rows, H), may be undefined: c before each step
  Tensor before_h;    // (rows, P), may be undefined: h before each step
  Tensor hidden;      // (rows, H): LSTM's h before the projection; what GRU's reset gate multiplies
};
EMBER_FIELDS(RecurrentForward, (Changed, gates), (In, weight), (In, bias), (In, bias_h),
             (In, projection), (Changed, h), (Changed, c), (Out, y), (Out, before), (Out, before_h),
             (Out, hidden))

struct RecurrentBackward {
  // As the forward pass left them. gates, before: LSTM and GRU; before_h, hidden: GRU (LSTM's
  // hidden is not needed); y: the others.
  Tensor gates, weight, projection, y, before, before_h, hidden;
  Tensor dy;          // (rows, P)
  Tensor dh, dc;      // gradients of the last states, become those of the first
  Tensor dgates;      // (rows, G H): of what the input gives to the gates; may be `gates` itself
  Tensor dgates_h;    // (rows, G H), GRU only: of what the recurrence gives to them
  Tensor dbias;       // (1, G H), may be undefined: the sum of dgates' rows
  Tensor dbias_h;     // (1, G H), may be undefined: the sum of dgates_h's rows
  Tensor dprojected;  // (rows, P), with a projection only: of h after each step, from all sides
};
EMBER_FIELDS(RecurrentBackward, (In, gates), (In, weight), (In, projection), (In, y), (In, before),
             (In, before_h), (In, hidden), (In, dy), (Changed, dh), (Changed, dc), (Out, dgates),
             (Out, dgates_h), (Out, dbias), (Out, dbias_h), (Out, dprojected))

template <class T>
concept HasFields = requires(const T& t) { fields(t, [](auto...) {}); };

}  // namespace ember
