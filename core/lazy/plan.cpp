#include "lazy/plan.h"

#include "lazy/rehearsal.h"
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
  for (int d = 0; d < s.axes; d++) n *= s.gone >> d & 1 ? 1 : s.shape[d];
  return n;
}

Shape gone_axes(const Step& s) {
  Shape axes;
  for (int d = 0; d < s.axes; d++)
    if (s.gone >> d & 1) axes.push_back(d);
  return axes;
}

// As the primitive had it: what was lifted, without the axes that it got.
Tensor tensor_of(const Step& s, const StepOperand& o, const std::vector<Slot>& slots) {
  const bool result = s.kind == StepKind::Reduce && &o == &s.out;
  Shape shape, strides;
  for (int d = 0; d < s.axes; d++) {
    const bool gone = s.gone >> d & 1;
    if (gone && s.lifted) continue;
    shape.push_back(gone && result ? 1 : s.shape[d]);
    strides.push_back(o.strides[d]);
  }
  return from_storage(Ref<Storage>(slots[size_t(o.place)].storage), o.dtype, std::move(shape),
                      std::move(strides), o.offset);
}

// Results of pieces: (pieces, 1 or a size for each axis).
Tensor pieces_of(const Step& s, int64_t pieces) {
  Shape shape{pieces};
  for (int d = 0; d < s.axes; d++) shape.push_back(s.gone >> d & 1 ? 1 : s.shape[d]);
  return empty(shape, s.out.dtype, Device());
}

void join_pieces(const Step& s, const Tensor& parts, const std::vector<Slot>& slots,
                 Backend& device) {
  const Tensor out = tensor_of(s, s.out, slots);
  Shape shape = out.shape(), strides = out.strides();
  shape.insert(0, 1), strides.insert(0, 0);
  const Tensor whole = from_storage(out.storage(), s.out.dtype, shape, strides, s.out.offset);
  const bool mean = Reduction(s.row) == Reduction::mean;
  device.reduce(mean ? Reduction::sum : Reduction(s.row), whole, parts, Shape{0}, 0);
  if (!mean) return;
  double count = 1;
  for (int64_t d : gone_axes(s)) count *= double(s.shape[d]);
  device.binary(Binary::div, s.out.dtype, out, {&out, nullptr, {}}, {nullptr, nullptr, count});
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
    Part part{{}, int(g), group.steps};
    // One step alone is what the device does best.
    if (group.steps.size() > 1) part.bound = lazy::bind(group, grouping_, steps_);
    if (!part.bound.code || !part.bound.pays) {
      for (int i : group.steps) parts_.push_back(Part{{}, int(g), {i}});
      continue;
    }
    for (int i : group.steps) {
      for (int from : grouping_.from[size_t(i)])
        if (from >= 0) part.saved += bytes_of(steps_[size_t(from)]);
      if (!grouping_.stored[size_t(i)]) part.saved += bytes_of(steps_[size_t(i)]);
    }
    parts_.push_back(std::move(part));
  }
  find_done(uses);
}

// Memory that is given back at once is warm for what comes next.
void Plan::find_done(const std::vector<Use>& uses) {
  std::vector<bool> written(uses.size()), seen(uses.size());
  for (const Step& s : steps_) written[size_t(s.out.place)] = true;
  for (size_t p = parts_.size(); p-- > 0;) {
    auto touch = [&](const StepOperand& o) {
      if (o.tag != Tag::Tensor) return;
      const size_t slot = size_t(o.place);
      if (!seen[slot] && written[slot] && uses[slot] == Use::Dead) parts_[p].done.push_back(slot);
      seen[slot] = true;
    };
    for (int i : parts_[p].steps) {
      touch(steps_[size_t(i)].out);
      for (int k = 0; k < steps_[size_t(i)].inputs; k++) touch(steps_[size_t(i)].in[size_t(k)]);
    }
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
      run_code(part, slots, numbers, device);
      stats.kernels++;
      stats.bytes_saved += part.saved;
    } else {
      for (int i : part.steps) run_step(steps_[size_t(i)], slots, numbers, device);
      stats.eager_groups++;
    }
    for (size_t slot : part.done)
      if (slots[slot].fresh) withdraw(*slots[slot].storage);
  }
}

// The words of a kernel: docs/compile.md.
void Plan::run_code(const Part& part, const std::vector<Slot>& slots,
                    const std::vector<Number>& numbers, Backend& device) {
  const Bound& bound = part.bound;
  const Code& code = *bound.code;
  std::vector<int64_t> words;
  words.reserve(1 + bound.operands.size() + code.functions.size() + bound.numbers.size() +
                bound.geometry.size());
  std::vector<std::pair<int, Tensor>> pieces;
  std::vector<Tensor> packed;
  const bool rehearsed = rehearsal::here();
  std::vector<FusedPointer> pointers;
  const size_t outputs = code.program.outputs.size();
  auto point = [&](Storage& s, int64_t offset) {
    if (s.watch & kUnallocated) s.provide();
    if (rehearsed)
      pointers.push_back(
          {words.size(), &s, offset, words.size() + outputs > bound.operands.size()});
    words.push_back(reinterpret_cast<int64_t>(s.data) + offset);
  };
  words.push_back(0);
  for (const Place& place : bound.operands) {
    if (place.step >= 0) {
      pieces.emplace_back(place.step, pieces_of(steps_[size_t(place.step)], bound.pieces));
      point(*pieces.back().second.storage(), 0);
      continue;
    }
    Storage& s = *slots[size_t(place.slot)].storage;
    if (place.packing >= 0) {
      const Packing& p = bound.packings[size_t(place.packing)];
      packed.push_back(empty(p.shape, p.dtype, Device()));
      device.copy(packed.back(),
                  from_storage(Ref<Storage>(&s), p.dtype, p.shape, p.strides, p.offset));
      point(*packed.back().storage(), 0);
      continue;
    }
    point(s, place.offset);
  }
  words.insert(words.end(), code.functions.begin(), code.functions.end());
  for (int64_t at : bound.numbers) words.push_back(numbers[size_t(at)].bits);
  words.insert(words.end(), bound.geometry.begin(), bound.geometry.end());
  int64_t units = bound.units, length = bound.length;
  if (bound.columns) {
    units *= (bound.columns + code.width - 1) / code.width;
    length *= code.width;
  }
  const cpu::FusedItem item{words.data(), units};
  const int64_t grain = std::max<int64_t>(1, code.grain / length);
  if (rehearsed) rehearsal::fused(code.kernel, words, units, grain, pointers);
  cpu::run_fused(code.kernel, &item, 1, grain);
  for (const auto& [step, parts] : pieces) join_pieces(steps_[size_t(step)], parts, slots, device);
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
    case StepKind::Reduce: return device.reduce(Reduction(s.row), out, tensors[0], gone_axes(s), 0);
  }
}

}  // namespace ember::lazy
