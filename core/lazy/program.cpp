#include "lazy/program.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

namespace ember::lazy {

namespace {

using Op = ProgramNode::Op;

constexpr int kStridedCost = 2;  // steps that are spared to make up for elements one by one
constexpr int kFarCost = 4;      // times as much, where each has a line of the caches for itself
constexpr int64_t kFar = 64, kWorthPacking = 1 << 16;  // bytes
// Of rows: longer ones are summed in steps, as columns are, shorter ones kept in the caches
// (_kernel.py, _emit.py).
constexpr int64_t kLongRow = 8192, kTallColumn = 256, kShortRow = 4096;
constexpr int64_t kShort = 16;  // an axis is too short to be vectorised, if another is longer
constexpr int64_t kMostColumns = 256;          // more than are reduced together
constexpr int64_t kPiece = 8192, kTile = 128;  // elements of a piece; columns that it has, about

// A group becomes nodes, each value once.
class Writer {
 public:
  Writer(const Group& group, const Grouping& grouping, const std::vector<Step>& steps)
      : group_(group), grouping_(grouping), steps_(steps) {}

  Bound write() {
    for (int i : group_.steps) {
      values_[i] = value_of(i);
      reduces_ = reduces_ || steps_[size_t(i)].kind == StepKind::Reduce;
    }
    // Of writes to one place the last counts.
    for (size_t n = 0; n < group_.steps.size(); n++) {
      const int i = group_.steps[n];
      const bool here = &grouping_.groups[size_t(grouping_.group_of[size_t(i)])] == &group_;
      if (here && grouping_.stored[size_t(i)] && !written_again(n)) store(i);
    }
    walk();
    pack();
    if (in_pieces_) divide();
    lay_out();
    return std::move(bound_);
  }
  Program& program() { return program_; }

 private:
  int add(ProgramNode node) {
    program_.nodes.push_back(std::move(node));
    return int(program_.nodes.size()) - 1;
  }

  int value_of(int i) {
    const Step& s = steps_[size_t(i)];
    if (s.kind == StepKind::Copy || s.kind == StepKind::Fill) {
      const int x = input(i, 0);
      if (program_.nodes[size_t(x)].dtype == s.out.dtype && s.in[0].tag == Tag::Tensor) return x;
      return add({.op = Op::Cast, .dtype = s.out.dtype, .args = {x}});
    }
    static constexpr Op ops[] = {Op::Unary,   Op::UnaryGrad, Op::Predicate, Op::Binary,
                                 Op::Compare, Op::Ternary,   Op::Reduce};
    ProgramNode node{.op = ops[int(s.kind) - int(StepKind::Unary)], .dtype = s.out.dtype};
    node.compute = s.compute;
    node.row = s.row;
    if (s.kind == StepKind::Reduce && is_in_pieces(s)) {
      in_pieces_ = true;
      if (Reduction(s.row) == Reduction::mean) node.row = int(Reduction::sum);
    }
    for (int k = 0; k < s.inputs; k++) node.args.push_back(input(i, k));
    for (int k = 0; k < s.params; k++) {
      const StepOperand& p = s.param[size_t(k)];
      const bool constant = p.tag == Tag::Constant;
      node.params.push_back({constant, constant ? p.place : number(p)});
    }
    return add(std::move(node));
  }

  int input(int i, int k) {
    const Step& s = steps_[size_t(i)];
    const StepOperand& in = s.in[size_t(k)];
    if (in.tag == Tag::Number) return number(in);
    if (const int from = grouping_.from[size_t(i)][size_t(k)]; from >= 0) return values_.at(from);
    for (const auto& [step, operand, node] : loads_)
      if (same_place(steps_[size_t(step)], steps_[size_t(step)].in[size_t(operand)], s, in))
        return node;
    const int node = add({.op = Op::Load, .dtype = in.dtype, .slot = int(inputs_.size())});
    loads_.push_back({i, k, node});
    inputs_.push_back(&in);
    return node;
  }

  int number(const StepOperand& n) {
    auto [at, fresh] = numbers_.try_emplace(n.place, 0);
    if (!fresh) return at->second;
    static constexpr Dtype dtypes[] = {Dtype::Bool, Dtype::Int64, Dtype::UInt64, Dtype::Float64};
    ProgramNode node{.op = Op::Number, .dtype = dtypes[int(n.type)]};
    node.slot = int(bound_.numbers.size());
    node.type = n.type;
    bound_.numbers.push_back(n.place);
    return at->second = add(std::move(node));
  }

