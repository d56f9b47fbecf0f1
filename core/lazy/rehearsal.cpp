#include "lazy/rehearsal.h"

#include <cstring>
#include <sstream>
#include <unordered_set>

#include "autograd/node.h"
#include "lazy/stand_in.h"
#include "recorder.h"
#include "tensor/deferred.h"
#include "tensor/rehearsed.h"

namespace ember::lazy {

namespace {

constexpr int64_t kMostBytes = 64 << 20;  // of an arena, none of which is used twice
constexpr size_t kMostCalls = 20000;

bool running = false;  // on some thread
thread_local bool mine = false;

// Mixed into the text in place of long values.
uint64_t digest(const void* data, int64_t bytes) {
  uint64_t h = 0xCBF29CE484222325u;
  const auto* at = static_cast<const unsigned char*>(data);
  for (int64_t i = 0; i < bytes; i++) h = (h ^ at[i]) * 0x100000001B3u;
  return h;
}

void put(std::string& to, const void* data, size_t bytes) {
  to.append(static_cast<const char*>(data), bytes);
}
void put(std::string& to, int64_t value) { put(to, &value, sizeof value); }
void put(std::string& to, const Shape& shape) {
  put(to, shape.size());
  for (int64_t n : shape) put(to, n);
}

bool is_plain(const Tensor& t) {
  return t.storage() && t.device().is_cpu() && !t.storage()->root && !t.storage()->aliases &&
         !(t.storage()->watch & (kShrunk | kUnallocated));
}

int64_t extent_of(const Tensor& t) { return t.storage()->bytes; }

// Has a backward pass been through what made it, so that there can't be another?
bool was_walked(const Tensor& t) {
  constexpr size_t kMostNodes = 4096;
  std::vector<const Node*> nodes{grad_fn_of(t).get()};
  std::unordered_set<const Node*> seen{nodes[0]};
  for (size_t i = 0; i < nodes.size() && i < kMostNodes; i++) {
    if (nodes[i]->released) return true;
    for (const Edge& e : nodes[i]->edges)
      if (e.node && seen.insert(e.node.get()).second) nodes.push_back(e.node.get());
  }
  return false;
}

template <class T>
constexpr bool is_random = std::is_same_v<T, Generator>;

}  // namespace

// Stands before the device while a call is rehearsed: below the stand-in of regions, so that
// kernels of groups are what is recorded.
class Rehearsal final : public Backend {
 public:
  // Of this thread; its call runs in a region that opens after begin() and ends before end(). Gives
  // false if another thread has one.
  static bool begin(const TensorList& arguments, const Recording* before);
  // The recording, or why there is none.
  static std::unique_ptr<Recording> end(const TensorList& results, std::string& why);
  static void abandon();
  static Rehearsal& get();  // there is one, for ever
  static bool here();       // on this thread

  void fused(cpu::FusedKernel kernel, const std::vector<int64_t>& words, int64_t units,
             int64_t grain, const std::vector<FusedPointer>& pointers);
  void refuse(const char* why);

  void* allocate(int64_t bytes) override;
  void deallocate(void* data, int64_t bytes) override {
    if (!Arena::give_back(data)) inner_->deallocate(data, bytes);
  }
  void copy_bytes(void* to, const void* from, int64_t bytes) override {
    inner_->copy_bytes(to, from, bytes);
  }
  void copy_from_host(const Tensor& to, const void* from) override {
    inner_->copy_from_host(to, from);
  }
  void copy_to_host(void* to, const Tensor& from) override {
    if (here() && Nested::depth == 0) refuse("the program looks at elements");
    inner_->copy_to_host(to, from);
  }
  Backend& innermost() override { return inner_->innermost(); }

#define PRIMITIVE(need, result, name, ...)                                             \
  result name(EMBER_PARAMETERS(__VA_ARGS__)) override {                                \
    if (here() && Nested::depth == 0)                                                  \
      note<result>(                                                                    \
          Primitive::name, [](Backend& to, const auto&... each) { to.name(each...); }, \
          EMBER_GIVEN(__VA_ARGS__));                                                   \
    const Nested nested;                                                               \
    return inner_->name(EMBER_NAMES(__VA_ARGS__));                                     \
  }
#include "primitives.h"

