#include "lazy/trace.h"

#include <bit>
#include <cstring>

#include "backend.h"
#include "tensor/deferred.h"

namespace ember::lazy {

namespace {

// Bytes for each element that is worth putting off (a megabyte) that make a value worth computing
// again: smaller ones are read from the caches in less time.
constexpr int64_t kLarge = 256;

// Memory that only ember changes, and of which it hears before anybody looks.
bool is_ours(const Storage& s) {
  return s.device.is_cpu() && s.owner && !s.release && !s.root && !s.aliases && !s.pins &&
         !s.exposed && !s.shared && !(s.watch & kShrunk);
}

bool is_known(Dtype d) { return !is_complex(d) && !is_stored_only(d); }

// A word for an operand: what it is, and its slot or index.
int64_t word_of(Tag tag, int type, int64_t place) {
  return int64_t(tag) | int64_t(type) << 8 | place << 16;
}

}  // namespace

Number number_of(const Scalar& s) {
  if (s.is_float()) return {std::bit_cast<int64_t>(s.to<double>()), s.type()};
  return {s.to<int64_t>(), s.type()};
}

Scalar Number::scalar() const {
  if (type == Scalar::Type::Float) return Scalar(std::bit_cast<double>(bits));
  return type == Scalar::Type::Bool ? Scalar(bits != 0) : Scalar(bits);
}

void withdraw(Storage& s) {
  if (s.data) s.owner->deallocate(std::exchange(s.data, nullptr), s.bytes);
  s.watch |= kUnallocated;
}

bool Trace::takes(const Request& call) {
  const TensorImpl& out = *call.out.impl();
  if (!is_known(out.dtype) || !is_known(call.compute) || out.numel == 0 ||
      call.space().shape.size() > kMostAxes || !is_ours(*out.storage))
    return false;
  bool large = call.space().numel >= deferred_least || (out.storage->watch & kAwaited);
  for (int i = 0; i < call.inputs; i++) {
    const Input& in = call.in[size_t(i)];
    if (!in.tensor) {
      if (in.scalar.type() == Scalar::Type::UInt || in.scalar.is_complex()) return false;
      continue;
    }
    if (!in.tensor->storage() || !is_known(in.tensor->dtype()) || !is_ours(*in.tensor->storage()))
      return false;
    large = large || (in.tensor->storage()->watch & kAwaited);
  }
  return large && (out.contiguous || !has_internal_overlap(call.out));
}

int64_t Trace::slot_of(Storage& s) {
  if (s.watch & kAwaited) return s.slot;
  s.watch |= kAwaited;
  s.slot = uint32_t(slots_.size());
  slots_.push_back({&s});
  return s.slot;
}

// Equal numbers have one index, unless another came between with the same hash.
int64_t Trace::number_index(const Number& n) {
  const uint64_t mixed = (uint64_t(n.bits) + uint64_t(n.type)) * 0x9E3779B97F4A7C15u;
  uint32_t& at = seen_[mixed >> 58];
  if (at && numbers_[at - 1].bits == n.bits && numbers_[at - 1].type == n.type) return at - 1;
  numbers_.push_back(n);
  at = uint32_t(numbers_.size());
  return at - 1;
}

void Trace::append(const Request& call) {
  const Shape& shape = call.space().shape;
  const int all = shape.size();
  int axes = 0, alive[kMostAxes], gone = 0;
  for (int d = 0; d < all; d++)
    if (shape[d] != 1) {
      gone |= (call.gone >> d & 1) << axes;
      alive[axes++] = d;
    }
  const size_t most =
      3 + 2 * size_t(axes) + size_t(call.inputs) * size_t(axes + 2) + 2 * kMostInputs;
  const size_t begin = words_.size();
  words_.resize(begin + most);
  int64_t* w = words_.data() + begin;
  auto tensor = [&](const Tensor& t, const Shape& strides) {
    *w++ = word_of(Tag::Tensor, int(t.dtype()), slot_of(*t.storage()));
    *w++ = t.offset();
    for (int i = 0; i < axes; i++) *w++ = strides[alive[i]];
  };
  auto number = [&](const Scalar& s) {
    const Number n = number_of(s);
    *w++ = word_of(Tag::Number, int(n.type), number_index(n));
  };
  *w++ = int64_t(call.kind) | int64_t(call.compute) << 8 | int64_t(axes) << 16 |
         int64_t(call.inputs) << 24 | int64_t(call.param_count) << 32 | int64_t(call.row) << 40 |
         int64_t(gone) << 56;
  for (int i = 0; i < axes; i++) *w++ = shape[alive[i]];
  // Inputs first: a storage that is written here may be read here, too, but is named once.
  for (int i = 0; i < call.inputs; i++) {
    const Input& in = call.in[size_t(i)];
    if (in.tensor)
      tensor(*in.tensor, in.strides ? *in.strides : in.tensor->strides());
    else
      number(in.scalar);
  }
  tensor(call.out, call.out.strides());
  for (int i = 0; i < axes; i++)
    if (gone >> i & 1) w[i - axes] = 0;
  const double params[] = {call.params ? call.params->p0 : 0, call.params ? call.params->p1 : 0,
                           call.params ? call.params->p2 : 0};
  for (int i = 0; i < call.param_count; i++) {
    if (!call.constants) {
      number(Scalar(params[i]));
      continue;
    }
    *w++ = word_of(Tag::Constant, 0, 0);
    *w++ = std::bit_cast<int64_t>(params[i]);
  }
  words_.resize(size_t(w - words_.data()));
  steps_++;
}

void Trace::save(const Tensor& t) {
  if (!(t.storage()->watch & kAwaited)) return;
  saved_[t.impl()]++;
}

const std::vector<int64_t>& Trace::finish(bool stay, const Storage* asked) {
  std::vector<uint32_t> tensors(slots_.size());  // that nobody has but backward passes
  for (const auto& [impl, times] : saved_)
    if (impl->refs <= times && (impl->storage->watch & kAwaited)) tensors[impl->storage->slot]++;
  for (size_t i = 0; i < slots_.size(); i++) {
    Slot& slot = slots_[i];
    slot.fresh = slot.storage->watch & kUnallocated;
    if (slot.use == Use::Dead) continue;
    const bool saved = stay && slot.storage->bytes >= kLarge * deferred_least &&
                       slot.storage != asked && tensors[i] && slot.storage->refs == tensors[i];
    slot.use = saved ? Use::Saved : Use::Wanted;
  }
  for (const Slot& slot : slots_) words_.push_back(int64_t(slot.use));
  words_.push_back(asked && (asked->watch & kAwaited) ? int64_t(asked->slot) : -1);
  return words_;
}

void Trace::keep(Storage* storage) {
  storage->refs = 1;  // ours
  slots_[storage->slot].use = Use::Dead;
  if (storage->data) held_ += storage->bytes;
}

void Trace::forget(TensorImpl* t) {
  if (!saved_.empty()) saved_.erase(t);
}

std::vector<Ref<Storage>> Trace::clear(const std::vector<int>& but) {
  std::vector<Ref<Storage>> unused;
  std::vector<Slot> slots;
  slots.swap(slots_);
  std::vector<int64_t> words;
  words.swap(words_);
  std::vector<Number> numbers;
  numbers.swap(numbers_);
  std::unordered_map<TensorImpl*, uint32_t> saved;
  saved.swap(saved_);
  const int64_t steps = std::exchange(steps_, 0);
  seen_.fill(0);
  held_ = 0;
  for (const Slot& slot : slots) slot.storage->watch &= uint8_t(~kAwaited);
  if (!but.empty()) {
    const std::vector<Step> all = read_steps(words, steps);
    for (int i : but) append_again(all[size_t(i)], slots, numbers);
  }
  for (auto [impl, times] : saved)
    if (impl->storage->watch & kAwaited) saved_.emplace(impl, times);
  for (const Slot& slot : slots)
    if (slot.use == Use::Dead && !(slot.storage->watch & kAwaited))
      unused.push_back(Ref<Storage>::adopt(slot.storage));
  return unused;
}

// A step of what the trace was before.
void Trace::append_again(const Step& step, const std::vector<Slot>& slots,
                         const std::vector<Number>& numbers) {
  const size_t begin = words_.size();
  words_.insert(words_.end(), step.begin, step.end);
  auto move = [&](const StepOperand& o) {
    int64_t& word = words_[begin + size_t(o.word - step.begin)];
    if (o.tag == Tag::Number) {
      word = word_of(o.tag, int(o.type), number_index(numbers[size_t(o.place)]));
    } else if (o.tag == Tag::Tensor) {
      const Slot& old = slots[size_t(o.place)];
      const bool known = old.storage->watch & kAwaited;
      const int64_t slot = slot_of(*old.storage);
      word = word_of(o.tag, int(o.dtype), slot);
      if (known || old.use != Use::Dead) return;
      slots_[size_t(slot)].use = Use::Dead;
      if (old.storage->data) held_ += old.storage->bytes;
    }
  };
  for (int i = 0; i < step.inputs; i++) move(step.in[size_t(i)]);
  move(step.out);
  // Memory for a value that is computed again is not needed meanwhile.
  const Slot& out = slots[size_t(step.out.place)];
  Storage& s = *out.storage;
  if (out.fresh && out.use != Use::Wanted) withdraw(s);
  for (int i = 0; i < step.params; i++) move(step.param[size_t(i)]);
  steps_++;
}

bool Step::same_shape(const Step& o) const {
  return axes == o.axes && std::equal(shape, shape + axes, o.shape);
}
bool Step::is_shape(const std::vector<int64_t>& sizes) const {
  return axes == int(sizes.size()) && std::equal(shape, shape + axes, sizes.begin());
}

std::vector<Step> read_steps(const std::vector<int64_t>& words, int64_t count) {
  std::vector<Step> steps;
  steps.reserve(size_t(count));
  const int64_t* w = words.data();
  for (int64_t n = 0; n < count; n++) {
    Step s;
    s.begin = w;
    const int64_t head = *w++;
    s.kind = StepKind(head & 0xFF);
    s.compute = Dtype(head >> 8 & 0xFF);
    s.axes = int(head >> 16 & 0xFF);
    s.inputs = int(head >> 24 & 0xFF);
    s.params = int(head >> 32 & 0xFF);
    s.row = int(head >> 40 & 0xFFFF);
    s.gone = int(uint64_t(head) >> 56);
    s.shape = w;
    w += s.axes;
    auto read = [&] {
      StepOperand o;
      o.word = w;
      const int64_t word = *w++;
      o.tag = Tag(word & 0xFF);
      o.place = word >> 16;
      if (o.tag == Tag::Tensor) {
        o.dtype = Dtype(word >> 8 & 0xFF);
        o.offset = *w++;
        o.strides = w;
        w += s.axes;
      } else if (o.tag == Tag::Number) {
        o.type = Scalar::Type(word >> 8 & 0xFF);
      } else {
        o.place = *w++;
      }
      return o;
    };
    for (int i = 0; i < s.inputs; i++) s.in[size_t(i)] = read();
    s.out = read();
    for (int i = 0; i < s.params; i++) s.param[size_t(i)] = read();
    s.rows = s.kind == StepKind::Reduce;
    s.end = w;
    steps.push_back(s);
  }
  return steps;
}

}  // namespace ember::lazy