  bool written_again(size_t n) const {
    const Step& s = steps_[size_t(group_.steps[n])];
    for (size_t later = n + 1; later < group_.steps.size(); later++) {
      const Step& o = steps_[size_t(group_.steps[later])];
      if (same_place(s, s.out, o, o.out)) return true;
    }
    return false;
  }

  void store(int i) {
    program_.outputs.push_back(values_.at(i));
    outputs_.push_back({&steps_[size_t(i)].out, i});
    if (reduces_) program_.rows.push_back(steps_[size_t(i)].rows);
  }

  struct Axis {
    int64_t size;
    std::vector<int64_t> steps;  // of each operand, in bytes
  };
  // A space without axes that all operands walk as one with the next.
  static void merge(std::vector<Axis>& axes) {
    for (size_t d = axes.size(); d-- > 1;) {
      Axis &outer = axes[d - 1], &inner = axes[d];
      bool as_one = true;
      for (size_t k = 0; k < inner.steps.size(); k++)
        as_one = as_one && outer.steps[k] == inner.steps[k] * inner.size;
      if (!as_one) continue;
      outer.size *= inner.size;
      outer.steps = inner.steps;
      axes.erase(axes.begin() + int64_t(d));
    }
  }

  void walk() {
    for (const StepOperand* o : inputs_) operands_.push_back(o);
    for (const Output& o : outputs_) operands_.push_back(o.operand);
    const Step& first = steps_[size_t(group_.steps[0])];
    std::vector<Axis> stay, gone;
    for (int d = 0; d < first.axes; d++) {
      Axis axis{first.shape[d], {}};
      for (const StepOperand* o : operands_)
        axis.steps.push_back(o->strides[d] * item_size(o->dtype));
      (reduces_ && group_.gone >> d & 1 ? gone : stay).push_back(std::move(axis));
    }
    if (reduces_)
      walk_rows(stay, gone);
    else
      walk_points(stay);
    axes_ = std::move(stay);
    stay_ = axes_.size();
    axes_.insert(axes_.end(), gone.begin(), gone.end());
  }

  // The innermost of memory last; or the longest, where that is short.
  void walk_points(std::vector<Axis>& axes) const {
    const size_t lead = outputs_.empty() ? 0 : inputs_.size();
    if (!operands_.empty())
      std::stable_sort(axes.begin(), axes.end(),
                       [&](const Axis& a, const Axis& b) { return a.steps[lead] > b.steps[lead]; });
    merge(axes);
    if (axes.empty()) axes.push_back({1, std::vector<int64_t>(operands_.size())});
    if (axes.back().size >= kShort) return;
    const auto longest = std::max_element(
        axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.size < b.size; });
    if (longest->size > axes.back().size) std::rotate(longest, longest + 1, axes.end());
  }

  // Vectors lie along what most inputs have one after the other: a row, or columns; as in
  // _space.py.
  void walk_rows(std::vector<Axis>& stay, std::vector<Axis>& gone) {
    std::vector<int64_t> own(inputs_.size(), 1);  // elements of each input
    for (const auto* axes : {&stay, &gone})
      for (const Axis& axis : *axes)
        for (size_t k = 0; k < own.size(); k++)
          if (axis.steps[k]) own[k] *= axis.size;
    // How many elements inputs have in order along an axis, and how long it is.
    auto worth = [&](const Axis& axis) {
      int64_t near = 0;
      for (size_t k = 0; k < own.size(); k++)
        if (axis.steps[k] == item_size(inputs_[k]->dtype)) near += own[k];
      return std::pair(near, axis.size);
    };
    auto far_to_near = [&](std::vector<Axis>& axes) {
      auto reach = [&](const Axis& axis) {
        int64_t sum = 0;
        for (size_t k = 0; k < own.size(); k++) sum += std::abs(axis.steps[k]);
        return sum;
      };
      std::stable_sort(axes.begin(), axes.end(),
                       [&](const Axis& a, const Axis& b) { return reach(a) > reach(b); });
    };
    auto best = [&](const std::vector<Axis>& axes, int64_t least) {
      std::pair<int64_t, int64_t> most{0, 1};
      for (const Axis& axis : axes)
        if (axis.size >= least) most = std::max(most, worth(axis));
      return most;
    };
    auto best_last = [&](std::vector<Axis>& axes, int64_t least) {
      const auto wanted = best(axes, least);
      for (size_t d = axes.size(); d-- > 0;)
        if (axes[d].size >= least && worth(axes[d]) == wanted) {
          std::rotate(axes.begin() + int64_t(d), axes.begin() + int64_t(d) + 1, axes.end());
          return;
        }
    };
    const bool has_long =
        std::any_of(stay.begin(), stay.end(), [](const Axis& a) { return a.size >= kShort; });
    const auto [near, unused] = best(stay, kShort);
    const auto [row, length] = best(gone, 1);
    columns_ = has_long && (near > row || length < kShort);
    far_to_near(stay);
    far_to_near(gone);
    if (columns_)
      best_last(stay, kShort);
    else
      best_last(gone, 1);
    if (!in_pieces_) merge(stay);  // of which results are packed in the order of their shape
    merge(gone);
    program_.reduced = int(gone.size());
  }