 protected:
  bool takes(Primitive p, Dtype dtype) const override { return inner_->has(p, dtype); }

 private:
  struct Nested {
    static inline thread_local int depth = 0;
    Nested() { depth++; }
    ~Nested() { depth--; }
  };
  // Of a storage that the call has touched.
  struct Known {
    Storage* shadow;
    bool written = false;  // by a primitive
    bool made = false;     // in the arena
  };
  struct Writer;

  Rehearsal() = default;
  template <class R, class Call, class... G>
  void note(Primitive p, Call call, const G&... given);
  Known& touch(Storage& s, bool reads, bool writes);
  Tensor shadow(const Tensor& t);
  template <class T>
  void replace(T& value);
  template <class T>
  struct Kept;
  void graded(const Tensor& leaf);
  void finish(const TensorList& results);
  void leave();

  Backend* inner_ = nullptr;
  std::unique_ptr<Recording> recording_;
  std::string why_;
  TensorList arguments_;
  std::unordered_map<const Storage*, uint32_t> versions_;  // of what was there, at the first touch
  std::unordered_map<const void*, Known> known_;           // by address
};

// --- recording -----------------------------------------------------------------------------------

// A value of an argument, with tensors on shadows.
template <class T>
struct Rehearsal::Kept {
  T value;
  Kept(const T& given, Rehearsal& r) : value(given) { r.replace(value); }
  const T& get() const { return value; }
};
template <>
struct Rehearsal::Kept<Input> {
  Tensor tensor;
  std::optional<Shape> strides;
  Scalar scalar;
  Kept(const Input& given, Rehearsal& r) : scalar(given.scalar) {
    if (given.tensor) tensor = r.shadow(*given.tensor);
    if (given.strides) strides = *given.strides;
  }
  Input get() const { return {tensor ? &tensor : nullptr, strides ? &*strides : nullptr, scalar}; }
};
template <>
struct Rehearsal::Kept<Steps> {
  Cell cell;
  bool reverse;
  std::vector<int64_t> sizes;
  Kept(const Steps& given, Rehearsal&)
      : cell(given.cell), reverse(given.reverse), sizes(given.sizes) {}
  Steps get() const { return {cell, reverse, sizes}; }
};

template <class T>
void Rehearsal::replace(T& value) {
  if constexpr (std::is_same_v<T, Tensor>) {
    if (value) value = shadow(value);
  } else if constexpr (std::is_same_v<T, TensorList>) {
    for (Tensor& t : value) replace(t);
  } else if constexpr (HasFields<T>) {
    fields(value, [this](Role, const char*, auto& field) { replace(field); });
  }
}

// The text of a call, and what it touches.
struct Rehearsal::Writer {
  Rehearsal& to;
  std::string& text;
  bool overwrites = false;  // a product that leaves nothing of what was there
  std::ostringstream attributes{};

