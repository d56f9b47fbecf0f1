#include "lazy/program.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace ember::lazy {

namespace {

using Op = ProgramNode::Op;

constexpr int kStridedCost = 4;  // steps that are spared to make up for elements one by one
// Of rows: longer ones are summed in steps, shorter ones kept in the caches (_kernel.py, _emit.py).
constexpr int64_t kLongRow = 8192, kShortRow = 4096;
constexpr int64_t kShort = 16;  // an axis is too short to be vectorised, if another is longer

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
      if (grouping_.stored[size_t(i)] && !written_again(n)) store(i);
    }
    walk();
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
    outputs_.push_back(&steps_[size_t(i)].out);
    if (reduces_) program_.rows.push_back(steps_[size_t(i)].rows);
  }

  // The space without axes that all operands walk as one with the next, the innermost of memory
  // last; of pointwise work the longest, where that is short.
  void walk() {
    int strided = 0;
    const Step& first = steps_[size_t(group_.steps[0])];
    std::vector<const StepOperand*> operands = inputs_;
    operands.insert(operands.end(), outputs_.begin(), outputs_.end());
    const StepOperand& lead = outputs_.empty() ? first.out : *outputs_[0];
    std::vector<int> order(size_t(first.axes));
    for (int d = 0; d < first.axes; d++) order[size_t(d)] = d;
    const bool reduces = !program_.rows.empty();
    std::stable_sort(order.begin(), order.end() - reduces,
                     [&](int a, int b) { return lead.strides[a] > lead.strides[b]; });
    struct Axis {
      int64_t size;
      std::vector<int64_t> steps;  // in bytes
    };
    std::vector<Axis> axes;
    for (int d : order) {
      Axis axis{first.shape[d], {}};
      for (const StepOperand* o : operands)
        axis.steps.push_back(o->strides[d] * item_size(o->dtype));
      axes.push_back(std::move(axis));
    }
    for (size_t d = axes.size() - reduces; d-- > 1;) {
      Axis &outer = axes[d - 1], &inner = axes[d];
      bool as_one = true;
      for (size_t k = 0; k < operands.size(); k++)
        as_one = as_one && outer.steps[k] == inner.steps[k] * inner.size;
      if (!as_one) continue;
      outer.size *= inner.size;
      outer.steps = inner.steps;
      axes.erase(axes.begin() + int64_t(d));
    }
    if (axes.empty()) axes.push_back({1, std::vector<int64_t>(operands.size())});
    if (axes.back().size < kShort && !reduces) {
      const auto longest = std::max_element(
          axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.size < b.size; });
      if (longest->size > axes.back().size) std::rotate(longest, longest + 1, axes.end());
    }
    program_.rank = int(axes.size());
    for (const Axis& axis : axes) {
      bound_.geometry.push_back(axis.size);
      bound_.units *= axis.size;
    }
    if (reduces) {
      bound_.length = axes.back().size;
      bound_.units /= bound_.length;
      program_.long_rows = bound_.length > kLongRow;
      program_.short_rows = bound_.length <= kShortRow;
    }
    for (size_t k = 0; k < operands.size(); k++) {
      const StepOperand& o = *operands[k];
      bound_.operands.push_back({o.place, o.offset * item_size(o.dtype)});
      for (const Axis& axis : axes) bound_.geometry.push_back(axis.steps[k]);
      const int64_t step = axes.back().steps[k];
      const bool dense = step == item_size(o.dtype) || axes.back().size == 1;
      program_.patterns += dense ? 'c' : step == 0 && k < inputs_.size() ? 'b' : 's';
      const bool of_rows = reduces && k >= inputs_.size() && program_.rows[k - inputs_.size()];
      strided += program_.patterns.back() == 's' && !of_rows;
    }
    bound_.pays = kStridedCost * strided < int(group_.steps.size());
  }

  struct Load {
    int step, operand, node;
  };
  const Group& group_;
  const Grouping& grouping_;
  const std::vector<Step>& steps_;
  Program program_;
  Bound bound_;
  bool reduces_ = false;
  std::unordered_map<int, int> values_;       // nodes of steps
  std::unordered_map<int64_t, int> numbers_;  // nodes of numbers
  std::vector<Load> loads_;
  std::vector<const StepOperand*> inputs_, outputs_;
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
  put(text, rank), put(text, long_rows), put(text, short_rows);
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