  // Inputs whose elements are far apart along the vectors are copied first, which the device does
  // in tiles.
  void pack() {
    const size_t along = (columns_ ? stay_ : axes_.size()) - 1;
    for (size_t k = 0; k < inputs_.size(); k++) {
      const int64_t size = item_size(inputs_[k]->dtype);
      int64_t elements = 1;
      for (const Axis& axis : axes_) elements *= axis.steps[k] ? axis.size : 1;
      if (std::abs(axes_[along].steps[k]) < kFar || elements * size < kWorthPacking) continue;
      Packing packing{inputs_[k]->dtype, {}, {}, inputs_[k]->offset};
      std::vector<size_t> order;
      for (size_t d = 0; d < axes_.size(); d++)
        if (d != along && axes_[d].steps[k]) order.push_back(d);
      order.push_back(along);
      for (size_t d : order) {
        packing.shape.push_back(axes_[d].size);
        packing.strides.push_back(axes_[d].steps[k] / size);
      }
      int64_t step = size;
      for (size_t n = order.size(); n-- > 0;) {
        axes_[order[n]].steps[k] = step;
        step *= axes_[order[n]].size;
      }
      packings_[k] = int(bound_.packings.size());
      bound_.packings.push_back(std::move(packing));
    }
  }

  // A first axis that counts pieces of the first one that is reduced.
  void divide() {
    Axis& cut = axes_[stay_];
    int64_t inner = 1;
    for (size_t d = stay_ + 1; d < axes_.size(); d++) inner *= axes_[d].size;
    if (columns_) inner *= std::min(axes_[stay_ - 1].size, kTile);
    const int64_t length = std::min(cut.size, std::max<int64_t>(1, kPiece / inner));
    total_ = cut.size;
    Axis pieces{(cut.size + length - 1) / length, cut.steps};
    for (int64_t& step : pieces.steps) step *= length;
    cut.size = length;
    // Results lie in rows, one for each piece, in the order of the axes that stay.
    for (size_t k = 0; k < outputs_.size(); k++) {
      const size_t at = inputs_.size() + k;
      if (!program_.rows[k]) continue;
      int64_t step = item_size(operands_[at]->dtype);
      const Step& s = steps_[size_t(outputs_[k].step)];
      for (size_t d = 0; d < stay_; d++) step *= axes_[d].size;
      pieces.steps[at] = step;
      const int64_t dense = item_size(operands_[at]->dtype);
      for (size_t d = 0; d < stay_; d++) axes_[d].steps[at] = packed(s, axes_[d].steps[at], dense);
    }
    bound_.pieces = pieces.size;
    axes_.insert(axes_.begin(), std::move(pieces));
    stay_++;
    program_.chunks = true;
  }
  // The step in bytes of what is packed, in place of one of the output itself.
  static int64_t packed(const Step& s, int64_t step, int64_t size) {
    int64_t found = size;
    for (int d = s.axes; d-- > 0;) {
      if (s.gone >> d & 1) continue;
      if (s.out.strides[d] * size == step) return found;
      found *= s.shape[d];
    }
    return step;
  }

