#include "lazy/plan.h"

#include "lazy/staying.h"

#include <algorithm>
#include <bit>

namespace ember::lazy {

namespace {

// The end of the words: the use of each slot, and which was asked for.
std::vector<Use> uses_of(const std::vector<int64_t>& words, size_t slots) {
  std::vector<Use> uses(slots);
  for (size_t i = 0; i < slots; i++) uses[i] = Use(words[words.size() - 1 - slots + i]);
  return uses;
}

int64_t bytes_of(const Step& s) {
  int64_t n = item_size(s.out.dtype);
  for (int d = 0; d < s.axes - s.rows; d++) n *= s.shape[d];
  return n;
}

// As the primitive had it: what was lifted, without the axis that it got.
Tensor tensor_of(const Step& s, const StepOperand& o, const std::vector<Slot>& slots) {
  const int axes = s.axes - s.lifted;
  Shape shape(s.shape, axes);
  if (s.kind == StepKind::Reduce && &o == &s.out) shape.back() = 1;
  return from_storage(Ref<Storage>(slots[size_t(o.place)].storage), o.dtype, std::move(shape),
                      Shape(o.strides, axes), o.offset);
}

}  // namespace

Plan::Plan(const std::vector<int64_t>& words, int64_t steps, size_t slots)
    : words_(words), steps_(read_steps(words_, steps)) {
  std::vector<Use> uses = uses_of(words_, slots);
  staying_ = steps_that_stay(steps_, uses, int(words_.back()));
  std::vector<bool> unwanted(slots);
  for (size_t i = 0; i < slots; i++) unwanted[i] = uses[i] != Use::Wanted;
  grouping_ = group_steps(steps_, unwanted);
  for (size_t g = 0; g < grouping_.groups.size(); g++) {
    const Group& group = grouping_.groups[g];
    if (group.steps.empty()) continue;
    Part part{{}, int(g), 0};
    // One step alone is what the device does best.
    if (group.steps.size() > 1) part.bound = bind(group, grouping_, steps_);
    if (!part.bound.pays) part.bound.code = nullptr;
    for (int i : group.steps) {
      for (int from : grouping_.from[size_t(i)])
        if (from >= 0) part.saved += bytes_of(steps_[size_t(from)]);
      if (!grouping_.stored[size_t(i)]) part.saved += bytes_of(steps_[size_t(i)]);
    }
    parts_.push_back(std::move(part));
  }
}

void Plan::want_code() {
  for (const Part& part : parts_)
    if (part.bound.code) want(part.bound.code);
}

void Plan::run(const std::vector<Slot>& slots, const std::vector<Number>& numbers, Backend& device,
               Stats& stats) {
  for (const Part& part : parts_) {
    if (part.bound.code && part.bound.code->state == Code::State::Ready) {
      run_code(part, slots, numbers);
      stats.kernels++;
      stats.bytes_saved += part.saved;
      continue;
    }
    for (int i : grouping_.groups[size_t(part.group)].steps)
      run_step(steps_[size_t(i)], slots, numbers, device);
    stats.eager_groups++;
  }
}

// The words of a kernel: docs/compile.md.
void Plan::run_code(const Part& part, const std::vector<Slot>& slots,
                    const std::vector<Number>& numbers) {
  const Bound& bound = part.bound;
  const Code& code = *bound.code;
  std::vector<int64_t> words;
  words.reserve(1 + bound.operands.size() + code.functions.size() + bound.numbers.size() +
                bound.geometry.size());
  words.push_back(0);
  for (const Place& place : bound.operands) {
    Storage& s = *slots[size_t(place.slot)].storage;
    if (s.watch & kUnallocated) s.provide();
    words.push_back(reinterpret_cast<int64_t>(s.data) + place.offset);
  }
  words.insert(words.end(), code.functions.begin(), code.functions.end());
  for (int64_t at : bound.numbers) words.push_back(numbers[size_t(at)].bits);
  words.insert(words.end(), bound.geometry.begin(), bound.geometry.end());
  const cpu::FusedItem item{words.data(), bound.units};
  cpu::run_fused(code.kernel, &item, 1, std::max<int64_t>(1, code.grain / bound.length));
}

void run_step(const Step& s, const std::vector<Slot>& slots, const std::vector<Number>& numbers,
              Backend& device) {
  std::array<Tensor, kMostInputs> tensors;
  std::array<Input, kMostInputs> in;
  for (int i = 0; i < s.inputs; i++) {
    const StepOperand& o = s.in[size_t(i)];
    if (o.tag == Tag::Tensor) {
      tensors[size_t(i)] = tensor_of(s, o, slots);
      in[size_t(i)].tensor = &tensors[size_t(i)];
    } else {
      in[size_t(i)].scalar = numbers[size_t(o.place)].scalar();
    }
  }
  double p[3] = {};
  for (int i = 0; i < s.params; i++) {
    const StepOperand& o = s.param[size_t(i)];
    p[i] = std::bit_cast<double>(o.tag == Tag::Constant ? o.place : numbers[size_t(o.place)].bits);
  }
  const Params params{p[0], p[1], p[2]};
  const Tensor out = tensor_of(s, s.out, slots);
  switch (s.kind) {
    case StepKind::Copy: return device.copy(out, tensors[0]);
    case StepKind::Fill: return device.fill(out, in[0].scalar);
    case StepKind::Unary: return device.unary(Unary(s.row), s.compute, out, in[0], params);
    case StepKind::UnaryGrad:
      return device.unary_grad(Unary(s.row), s.compute, out, in[0], in[1], params);
    case StepKind::Predicate: return device.predicate(Predicate(s.row), s.compute, out, in[0]);
    case StepKind::Binary: return device.binary(Binary(s.row), s.compute, out, in[0], in[1]);
    case StepKind::Compare:
      return device.compare(Compare(s.row), s.compute, out, in[0], in[1], params);
    case StepKind::Ternary:
      return device.ternary(Ternary(s.row), s.compute, out, in[0], in[1], in[2], params);
    case StepKind::Reduce:
      return device.reduce(Reduction(s.row), out, tensors[0], Shape{s.axes - 1}, 0);
  }
}

}  // namespace ember::lazy