  void tensor(Role role, const Tensor& t) {
    const bool reads = role == Role::In || (role == Role::Changed && !overwrites);
    const bool writes = role != Role::In;
    if (!t.device().is_cpu() || !t.storage()) return to.refuse("a tensor is not in memory");
    to.touch(*t.storage(), reads, writes);
    put(text, int64_t(role) | int64_t(t.dtype()) << 8);
    put(text, t.offset()), put(text, t.shape()), put(text, t.strides());
  }
  template <class T>
  void attribute(const char* name, const T& value) {
    attributes << name << '=';
    print(value);
    attributes << ' ';
  }
  template <class T>
  void print(const T& value) {
    if constexpr (requires {
                    { name_of(value) } -> std::convertible_to<const char*>;
                  })
      attributes << name_of(value);
    else
      attributes << value;
  }
  template <class T>
  void print(const std::vector<T>& values) {
    for (const T& v : values) print(v), attributes << ',';
  }
};

template <class R, class Call, class... G>
void Rehearsal::note(Primitive p, Call call, const G&... given) {
  if (!recording_) return;
  if constexpr (!std::is_void_v<R>) {
    refuse("the size of a result depends on elements");
  } else if constexpr ((is_random<typename G::Type> || ...)) {
    refuse("random numbers");
  } else {
    put(recording_->text_, int64_t(p) << 32);
    Writer writer{*this, recording_->text_};
    writer.attributes.precision(17);
    auto look = [&]<class T>(const char* name, const T& value) {
      if constexpr (std::is_same_v<T, Scalar>)
        if (std::strcmp(name, "beta") == 0) writer.overwrites = value.template to<double>() == 0;
    };
    if (p == Primitive::matmul) (look(given.name, given.value), ...);
    take_apart(writer, given...);
    if (!recording_) return;
    recording_->text_ += writer.attributes.str();
    recording_->calls_.push_back(
        [call, kept = std::make_tuple(Kept<typename G::Type>(given.value, *this)...)](Backend& to) {
          std::apply([&](const auto&... each) { call(to, each.get()...); }, kept);
        });
    if (recording_->calls_.size() > kMostCalls) refuse("there are too many primitives");
  }
}

void Rehearsal::fused(cpu::FusedKernel kernel, const std::vector<int64_t>& words, int64_t units,
                      int64_t grain, const std::vector<FusedPointer>& pointers) {
  if (!recording_) return;
  struct Pointer {
    size_t word;
    Storage* shadow;
    int64_t offset;
  };
  std::string& text = recording_->text_;
  put(text, int64_t(1) << 62);
  std::vector<Pointer> kept;
  std::vector<int64_t> own = words;
  for (const FusedPointer& p : pointers) {
    const Known& known = touch(*p.storage, !p.written, p.written);
    if (!recording_) return;
    kept.push_back({p.word, known.shadow, p.offset});
    own[p.word] = p.offset;
  }
  put(text, reinterpret_cast<int64_t>(kernel)), put(text, units), put(text, grain);
  own[0] = 0;
  put(text, own.data(), own.size() * sizeof own[0]);
  recording_->calls_.push_back([kernel, own, units, grain, kept](Backend&) mutable {
    for (const Pointer& p : kept)
      own[p.word] = reinterpret_cast<int64_t>(p.shadow->data) + p.offset;
    const cpu::FusedItem item{own.data(), units};
    cpu::run_fused(kernel, &item, 1, grain);
  });
}

// Gives every storage a name in the text: a block of the arena, an argument, or itself.
Rehearsal::Known& Rehearsal::touch(Storage& s, bool reads, bool writes) {
  s.settle();
  s.watch |= kRehearsed;
  auto [at, fresh] = known_.try_emplace(s.data);
  Known& known = at->second;
  if (fresh) {
    Ref<Storage> shadow = wrap_memory(s.data, s.bytes, s.device, [](Storage*) {}, nullptr);
    known.shadow = shadow.get();
    recording_->shadows_.push_back(std::move(shadow));
  }
  const int index = recording_->arena_->index_of(s.data);
  known.made = index >= 0;
  std::string& text = recording_->text_;
  if (known.made) {
    put(text, index);
    // What no primitive has written is the program's: the numbers of a list, say.
    if (reads && !known.written) put(text, int64_t(digest(s.data, s.bytes)));
    known.written = true;
    return known;
  }
  for (size_t i = 0; i < arguments_.size(); i++)
    if (arguments_[i].storage().get() == &s) {
      recording_->arguments_[i].shadow = known.shadow;
      put(text, -1 - int64_t(i));
      known.written |= writes;
      versions_.try_emplace(&s, s.version);
      return known;
    }
  put(text, reinterpret_cast<int64_t>(&s)), put(text, reinterpret_cast<int64_t>(s.data));
  if (s.bytes == 0) return known;
  if (s.root || s.aliases) {
    refuse("a tensor shares its memory with .data");
    return known;
  }
  if (versions_.try_emplace(&s, s.version).second)
    recording_->externals_.push_back({Ref<Storage>(&s), s.data, 0});
  return known;
}

Tensor Rehearsal::shadow(const Tensor& t) {
  if (!t) return {};
  const auto at = known_.find(t.storage()->data);
  check(at != known_.end(), Kind::Runtime, "rehearsal: a tensor that was not seen");
  return from_storage(Ref<Storage>(at->second.shadow), t.dtype(), t.shape(), t.strides(),
                      t.offset());
}

void Rehearsal::graded(const Tensor& leaf) {
  if (!recording_) return;
  for (const auto& known : recording_->leaves_)
    if (known.leaf.same(leaf)) return;
  recording_->leaves_.push_back({leaf, false, {}});
}

void Rehearsal::refuse(const char* why) {
  if (!recording_) return;
  why_ = why;
  recording_.reset();
}

void* Rehearsal::allocate(int64_t bytes) {
  if (!mine || Nested::depth || !recording_ || bytes == 0) return inner_->allocate(bytes);
  if (recording_->arena_->bytes() + bytes > kMostBytes) {
    refuse("it needs much memory");
    return inner_->allocate(bytes);
  }
  return Arena::allocate(recording_->arena_, bytes);
}

// --- beginning and ending ------------------------------------------------------------------------

Rehearsal& Rehearsal::get() {
  static auto* one = new Rehearsal;
  return *one;
}
bool Rehearsal::here() { return mine; }

bool Rehearsal::begin(const TensorList& arguments, const Recording* before) {
  if (running || is_open()) return false;
  flush();
  for (const Tensor& t : arguments)
    if (!is_plain(t)) return false;
  Backend& device = backend_of(Device());
  if (&device == &StandIn::get() || &device != &device.innermost()) return false;
  Rehearsal& one = get();
  one.pass_for(device);
  one.inner_ = &device;
  one.arguments_ = arguments;
  one.recording_ = std::make_unique<Recording>(device);
  Recording& r = *one.recording_;
  for (const Tensor& t : arguments) {
    t.storage()->watch |= kRehearsed;
    r.arguments_.push_back({t.dtype(), t.shape(), t.strides(), t.offset(), extent_of(t),
                            t.requires_grad(), t.is_leaf()});
  }
  if (before)
    for (const auto& known : before->leaves_)
      r.leaves_.push_back({known.leaf, bool(ensure_autograd(known.leaf).grad), {}});
  for (size_t i = 0; i < arguments.size(); i++)
    for (size_t k = 0; k < i; k++)
      if (arguments[i].storage() == arguments[k].storage())
        one.refuse("two arguments share memory");
  running = mine = true;
  rehearsed.looked = [] {
    if (mine && deferring) get().refuse("the program looks at elements");
  };
  rehearsed.graded = [](const Tensor& leaf) {
    if (mine) get().graded(leaf);
  };
  backends[Device::kCpu] = &one;
  return true;
}

void Rehearsal::leave() {
  rehearsed = {};
  mine = false;
  if (backends[Device::kCpu] == this)
    backends[Device::kCpu] = inner_;
  else
    StandIn::get().replace(this, inner_);  // another thread has a region
  for (const Tensor& t : arguments_) t.storage()->watch &= uint8_t(~kRehearsed);
  arguments_.clear();
  versions_.clear();
  known_.clear();
  recording_.reset();
  why_.clear();
  running = false;
}

void Rehearsal::abandon() {
  if (mine) get().leave();
}

std::unique_ptr<Recording> Rehearsal::end(const TensorList& results, std::string& why) {
  check(mine, Kind::Runtime, "no call is rehearsed on this thread");
  Rehearsal& r = get();
  if (r.recording_) r.finish(results);
  std::unique_ptr<Recording> found;
  why = r.why_;
  if (r.recording_)
    for (const auto& e : r.recording_->externals_) e.storage->watch &= uint8_t(~kRehearsed);
  found = std::move(r.recording_);
  r.leave();
  return found;
}

void Rehearsal::finish(const TensorList& results) {
  Recording& r = *recording_;
  for (auto& e : r.externals_) e.versions = e.storage->version - versions_.at(e.storage.get());
  for (size_t i = 0; i < arguments_.size(); i++)
    if (r.arguments_[i].shadow) {
      const Storage* s = arguments_[i].storage().get();
      r.arguments_[i].versions = s->version - versions_.at(s);
      r.arguments_[i].extent = s->bytes;
    }
  for (auto& known : r.leaves_) {
    const Tensor& after = ensure_autograd(known.leaf).grad;
    known.after = after;
    put(r.text_, after ? r.arena_->index_of(after.storage()->data) : -2);
  }
  for (const Tensor& t : results) {
    Recording::Result result;
    for (size_t i = 0; i < arguments_.size(); i++) {
      if (arguments_[i].same(t))
        result.argument = int(i);
      else if (arguments_[i].storage() == t.storage())
        return refuse("a result is part of an argument");
    }
    if (result.argument < 0) {
      if (!is_plain(t)) return refuse("a result is not in memory");
      if (t.requires_grad() && !t.is_leaf() && !was_walked(t))
        return refuse("a result wants a backward pass");
      const int index = r.arena_->index_of(t.storage()->data);
      result.made = index >= 0;
      if (result.made) {
        if (t.requires_grad() && t.is_leaf()) return refuse("a result is a new leaf");
        touch(*t.storage(), true, false);
        result.tensor = shadow(t);
      } else {
        result.tensor = t;
      }
      put(r.text_, index), put(r.text_, t.offset());
      put(r.text_, t.shape()), put(r.text_, t.strides());
    }
    put(r.text_, result.argument);
    r.results_.push_back(std::move(result));
  }
}

namespace rehearsal {

bool begin(const TensorList& arguments, const Recording* before) {
  return Rehearsal::begin(arguments, before);
}
std::unique_ptr<Recording> end(const TensorList& results, std::string& why) {
  return Rehearsal::end(results, why);
}
void abandon() { Rehearsal::abandon(); }
bool here() { return mine; }
void refuse(const char* why) { Rehearsal::get().refuse(why); }
void fused(cpu::FusedKernel kernel, const std::vector<int64_t>& words, int64_t units, int64_t grain,
           const std::vector<FusedPointer>& pointers) {
  Rehearsal::get().fused(kernel, words, units, grain, pointers);
}

}  // namespace rehearsal

// --- replaying -----------------------------------------------------------------------------------

bool Recording::is_free(const Storage& s, size_t argument, const TensorList& arguments) const {
  for (const External& e : externals_)
    if (e.storage.get() == &s) return false;
  for (size_t i = 0; i < argument; i++)
    if (arguments[i].storage().get() == &s) return false;
  return arena_->index_of(s.data) < 0;
}

bool Recording::fits(const TensorList& arguments) {
  if (arguments.size() != arguments_.size()) return false;
  for (size_t i = 0; i < arguments_.size(); i++) {
    const Argument& a = arguments_[i];
    const Tensor& t = arguments[i];
    if (!is_plain(t) || t.dtype() != a.dtype || t.offset() != a.offset || t.shape() != a.shape ||
        t.strides() != a.strides || t.requires_grad() != a.needs_grad || t.is_leaf() != a.leaf ||
        t.storage()->bytes < a.extent)
      return false;
    t.storage()->settle();
    if (a.shadow && !is_free(*t.storage(), i, arguments)) return false;
  }
  for (const External& e : externals_) {
    Storage& s = *e.storage;
    s.settle();
    if (s.data != e.data || s.refs.load(std::memory_order_relaxed) < 2) return false;
  }
  for (const Leaf& l : leaves_)
    if (l.leaf.impl()->refs < 2 || bool(ensure_autograd(l.leaf).grad) != l.had) return false;
  return true;
}

std::optional<TensorList> Recording::run(const TensorList& arguments) {
  if (deferring || !fits(arguments)) return {};
  for (size_t i = 0; i < arguments_.size(); i++)
    if (Storage* shadow = arguments_[i].shadow) {
      Storage& s = *arguments[i].storage();
      shadow->data = s.data;
      s.version += arguments_[i].versions;
    }
  for (const auto& call : calls_) call(device_);
  for (const External& e : externals_) e.storage->version += e.versions;
  for (const Leaf& l : leaves_) {
    Autograd& a = ensure_autograd(l.leaf);
    if (!a.grad || !l.after || !a.grad.same(l.after)) a.grad = l.after;
  }
  return results(arguments);
}

TensorList Recording::results(const TensorList& arguments) const {
  TensorList all;
  for (const Result& r : results_) {
    if (r.argument >= 0) {
      all.push_back(arguments[size_t(r.argument)]);
    } else if (!r.made) {
      all.push_back(r.tensor);
    } else {
      const Tensor copy = empty_like(r.tensor);
      device_.copy(copy, r.tensor);
      all.push_back(copy);
    }
  }
  return all;
}

}  // namespace ember::lazy