  void lay_out() {
    program_.rank = int(axes_.size());
    for (const Axis& axis : axes_) bound_.geometry.push_back(axis.size);
    const size_t along = (columns_ ? stay_ : axes_.size()) - 1;
    for (size_t d = 0; d < (reduces_ ? stay_ : axes_.size()); d++)
      if (!columns_ || d != along) bound_.units *= axes_[d].size;
    if (reduces_) {
      for (size_t d = stay_; d < axes_.size(); d++) bound_.length *= axes_[d].size;
      program_.long_rows = bound_.length > (columns_ ? kTallColumn : kLongRow);
      program_.short_rows = !columns_ && program_.reduced == 1 && bound_.length <= kShortRow;
    }
    if (columns_) {
      bound_.columns = axes_[along].size;
      program_.columns = int64_t(std::bit_ceil(uint64_t(std::min(bound_.columns, kMostColumns))));
    }
    if (!reduces_ && program_.rank > 1 && axes_.back().size < kMostColumns)
      program_.inner = int64_t(std::bit_ceil(uint64_t(axes_.back().size)));
    int strided = 0;
    for (size_t k = 0; k < operands_.size(); k++) {
      const StepOperand& o = *operands_[k];
      const bool input = k < inputs_.size(),
                 result = !input && reduces_ && program_.rows[k - inputs_.size()];
      bound_.operands.push_back({o.place, o.offset * item_size(o.dtype)});
      if (auto at = packings_.find(k); at != packings_.end())
        bound_.operands.back().packing = at->second;
      if (result && in_pieces_) bound_.operands.back().step = outputs_[k - inputs_.size()].step;
      for (const Axis& axis : axes_) bound_.geometry.push_back(axis.steps[k]);
      const int64_t step = axes_[along].steps[k];
      char letter = 's';
      if (step == item_size(o.dtype) || (axes_[along].size == 1 && !(input && reduces_)))
        letter = 'c';
      else if (step == 0 && input)
        letter = 'b';
      bool of_row = input && reduces_;
      for (size_t d = stay_; d < axes_.size(); d++) of_row = of_row && axes_[d].steps[k] == 0;
      if (of_row) letter = char(letter - 'a' + 'A');
      program_.patterns += letter;
      const bool far = std::abs(step) >= kFar;  // of an output
      strided += letter == 's' && !result ? (far && !input ? kFarCost : 1) : 0;
    }
    if (in_pieces_) bound_.geometry.push_back(total_);
    strided += 2 * int(bound_.packings.size());
    bound_.pays = kStridedCost * strided < int(group_.steps.size());
  }

  struct Load {
    int step, operand, node;
  };
  struct Output {
    const StepOperand* operand;
    int step;
  };
  const Group& group_;
  const Grouping& grouping_;
  const std::vector<Step>& steps_;
  Program program_;
  Bound bound_;
  bool reduces_ = false, in_pieces_ = false, columns_ = false;
  std::vector<const StepOperand*> operands_;  // inputs, then outputs
  std::vector<Axis> axes_;                    // those that stay, then those that are reduced
  std::unordered_map<size_t, int> packings_;  // of inputs
  size_t stay_ = 0;
  int64_t total_ = 0;                         // of the axis that is in pieces
  std::unordered_map<int, int> values_;       // nodes of steps
  std::unordered_map<int64_t, int> numbers_;  // nodes of numbers
  std::vector<Load> loads_;
  std::vector<const StepOperand*> inputs_;
  std::vector<Output> outputs_;
};

std::unordered_map<std::string, std::shared_ptr<Code>>& known() {
  static auto* all = new std::unordered_map<std::string, std::shared_ptr<Code>>;
  return *all;
}

template <class T>
void put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

const char* ProgramNode::row_name() const {
  switch (op) {
    case Unary:
    case UnaryGrad: return name_of(ember::Unary(row));
    case Predicate: return name_of(ember::Predicate(row));
    case Binary: return name_of(ember::Binary(row));
    case Compare: return name_of(ember::Compare(row));
    case Ternary: return name_of(ember::Ternary(row));
    case Reduce: return name_of(Reduction(row));
    default: return "";
  }
}

std::string Program::key() const {
  std::string text;
  put(text, rank), put(text, reduced), put(text, columns), put(text, inner);
  put(text, chunks), put(text, long_rows), put(text, short_rows);
  text += patterns;
  for (const ProgramNode& n : nodes) {
    put(text, n.op), put(text, n.dtype), put(text, n.compute), put(text, n.row), put(text, n.slot);
    put(text, n.args.size()), put(text, n.params.size());
    for (int a : n.args) put(text, a);
    for (const auto& p : n.params) put(text, p.constant), put(text, p.value);
  }
  for (int o : outputs) put(text, o);
  for (int r : rows) put(text, r);
  return text;
}

Bound bind(const Group& group, const Grouping& grouping, const std::vector<Step>& steps) {
  Writer writer(group, grouping, steps);
  Bound bound = writer.write();
  std::shared_ptr<Code>& code = known()[writer.program().key()];
  if (!code) code = std::make_shared<Code>(std::move(writer.program()));
  bound.code = code;
  return bound;
}

std::vector<std::shared_ptr<Code>>& unfinished() {
  static auto* all = new std::vector<std::shared_ptr<Code>>;
  return *all;
}

void want(const std::shared_ptr<Code>& code) {
  if (code->state != Code::State::Unseen) return;
  code->state = Code::State::Wanted;
  unfinished().push_back(code);
}

void forget_code() { known().clear(); }

}  // namespace ember::lazy
